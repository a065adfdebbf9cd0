"""What a measure of hints and reviews is given, and what it finds."""

import random
from typing import Any, NamedTuple

from lab.revision import Answer, search_process

# A value of a figure of a group: of each position, decision or match, whatever the measure counts.
# Shares are means of true and false.
Figure = tuple[str, str, float]


class Task(NamedTuple):
    """One position or match to look at, and whose search answers; no revision is this code."""

    measure: str
    game_id: str
    seed: int
    number: int
    iterations: int
    revision: str | None = None

    def chance(self) -> random.Random:
        """Its own chance, which is the same for each revision."""
        return random.Random(f"{self.game_id}/{self.seed}/{self.number}")

    def ask(self, *arguments: Any, **options: Any) -> Answer:
        """What the search answers: see `lab.revision.SearchProcess.ask`."""
        return search_process(self.revision).ask(*arguments, **options)
