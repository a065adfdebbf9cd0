"""Supervision: processes of a server that are started again whenever they end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

FIRST_PAUSE_SECONDS = 0.2  # Before an ended process is started again; each time twice as long,
MAX_PAUSE_SECONDS = 10.0  # but at most this.

_log = logging.getLogger(__name__)


class Supervision:
    """Keeps processes of one kind running until it is told to stop."""

    def __init__(self, what: str) -> None:
        """`what` is what the log calls such a process, as "a search process"."""
        self._what = what
        self._keepers: list[asyncio.Task[None]] = []
        self._stopped = asyncio.Event()

    @property
    def stopping(self) -> bool:
        """Whether processes that end are not started again."""
        return self._stopped.is_set()

    def keep(self, run: Callable[[], Awaitable[int]]) -> None:
        """Keeps a process running; `run` starts it and returns its exit status when it has ended.

        A process that ends soon after its start waits ever longer for the next one.
        """
        self._keepers.append(asyncio.create_task(self._keep(run)))

    def stop(self) -> None:
        """Starts no process any more. It is for the owner to tell them to end."""
        self._stopped.set()

    async def close(self, seconds: float, kill: Callable[[], None]) -> None:
        """Returns when all processes have ended; `kill` ends those that run after some seconds."""
        self.stop()
        if not self._keepers:
            return
        _, late = await asyncio.wait(self._keepers, timeout=seconds)
        if late:
            kill()
        await asyncio.gather(*self._keepers)

    async def _keep(self, run: Callable[[], Awaitable[int]]) -> None:
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE_SECONDS
        while not self.stopping:
            began = loop.time()
            status = await run()
            if self.stopping:
                return
            if loop.time() - began > MAX_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            _log.error("%s ended with %d; it is started again", self._what, status)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopped.wait()
            pause = min(2 * pause, MAX_PAUSE_SECONDS)
