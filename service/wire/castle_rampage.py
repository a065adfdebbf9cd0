"""Castle Rampage on the wire. The engine counts cards and numbers structures from 0."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from croupier.v1 import castle_rampage_pb2 as pb
from engine.errors import ActionError, ViewError
from engine.events import Event
from engine.game import Game
from service.wire import Fields
from service.wire.fields import counted, filled, options, plain

VIEW_PATHS = {
    "common.sides[0].history": "sides[0].story",
    "common.sides[1].history": "sides[1].story",
    "common.": "",
    "own.": "",
    "stacks[0]": "sides[0].gate",
    "stacks[1]": "sides[0].castle",
    "stacks[2]": "sides[1].gate",
    "stacks[3]": "sides[1].castle",
}

_SEATS = (0, 1)
_TYPES = len(pb.CastleRampageCard.values())  # With the one that is no card.
_FIRST_SCHEME = pb.CASTLE_RAMPAGE_CARD_VOLLEY
_MAX_STACK = 104
_MAX_HISTORY = 1600
_MAX_DRAWN = 800
_NOBODY = 255  # No winner, where the engine writes a seat.
_SHARED = ("phase", "set_ups", "turn", "active", "strengthened", "decisions", "draw_size")
_SIDE = ("hand_size", "catapults", "granaries")
_NUMBERS = ("copies", "gate", "castle", "attack", "bonus", "cost")


def _card(number: int) -> pb.CastleRampageCard:
    return cast(pb.CastleRampageCard, number)


def _cards(numbers: Iterable[int]) -> list[pb.CastleRampageCard]:
    return cast(list[pb.CastleRampageCard], list(numbers))


def _counts(cards: Sequence[int], path: str) -> list[int]:
    if 0 in cards:
        raise ViewError(f"{path}[{list(cards).index(0)}]", "must be a card")
    return counted(cards, _TYPES, path)


def _structure(number: int) -> pb.CastleRampageStructure:
    return cast(pb.CastleRampageStructure, number + 1)


# Rulesets and actions


def ruleset_to_fields(message: pb.CastleRampageRuleset) -> Fields:
    """The options that are set."""
    fields = options(message, ("set_ups", "turns"))
    if message.cards:
        fields["cards"] = [{"card": spec.card, **options(spec, _NUMBERS)} for spec in message.cards]
    return fields


def ruleset_to_proto(fields: Fields) -> pb.CastleRampageRuleset:
    """A whole ruleset."""
    return pb.CastleRampageRuleset(
        **{**fields, "cards": [pb.CastleRampageCardSpec(**spec) for spec in fields["cards"]]}
    )


def action_to_proto(game: Game, fields: Fields) -> pb.CastleRampageAction:
    """An action."""
    message = pb.CastleRampageAction()
    match fields["kind"]:
        case "set_up":
            message.set_up.gate.extend(_cards(fields["gate"]))
            message.set_up.castle.extend(_cards(fields["castle"]))
            message.set_up.keep = _card(fields["keep"])
        case "strengthen":
            message.strengthen.card = _card(fields["card"])
            message.strengthen.structure = _structure(fields["structure"])
            message.strengthen.discards.extend(_cards(fields["discards"]))
        case "play":
            message.play.card = _card(fields["card"])
            message.play.discards.extend(_cards(fields["discards"]))
            _write_choice(message.play, fields["choice"])
        case _:
            message.end_turn.SetInParent()
    return message


def action_to_fields(message: pb.CastleRampageAction) -> Fields:
    """The fields of an action; raises ActionError if a choice is not one that the card asks for."""
    kind = str(message.WhichOneof("action"))
    action = getattr(message, kind)
    match kind:
        case "set_up":
            return {
                "kind": kind,
                "gate": list(action.gate),
                "castle": list(action.castle),
                "keep": action.keep,
            }
        case "end_turn":
            return {"kind": kind}
    fields = {"kind": kind, "card": action.card, "discards": list(action.discards)}
    if kind == "strengthen":
        return {**fields, "structure": action.structure - 1}
    name = action.WhichOneof("choice")
    if name and name != _choice_of(action.card):
        raise ActionError(name, "must not be set for this card")
    return {**fields, "choice": int(getattr(action, name)) if name else 0}


def _choice_of(card: int) -> str:
    # The name of the choice that a card asks for.
    if card == pb.CASTLE_RAMPAGE_CARD_PRIEST:
        return "unit"
    if card == pb.CASTLE_RAMPAGE_CARD_SABOTEUR:
        return "permanent"
    return "extra" if card >= _FIRST_SCHEME else ""


def _write_choice(
    message: pb.CastleRampageAction.Play | pb.CastleRampageEvent.Played, choice: int
) -> None:
    name = _choice_of(message.card)
    if name == "extra":
        message.extra = bool(choice)
    elif name:
        setattr(message, name, choice)


# Events


def event_to_proto(event: Event) -> pb.CastleRampageEvent:
    """An event; what is hidden of it is not set."""
    message = pb.CastleRampageEvent(seat=event.seat if event.seat in _SEATS else None)
    values = event.values
    match event.kind:
        case "shuffled_hidden":
            message.shuffled.count = values[0]
        case "drawn_hidden":
            message.drawn.count = values[0]
        case "shuffled" | "drawn":
            happened = getattr(message, event.kind)
            happened.count = len(values)
            happened.cards.extend(values)
        case "cards_set_up":
            message.cards_set_up.gate.extend(_cards(values[:2]))
            message.cards_set_up.castle.extend(_cards(values[2:4]))
            message.cards_set_up.keep = _card(values[4])
        case "cards_set_up_hidden":
            message.cards_set_up.SetInParent()
        case "turn_started":
            message.turn_started.turn = values[0]
        case "strengthened" | "strengthened_hidden":
            _write_place(message.strengthened, values)
        case "played":
            message.played.card = _card(values[0])
            _write_choice(message.played, values[1])
        case "revealed":
            _write_place(message.revealed, values)
            message.revealed.defence, message.revealed.strength = values[2:]
        case "held":
            _write_place(message.held, values)
        case "destroyed":
            _write_place(message.destroyed, values)
        case "returned":
            message.returned.card = _card(values[0])
        case "looked":
            message.looked.gate, message.looked.castle = _cards(values)
        case "looked_hidden":
            message.looked.SetInParent()
        case _:  # discarded, hand_shown
            happened = getattr(message, event.kind)
            happened.SetInParent()
            happened.cards.extend(values)
    return message


def _write_place(message: Any, values: Sequence[int]) -> None:
    # A structure, unless it is none, and a card that is seen.
    if values[0] < 2:
        message.structure = _structure(values[0])
    if len(values) > 1:
        message.card = _card(values[1])


# Views


def view_to_fields(game: Game, message: pb.CastleRampageView, seat: int) -> Fields:
    """The fields of a view; raises ViewError if they do not fit the engine's."""
    return {
        "seat": seat,
        "common": {
            **plain(message, _SHARED),
            "winner": _NOBODY,
            "discards": _counts(message.discards, "discards"),
            "sides": [
                {**plain(side, _SIDE), **_memory("history", side.story, _MAX_HISTORY)}
                for side in message.sides
            ],
        },
        "own": {
            "hand": _counts(message.hand, "hand"),
            "kept": message.kept,
            **_memory("drawn", message.drawn, _MAX_DRAWN),
        },
        "stacks": [
            _stack_to_fields(getattr(side, name), f"sides[{i}].{name}")
            for i, side in enumerate(message.sides)
            for name in ("gate", "castle")
        ],
    }


def _memory(name: str, data: bytes, most: int) -> Mapping[str, Any]:
    return {f"{name}_length": len(data), name: filled(data, most, 0, name)}


def _stack_to_fields(message: pb.CastleRampageStack, path: str) -> Fields:
    fallen = list(message.fallen)
    cards = fallen + [card.card for card in message.standing]
    known = [int(pb.CASTLE_RAMPAGE_KNOWN_SHOWN)] * len(fallen)
    known += [card.known for card in message.standing]
    return {
        "count": len(cards),
        "top": len(fallen),
        "cards": filled(cards, _MAX_STACK, 0, path),
        "known": filled(known, _MAX_STACK, 0, path),
    }
