"""Searches in the threads of this process."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Mapping

from croupier.v1 import hint_pb2
from service.searching.hints import Report, answer
from service.searching.pool import SearchJob, SearchPool
from service.searching.tasks import Kind, SearchTask

LAST_SECONDS = 0.03  # Before a deadline: then the newest report is the final one.


class OwnThreads:
    """Searches in the pools of this process, one for each kind."""

    def __init__(self, pools: Mapping[Kind, SearchPool]) -> None:
        self._pools = pools

    async def reports(self, task: SearchTask) -> AsyncGenerator[tuple[Report, bool], None]:
        """The reports of a search, and whether each is final, which the last one is.

        Only the newest report is kept, so that a slow reader costs no memory. Raises Refusal.
        """
        loop = asyncio.get_running_loop()
        newest: Report | None = None
        news = asyncio.Event()
        # A partial report is worth its time only if somebody wants it, or if the final one may come
        # too late.
        every = task.every
        if not every and task.deadline < math.inf:
            every = (task.deadline - time.monotonic()) / 2

        def set_newest(report: Report) -> None:
            nonlocal newest
            newest = report
            news.set()

        def tell(report: Report) -> None:
            loop.call_soon_threadsafe(set_newest, report)

        def work(job: SearchJob) -> Report:
            return answer(task.check(), job, task.deadline, every, tell if every > 0 else None)

        pool = self._pools[task.asker.kind]
        running = asyncio.create_task(
            pool.run(task.limits, work, task.asker.owner, task.asker.rank, task.charge, task.game)
        )
        running.add_done_callback(lambda _: news.set())
        try:
            while not running.done():
                left = task.deadline - LAST_SECONDS - time.monotonic()
                try:
                    async with asyncio.timeout(left if left < math.inf else None):
                        await news.wait()
                except TimeoutError:
                    if newest is None:
                        # There is nothing to say: the call ends by its deadline.
                        await running
                    break
                news.clear()
                if task.every and not running.done() and newest is not None:
                    yield newest, False
            if running.done():
                yield await running, True
            elif newest is not None:
                # The search has got no processor in time.
                newest.hint.stop_reason = hint_pb2.STOP_REASON_DEADLINE
                yield newest, True
        finally:
            running.cancel()

    def end_searches(self, kind: Kind) -> None:
        """Stops searches of a kind: what they have found is the answer. Refuses waiting ones."""
        self._pools[kind].end_searches()

    def close(self) -> None:
        """Stops all searches, whose answers nobody waits for."""
        for pool in self._pools.values():
            pool.close()
