"""Sweeps: background tasks that go through the log again and again.

Retention deletes matches some time after they have ended. Idle matches are those without a clock in
which nothing happens any more: nothing is ever due where a seat owes a decision or its entropy, so
such a match would run for ever, and no retention would delete it. No schedule has these matches,
and a decision costs no more for them: the log is swept for those whose last entry is too old.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import suppress

from service.common.event_loop import BackgroundQuota
from service.common.tasks import KeptTask
from service.hosting.clocks import Clock, date
from service.hosting.matches import Matches
from service.store import IdleMatch
from wire.errors import Refusal

DELETE_BATCH = 100  # Matches, or fewer that are long; requests get in between two batches.
IDLE_BATCH = 100  # Idle matches that are listed at a time.
PAUSE_SECONDS = 0.1  # Between batches, and at least between sweeps.
# Between sweeps at most.
RETENTION_SECONDS = 60.0
IDLE_SECONDS = 600.0
# For which nothing is done at most where the clock may be wrong: an operator can set it right.
HELD_SECONDS = 86_400.0

_log = logging.getLogger(__name__)


class Sweep(ABC):
    """A background task that sweeps the log again and again. Each of several servers may do it."""

    def __init__(
        self, name: str, told: str, matches: Matches, seconds: float, most: float, clock: Clock
    ) -> None:
        """`name` is that of the task, which is about matches in which all is older than `seconds`.

        `told` says in the log of the server what was done to which matches. `most` seconds lie
        between two sweeps, or less where `seconds` are few.
        """
        self._name = name
        self._told = told
        self._matches = matches
        self._seconds = seconds
        self._pause = min(most, max(seconds / 10, PAUSE_SECONDS))
        self._clock = clock
        self._ahead = clock.now() / 1000 - clock.steady()
        self._held_until = clock.steady()
        self._tasks = matches.tasks
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

    async def sweep(self) -> None:
        """Does all that is to be done by now, a batch at a time, and logs of how many matches.

        It does nothing for a while after the clock was set forward: what it does is for good.
        """
        now, steady = self._clock.now(), self._clock.steady()
        jump = now / 1000 - steady - self._ahead
        self._ahead += jump
        if jump > self._pause and steady >= self._held_until:
            seconds = min(HELD_SECONDS, self._seconds)
            self._held_until = steady + seconds
            _log.warning("%s: held off for %d seconds. Is the clock right?", self._name, seconds)
        if steady < self._held_until:
            return
        count, before = 0, now - round(1000 * self._seconds)
        try:
            async for done in self._batches(before):
                count += done
        finally:
            if count:
                _log.info("%s before %s: %d", self._told, date(before), count)

    @abstractmethod
    def _batches(self, before: int) -> AsyncIterator[int]:
        """Does what is to be done where all was before a time; yields how many each batch has."""


class Retention(Sweep):
    """Deletes matches in the background some time after they have ended."""

    def __init__(self, matches: Matches, seconds: float, clock: Clock) -> None:
        """`seconds` is for how long a match that is over is retained."""
        told = "deleted matches that ended"
        super().__init__("retention", told, matches, seconds, RETENTION_SECONDS, clock)

    async def _batches(self, before: int) -> AsyncIterator[int]:
        while deleted := await self._matches.delete_ended(before, DELETE_BATCH):
            yield deleted
            await asyncio.sleep(PAUSE_SECONDS)


class IdleMatches(Sweep):
    """Ends matches in the background in which nothing has happened for some time."""

    def __init__(
        self, matches: Matches, quota: BackgroundQuota, seconds: float, clock: Clock
    ) -> None:
        """`seconds` is for how long a match may be idle."""
        told = "ended idle matches, last played on"
        super().__init__("idle matches", told, matches, seconds, IDLE_SECONDS, clock)
        self._quota = quota

    async def _batches(self, before: int) -> AsyncIterator[int]:
        end = self._matches.end_idle
        last: IdleMatch | None = None
        while found := await self._matches.list_idle(before, last, IDLE_BATCH):
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
            yield sum(bool(not each.exception() and each.result()) for each in ending)
            last = found[-1]
