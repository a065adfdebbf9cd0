"""Skystones in the API: where its messages differ from the fields of the engine."""

from typing import Any, ClassVar

from engine.errors import ViewError
from engine.events import Event
from engine.game import Game
from service.wire import translation
from service.wire.translation import Fields


class Translation(translation.Translation):
    """Translates Skystones."""

    counted: ClassVar = frozenset({"hand", "pile"})
    view_paths: ClassVar = {"common.": ""}
    seat_fields: ClassVar = {"round_started": "starter"}

    def write_event(self, message: Any, event: Event) -> None:
        if event.kind in ("set_aside", "set_aside_hidden"):
            # A pile of one card, which is nobody's.
            message.dealt.count = 1
            message.dealt.cards.extend(event.values)
        else:
            super().write_event(message, event)

    def view_fields(self, game: Game, message: Fields) -> Fields:
        squares = game.ruleset["board_size"] ** 2
        if len(message["board"]) != squares:
            raise ViewError("board", f"must have {squares} squares")
        return {
            **message,
            "board": [_read_square(square, i) for i, square in enumerate(message["board"])],
            "placement_count": len(message["placements"]),
        }


def _read_square(square: Fields, number: int) -> Fields:
    if ("card" in square) != ("owner" in square):
        raise ViewError(f"board[{number}].owner", "must be set if a card lies there, and only then")
    return {**square, "card": square["card"] + 1} if "card" in square else square
