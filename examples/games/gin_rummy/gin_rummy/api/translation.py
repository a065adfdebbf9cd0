"""Gin Rummy in the API: where its messages differ from the fields of the engine."""

from collections.abc import Sequence
from typing import ClassVar

from engine.events import Event
from engine.game import Game, SeatView
from wire import translation
from wire.translation import Fields

BY_SEAT = ("points", "deadwood")  # What the engine keeps beside the sides.
LISTS = ("known", "shown")
RESULTS = ("", "undecided", "knocked", "gin", "undercut")


class Translation(translation.Translation):
    """Translates Gin Rummy."""

    view_paths: ClassVar = {"deadwood": "sides", "points": "sides"}
    endings: ClassVar = {
        "undecided": "Nobody knocked before the hand had to end.",
        "knocked": "{seat} knocked and {has|have} less deadwood: {deadwood} to {other_deadwood}.",
        "gin": "{seat} {has|have} gin, against {other_deadwood} deadwood.",
        "undercut": "{seat} {undercuts|undercut} the knock, with {deadwood} deadwood to "
        "{other_deadwood}.",
        "points": "Points: {seat} {points}, {other_seat} {other_points}.",
    }

    def ending(self, view: SeatView, events: Sequence[Event]) -> tuple[str, Fields]:
        [hand] = [self.event_fields(each) for each in events if each.kind == "hand_ended"]
        seat = hand.get("winner", 0)
        name = "points" if view.game.ruleset["target"] else RESULTS[hand["result"]]
        values = {"seat": seat, "other_seat": 1 - seat}
        for number in BY_SEAT:
            values[number] = view.fields[number][seat]
            values[f"other_{number}"] = view.fields[number][1 - seat]
        return name, values

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
