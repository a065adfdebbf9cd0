"""Searches beside the calls: a few at a time, at low priority, stopped when nobody waits."""

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
from service.errors import Refusal
from service.metrics import Metrics

LOWEST_PRIORITY = 19

T = TypeVar("T")


class Limits(NamedTuple):
    """When a search ends: at whichever limit is reached first; 0 for none."""

    iterations: int = 0
    seconds: float = 0.0
    threads: int = 1
    nodes: int = 0

    @property
    def cost(self) -> float:
        """Seconds that it may take, roughly: an iteration takes about 10 microseconds."""
        return min(1e-5 * self.iterations or math.inf, self.seconds or math.inf)


class SearchJob:
    """What a search may use while it is its turn."""

    def __init__(self, limits: Limits, parameters: Parameters) -> None:
        self.limits = limits
        self.stop = Stop()
        self.followed = False  # By a caller who is told what was found when it is stopped.
        self.abandoned = False  # Nobody waits for an answer any more.
        self._parameters = parameters
        self._search: Search | None = None

    def search(
        self,
        view: SeatView,
        seed: int,
        sampler: Sampler | None = None,
        root_actions: Sequence[int] | None = None,
    ) -> Search:
        """The search of this turn, not run yet."""
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
        """Stops it; nobody waits for an answer."""
        self.abandoned = True
        self.stop.set()

    @property
    def iterations(self) -> int:
        """The iterations done."""
        return self._search.iterations if self._search else 0


class SearchPool:
    """The searches of one kind: as many at a time as their threads allow, the others in a queue.

    Who asks for less goes first, so that a few costly matches hold up none but themselves.
    """

    def __init__(
        self,
        kind: str,
        threads: int,
        metrics: Metrics,
        max_waiting: int | None = None,
        parameters: Parameters | None = None,
    ) -> None:
        """Without `max_waiting` the queue is as long as it must be."""
        self._kind = kind
        self._threads = threads
        self._free = threads
        self._most_waiting = max_waiting
        self._parameters = parameters or Parameters()
        # A heap by cost and order of arrival.
        self._waiting: list[tuple[float, int, int, asyncio.Future[None]]] = []
        self._arrivals = itertools.count()
        self._running: set[SearchJob] = set()
        self._metrics = metrics
        self._mean_seconds = 1.0
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
        """Searches when it is its turn; the result, and the seconds that it took from then on.

        `prepare` runs first, beside the calls too. Else as `run`.
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

    async def run(self, limits: Limits, work: Callable[["SearchJob"], T]) -> T:
        """Runs `work` beside the calls when it is its turn; what it returns, or raises, comes out.

        Raises Refusal if the queue is full. When the caller is cancelled, what the turn watches is
        stopped, and the work is not waited for.
        """
        limits = limits._replace(threads=min(limits.threads, self._threads))
        await self._take(limits)
        job = SearchJob(limits, self._parameters)
        self._running.add(job)
        self._report()
        began = time.perf_counter()
        done = asyncio.get_running_loop().run_in_executor(self._pool, work, job)
        done.add_done_callback(lambda _: self._give_back(job, limits.threads))
        try:
            answer = await asyncio.shield(done)
        except asyncio.CancelledError:
            job.abandon()
            raise
        seconds = time.perf_counter() - began
        self._mean_seconds += (seconds - self._mean_seconds) / 8
        self._metrics.search(self._kind, job.iterations, seconds)
        return answer

    def end_streams(self) -> None:
        """Stops the searches whose callers follow them: what they have found is their answer."""
        for job in self._running:
            if job.followed:
                job.stop.set()

    def close(self) -> None:
        """Stops all searches."""
        for job in self._running:
            job.abandon()
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def _take(self, limits: Limits) -> None:
        threads = limits.threads
        if not self._waiting and self._free >= threads:
            self._free -= threads
            return
        if self._most_waiting is not None and len(self._waiting) >= self._most_waiting:
            raise Refusal(
                ErrorReason.ERROR_REASON_TOO_MANY_SEARCHES,
                f"{len(self._waiting)} searches are waiting already",
                retry_seconds=1 + self._mean_seconds * len(self._waiting) / self._threads,
            )
        job = asyncio.get_running_loop().create_future()
        place = (limits.cost, next(self._arrivals), threads, job)
        heapq.heappush(self._waiting, place)
        self._report()
        try:
            await job
        except asyncio.CancelledError:
            if not job.cancelled():  # Its turn had come.
                self._free += threads
            elif place in self._waiting:
                self._waiting.remove(place)
                heapq.heapify(self._waiting)
            self._next()
            raise

    def _give_back(self, job: SearchJob, threads: int) -> None:
        self._running.discard(job)
        self._free += threads
        self._next()

    def _next(self) -> None:
        # The first is not overtaken, lest a search of many threads wait for ever.
        while self._waiting and self._free >= self._waiting[0][2]:
            _, _, threads, job = heapq.heappop(self._waiting)
            if not job.cancelled():
                self._free -= threads
                job.set_result(None)
        self._report()

    def _report(self) -> None:
        self._metrics.pool(self._kind, len(self._running), len(self._waiting))


def _lower_priority() -> None:
    # On Linux a thread has a priority of its own, and threads that it starts inherit it.
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, LOWEST_PRIORITY)
        # More than the lowest priority: who wakes need not wait for the end of a time slice. A
        # sandbox may not know of it.
        with suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
