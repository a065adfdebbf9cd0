"""A clock that stands still until a test advances it."""

import asyncio

from service.hosting.clocks import Clock


class ManualClock(Clock):
    """Shows the time that the test has set. It serves one event loop."""

    def __init__(self, now=1_700_000_000_000):
        self._now = now
        self._set = 0
        self._sleepers = {}
        self._changed = asyncio.Event()

    def now(self):
        return self._now

    def steady(self):
        return self._now / 1000 - self._set

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
        """Advances the time, and wakes the sleepers whose time has come."""
        self._now += milliseconds
        self._wake_up()

    def drift(self, milliseconds):
        """Advances the time without waking any sleeper."""
        self._now += milliseconds

    def set_by(self, seconds):
        """Somebody sets the clock."""
        self._now += 1000 * seconds
        self._set += seconds

    def _wake_up(self):
        for sleeping, until in self._sleepers.items():
            if until <= self._now:
                sleeping.cancel()
        self._changed.set()

    async def all_asleep(self, count):
        """Waits until at least `count` sleepers sleep until a time in the future."""
        while sum(until > self._now for until in self._sleepers.values()) < count:
            self._changed.clear()
            await self._changed.wait()
