"""Champion Chess on the wire. The engine counts cards by index; a message lists them by name."""

from collections.abc import Iterable
from typing import cast

from croupier.v1 import champion_chess_pb2 as pb
from engine.errors import ViewError
from engine.events import Event
from engine.game import Game
from service.wire import Fields
from service.wire.fields import counted, filled, options, plain

VIEW_PATHS = {"side[": "sides[", "own.": ""}

_CARDS = len(pb.ChampionChessCard.values()) - 1
_MAX_HAND = 7
_MAX_TURNS = 48  # The engine's room for the turns of a memory.
_NO_TURN = {
    "mulligan": 0,
    "champion": 0,
    "castled": 0,
    "won": 0,
    "aid_count": 0,
    "discard_count": 0,
    "cards": [0] * _MAX_HAND,
}


def _card(index: int) -> pb.ChampionChessCard:
    return cast(pb.ChampionChessCard, index + 1)


def _cards(indices: Iterable[int]) -> list[pb.ChampionChessCard]:
    return cast(list[pb.ChampionChessCard], [index + 1 for index in indices])


def _indices(cards: Iterable[int]) -> list[int]:
    return [card - 1 for card in cards]


def _indices_in_view(cards: Iterable[int], path: str) -> list[int]:
    indices = _indices(cards)
    if -1 in indices:
        raise ViewError(f"{path}[{indices.index(-1)}]", "must be a card")
    return indices


def _counts(cards: Iterable[int], path: str) -> list[int]:
    return counted(_indices_in_view(cards, path), _CARDS, path)


# Rulesets and actions


def ruleset_to_fields(message: pb.ChampionChessRuleset) -> Fields:
    """The options that are set."""
    fields = options(message, ("castling", "hand_size"))
    if message.cards:
        fields["cards"] = [
            {"card": spec.card - 1, **plain(spec, ("copies", "move", "attack", "defend"))}
            for spec in message.cards
        ]
    return fields


def ruleset_to_proto(fields: Fields) -> pb.ChampionChessRuleset:
    """A whole ruleset."""
    return pb.ChampionChessRuleset(
        castling=fields["castling"],
        hand_size=fields["hand_size"],
        cards=[
            pb.ChampionChessCardSpec(**{**spec, "card": _card(spec["card"])})
            for spec in fields["cards"]
        ],
    )


def action_to_proto(game: Game, fields: Fields) -> pb.ChampionChessAction:
    """An action."""
    message = pb.ChampionChessAction()
    if fields["kind"] == "play_champion":
        message.play_champion.noble = _card(fields["noble"])
        message.play_champion.castle = fields["castle"]
    else:
        choice = getattr(message, fields["kind"])
        choice.SetInParent()
        choice.cards.extend(_cards(fields["cards"]))
    return message


def action_to_fields(message: pb.ChampionChessAction) -> Fields:
    """The fields of an action, its cards in the order in which they came."""
    kind = str(message.WhichOneof("action"))
    if kind == "play_champion":
        choice = message.play_champion
        return {"kind": kind, "noble": choice.noble - 1, "castle": choice.castle}
    return {"kind": kind, "cards": _indices(getattr(message, kind).cards)}


# Events


def event_to_proto(event: Event) -> pb.ChampionChessEvent:
    """An event; what is hidden of it is not set."""
    message = pb.ChampionChessEvent(seat=event.seat)
    values = event.values
    match event.kind:
        case "drawn":
            message.drawn.count = len(values)
            message.drawn.cards.extend(_cards(values))
        case "drawn_hidden":
            message.drawn.count = values[0]
        case "shuffled":
            message.shuffled.from_reserve = bool(values[0])
            message.shuffled.count = len(values) - 1
            message.shuffled.cards.extend(_cards(values[1:]))
        case "shuffled_hidden":
            message.shuffled.from_reserve = bool(values[0])
            message.shuffled.count = values[1]
        case "champion_revealed":
            message.champion_revealed.champion = _card(values[0])
            message.champion_revealed.castled = bool(values[1])
        case "challenge_decided":
            decided = message.challenge_decided
            decided.champion, decided.won = _card(values[0]), bool(values[1])
            decided.move, decided.attack, decided.defend = values[2:]
        case _:  # mulligan, aid_revealed, discarded
            shown = getattr(message, event.kind)
            shown.SetInParent()
            shown.cards.extend(_cards(values))
    return message


# Views


def view_to_fields(game: Game, message: pb.ChampionChessView, seat: int) -> Fields:
    """The fields of a view; raises ViewError if they do not fit the engine's."""
    return {
        "seat": seat,
        "phase": message.phase,
        "challenge": message.challenge,
        "half_points": 0,
        "side": [_side_to_fields(side, f"side[{i}]") for i, side in enumerate(message.sides)],
        "own": {
            "hand": _counts(message.hand, "own.hand"),
            "castling_used": int(message.castling_used),
        },
    }


def _side_to_fields(message: pb.ChampionChessSide, path: str) -> Fields:
    memory = message.memory
    all_turns = f"{path}.memory.turns"
    turns = [_turn_to_fields(turn, f"{all_turns}[{i}]") for i, turn in enumerate(memory.turns)]
    return {
        "hand_size": message.hand_size,
        "deck_size": message.deck_size,
        "reserve": _counts(message.reserve, f"{path}.reserve"),
        "defeated": _counts(message.defeated, f"{path}.defeated"),
        "champion": message.champion,
        "castled": int(message.castled),
        "memory": {
            "hand": _counts(memory.hand, f"{path}.memory.hand"),
            "deck": _counts(memory.deck, f"{path}.memory.deck"),
            "reserve": _counts(memory.reserve, f"{path}.memory.reserve"),
            "castling": memory.castling,
            "size": len(turns),
            "turns": filled(turns, _MAX_TURNS, _NO_TURN, all_turns),
        },
    }


def _turn_to_fields(message: pb.ChampionChessTurn, path: str) -> Fields:
    shown = [
        *sorted(_indices_in_view(message.aid, f"{path}.aid")),
        *sorted(_indices_in_view(message.discards, f"{path}.discards")),
    ]
    return {
        "mulligan": int(not message.champion),
        "champion": max(message.champion - 1, 0),
        "castled": int(message.castled),
        "won": int(message.won),
        "aid_count": len(message.aid),
        "discard_count": len(message.discards),
        "cards": filled(shown, _MAX_HAND, 0, path),
    }
