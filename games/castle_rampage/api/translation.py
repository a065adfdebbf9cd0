"""Castle Rampage in the API: where its messages differ from the fields of the engine.

The schema numbers structures from 1, the engine from 0.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from google.protobuf.message import Message

from croupier import enums
from croupier.v1 import castle_rampage_pb2 as pb
from engine.errors import ActionError
from engine.events import Event
from engine.game import SEATS, Game, SeatView
from wire import translation
from wire.translation import Fields

_STRUCTURES = ("gate", "castle")
_CASTLE = _STRUCTURES.index("castle")
_CHOICES = ("extra", "unit", "permanent")
_FIRST_SCHEME = pb.CASTLE_RAMPAGE_CARD_VOLLEY
_NO_WINNER = 255


class Translation(translation.Translation):
    """Translates Castle Rampage.

    The choice that a card asks for is one number in the engine, and a field for each meaning in the
    schema.
    """

    first: ClassVar = {"CastleRampageStructure": 1}
    counted: ClassVar = frozenset({"discards", "hand"})
    view_paths: ClassVar = {
        "common.sides[0].history": "sides[0].opaque_history",
        "common.sides[1].history": "sides[1].opaque_history",
        "own.drawn": "opaque_draws",
        "common.": "",
        "own.": "",
        "stacks[0]": "sides[0].gate",
        "stacks[1]": "sides[0].castle",
        "stacks[2]": "sides[1].gate",
        "stacks[3]": "sides[1].castle",
    }
    endings: ClassVar = {
        "castle_stormed": "{seat} destroyed the last card of the opposing Castle, {last_card}, "
        "with {card}: strength {strength} against defence {defence}.",
        "castle_destroyed": "{seat} destroyed the last card of the opposing Castle, {last_card}, "
        "with {card}.",
        "own_castle_destroyed": "{seat} destroyed the last card of {their|your} own Castle, "
        "{last_card}, with {card}.",
        "both_castles_destroyed": "{seat} destroyed the last cards of both Castles with {card}, so "
        "the other side wins.",
        "turn_limit": "Both Castles still stood after turn {turns}, the last one.",
    }

    def ending(self, view: SeatView, events: Sequence[Event]) -> tuple[str, Fields]:
        fields = view.fields
        if fields["common"]["winner"] == _NO_WINNER:
            return "turn_limit", view.game.ruleset
        last = {each.kind: each for each in events}
        seat = last["played"].seat
        castles = [fields["stacks"][each * len(_STRUCTURES) + _CASTLE] for each in range(SEATS)]
        fell = [castle["top"] == castle["count"] for castle in castles]
        if all(fell):
            name = "both_castles_destroyed"
        elif fell[seat]:
            name = "own_castle_destroyed"
        else:
            name = "castle_stormed" if "revealed" in last else "castle_destroyed"
        castle = castles[seat if fell[seat] else 1 - seat]
        return name, {
            **(self.event_fields(last["revealed"]) if "revealed" in last else {}),
            "seat": seat,
            "other_seat": 1 - seat,
            "card": _card_id(self.event_fields(last["played"])["card"]),
            "last_card": _card_id(castle["cards"][castle["top"] - 1]),
        }

    def read_action(self, message: Any) -> Fields:
        fields = super().read_action(message)
        if fields["kind"] == "play":
            wanted = _choice_of(fields["card"])
            fields["choice"] = 0
            for name in _CHOICES:
                if name not in fields:
                    continue
                if name != wanted:
                    raise ActionError(name, "must not be set for this card", "WRONG_CHOICE")
                fields["choice"] = int(fields.pop(name))
        return fields

    def write(self, message: Message, fields: Fields) -> None:
        if fields.get("structure") == len(_STRUCTURES):  # None of them.
            fields = {name: value for name, value in fields.items() if name != "structure"}
        if "choice" in fields:
            choice = fields["choice"]
            fields = {name: value for name, value in fields.items() if name != "choice"}
            if name := _choice_of(fields["card"]):
                fields[name] = choice
        super().write(message, fields)

    def view_fields(self, game: Game, message: Fields) -> Fields:
        return {
            **message,
            "winner": _NO_WINNER,
            "sides": [
                {
                    **side,
                    "history": side["opaque_history"],
                    "history_length": len(side["opaque_history"]),
                }
                for side in message["sides"]
            ],
            "drawn": message["opaque_draws"],
            "drawn_length": len(message["opaque_draws"]),
            "stacks": [
                _read_stack(side[name]) for side in message["sides"] for name in _STRUCTURES
            ],
        }


def _card_id(card: int) -> str:
    # As the catalog has it.
    return enums.words(pb.CastleRampageCard.DESCRIPTOR)[card].upper()


def _choice_of(card: int) -> str:
    # The name of the choice that a card asks for.
    if card == pb.CASTLE_RAMPAGE_CARD_PRIEST:
        return "unit"
    if card == pb.CASTLE_RAMPAGE_CARD_SABOTEUR:
        return "permanent"
    return "extra" if card >= _FIRST_SCHEME else ""


def _read_stack(stack: Fields) -> Fields:
    # The fallen cards come first, and everyone has seen them.
    fallen, standing = stack["fallen"], stack["standing"]
    return {
        "count": len(fallen) + len(standing),
        "top": len(fallen),
        "cards": fallen + [card["card"] for card in standing],
        "known": [pb.CASTLE_RAMPAGE_KNOWN_SHOWN] * len(fallen) + [c["known"] for c in standing],
    }
