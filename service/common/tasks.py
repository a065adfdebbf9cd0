"""Background work, and the one way to start it, so that none of it ends unseen.

- *Kept*: a task or a thread that goes on for as long as the server runs. When it ends, it is begun
  again, ever later. A server that needs it is not ready while it does not come back.
- *Spawned*: one piece of work. When it fails, its owner, who awaits it, is told.
- *Finished*: one piece of work on which others rely who do not await it. When it ends before it is
  done, it is begun again.
- *Attempted*: a call of what others have asked to be called. When it fails, the caller goes on.

Each failure is logged, and counted by the name of the work. A `Refusal` is an answer, no failure.
`SystemExit` and its like, by which a task of asyncio would end the event loop, are failures.
"""

import asyncio
import logging
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

from service.common.errors import log_failure
from wire.errors import Refusal

KEPT = (
    "due matches",
    "feed",
    "idle matches",
    "log lines",
    "loop lag",
    "metrics port",
    "notices",
    "reload",
    "retention",
    "search process",
    "signed tokens",
    "web port",
    "writer",
)
NAMES = (
    *KEPT,
    "admitting",  # Accepted connections.
    "callback",  # Of the event loop.
    "change",  # Telling those who listen to the log.
    "clock",
    "commit",
    "committed",  # What follows a commit.
    "due match",
    "erased names",  # Emptying what SQLite has written before names were erased.
    "due time",  # Correcting when a match is due.
    "handshake",
    "idle match",
    "lease",
    "notify",
    "read",
    "reports",
    "search",
    "unread stream",  # Its end.
    "watched match",
)

FIRST_PAUSE_SECONDS = 0.1  # Before work is begun again; each time twice as long,
MAX_PAUSE_SECONDS = 60.0  # but at most this,
MAX_NEEDED_PAUSE_SECONDS = 5.0  # or this without which the server is not ready.
WELL_SECONDS = 10.0  # Work that goes on for so long is well again.
LOST_SECONDS = 10.0  # After which a server is not ready without work that it needs.

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")

_log = logging.getLogger(__name__)


class TaskFailedError(Exception):
    """Work has failed by what would have ended the event loop, or by the end of another task."""


def told(error: BaseException) -> Exception:
    """An error as those are told who wait; raises it if the current task was told to end."""
    if isinstance(error, Exception):
        return error
    if isinstance(error, GeneratorExit):
        raise error
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise error
    failure = TaskFailedError(type(error).__name__)
    failure.__cause__ = error  # For the log.
    return failure


