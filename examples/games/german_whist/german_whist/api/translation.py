"""German Whist in the API: where its messages differ from the fields of the engine.

The schema numbers cards and suits from 1, the engine from 0.
"""

from typing import Any, ClassVar

from wire import translation


class Translation(translation.Translation):
    """Translates German Whist."""

    first: ClassVar = {"GermanWhistCard": 1, "GermanWhistSuit": 1}
    endings: ClassVar = {
        "tricks": "Tricks that counted: {seat} {tricks}, {other_seat} {other_tricks}.",
    }

    def ending(self, view: Any, events: Any) -> tuple[str, dict[str, int]]:
        tricks, other_tricks = view.fields["tricks"]
        return "tricks", {
            "seat": 0,
            "tricks": tricks,
            "other_seat": 1,
            "other_tricks": other_tricks,
        }
