"""The clock that servers go by. Tests replace it."""

import asyncio
import time
from contextlib import suppress


class Clock:
    """The time, in milliseconds since 1970, UTC."""

    def now(self) -> int:
        """The time now."""
        return time.time_ns() // 1_000_000

    async def sleep(self, until: int, wake: asyncio.Event) -> None:
        """Returns at a time, or earlier when `wake` is set."""
        # Not wait_for: woken and cancelled at the same moment, it loses the cancellation.
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0, until - self.now()) / 1000):
                await wake.wait()