class Tasks:
    """The background work of one server. Every method may be called in any thread."""

    def __init__(self, names: Iterable[str] = NAMES) -> None:
        self._lock = threading.Lock()
        self._failures = dict.fromkeys(names, 0)
        self.kept: set[_Kept] = set()
        self._spawned: set[asyncio.Task[Any]] = set()  # Held, as asyncio holds none.

    # Starting

    def keep(
        self,
        name: str,
        work: Callable[[*_Arguments], Coroutine[Any, Any, object]],
        *args: *_Arguments,
        needed: bool = False,
    ) -> "KeptTask":
        """Begins work on this event loop that goes on until it is closed; it belongs to no call.

        `needed` says that the server cannot do its own work without it.
        """
        return KeptTask(self, name, lambda: work(*args), needed)

    def keep_thread(
        self, name: str, work: Callable[[], object], needed: bool = False
    ) -> "KeptThread":
        """As `keep`, in a thread, which the end of the process does not wait for."""
        return KeptThread(self, name, work, needed)

    def spawn(
        self,
        name: str,
        work: Callable[[*_Arguments], Coroutine[Any, Any, _T]],
        *args: *_Arguments,
        about: str = "",
        context: Context | None = None,
    ) -> asyncio.Task[_T]:
        """Begins one piece of work, whose owner may await it; `about` is for the log.

        Without a `context` it belongs to the current call.
        """
        return self._start(name, self._do(name, about, lambda: work(*args)), context)

    def finish(
        self,
        name: str,
        work: Callable[[*_Arguments], Coroutine[Any, Any, bool]],
        *args: *_Arguments,
        about: str = "",
        context: Context | None = None,
    ) -> asyncio.Task[None]:
        """As `spawn`, for work that is begun again, ever later, until it returns True."""
        return self._start(name, self._finish(name, about, lambda: work(*args)), context)

    def _start(
        self, name: str, doing: Coroutine[Any, Any, _T], context: Context | None
    ) -> asyncio.Task[_T]:
        assert name in self._failures
        task = asyncio.create_task(doing, context=context)
        self._spawned.add(task)
        task.add_done_callback(self._forget)
        return task

    async def _finish(
        self, name: str, about: str, work: Callable[[], Coroutine[Any, Any, bool]]
    ) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            error = None
            try:
                if await work():
                    return
            except BaseException as raised:
                told(raised)
                error = raised
            self.failed(name, error, about)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, MAX_PAUSE_SECONDS)

    async def _do(self, name: str, about: str, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        try:
            return await work()
        except Refusal:
            raise
        except BaseException as error:
            failure = told(error)
            self.failed(name, error, about)
            if failure is error:
                raise
            raise failure from error

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._spawned.discard(task)
        if not task.cancelled():
            task.exception()  # It is logged, whether or not anybody asks for it.

    def attempt(
        self,
        name: str,
        function: Callable[[*_Arguments], object],
        *args: *_Arguments,
        about: str = "",
    ) -> bool:
        """Calls a function; returns whether it has worked."""
        try:
            function(*args)
        except BaseException as error:
            self.failed(name, error, about)
            return False
        return True

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Logs and counts what fails in callbacks of an event loop, and in what nobody awaits."""
        loop.set_exception_handler(self._loop_failed)

    def _loop_failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None:
            _log.error("the event loop: %s", context["message"])  # Else it may name arguments.
        if not isinstance(error, Refusal):
            self.failed("callback", error)

    # What has failed

    def failed(self, name: str, error: BaseException | None, about: str = "") -> None:
        """Logs and counts a failure; without an error, work has ended that should not."""
        with self._lock:
            self._failures[name] += 1
        what = f"{name} of {about}" if about else name
        if error is None:
            _log.error("%s has ended", what)
        else:
            log_failure(what, error)

    def failures(self) -> dict[str, int]:
        """How often work of each name has failed."""
        with self._lock:
            return dict(self._failures)

    def down(self) -> set[str]:
        """The names of kept work that has ended and is not well again yet."""
        return {each.name for each in list(self.kept) if each.down_since is not None}

    def lost(self) -> str:
        """The name of work that the server needs and that does not come back; empty if none."""
        now = time.monotonic()
        for each in list(self.kept):
            since = each.down_since
            if each.needed and since is not None and now - since >= LOST_SECONDS:
                return each.name
        return ""


class _Kept:
    """Kept work: whether it is well, and when it is begun again."""

    def __init__(self, tasks: Tasks, name: str, needed: bool) -> None:
        assert name in KEPT
        self.name = name
        self.needed = needed
        self._tasks = tasks
        self._began: float | None = None  # None: between two runs.
        self._ended: float | None = None  # The first end since it was well.
        self._pause = FIRST_PAUSE_SECONDS
        tasks.kept.add(self)

    @property
    def down_since(self) -> float | None:
        """Since when it is not well, by time.monotonic; None if it is."""
        began = self._began
        well = began is not None and time.monotonic() - began >= WELL_SECONDS
        return None if well else self._ended

    def _begin(self) -> None:
        self._began = time.monotonic()

    def _end(self, error: BaseException | None) -> float:
        # Returns for how long to wait.
        if self.down_since is None:
            self._ended, self._pause = time.monotonic(), FIRST_PAUSE_SECONDS
        self._began = None
        pause = self._pause * random.uniform(0.5, 1.0)
        most = MAX_NEEDED_PAUSE_SECONDS if self.needed else MAX_PAUSE_SECONDS
        self._pause = min(2 * self._pause, most)
        self._tasks.failed(self.name, error)
        return pause


class KeptTask(_Kept):
    """Kept work on an event loop."""

    def __init__(
        self,
        tasks: Tasks,
        name: str,
        work: Callable[[], Coroutine[Any, Any, object]],
        needed: bool,
    ) -> None:
        super().__init__(tasks, name, needed)
        self._work = work
        self._closing = asyncio.Event()
        self.task = asyncio.create_task(self._run(), context=Context())
        self.task.add_done_callback(lambda _: tasks.kept.discard(self))

    def close(self) -> None:
        """Ends it."""
        self._closing.set()
        self.task.cancel()

    def let_end(self) -> None:
        """Lets it end by itself, after which it is not begun again."""
        self._closing.set()

    async def _run(self) -> None:
        while not self._closing.is_set():
            pause = await self._run_once()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._closing.wait()

    async def _run_once(self) -> float:
        self._begin()
        try:
            await self._work()
        except BaseException as error:
            told(error)
            return self._end(error)
        return 0.0 if self._closing.is_set() else self._end(None)


class KeptThread(_Kept):
    """Kept work in a thread of its own."""

    def __init__(self, tasks: Tasks, name: str, work: Callable[[], object], needed: bool) -> None:
        super().__init__(tasks, name, needed)
        self._work = work
        self._closing = threading.Event()
        self._tell: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self, tell: Callable[[], object], seconds: float | None = None) -> None:
        """Ends it, and waits for its end: `tell` tells the work, which does what is left first."""
        self._tell = tell
        self._closing.set()
        tell()
        self._thread.join(seconds)
        self._tasks.kept.discard(self)

    def _run(self) -> None:
        last = False
        while (pause := self._run_once()) and not last:
            last = self._closing.wait(pause)
            if last:
                self._tell()  # Once more, for what is left.

    def _run_once(self) -> float:
        self._begin()
        try:
            self._work()
        except BaseException as error:
            return self._end(error)
        return 0.0 if self._closing.is_set() else self._end(None)


def finish_or_leave(work: Callable[[], object], seconds: float) -> None:
    """Does work that may hang, and goes on without its end after so many seconds."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)


async def together(*works: Coroutine[Any, Any, _T]) -> list[_T]:
    """Does several pieces of work at once, all of which belong to the current task; the results.

    Where one fails, the others are ended, and an ExceptionGroup has the failures.
    """
    async with asyncio.TaskGroup() as group:
        doing = [group.create_task(work) for work in works]
    return [each.result() for each in doing]


class Threads:
    """Threads that wait for work of one event loop."""

    def __init__(
        self, name: str, count: int, initializer: Callable[[], object] | None = None
    ) -> None:
        """`initializer` is called in each thread when it starts."""
        self._executor = ThreadPoolExecutor(count, name, initializer)
        self._working = 0
        self._changed = threading.Condition()

    def do(self, work: Callable[[*_Arguments], _T], *args: *_Arguments) -> "asyncio.Future[_T]":
        """Has work done; whoever awaits it is told of its failure, and else the event loop is."""
        return asyncio.get_running_loop().run_in_executor(self._executor, self._do, work, *args)

    def _do(self, work: Callable[[*_Arguments], _T], *args: *_Arguments) -> _T:
        self._count(1)
        try:
            return work(*args)
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._changed:
            self._working += change
            self._changed.notify_all()

    def close(self, seconds: float | None = None) -> None:
        """Waits for work that is being done, for so long at most; work that waits is cancelled."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        with self._changed:
            ended = self._changed.wait_for(lambda: not self._working, seconds)
        if ended:
            self._executor.shutdown()


PROCESS = Tasks()  # The work of the process, whichever servers it has.
