"""The time of the servers."""

import asyncio
import time
from contextlib import suppress


class Clock:
    """What time it is, in milliseconds since 1970, UTC."""

    def now(self) -> int:
        """The time."""
        return time.time_ns() // 1_000_000

    async def sleep(self, until: int, wake: asyncio.Event) -> None:
        """Returns at a time, or earlier when woken."""
        with suppress(TimeoutError):
            await asyncio.wait_for(wake.wait(), max(0, until - self.now()) / 1000)
