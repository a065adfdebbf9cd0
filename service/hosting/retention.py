"""Retention: for how long matches that are over stay in the log."""

import asyncio

from service.clock import Clock
from service.errors import Refusal, log_failure
from service.hosting.matches import Matches

BATCH = 100  # Matches; requests get in between two batches.
PAUSE_SECONDS = 0.1  # Between batches.
SWEEP_SECONDS = 60.0  # Between sweeps, or less where matches are retained for a short time.


class Retention:
    """Deletes matches in the background some time after they have ended."""

    def __init__(self, matches: Matches, seconds: float, clock: Clock) -> None:
        """`seconds` is for how long a match that is over is retained."""
        self._matches = matches
        self._seconds = seconds
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Sweeps from now on, until it is closed."""
        self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        """Stops; another server, or the next one, deletes the rest."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self.sweep()
            except Refusal:
                pass  # The store logs its own failures.
            # The next sweep may delete what this one could not, and nobody waits for it.
            except Exception as error:
                log_failure("retention", error)
            await asyncio.sleep(min(SWEEP_SECONDS, max(self._seconds / 10, PAUSE_SECONDS)))

    async def sweep(self) -> None:
        """Deletes all matches that are to be deleted by now, a batch at a time."""
        before = self._clock.now() - round(1000 * self._seconds)
        while await self._matches.delete_ended(before, BATCH) == BATCH:
            await asyncio.sleep(PAUSE_SECONDS)
