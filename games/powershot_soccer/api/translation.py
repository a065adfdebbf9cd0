"""PowerShot Soccer in the API: where its messages differ from the fields of the engine."""

from collections.abc import Sequence
from typing import ClassVar

from engine.events import Event
from engine.game import Game, SeatView
from wire import translation
from wire.translation import Fields


class Translation(translation.Translation):
    """Translates PowerShot Soccer."""

    counted: ClassVar = frozenset({"hand"})
    view_paths: ClassVar = {
        "common.draw_sizes[": "sides[",
        "common.goals": "sides",
        "common.kick_off_cards": "kick_offs",
        "common.": "",
    }
    seat_fields: ClassVar = {"half_started": "kick_off"}
    endings: ClassVar = {
        "full_time": "The last card of the second half was drawn. "
        "Goals: {seat} {goals}, {other_seat} {other_goals}.",
    }

    def ending(self, view: SeatView, events: Sequence[Event]) -> tuple[str, Fields]:
        goals, other_goals = view.fields["common"]["goals"]
        return "full_time", {"seat": 0, "goals": goals, "other_seat": 1, "other_goals": other_goals}

    def view_fields(self, game: Game, message: Fields) -> Fields:
        return {
            **message,
            "goals": [side["goals"] for side in message["sides"]],
            "draw_sizes": [side["draw_pile_size"] for side in message["sides"]],
            "kick_offs": len(message["kick_offs"]),
            "kick_off_cards": [kick_off["cards"] for kick_off in message["kick_offs"]],
            "play_count": len(message["plays"]),
        }
