"""Champion Chess in the API: where its messages differ from the fields of the engine.

The schema numbers cards from 1, the engine from 0.
"""

from typing import ClassVar

from engine.game import Game
from service.wire import translation
from service.wire.translation import Fields


class Translation(translation.Translation):
    """Translates Champion Chess."""

    first: ClassVar = {"ChampionChessCard": 1}
    counted: ClassVar = frozenset({"hand", "deck", "reserve", "defeated"})
    outputs: ClassVar = frozenset({"unseen", "known_hand"})
    view_paths: ClassVar = {"side[": "sides[", "own.": ""}

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
