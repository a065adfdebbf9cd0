"""HintService: from what a seat knows to what it should play."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from contextvars import copy_context

from croupier.v1 import hint_pb2, hint_pb2_grpc
from service.admission.admission import Admission
from service.admission.budgets import Budget
from service.admission.principals import current_principal
from service.api.authentication import Authenticator
from service.api.calls import Context
from service.api.hint_requests import (
    AskedPosition,
    check_search,
    hosted_position,
    read_limits,
    sent_position,
)
from service.searching.hints import Report, answer
from service.searching.pool import Limits, SearchJob, SearchPool

SUGGESTION = Limits(seconds=1.0)
ANALYSIS = Limits(seconds=10.0)
REPORT_SECONDS = 0.2
LAST_SECONDS = 0.03  # Before a deadline: then the newest report is sent as the final one.


class HintService(hint_pb2_grpc.HintServiceServicer):
    """Searches the position of a hosted match, or of a view that is sent."""

    def __init__(
        self, authenticator: Authenticator, pool: SearchPool, admission: Admission
    ) -> None:
        self._admission = admission
        self._authenticator = authenticator
        self._pool = pool

    async def SuggestAction(
        self, request: hint_pb2.SuggestActionRequest, context: Context
    ) -> hint_pb2.SuggestActionResponse:
        deadline = _deadline(context)
        asked = await self._asked_position(request.search, context)
        limits = read_limits(request.search, SUGGESTION)
        # A partial report is worth its time only if the final one may come too late.
        every = (deadline - time.monotonic()) / 2
        async with aclosing(
            self._reports(request.search, asked, limits, deadline, every)
        ) as reports:
            async for report, final in reports:
                if final:
                    return hint_pb2.SuggestActionResponse(**report._asdict())
        raise AssertionError("the last report is final")

    async def AnalyzePosition(
        self, request: hint_pb2.AnalyzePositionRequest, context: Context
    ) -> AsyncIterator[hint_pb2.AnalyzePositionResponse]:
        deadline = _deadline(context)
        asked = await self._asked_position(request.search, context)
        limits = read_limits(request.search, ANALYSIS)
        every = request.report_interval.ToNanoseconds() / 1e9 or REPORT_SECONDS
        async with aclosing(
            self._reports(request.search, asked, limits, deadline, every)
        ) as reports:
            async for report, final in reports:
                yield hint_pb2.AnalyzePositionResponse(**report._asdict(), final_report=final)

    async def _asked_position(self, search: hint_pb2.Search, context: Context) -> AskedPosition:
        if search.WhichOneof("position") == "match_name":
            return hosted_position(*await self._authenticator.enter(context, search.match_name))
        self._admission.check_restriction("hint_without_match")
        return sent_position(search.view)

    async def _reports(
        self,
        search: hint_pb2.Search,
        asked: AskedPosition,
        limits: Limits,
        deadline: float,
        every: float,
    ) -> AsyncGenerator[tuple[Report, bool], None]:
        """Reports of a search, and whether each is final; the last one is.

        Only the newest report is kept, so that a slow reader costs no memory.
        """
        loop = asyncio.get_running_loop()
        newest: Report | None = None
        news = asyncio.Event()

        def set_newest(report: Report) -> None:
            nonlocal newest
            newest = report
            news.set()

        def work(job: SearchJob) -> Report:
            checked = check_search(search, asked)
            return answer(
                checked,
                job,
                deadline,
                every,
                lambda report: loop.call_soon_threadsafe(set_newest, report),
            )

        self._admission.check(Budget.SEARCH_SECONDS)
        self._admission.spend(Budget.SEARCH_RATE)
        context = copy_context()  # The search may end after its call.

        def charge(seconds: float) -> None:
            context.run(self._admission.charge, Budget.SEARCH_SECONDS, seconds)

        owner = current_principal.get()
        with self._admission.hold(Budget.SEARCHES):
            running = asyncio.create_task(self._pool.run(limits, work, owner, charge=charge))
            running.add_done_callback(lambda _: news.set())
            try:
                while not running.done():
                    left = deadline - LAST_SECONDS - time.monotonic()
                    try:
                        async with asyncio.timeout(left if left < math.inf else None):
                            await news.wait()
                    except TimeoutError:
                        if newest is None:
                            # There is nothing to say: the call ends by its deadline.
                            await running
                        break
                    news.clear()
                    if not running.done() and newest is not None:
                        yield newest, False
                if running.done():
                    yield await running, True
                elif newest is not None:
                    # The search has got no processor in time.
                    newest.hint.stop_reason = hint_pb2.StopReason.STOP_REASON_DEADLINE
                    yield newest, True
            finally:
                running.cancel()


def _deadline(context: Context) -> float:
    # By the monotonic clock; infinite for none.
    left = context.time_remaining()
    return math.inf if left is None else time.monotonic() + left
