"""How long matches are kept that are over."""

import asyncio
import time

from service.errors import Refusal, log_failure
from service.hosting.matches import Matches

BATCH = 100  # Matches; actions get in between two batches.
PAUSE_SECONDS = 0.1  # Between batches.
ROUND_SECONDS = 60.0


class Retention:
    """Deletes matches in the background when they have been over for some time."""

    def __init__(self, matches: Matches, seconds: float) -> None:
        self._matches = matches
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins."""
        self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        """Ends it; the next one goes on."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self.sweep()
            except Refusal:
                pass  # The log is away, and the store has said so.
            # What fails now may be done in the next round, and nobody waits for it.
            except Exception as error:
                log_failure("retention", error)
            await asyncio.sleep(min(ROUND_SECONDS, max(self._seconds / 10, PAUSE_SECONDS)))

    async def sweep(self) -> None:
        """Deletes all that is due, a batch at a time."""
        before = time.time_ns() // 1_000_000 - round(1000 * self._seconds)
        while await self._matches.forget(before, BATCH) == BATCH:
            await asyncio.sleep(PAUSE_SECONDS)
