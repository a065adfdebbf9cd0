"""Searches: at search servers if there are any, else in the threads of this process."""

import asyncio
import math
import time
from asyncio import FIRST_COMPLETED
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import TypeVar

from croupier.v1 import hint_pb2
from service.common.tasks import TaskFailedError, Tasks
from service.searching.hints import answer
from service.searching.pool import Limits, SearchJob, SearchPool, no_memory
from service.searching.search_servers import NoSearchServerError, SearchServers
from service.searching.tasks import Kind, Report, Requester, SearchTask

T = TypeVar("T")

LAST_SECONDS = 0.03  # Before a deadline: then the newest report is the final one.


class OwnThreads:
    """Searches in the pools of this process, one for each kind."""

    def __init__(self, pools: Mapping[Kind, SearchPool], tasks: Tasks) -> None:
        self._pools = pools
        self.tasks = tasks

    async def reports(self, task: SearchTask) -> AsyncGenerator[tuple[Report, bool], None]:
        """The reports of a search, and whether each is final, which the last one is.

        Only the newest report is kept, so that a slow reader costs no memory. Raises Refusal.
        """
        loop = asyncio.get_running_loop()
        newest: Report | None = None
        news: asyncio.Future[None] = loop.create_future()
        # A partial report is worth its time only if somebody wants it, or if the final one may come
        # too late.
        every = task.every
        if not every and task.deadline < math.inf:
            every = (task.deadline - time.monotonic()) / 2

        def set_newest(report: Report) -> None:
            nonlocal newest
            newest = report
            if not news.done():
                news.set_result(None)

        def tell(report: Report) -> None:
            loop.call_soon_threadsafe(set_newest, report)

        def work(job: SearchJob) -> Report:
            return answer(task, job, every, tell if every > 0 else None)

        pool, (_, owner, rank) = self._pools[task.requester.kind], task.requester
        with pool.search(task.limits, work, owner, rank, task.charge, task.view.game.id) as end:
            while not end.done():
                left = task.deadline - LAST_SECONDS - time.monotonic()
                until = left if left < math.inf else None
                told, _ = await asyncio.wait(
                    (end, news), timeout=until, return_when=FIRST_COMPLETED
                )
                if not told:
                    if newest is None:
                        # There is nothing to say: the call ends by its deadline.
                        await end
                    break
                if news.done():
                    news = loop.create_future()
                if task.every and not end.done() and newest is not None:
                    yield newest, False
            if end.done():
                newest = end.result()
            else:
                # The search has got no processor in time.
                assert newest is not None
                newest.hint.stop_reason = hint_pb2.STOP_REASON_DEADLINE
        yield newest, True

    def has_room(self, task: SearchTask) -> bool:
        """Whether there is the memory to begin a search now."""
        pool = self._pools[task.requester.kind]
        return pool.has_room(task.limits, task.requester.rank)

    async def compute(
        self,
        requester: Requester,
        limits: Limits,
        work: Callable[[SearchJob], T],
        charge: Callable[[float], object],
        game: str,
    ) -> T:
        """Does `work` as if it were a search, in a thread of a pool; raises Refusal."""
        pool, (_, owner, rank) = self._pools[requester.kind], requester
        with pool.search(limits, work, owner, rank, charge, game) as outcome:
            return await outcome

    def end_searches(self, kind: Kind) -> None:
        """Stops searches of a kind: what they have found is the answer. Refuses waiting ones."""
        self._pools[kind].end_searches()

    def close(self) -> None:
        """Stops all searches, whose answers nobody waits for."""
        for pool in self._pools.values():
            pool.close()


class Searches:
    """Where a server has its searches done."""

    def __init__(self, threads: OwnThreads, servers: SearchServers | None = None) -> None:
        """The own threads search where no search server answers, as far as they have memory."""
        self._threads = threads
        self._servers = servers
        self.compute = threads.compute  # Search servers only search.

    async def reports(self, task: SearchTask) -> AsyncGenerator[tuple[Report, bool], None]:
        """The reports of a search, and whether each is final, which the last one is.

        Without `task.every`, there is only the final one. Raises Refusal.
        """
        if self._servers is not None:
            try:
                sent = self._servers.reports(task)
                newest = _newest(sent, self._threads.tasks) if task.every else sent
                async with aclosing(newest) as reports:
                    async for report, final in reports:
                        yield report, final
                return
            except NoSearchServerError:
                # Bots wait until there is room: nobody would ask again for them.
                if task.requester.kind is Kind.HINT and not self._threads.has_room(task):
                    raise no_memory() from None
        async with aclosing(self._threads.reports(task)) as reports:
            async for report, final in reports:
                yield report, final

    async def report(self, task: SearchTask) -> Report:
        """The final report of a search; raises Refusal."""
        async with aclosing(self.reports(task)) as reports:
            async for report, final in reports:
                if final:
                    return report
        raise AssertionError("the last report is final")


async def _newest(
    reports: AsyncGenerator[tuple[Report, bool], None], tasks: Tasks
) -> AsyncGenerator[tuple[Report, bool], None]:
    # The newest of the reports whenever one is asked for, so that a slow reader gets no old ones.
    newest: tuple[Report, bool] | None = None
    unanswered: NoSearchServerError | None = None
    news = asyncio.Event()

    async def read() -> bool:
        nonlocal newest, unanswered
        try:
            async with aclosing(reports):
                async for report in reports:
                    newest = report
                    news.set()
        except NoSearchServerError as error:
            unanswered = error
        finally:
            news.set()
        return True

    reading = tasks.spawn("reports", read)
    try:
        while True:
            await news.wait()
            news.clear()
            if newest is not None:
                told, newest = newest, None
                yield told
            if reading.done() and newest is None:
                if not reading.result():  # Raises what reading has raised.
                    raise TaskFailedError("reports")
                if unanswered is not None:
                    raise unanswered
                return
    finally:
        reading.cancel()
