"""Champion Chess in the API: where its messages differ from the fields of the engine.

The schema numbers cards from 1, the engine from 0.
"""

from collections.abc import Sequence
from typing import ClassVar

from engine.events import Event
from engine.game import Game, SeatView
from wire import translation
from wire.translation import Fields

_TOTALS = (
    "movement {movement} to {other_movement}, attack {attack} to {other_attack}, "
    "defend {defend} to {other_defend}"
)


class Translation(translation.Translation):
    """Translates Champion Chess."""

    first: ClassVar = {"ChampionChessCard": 1}
    counted: ClassVar = frozenset({"hand", "deck", "reserve", "defeated"})
    outputs: ClassVar = frozenset({"unseen", "known_hand"})
    view_paths: ClassVar = {"side[": "sides[", "own.": ""}
    endings: ClassVar = {
        "king_captured": f"{{seat}} captured the King with {{card}}: {_TOTALS}.",
        "king_fell": "Nobody won the challenge, so {seat} lost {card} and the other side the King: "
        f"{_TOTALS}.",
        "kings_fell": f"Nobody won the challenge, so both Kings fell: {_TOTALS}.",
    }

    def ending(self, view: SeatView, events: Sequence[Event]) -> tuple[str, Fields]:
        cards = [card["id"] for card in view.game.cards()]
        sides = [self.event_fields(each) for each in events if each.kind == "challenge_decided"]
        fell = [cards[side["champion"]] == "KING" and not side["won"] for side in sides]
        seat = int(fell == [True, False])
        side, other = sides[seat], sides[1 - seat]
        name = "kings_fell" if all(fell) else "king_captured" if side["won"] else "king_fell"
        return name, {
            **side,
            **{f"other_{number}": value for number, value in other.items()},
            "seat": seat,
            "card": cards[side["champion"]],
        }

    def view_fields(self, game: Game, message: Fields) -> Fields:
        return {**message, "side": [_read_side(side) for side in message["sides"]]}


def _read_side(side: Fields) -> Fields:
    memory = side["memory"]
    turns = [_read_turn(turn) for turn in memory["turns"]]
    return {
        **side,
        "champion": side["champion"] + 1,  # The engine has 0 for none.
        "memory": {**memory, "size": len(turns), "turns": turns},
    }


def _read_turn(turn: Fields) -> Fields:
    mulligan = turn["champion"] < 0
    return {
        **turn,
        "mulligan": mulligan,
        "champion": 0 if mulligan else turn["champion"],
        "aid_count": len(turn["aid"]),
        "discard_count": len(turn["discards"]),
        "cards": sorted(turn["aid"]) + sorted(turn["discards"]),
    }
