"""A clock that a test moves on."""

import asyncio

from service.clock import Clock


class ManualClock(Clock):
    """Stands still until it is moved on; for one event loop."""

    def __init__(self, now=1_700_000_000_000):
        self._now = now
        self._sleepers = {}
        self._changed = asyncio.Event()

    def now(self):
        return self._now

    async def sleep(self, until, wake):
        sleeping = asyncio.ensure_future(wake.wait())
        self._sleepers[sleeping] = until
        self._wake_up()
        try:
            await asyncio.wait([sleeping])
        finally:
            sleeping.cancel()
            del self._sleepers[sleeping]

    def advance(self, milliseconds):
        """Moves on, and wakes those that have slept long enough."""
        self._now += milliseconds
        self._wake_up()

    def drift(self, milliseconds):
        """Moves on without waking anyone."""
        self._now += milliseconds

    def _wake_up(self):
        for sleeping, until in self._sleepers.items():
            if until <= self._now:
                sleeping.cancel()
        self._changed.set()

    async def all_asleep(self, count):
        """Waits until `count` sleepers sleep to a time in the future."""
        while sum(until > self._now for until in self._sleepers.values()) < count:
            self._changed.clear()
            await self._changed.wait()
