"""The search pools: threads that search beside the calls, a few at a time, at low priority."""

import asyncio
import heapq
import itertools
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple, TypeVar

from ai.results import Parameters, Result
from ai.search import Search
from ai.worker import Stop
from croupier.v1.error_pb2 import ErrorReason
from engine.game import SeatView
from engine.sampler import Sampler
from service.errors import Refusal, shutting_down
from service.metrics import Metrics

LOWEST_PRIORITY = 19

T = TypeVar("T")


class Limits(NamedTuple):
    """The limits of a search, which ends at the first that it reaches; 0 for no limit."""

    iterations: int = 0
    seconds: float = 0.0
    threads: int = 1
    nodes: int = 0

    @property
    def cost(self) -> float:
        """The seconds that it may take, roughly: an iteration takes about 10 microseconds."""
        return min(1e-5 * self.iterations or math.inf, self.seconds or math.inf)


class SearchJob:
    """One turn of a search: what it may use, and whether it must stop."""

    def __init__(self, limits: Limits, parameters: Parameters) -> None:
        self.limits = limits
        self.began = time.monotonic()
        self.stop = Stop()
        self.shutting_down = False  # Whether it ends early, with what it has found.
        self.abandoned = False  # Whether nobody waits for an answer any more.
        self._parameters = parameters
        self._search: Search | None = None

    def search(
        self,
        view: SeatView,
        seed: int,
        sampler: Sampler | None = None,
        root_actions: Sequence[int] | None = None,
    ) -> Search:
        """Creates the search of this turn, to be run by the caller.

        `sampler` spares making one of the view. `only` are the legal actions to choose from.
        """
        self._search = Search(
            view,
            threads=self.limits.threads,
            seed=seed,
            parameters=self._parameters,
            max_iterations=self.limits.iterations,
            max_nodes=self.limits.nodes,
            sampler=sampler,
            root_actions=root_actions,
        )
        return self._search

    def abandon(self) -> None:
        """Stops the search: nobody waits for its answer."""
        self.abandoned = True
        self.stop.set()

    @property
    def iterations(self) -> int:
        """The iterations that the search has done."""
        return self._search.iterations if self._search else 0


class SearchPool:
    """The searches of one kind: as many at a time as their threads allow, the others in a queue.

    The cheapest search goes first, so that a few costly matches hold up only themselves.
    """

    def __init__(
        self,
        kind: str,
        threads: int,
        metrics: Metrics,
        max_waiting: int | None = None,
        parameters: Parameters | None = None,
    ) -> None:
        """`kind` is what metrics call them. Without `max_waiting` the queue has no limit."""
        self._kind = kind
        self._threads = threads
        self._free = threads
        self._max_waiting = max_waiting
        self._parameters = parameters or Parameters()
        # A heap by cost and order of arrival.
        self._waiting: list[tuple[float, int, int, asyncio.Future[None]]] = []
        self._arrivals = itertools.count()
        self._running: set[SearchJob] = set()
        self._metrics = metrics
        self._mean_seconds = 1.0
        self._shutting_down = False
        self._pool = ThreadPoolExecutor(
            threads, thread_name_prefix=f"search-{kind}", initializer=_lower_priority
        )
        self._report()

    async def search(
        self,
        view: SeatView,
        limits: Limits,
        seed: int,
        prepare: Callable[[], object] = lambda: None,
    ) -> tuple[Result, float]:
        """Searches a view when it is its turn; returns the result and the seconds of the turn.

        `prepare` is called first, in the same thread. Otherwise as `run`.
        """
        began = time.perf_counter()

        def work(job: SearchJob) -> Result:
            nonlocal began
            began = time.perf_counter()
            prepare()
            search = job.search(view, seed)
            search.run(iterations=limits.iterations, seconds=limits.seconds, stop=job.stop)
            return search.result()

        result = await self.run(limits, work)
        return result, time.perf_counter() - began

    async def run(self, limits: Limits, work: Callable[[SearchJob], T]) -> T:
        """Runs `work` in a thread of the pool when it is its turn; returns or raises what it does.

        Raises Refusal if the queue is full, or if the server shuts down before the turn comes. When
        the caller is cancelled, the job is abandoned, and the work is not waited for.
        """
        limits = limits._replace(threads=min(limits.threads, self._threads))
        await self._take_threads(limits)
        job = SearchJob(limits, self._parameters)
        self._running.add(job)
        self._report()
        began = time.perf_counter()
        done = asyncio.get_running_loop().run_in_executor(self._pool, work, job)
        done.add_done_callback(lambda _: self._return_threads(job, limits.threads))
        try:
            answer = await asyncio.shield(done)
        except asyncio.CancelledError:
            job.abandon()
            raise
        seconds = time.perf_counter() - began
        self._mean_seconds += (seconds - self._mean_seconds) / 8
        self._metrics.search(self._kind, job.iterations, seconds)
        return answer

    def end_searches(self) -> None:
        """Stops all searches: what they have found is the answer. Refuses those in the queue."""
        self._shutting_down = True
        for job in self._running:
            job.shutting_down = True
            job.stop.set()
        for _, _, _, turn in self._waiting:
            if not turn.done():
                turn.set_exception(shutting_down())
        self._waiting.clear()
        self._report()

    def close(self) -> None:
        """Stops all searches."""
        for job in self._running:
            job.abandon()
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def _take_threads(self, limits: Limits) -> None:
        threads = limits.threads
        if self._shutting_down:
            raise shutting_down()
        if not self._waiting and self._free >= threads:
            self._free -= threads
            return
        if self._max_waiting is not None and len(self._waiting) >= self._max_waiting:
            raise Refusal(
                ErrorReason.ERROR_REASON_TOO_MANY_SEARCHES,
                f"{len(self._waiting)} searches are waiting already",
                retry_seconds=1 + self._mean_seconds * len(self._waiting) / self._threads,
            )
        turn = asyncio.get_running_loop().create_future()
        place = (limits.cost, next(self._arrivals), threads, turn)
        heapq.heappush(self._waiting, place)
        self._report()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # Its turn had come.
                self._free += threads
            elif place in self._waiting:
                self._waiting.remove(place)
                heapq.heapify(self._waiting)
            self._start_next()
            raise

    def _return_threads(self, job: SearchJob, threads: int) -> None:
        self._running.discard(job)
        self._free += threads
        self._start_next()

    def _start_next(self) -> None:
        # The first in the queue is not overtaken, lest a search of many threads wait for ever.
        while self._waiting and self._free >= self._waiting[0][2]:
            _, _, threads, turn = heapq.heappop(self._waiting)
            if not turn.cancelled():
                self._free -= threads
                turn.set_result(None)
        self._report()

    def _report(self) -> None:
        self._metrics.pool(self._kind, len(self._running), len(self._waiting))


def _lower_priority() -> None:
    # On Linux a thread has a priority of its own, and threads that it starts inherit it.
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, LOWEST_PRIORITY)
        # Lower than the lowest priority: any other thread that wakes need not wait for the end of a
        # time slice of a search. A sandbox may not allow it.
        with suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
