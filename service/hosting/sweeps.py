"""Sweeps: background tasks that go through the log again and again.

Retention deletes matches some time after they have ended. Idle matches are those without a clock in
which nothing happens any more: nothing is ever due where a seat owes a decision or its entropy, so
such a match would run for ever, and no retention would delete it. No schedule has these matches,
and a decision costs no more for them: the log is swept for those whose last entry is too old.
"""

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress

from service.common.event_loop import BackgroundQuota
from service.common.tasks import KeptTask, Tasks
from service.hosting.clocks import Clock
from service.hosting.matches import Matches
from service.store import IdleMatch
from wire.errors import Refusal


class Sweep(ABC):
    """A background task that sweeps the log again and again. Each of several servers may do it."""

    def __init__(self, name: str, pause: float, tasks: Tasks) -> None:
        """`name` is that of the task; `pause` is in seconds, between two sweeps."""
        self._name = name
        self._pause = pause
        self._tasks = tasks
        self._task: KeptTask | None = None

    def start(self) -> None:
        """Sweeps from now on, until it is closed."""
        self._task = self._tasks.keep(self._name, self._run)

    def close(self) -> None:
        """Stops; another server, or the next one, does the rest."""
        if self._task is not None:
            self._task.close()

    async def _run(self) -> None:
        while True:
            with suppress(Refusal):  # The store logs its own failures.
                await self.sweep()
            await asyncio.sleep(self._pause)

    @abstractmethod
    async def sweep(self) -> None:
        """Does all that is to be done by now, a batch at a time."""


BATCH = 100  # Matches, or fewer that are long; requests get in between two batches.
PAUSE_SECONDS = 0.1  # Between batches.
SWEEP_SECONDS = 60.0  # Between sweeps, or less where matches are retained for a short time.


class Retention(Sweep):
    """Deletes matches in the background some time after they have ended."""

    def __init__(self, matches: Matches, seconds: float, clock: Clock) -> None:
        """`seconds` is for how long a match that is over is retained."""
        pause = min(SWEEP_SECONDS, max(seconds / 10, PAUSE_SECONDS))
        super().__init__("retention", pause, matches.tasks)
        self._matches = matches
        self._seconds = seconds
        self._clock = clock

    async def sweep(self) -> None:
        """Deletes all matches that are to be deleted by now, a batch at a time."""
        before = self._clock.now() - round(1000 * self._seconds)
        while await self._matches.delete_ended(before, BATCH):
            await asyncio.sleep(PAUSE_SECONDS)


BATCH = 100  # Matches that are listed at a time.
MIN_SWEEP_SECONDS = 0.1
MAX_SWEEP_SECONDS = 600.0  # Between sweeps, or less where matches may be idle for a short time.


class IdleMatches(Sweep):
    """Ends matches in the background in which nothing has happened for some time."""

    def __init__(
        self, matches: Matches, quota: BackgroundQuota, seconds: float, clock: Clock
    ) -> None:
        """`seconds` is for how long a match may be idle."""
        pause = min(MAX_SWEEP_SECONDS, max(seconds / 10, MIN_SWEEP_SECONDS))
        super().__init__("idle matches", pause, matches.tasks)
        self._matches = matches
        self._quota = quota
        self._seconds = seconds
        self._clock = clock

    async def sweep(self) -> None:
        """Ends all matches that have been idle for too long by now."""
        before = self._clock.now() - round(1000 * self._seconds)
        end = self._matches.end_idle
        last: IdleMatch | None = None
        while found := await self._matches.list_idle(before, last, BATCH):
            # Some at once, so that they share a commit. One that cannot be ended, as it is of other
            # rules or was deleted meanwhile, does not take the others along.
            ending = [
                self._tasks.spawn(
                    "idle match", self._quota.run, end, idle.match_id, before, about=idle.match_id
                )
                for idle in found
            ]
            try:
                await asyncio.wait(ending)
            finally:
                for each in ending:
                    each.cancel()
            last = found[-1]
