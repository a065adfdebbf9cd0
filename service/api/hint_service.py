"""HintService: from what a seat knows to what it should play."""

import asyncio
import math
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from croupier.v1 import game_pb2, hint_pb2, hint_pb2_grpc
from croupier.v1.error_pb2 import ErrorReason
from service import wire
from service.api.authentication import Authenticator
from service.api.interceptor import Context
from service.errors import Refusal
from service.hosting.caller import check_seat
from service.hosting.matches import check_decides, check_running
from service.searching.bot_strengths import BOT_STRENGTHS
from service.searching.hints import HintRequest, Report
from service.searching.pool import Limits, SearchJob, SearchPool

SUGGESTION = Limits(seconds=1.0)
ANALYSIS = Limits(seconds=10.0)
REPORT_SECONDS = 0.2
LAST_SECONDS = 0.03  # Before a deadline: then what is known is sent.

Request = hint_pb2.SuggestActionRequest | hint_pb2.AnalyzePositionRequest


class HintService(hint_pb2_grpc.HintServiceServicer):
    """Searches for whoever asks."""

    def __init__(self, authenticator: Authenticator, pool: SearchPool) -> None:
        self._authenticator = authenticator
        self._pool = pool

    async def SuggestAction(
        self, request: hint_pb2.SuggestActionRequest, context: Context
    ) -> hint_pb2.SuggestActionResponse:
        hint_request = await self._read(request, context)
        limits = read_limits(request, SUGGESTION)
        # A report meanwhile is worth its time only if the final one may come too late.
        every = (hint_request.deadline - time.monotonic()) / 2
        async with aclosing(self._reports(hint_request, limits, every)) as reports:
            async for report, final in reports:
                if final:
                    return hint_pb2.SuggestActionResponse(**report._asdict())
        raise AssertionError("the last report is final")

    async def AnalyzePosition(
        self, request: hint_pb2.AnalyzePositionRequest, context: Context
    ) -> AsyncIterator[hint_pb2.AnalyzePositionResponse]:
        hint_request = await self._read(request, context)
        limits = read_limits(request, ANALYSIS)
        every = request.report_interval.ToNanoseconds() / 1e9 or REPORT_SECONDS
        async with aclosing(self._reports(hint_request, limits, every, followed=True)) as reports:
            async for report, final in reports:
                yield hint_pb2.AnalyzePositionResponse(**report._asdict(), final=final)

    async def _reports(
        self, hint_request: HintRequest, limits: Limits, every: float, followed: bool = False
    ) -> AsyncGenerator[tuple[Report, bool], None]:
        # What was found, and whether that is final. Only the newest is kept, so that a slow reader
        # costs no memory.
        loop = asyncio.get_running_loop()
        newest: Report | None = None
        news = asyncio.Event()

        def keep(report: Report) -> None:
            nonlocal newest
            newest = report
            news.set()

        def work(job: SearchJob) -> Report:
            job.followed = followed
            return hint_request.answer(
                job, every, lambda report: loop.call_soon_threadsafe(keep, report)
            )

        search = asyncio.create_task(self._pool.run(limits, work))
        search.add_done_callback(lambda _: news.set())
        try:
            while not search.done():
                left = hint_request.deadline - LAST_SECONDS - time.monotonic()
                try:
                    async with asyncio.timeout(left if left < math.inf else None):
                        await news.wait()
                except TimeoutError:
                    if newest is None:  # There is nothing to say: the call ends by its deadline.
                        await search
                    break
                news.clear()
                if not search.done() and newest is not None:
                    yield newest, False
            if search.done():
                yield await search, True
            elif newest is not None:
                # The search has got no processor in time.
                newest.hint.stop_reason = hint_pb2.StopReason.STOP_REASON_DEADLINE
                yield newest, True
        finally:
            search.cancel()

    async def _read(self, request: Request, context: Context) -> HintRequest:
        left = context.time_remaining()
        deadline = math.inf if left is None else time.monotonic() + left
        if request.WhichOneof("position") == "match":
            caller, state = await self._authenticator.enter(context, request.match)
            check_seat(caller)
            check_running(state)
            check_decides(state, caller.seat)
            view, version = state.match.view(caller.seat), state.version
            deciders = state.deciders
        else:
            view, version = wire.read_view(request.view, "view"), request.view.version
            deciders = tuple(request.view.deciders)
            check_sent_view(request.view)
        return HintRequest(
            view=view,
            version=version,
            deciders=deciders,
            seed=request.seed if request.HasField("seed") else secrets.randbits(64),
            include=tuple(request.include_actions),
            exclude=tuple(request.exclude_actions),
            belief_worlds=request.belief_worlds,
            deadline=deadline,
        )


def read_limits(request: Request, default: Limits) -> Limits:
    """The limits of a search, which the schema has checked."""
    if request.HasField("strength"):
        return Limits(BOT_STRENGTHS[request.strength].iterations)
    if not request.HasField("limits"):
        return default
    limits = request.limits
    return Limits(
        iterations=limits.iterations,
        seconds=limits.time.ToNanoseconds() / 1e9,
        threads=max(limits.threads, 1),
        nodes=limits.nodes,
    )


def check_sent_view(view: game_pb2.View) -> None:
    """Raises Refusal for a view whose seat has nothing to decide."""
    if view.HasField("result"):
        raise Refusal(ErrorReason.ERROR_REASON_MATCH_OVER, "the match is over")
    if view.seat not in view.deciders:
        raise Refusal(
            ErrorReason.ERROR_REASON_NOT_TO_DECIDE,
            f"seat {view.seat} owes no decision in this view",
            fields=[("view.deciders", f"must hold {view.seat}, the seat that asks")],
        )
