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
        # Not wait_for: woken and cancelled at the same moment, it forgets that it was cancelled.
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0, until - self.now()) / 1000):
                await wake.wait()
