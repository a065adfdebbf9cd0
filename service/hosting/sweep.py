"""Sweeps: what is done now and then in the background, for all matches of the log."""

import asyncio
from abc import ABC, abstractmethod

from service.errors import Refusal, log_failure


class Sweep(ABC):
    """A background task that sweeps the log again and again. Each of several servers may do it."""

    def __init__(self, name: str, pause: float) -> None:
        """`name` is for the server's log; `pause` is in seconds, between two sweeps."""
        self._name = name
        self._pause = pause
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Sweeps from now on, until it is closed."""
        self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        """Stops; another server, or the next one, does the rest."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self.sweep()
            except Refusal:
                pass  # The store logs its own failures.
            # The next sweep may do what this one could not, and nobody waits for it.
            except Exception as error:
                log_failure(self._name, error)
            await asyncio.sleep(self._pause)

    @abstractmethod
    async def sweep(self) -> None:
        """Does all that is to be done by now, a batch at a time."""
