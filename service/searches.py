"""Searches beside the calls: a few at a time, at low priority, stopped when nobody waits."""

import asyncio
import heapq
import itertools
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ai.search import Parameters, Result, Stop, search
from croupier.v1.error_pb2 import ErrorReason
from engine.game import Sampler, SeatView
from service.errors import Refusal
from service.metrics import Metrics

LOWEST_PRIORITY = 19


class Limits(NamedTuple):
    """When a search ends: at whichever limit is reached first; 0 for none."""

    iterations: int = 0
    seconds: float = 0.0
    threads: int = 1

    @property
    def cost(self) -> float:
        """Seconds that it may take, roughly: an iteration takes about 10 microseconds."""
        return min(1e-5 * self.iterations or math.inf, self.seconds or math.inf)


class Lane:
    """The searches of one kind: as many at a time as their threads allow, the others in a queue.

    Who asks for less goes first, so that a few costly matches hold up none but themselves.
    """

    def __init__(
        self,
        kind: str,
        threads: int,
        metrics: Metrics,
        most_waiting: int | None = None,
        parameters: Parameters | None = None,
    ) -> None:
        """Without `most_waiting` the queue is as long as it must be."""
        self._kind = kind
        self._threads = threads
        self._free = threads
        self._most_waiting = most_waiting
        self._parameters = parameters or Parameters()
        # A heap by cost and order of arrival.
        self._waiting: list[tuple[float, int, int, asyncio.Future[None]]] = []
        self._arrivals = itertools.count()
        self._running: set[Stop] = set()
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
        prepare: Callable[[], Sampler | None] = lambda: None,
    ) -> tuple[Result, float]:
        """Searches when it is its turn; the result, and the seconds that it took from then on.

        Raises Refusal if the queue is full. `prepare` runs first, beside the calls too, and may
        return the view's sampler; what it raises is raised here. When the caller is cancelled, so
        is the search.
        """
        limits = limits._replace(threads=min(limits.threads, self._threads))
        await self._take(limits)
        stop = Stop()
        self._running.add(stop)
        self._report()

        def work() -> Result:
            sampler = prepare()
            return search(
                view,
                **limits._asdict(),
                seed=seed,
                stop=stop,
                parameters=self._parameters,
                sampler=sampler,
            )

        began = time.perf_counter()
        done = asyncio.get_running_loop().run_in_executor(self._pool, work)
        done.add_done_callback(lambda _: self._give_back(stop, limits.threads))
        try:
            result = await asyncio.shield(done)
        except asyncio.CancelledError:
            stop.set()
            raise
        seconds = time.perf_counter() - began
        self._mean_seconds += (seconds - self._mean_seconds) / 8
        self._metrics.search(self._kind, result.iterations, seconds)
        return result, seconds

    def close(self) -> None:
        """Stops all searches."""
        for stop in self._running:
            stop.set()
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
            self._next()
            raise

    def _give_back(self, stop: Stop, threads: int) -> None:
        self._running.discard(stop)
        self._free += threads
        self._next()

    def _next(self) -> None:
        # The first is not overtaken, lest a search of many threads wait for ever.
        while self._waiting and self._free >= self._waiting[0][2]:
            _, _, threads, turn = heapq.heappop(self._waiting)
            if not turn.cancelled():
                self._free -= threads
                turn.set_result(None)
        self._report()

    def _report(self) -> None:
        self._metrics.lane(self._kind, len(self._running), len(self._waiting))


def _lower_priority() -> None:
    # On Linux a thread has a priority of its own, and threads that it starts inherit it.
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
