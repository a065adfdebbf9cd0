"""Skystones in the API: where its messages differ from the fields of the engine."""

from collections.abc import Sequence
from typing import Any, ClassVar

from engine.errors import ViewError
from engine.events import Event
from engine.game import Game, SeatView
from wire import translation
from wire.translation import Fields

_ROUNDS = "Rounds won: {seat} {rounds}, {other_seat} {other_rounds}."


class Translation(translation.Translation):
    """Translates Skystones."""

    counted: ClassVar = frozenset({"hand", "pile"})
    view_paths: ClassVar = {"common.": ""}
    seat_fields: ClassVar = {"round_started": "starter"}
    endings: ClassVar = {
        "no_hand": "One side could form no more hand of {hand_size} within {hand_limit} points. "
        + _ROUNDS,
        "nothing_placed": "No card could be placed in round {round}. " + _ROUNDS,
    }

    def ending(self, view: SeatView, events: Sequence[Event]) -> tuple[str, Fields]:
        # Which seat could not form a hand is not told: it can depend on cards that nobody has seen.
        common = view.fields["common"]
        ended = [self.event_fields(each) for each in events if each.kind == "round_ended"]
        nothing_placed = bool(ended) and not any(ended[0]["chips"])
        return "nothing_placed" if nothing_placed else "no_hand", {
            **view.game.ruleset,
            "round": common["round"],
            "seat": 0,
            "rounds": common["sides"][0]["points"],
            "other_seat": 1,
            "other_rounds": common["sides"][1]["points"],
        }

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
