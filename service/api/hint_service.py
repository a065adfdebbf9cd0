"""HintService: from what a seat knows to what it should play."""

import math
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial

import wire
from croupier.v1 import game_pb2, hint_pb2, hint_pb2_grpc
from croupier.v1.error_pb2 import ErrorReason
from engine.game import SeatView
from engine.model import learned
from service.admission.admission import Admission
from service.admission.budgets import Budget
from service.api.authentication import Authenticator
from service.common.call import Call
from service.hosting.seats import check_seat
from service.hosting.views import serialize_position
from service.observability.metrics import Metrics
from service.searching.hints import SEARCH
from service.searching.options import HINT_ITERATIONS, name_opponent
from service.searching.pool import Limits
from service.searching.searches import Searches
from service.searching.tasks import Kind, Report, Requester, SearchTask
from wire.errors import Refusal
from wire.fields import read_mask

SUGGESTION = Limits(seconds=1.0)
ANALYSIS = Limits(seconds=10.0)
REPORT_SECONDS = 0.2


class HintService(hint_pb2_grpc.HintServiceServicer):
    """Searches the position of a hosted match, or of a view that is sent."""

    def __init__(
        self,
        searches: Searches,
        admission: Admission,
        metrics: Metrics,
        authenticator: Authenticator | None = None,
    ) -> None:
        """Without an authenticator it is that of a search server, whose callers name askers."""
        self._searches = searches
        self._admission = admission
        self._metrics = metrics
        self._authenticator = authenticator

    async def SuggestAction(
        self, request: hint_pb2.SuggestActionRequest, call: Call
    ) -> hint_pb2.SuggestActionResponse:
        began = time.monotonic()
        fields = read_mask(request.read_mask, hint_pb2.SuggestActionResponse)
        details = "hint" in fields and "actions" in fields["hint"]
        async with self._admitted(request.search, SUGGESTION, call, details=details) as task:
            response = await self._searches.report(task)
        assert isinstance(response, hint_pb2.SuggestActionResponse)
        delay = _delay(response, task.limits, time.monotonic() - began)
        self._metrics.hint_delays.observe(delay)
        fields.prune(response)
        return response

    async def AnalyzePosition(
        self, request: hint_pb2.AnalyzePositionRequest, call: Call
    ) -> AsyncIterator[hint_pb2.AnalyzePositionResponse]:
        every = request.report_interval.ToNanoseconds() / 1e9 or REPORT_SECONDS
        async with (
            self._admitted(request.search, ANALYSIS, call, every=every) as task,
            aclosing(self._searches.reports(task)) as reports,
        ):
            async for report, final in reports:
                assert isinstance(report, hint_pb2.AnalyzePositionResponse)
                report.final_report = final
                yield report

    @asynccontextmanager
    async def _admitted(
        self,
        search: hint_pb2.Search,
        default: Limits,
        call: Call,
        details: bool = True,
        every: float = 0.0,
    ) -> AsyncIterator[SearchTask]:
        # The task of a call, which uses the caller's budgets until the block ends.
        left = call.time_remaining()
        deadline = math.inf if left is None else time.monotonic() + left
        view, opponent = await self._read_view(search, call)
        self._admission.check(call, Budget.SEARCH_SECONDS)
        self._admission.spend(call, Budget.SEARCH_RATE)
        with self._admission.hold(call, Budget.SEARCHES):
            if opponent is not None:
                name_opponent(search.view, opponent)
            if not search.HasField("seed"):
                # Wherever it is searched, and however often it is begun, the search is the same.
                search.seed = secrets.randbits(64)
            task = SearchTask(
                Requester(Kind.HINT, call.principal),
                search,
                view,
                read_limits(search, default),
                learned(view.game),
                details,
                deadline,
                every,
                partial(self._admission.charge, call, Budget.SEARCH_SECONDS),
            )
            # A match server gives its callers the best answer, whatever they send. A search server
            # believes what its match servers send for their bots.
            yield task if self._authenticator else task.of_match_server(call.metadata)

    async def _read_view(self, search: hint_pb2.Search, call: Call) -> tuple[SeatView, int | None]:
        # The view to search, and the BotStrength of the opponent, or 0; None if the request says
        # who that is. In the request the view takes the place of the name of a match.
        if search.WhichOneof("position") != "match_name":
            self._admission.check_restriction(call, "hint_without_match")
            return read_sent_view(search.view), None
        if self._authenticator is None:
            raise Refusal(
                ErrorReason.ERROR_REASON_MATCH_NOT_FOUND,
                "a search server hosts no matches: send a view",
            )
        caller, state = await self._authenticator.enter(call, search.match_name)
        check_seat(caller)
        state.check_running()
        state.check_decides(caller.seat)
        if not state.allows_hints:
            raise Refusal(
                ErrorReason.ERROR_REASON_HINTS_NOT_ALLOWED,
                "this match allows no hints while it runs",
            )
        search.view.ParseFromString(serialize_position(state, caller.seat))
        return state.dealt().view(caller.seat), state.header.bots[1 - caller.seat]


def _delay(report: Report, limits: Limits, seconds: float) -> float:
    # How many of the seconds that a call took its search alone would not have taken. A limit of
    # time goes on during a pause, a limit of iterations does not.
    search = report.search_time.ToNanoseconds() / 1e9
    if not limits.seconds:
        search -= report.paused_time.ToNanoseconds() / 1e9
    return max(0.0, seconds - min(search, limits.seconds or math.inf))


def read_limits(search: hint_pb2.Search, default: Limits) -> Limits:
    """The limits of a search, whose fields the schema has checked."""
    if search.HasField("strength"):
        return Limits(HINT_ITERATIONS[search.strength])
    if not search.HasField("limits"):
        return default
    limits = search.limits
    return Limits(
        iterations=limits.iterations,
        seconds=limits.time.ToNanoseconds() / 1e9,
        threads=max(limits.threads, 1),
        nodes=limits.nodes,
    )


def read_sent_view(message: game_pb2.View) -> SeatView:
    """The view in the field `search.view` of a request; raises Refusal."""
    view = wire.read_view(message, f"{SEARCH}.view")
    if message.HasField("result"):
        raise Refusal(ErrorReason.ERROR_REASON_MATCH_OVER, "the match is over")
    if message.seat not in message.deciders:
        raise Refusal(
            ErrorReason.ERROR_REASON_NOT_TO_DECIDE,
            f"seat {message.seat} owes no decision in this view",
            fields=[
                (
                    f"{SEARCH}.view.deciders",
                    "NOT_TO_DECIDE",
                    f"must hold {message.seat}, the seat that asks",
                )
            ],
        )
    return view
