"""The share of the event loop that duties get: work that the server does without a call.

Duties are expired clocks, decisions of bots and the ends of idle matches. There can be thousands of
them at once, as after a restart, and all calls run on the same loop. So the time that duties use on
the loop is measured. When they have used `BURST_SECONDS`, the next one begins after a pause that
keeps duties at their share of the time: a small one while calls come in, else most of it. Duties
begin in the order in which they are asked for.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias, TypeVar, TypeVarTuple

from service.metering import metered

BUSY_SHARE = 0.15  # Of the loop's time, while calls come in.
IDLE_SHARE = 0.75
BURST_SECONDS = 0.002
MAX_PAUSE_SECONDS = 0.1
MAX_AT_ONCE = 8  # Duties that wait for the log, since they go on all together when it answers.

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")
_Duty: TypeAlias = Coroutine[Any, Any, _T]


class LoopShare:
    """Runs duties, and leaves time on the event loop for calls."""

    def __init__(
        self,
        count_calls: Callable[[], int],
        timer: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`count_calls` returns a number that rises with each call."""
        self._count_calls = count_calls
        self._timer = timer
        self._sleep = sleep
        self._turns = asyncio.Lock()  # Fair: whoever waits longest is next.
        self._slots = asyncio.Semaphore(MAX_AT_ONCE)
        self._spent = 0.0  # Seconds on the loop that no pause has followed.
        self._calls = 0  # At the last pause.

    async def run(self, duty: Callable[[*_Arguments], _Duty[_T]], *args: *_Arguments) -> _T:
        """Runs a short duty, of which `MAX_AT_ONCE` are under way at a time."""
        async with self._slots:
            return await self.begin(duty, *args)

    async def begin(self, duty: Callable[[*_Arguments], _Duty[_T]], *args: *_Arguments) -> _T:
        """Runs a duty that may take long, such as a search: only its start waits for its turn."""
        async with self._turns:
            while self._spent >= BURST_SECONDS:
                await self._pause()
        return await self.run_now(duty, *args)

    async def run_now(self, duty: Callable[[*_Arguments], _Duty[_T]], *args: *_Arguments) -> _T:
        """Runs a duty that somebody waits for, at once; other duties wait longer for it."""
        result: _T = await metered(duty(*args), self._spend, self._timer)
        return result

    def _spend(self, seconds: float) -> None:
        self._spent += seconds

    async def _pause(self) -> None:
        spent, self._spent = self._spent, 0.0
        before, self._calls = self._calls, self._count_calls()
        share = IDLE_SHARE if self._calls == before else BUSY_SHARE
        await self._sleep(min(spent / share - spent, MAX_PAUSE_SECONDS))
