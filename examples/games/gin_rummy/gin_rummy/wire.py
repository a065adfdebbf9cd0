"""Gin Rummy in the API: where its messages differ from the fields of the engine."""

from typing import ClassVar

from engine.game import Game
from service.wire import translation
from service.wire.translation import Fields

BY_SEAT = ("points", "deadwood")  # What the engine keeps beside the sides.
LISTS = ("known", "shown")


class Translation(translation.Translation):
    """Translates Gin Rummy."""

    view_paths: ClassVar = {"deadwood": "sides", "points": "sides"}

    def message_fields(self, game: Game, fields: Fields) -> Fields:
        written = super().message_fields(game, fields)
        by_seat = {name: written.pop(name) for name in BY_SEAT}
        written["sides"] = [
            {
                **{name: by_seat[name][seat] for name in BY_SEAT},
                **{name: side[name][: side[f"{name}_count"]] for name in LISTS},
            }
            for seat, side in enumerate(fields["sides"])
        ]
        return written

    def view_fields(self, game: Game, message: Fields) -> Fields:
        sides = message["sides"]
        return {
            **super().view_fields(game, message),
            **{name: [side[name] for side in sides] for name in BY_SEAT},
            "sides": [
                {**side, **{f"{name}_count": len(side[name]) for name in LISTS}} for side in sides
            ],
        }
