"""The search pools: threads that search beside the calls, a few at a time, at low priority."""

import asyncio
import math
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ai.graphs import graphs
from ai.memory import Grant
from ai.results import Parameters
from ai.search import Search
from ai.worker import Stop
from croupier.v1.error_pb2 import ErrorReason
from engine.game import SeatView
from engine.sampler import Sampler
from service.common.errors import shutting_down
from service.common.memory import give_back_soon
from service.common.tasks import Threads, told
from service.observability import tracing
from service.observability.metrics import Metrics
from service.searching.fair_queue import SIZE_CLASSES, FairQueue, Place
from service.searching.memory import Ask
from wire.errors import Refusal

LOWEST_PRIORITY = 19
ITERATION_SECONDS = 3e-5  # Roughly: from 1 to 100 microseconds, depending on the position.
MIN_RECHECK_SECONDS = 1e-3
MAX_RETRY_SECONDS = 60.0
NO_MEMORY_RETRY_SECONDS = 2.0  # A search process begins anew in less.
CLOSE_SECONDS = 5.0  # Code of a package may never return.
ANYBODY = "anybody"
*_, SHORT, LONG = SIZE_CLASSES

T = TypeVar("T")


class Limits(NamedTuple):
    """The limits of a search, which ends at the first that it reaches; 0 for no limit."""

    iterations: int = 0
    seconds: float = 0.0
    threads: int = 1
    nodes: int = 0

    @property
    def expected_seconds(self) -> float:
        """How long the search is expected to take."""
        by_iterations = ITERATION_SECONDS * self.iterations / self.threads
        return min(by_iterations or math.inf, self.seconds or math.inf)


class Quotas(NamedTuple):
    """How many searches a pool takes; None for any number."""

    running: int | None = None  # Of one owner, started and not ended.
    waiting: int | None = None  # Of one owner.
    all_waiting: int | None = None


class SearchJob:
    """One search in a pool: what it does, what it may use, and whether it must stop."""

    def __init__(
        self,
        limits: Limits,
        parameters: Parameters,
        work: Callable[["SearchJob"], Any] = lambda job: None,
        charge: Callable[[float], object] = lambda seconds: None,
        game: str = "",
    ) -> None:
        self.limits = limits
        self.work = work
        self.charge = charge
        self.game = game
        self.outcome: asyncio.Future[Any]  # Since a pool has it.
        self.arrived = self.began = time.monotonic()
        self.started = False
        self.thread_seconds = 0.0  # Processor time of its thread, without those that help it.
        self.stop = Stop()
        self.shutting_down = False  # Whether it ends early, with what it has found.
        self.gave_way = False  # Whether it ends early, since others wait for its memory.
        self.abandoned = False  # Whether nobody waits for an answer any more.
        self._parameters = parameters
        self._search: Search | None = None
        self._grants: Sequence[Grant] = ()
        self._iterations = 0  # Of a search that was released.
        self._paused_at: float | None = None
        self._paused_seconds = 0.0

    def admit(self, ask: Ask) -> bool:
        """Gets what it asks for to begin; False if that is not free now."""
        grants = ask.grants()
        if grants is None:
            graphs.clear()  # They only save time.
            return False
        self._grants = grants
        return True

    def release(self) -> None:
        """Gives back its memory when it has ended."""
        self._iterations = self.iterations
        self._search, self._grants = None, ()

    def give_way(self) -> bool:
        """Ends it, with what it has found, if it cannot grow and only its time would end it."""
        search = self._search
        if self.gave_way or self.limits.iterations or search is None or not search.refused:
            return False
        self.gave_way = True
        self.stop.set()
        return True

    def begin(self) -> None:
        """Notes that the time of the search begins."""
        self.started = True
        self.began = time.monotonic()

    def run(self) -> Any:
        """Does the work; called in a thread of the pool."""
        began = time.thread_time()
        try:
            return self.work(self)
        finally:
            self.thread_seconds = time.thread_time() - began

    def search(
        self,
        view: SeatView,
        seed: int,
        sampler: Sampler | None = None,
        root_actions: Sequence[int] | None = None,
        last_look: float = 0.0,
        temperature: float = 0.0,
    ) -> Search:
        """Creates the search of this job, to be run by the caller.

        `sampler` spares making one of the view. `root_actions` are the legal actions to choose
        from; `last_look` and `temperature` are parameters of the search. Raises Refusal if
        there is no memory for it.
        """
        try:
            self._search = Search(
                view,
                threads=self.limits.threads,
                seed=seed,
                parameters=self._parameters._replace(last_look=last_look, temperature=temperature),
                max_iterations=self.limits.iterations,
                max_nodes=self.limits.nodes,
                sampler=sampler,
                root_actions=root_actions,
                grants=self._grants,
            )
        except MemoryError:
            raise no_memory() from None
        return self._search

    def pause(self) -> None:
        """Pauses the search within an iteration; its limit of time goes on."""
        self._paused_at = time.monotonic()
        self.stop.pause()

    def resume(self) -> None:
        """Lets the search go on."""
        self._paused_seconds = self.paused_seconds
        self._paused_at = None
        self.stop.resume()

    def abandon(self) -> None:
        """Stops the search: nobody waits for its answer."""
        self.abandoned = True
        self.stop.set()

    @property
    def queue_seconds(self) -> float:
        """How long it waited before it began."""
        return self.began - self.arrived

    @property
    def paused_seconds(self) -> float:
        """How long it has been paused."""
        at = self._paused_at
        return self._paused_seconds + (time.monotonic() - at if at is not None else 0.0)

    @property
    def iterations(self) -> int:
        """The iterations that the search has done."""
        return self._search.iterations if self._search else self._iterations


