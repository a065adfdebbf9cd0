"""German Whist in the API: where its messages differ from the fields of the engine.

The schema numbers cards and suits from 1, the engine from 0.
"""

from typing import ClassVar

from service.wire import translation


class Translation(translation.Translation):
    """Translates German Whist."""

    first: ClassVar = {"GermanWhistCard": 1, "GermanWhistSuit": 1}
