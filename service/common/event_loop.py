"""The time of the event loop, on which all calls run: who has used it, and who may.

Calls are metered. What comes at once begins a little at a time (`Turns`). What takes long, such as
the replay of a long match, is done in pieces (`LongWork`). Background tasks, which the server does
without a call, get a part of the loop's time (`BackgroundQuota`).
"""

import asyncio
import time
import types
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Hashable
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

from service.common.call import current_call

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")
PIECE_SECONDS = 0.001
PIECE_TURNS = 8  # Of the loop, for each request of those that come at once.
FIRST_PIECES = 8  # After which work waits for its turns.
PART = 0.2  # Of the loop's time, for all work that waits for turns.
BUSY_QUOTA = 0.15  # Of the loop's time, while calls come in.
IDLE_QUOTA = 0.75
BURST_SECONDS = 0.002
MAX_PAUSE_SECONDS = 0.1
MAX_AT_ONCE = 8  # Tasks that wait for the log, since they go on all together when it answers.


@types.coroutine
def metered(
    work: Any,
    charge: Callable[[float], object],
    timer: Callable[[], float] = time.thread_time,
) -> Generator[Any, Any, Any]:
    """Awaits a coroutine, or the next item of an async generator, and returns its result.

    `charge` is called with the seconds that each of its steps takes, by default of processor time:
    a step goes from when the event loop turns to it until it waits for something or ends.
    """
    step, sent = work.send, None
    while True:
        began = timer()
        try:
            waited = step(sent)
        except StopIteration as ended:
            return ended.value
        finally:
            charge(timer() - began)
        try:
            step, sent = work.send, (yield waited)
        except GeneratorExit:
            work.close()
            raise
        # Such as a cancellation: it goes where the coroutine waits.
        except BaseException as error:
            step, sent = work.throw, error


# What charges the caller of the current call for seconds of processor time.
paying: ContextVar[Callable[[float], object] | None] = ContextVar("paying", default=None)


def paid(work: Callable[[*_Arguments], _T]) -> Callable[[*_Arguments], _T]:
    """Work for a thread, for which the current call pays, also if it has ended by then."""
    loop, charge = asyncio.get_running_loop(), paying.get()

    def timed(*args: *_Arguments) -> _T:
        began = time.thread_time()
        try:
            return work(*args)
        finally:
            if charge is not None:
                loop.call_soon_threadsafe(charge, time.thread_time() - began)

    return timed


class Turns:
    """Lets one piece of work begin in every `PIECE_TURNS` turns of the event loop.

    What many connections send at once would otherwise all be read and answered in one turn, and
    everybody else would wait for its end. A call of somebody else takes several turns, so most of
    them are left to it; a turn in which nobody does anything takes some microseconds. Owners take
    turns, each with its own line.
    """

    def __init__(self) -> None:
        self._begun = False  # Whether one has begun in these turns.
        self._lines: dict[Hashable, deque[Callable[[], None]]] = {}

    def begin(self, owner: Hashable, work: Callable[[], None]) -> None:
        """Calls `work` now, or in a later turn, after what its owner has begun before."""
        if not self._begun:
            self._begun = True
            asyncio.get_running_loop().call_soon(self._go_on, PIECE_TURNS)
            work()
        else:
            self._lines.setdefault(owner, deque()).append(work)

    async def come(self, owner: Hashable) -> None:
        """Returns when work of an owner may begin."""
        come = asyncio.Event()
        self.begin(owner, come.set)
        await come.wait()

    def _go_on(self, turns: int) -> None:
        loop, self._begun = asyncio.get_running_loop(), bool(self._lines)
        if not self._begun:
            return
        if turns > 1:
            loop.call_soon(self._go_on, turns - 1)
            return
        loop.call_soon(self._go_on, PIECE_TURNS)  # First: the work may fail.
        owner = next(iter(self._lines))
        line = self._lines.pop(owner)
        work = line.popleft()
        if line:
            self._lines[owner] = line
        work()


class Lines:
    """A line for each who pays for calls, where something has few places and gives none in advance.

    Else whoever makes many calls at once, before they are charged, would let all others wait.
    """

    def __init__(self, most: int = 1) -> None:
        """At the head of each line are so many."""
        self._most = most
        self._heads: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    def own(self) -> AbstractAsyncContextManager[object]:
        """The head of the line of the current call; what belongs to no call is in none."""
        call = current_call.get()
        if call is None:
            return nullcontext()
        # An address or a key, which may have many seats and players.
        payer = (call.payers or (call.principal,))[-1]
        return self._heads.setdefault(payer, asyncio.Semaphore(self._most))


Work: TypeAlias = Generator[None, None, _T]


class LongWork:
    """The long work of a server. Whoever pays for it takes turns with the others who do."""

    def __init__(self) -> None:
        self._turns = asyncio.Lock()  # Fair: the longest wait ends first.
        self._lines = Lines()

    async def finish(self, work: Work[_T]) -> _T:
        """Does work, and returns its result; raises what it raises."""
        try:
            for _ in range(FIRST_PIECES):
                _do_piece(work)
                await asyncio.sleep(0)
            while True:
                async with self._lines.own(), self._turns:
                    began = time.perf_counter()
                    _do_piece(work)
                    await asyncio.sleep((time.perf_counter() - began) * (1 / PART - 1))
        except StopIteration as ended:
            result: _T = ended.value
            return result


def _do_piece(work: Work[object]) -> None:
    until = time.perf_counter() + PIECE_SECONDS
    next(work)
    while time.perf_counter() < until:
        next(work)


def finish_now(work: Work[_T]) -> _T:
    """Does work at once, where nobody else waits; returns its result."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: _T = ended.value
            return result


_Task: TypeAlias = Coroutine[Any, Any, _T]


class BackgroundQuota:
    """Runs background tasks, and leaves time on the event loop for calls.

    Background tasks are expired clocks, decisions of bots and the ends of idle matches. There can
    be thousands of them at once, as after a restart. So the time that they use on the loop is
    measured. When they have used `BURST_SECONDS`, the next one begins after a pause that keeps them
    at their quota of the time: a small one while calls come in, else most of it. They begin in the
    order in which they are asked for.
    """

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
        self._turns = asyncio.Lock()  # Fair: the longest wait ends first.
        self._slots = asyncio.Semaphore(MAX_AT_ONCE)
        self._spent = 0.0  # Seconds on the loop that no pause has followed.
        self._calls = 0  # At the last pause.

    async def run(self, task: Callable[[*_Arguments], _Task[_T]], *args: *_Arguments) -> _T:
        """Runs a short task, of which `MAX_AT_ONCE` are under way at a time."""
        async with self._slots:
            return await self.begin(task, *args)

    async def begin(self, task: Callable[[*_Arguments], _Task[_T]], *args: *_Arguments) -> _T:
        """Runs a task that may take long, such as a search: only its start waits for its turn."""
        async with self._turns:
            while self._spent >= BURST_SECONDS:
                await self._pause()
        return await self.run_now(task, *args)

    async def run_now(self, task: Callable[[*_Arguments], _Task[_T]], *args: *_Arguments) -> _T:
        """Runs a task that somebody waits for, at once; other tasks wait longer for it."""
        result: _T = await metered(task(*args), self._spend, self._timer)
        return result

    def _spend(self, seconds: float) -> None:
        self._spent += seconds

    async def _pause(self) -> None:
        spent, self._spent = self._spent, 0.0
        before, self._calls = self._calls, self._count_calls()
        quota = IDLE_QUOTA if self._calls == before else BUSY_QUOTA
        await self._sleep(min(spent / quota - spent, MAX_PAUSE_SECONDS))