def no_memory() -> Refusal:
    """There is no memory for a search now."""
    rule = "so many searches may be under way at a time as there is memory for"
    return Refusal(
        ErrorReason.ERROR_REASON_TOO_MANY_SEARCHES,
        f"{rule}; come back when some have ended",
        retry_seconds=NO_MEMORY_RETRY_SECONDS,
        quota=("server", rule),
    )


class SearchPool:
    """The searches of one kind: as many at a time as their threads allow, shared out fairly.

    `service/searching/fair_queue.py` says which of them run, and when one is paused for another. A
    paused search keeps its thread, which sleeps. It ends when its time is up, as any other.
    """

    def __init__(
        self,
        kind: str,
        threads: int,
        metrics: Metrics,
        quotas: Quotas = Quotas(),  # noqa: B008
        max_seconds: float = 0.0,
        parameters: Parameters | None = None,
        leaves: float = 0.0,
    ) -> None:
        """`kind` is what metrics call them. No search lasts longer than `max_seconds` (0: any).

        They leave a share of the memory to the searches of other pools.
        """
        self._leaves = leaves
        self._kind = kind
        self._threads = threads
        self._quotas = quotas
        self._max_seconds = max_seconds
        self._parameters = parameters or Parameters()
        self._queue = FairQueue(threads, quotas.running)
        self._jobs: dict[Place, SearchJob] = {}
        self._metrics = metrics
        self._mean_seconds = 1.0
        self._recheck: asyncio.TimerHandle | None = None
        self._shutting_down = False
        self._running = Threads(f"search-{kind}", 2 * self._queue.max_threads, _lower_priority)
        metrics.search_threads.labels(kind).set(threads)
        self._report()

    @contextmanager
    def search(
        self,
        limits: Limits,
        work: Callable[[SearchJob], T],
        owner: Hashable = ANYBODY,
        rank: int = 0,
        charge: Callable[[float], object] = lambda seconds: None,
        game: str = "",
    ) -> "Iterator[asyncio.Future[T]]":
        """Has `work` done in a thread of the pool when it is its turn; with its outcome.

        The `owner` pays for it; searches of a lower `rank` go first. Raises Refusal if too many
        searches wait; the outcome is one if the server shuts down before the turn comes. When the
        block ends before the work, the job is abandoned, and the work is not waited for. When it
        has ended, `charge` is called with the thread-seconds that it took. The metrics count it
        under the id of its `game`.
        """
        limits = self._within(limits)
        if self._shutting_down:
            raise shutting_down()
        self._check_quotas(owner, rank)
        job = SearchJob(limits, self._parameters, work, charge, game)
        admit = partial(job.admit, self._ask(limits, rank))
        place = Place(owner, limits.threads, limits.expected_seconds, rank, admit)
        self._jobs[place] = job
        outcome = job.outcome = asyncio.get_running_loop().create_future()
        if self._queue.add(place):
            self._schedule()
        else:
            self._report()
            self._recheck_later()
        try:
            yield outcome
        finally:
            if place in self._jobs:
                if not job.started:
                    self._leave(place)
                job.abandon()
            if not outcome.cancel() and not outcome.cancelled():
                outcome.exception()  # Known, also if nobody has come to ask for it.
            if job.started and tracing.is_on():
                tracing.add_search(self._kind, game, job.arrived, job.began, job.iterations)

    def has_room(self, limits: Limits, rank: int) -> bool:
        """Whether a search would have the memory to begin now."""
        return self._queue.unmet is None and self._ask(self._within(limits), rank).fits()

    def _within(self, limits: Limits) -> Limits:
        limits = limits._replace(threads=min(limits.threads, self._threads))
        if self._max_seconds:
            limits = limits._replace(seconds=min(limits.seconds or math.inf, self._max_seconds))
        return limits

    def _ask(self, limits: Limits, rank: int) -> Ask:
        first = rank == 0 and limits.expected_seconds <= SHORT.max_seconds
        room = LONG.room(self._threads, True)
        return Ask.of(limits.threads, limits.iterations, room, self._leaves if first else None)

    def end_searches(self) -> None:
        """Stops all searches: what they have found is the answer. Refuses those in the queue."""
        self._shutting_down = True
        if self._recheck is not None:
            self._recheck.cancel()
        for place, job in list(self._jobs.items()):
            if job.started:
                job.shutting_down = True
                job.stop.set()
                continue
            del self._jobs[place]
            self._queue.remove(place, time.monotonic())
            if not job.outcome.done():
                job.outcome.set_exception(shutting_down())
        self._report()

    def close(self) -> None:
        """Stops all searches, whose answers nobody waits for."""
        self.end_searches()
        for job in self._jobs.values():
            job.abandon()
        self._running.close(CLOSE_SECONDS)

    def _check_quotas(self, owner: Hashable, rank: int) -> None:
        quotas, waiting = self._quotas, self._queue.waiting_of(owner, rank)
        if quotas.waiting is not None and waiting >= quotas.waiting:
            raise self._too_many("caller", quotas.waiting, waiting)
        waiting = self._queue.waiting
        if quotas.all_waiting is not None and waiting >= quotas.all_waiting:
            raise self._too_many("server", quotas.all_waiting, waiting)

    def _too_many(self, whose: str, limit: int, waiting: int) -> Refusal:
        self._metrics.searches_refused.labels(self._kind, whose).inc()
        limited = "of one caller" if whose == "caller" else "of all callers together"
        rule = f"at most {limit} searches {limited} may wait at a time"
        seconds = 1 + self._mean_seconds * waiting / self._threads
        return Refusal(
            ErrorReason.ERROR_REASON_TOO_MANY_SEARCHES,
            f"{rule}; come back when some have ended",
            retry_seconds=min(seconds, MAX_RETRY_SECONDS),
            quota=(whose, rule),
        )

    def _leave(self, place: Place) -> None:
        # A search that waits goes. It may have held up others of its owner, for want of threads.
        del self._jobs[place]
        self._queue.remove(place, time.monotonic())
        if self._queue.free:
            self._schedule()
        else:
            self._report()

    def _schedule(self) -> None:
        if self._shutting_down:
            return
        changes = self._queue.schedule(time.monotonic())
        self._make_room()
        for place in changes.pause:
            self._jobs[place].pause()
        for place in changes.go_on:
            job = self._jobs[place]
            if job.started:
                job.resume()
            else:
                self._start(place, job)
        self._report()
        if self._recheck is not None:
            self._recheck.cancel()
            self._recheck = None
        self._recheck_later()

    def _make_room(self) -> None:
        # If a search of the lowest rank waits for memory, one that cannot grow ends for it.
        jobs = self._jobs.values()
        if self._queue.unmet != 0 or any(job.gave_way for job in jobs):
            return
        for job in jobs:
            if job.give_way():
                return

    def _recheck_later(self) -> None:
        at = self._queue.next_change()
        if at is not None and self._recheck is None:
            delay = max(at - time.monotonic(), MIN_RECHECK_SECONDS)
            self._recheck = asyncio.get_running_loop().call_later(delay, self._schedule)

    def _start(self, place: Place, job: SearchJob) -> None:
        job.begin()
        self._metrics.search_waits.labels(self._kind, job.game).observe(job.queue_seconds)
        done = self._running.do(job.run)
        self._metrics.tasks.finish("search", self._end, place, job, done)

    async def _end(self, place: Place, job: SearchJob, done: "asyncio.Future[Any]") -> bool:
        await asyncio.wait([done])
        now = time.monotonic()
        del self._jobs[place]
        if not done.cancelled() and (error := done.exception()) is not None:
            traceback.clear_frames(error.__traceback__)  # They hold the search.
        job.release()
        if job.limits.expected_seconds > SHORT.max_seconds:
            give_back_soon()
        seconds = self._queue.remove(place, now, job.thread_seconds)
        # First whoever waits for it, then the others.
        self._tell(job, now, done)
        self._metrics.tasks.attempt("search", job.charge, seconds)
        self._schedule()
        return True

    def _tell(self, job: SearchJob, now: float, done: "asyncio.Future[Any]") -> None:
        if done.cancelled():
            job.outcome.cancel()
            return
        error = done.exception()
        if job.outcome.done():
            return
        if error is not None:
            job.outcome.set_exception(told(error))
            if not isinstance(error, Refusal):
                self._metrics.tasks.failed("search", error)
            return
        job.outcome.set_result(done.result())
        seconds = now - job.began
        self._mean_seconds += (seconds - self._mean_seconds) / 8
        self._metrics.search(self._kind, job.game, job.iterations, seconds)

    def _report(self) -> None:
        queue = self._queue
        self._metrics.pool(self._kind, queue.running, queue.paused, queue.waiting)


def _lower_priority() -> None:
    # On Linux a thread has a priority of its own, and threads that it starts inherit it. Where
    # others keep all processors busy, as tests beside each other do, searches would never end.
    if sys.platform == "linux" and os.environ.get("SEARCH_PRIORITY") != "normal":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, LOWEST_PRIORITY)
        # Lower than the lowest priority: any other thread that wakes need not wait for the end of a
        # time slice of a search. A sandbox may not allow it.
        with suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
