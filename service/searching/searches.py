"""Searches: at search servers if there are any, else in the threads of this process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from service.searching.hints import Report
from service.searching.own_threads import OwnThreads
from service.searching.search_servers import NoSearchServerError, SearchServers
from service.searching.tasks import SearchTask


class Searches:
    """Where a server has its searches done."""

    def __init__(self, threads: OwnThreads, servers: SearchServers | None = None) -> None:
        """The own threads search where no search server answers."""
        self._threads = threads
        self._servers = servers

    async def reports(self, task: SearchTask) -> AsyncGenerator[tuple[Report, bool], None]:
        """The reports of a search, and whether each is final, which the last one is.

        Without `task.every`, there is only the final one. Raises Refusal.
        """
        if self._servers is not None:
            try:
                sent = self._servers.reports(task)
                async with aclosing(_newest(sent) if task.every else sent) as reports:
                    async for report, final in reports:
                        yield report, final
                return
            except NoSearchServerError:
                pass
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
    reports: AsyncGenerator[tuple[Report, bool], None],
) -> AsyncGenerator[tuple[Report, bool], None]:
    # The newest of the reports whenever one is asked for, so that a slow reader gets no old ones.
    newest: tuple[Report, bool] | None = None
    news = asyncio.Event()

    async def read() -> None:
        nonlocal newest
        async with aclosing(reports):
            async for report in reports:
                newest = report
                news.set()

    reading = asyncio.create_task(read())
    reading.add_done_callback(lambda _: news.set())
    try:
        while True:
            await news.wait()
            news.clear()
            if newest is not None:
                told, newest = newest, None
                yield told
            if reading.done() and newest is None:
                reading.result()  # Raises what reading has raised.
                return
    finally:
        reading.cancel()
