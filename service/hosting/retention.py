"""Retention: for how long matches that are over stay in the log."""

import asyncio

from service.clock import Clock
from service.hosting.matches import Matches
from service.hosting.sweep import Sweep

BATCH = 100  # Matches; requests get in between two batches.
PAUSE_SECONDS = 0.1  # Between batches.
SWEEP_SECONDS = 60.0  # Between sweeps, or less where matches are retained for a short time.


class Retention(Sweep):
    """Deletes matches in the background some time after they have ended."""

    def __init__(self, matches: Matches, seconds: float, clock: Clock) -> None:
        """`seconds` is for how long a match that is over is retained."""
        super().__init__("retention", min(SWEEP_SECONDS, max(seconds / 10, PAUSE_SECONDS)))
        self._matches = matches
        self._seconds = seconds
        self._clock = clock

    async def sweep(self) -> None:
        """Deletes all matches that are to be deleted by now, a batch at a time."""
        before = self._clock.now() - round(1000 * self._seconds)
        while await self._matches.delete_ended(before, BATCH) == BATCH:
            await asyncio.sleep(PAUSE_SECONDS)
