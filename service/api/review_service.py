"""ReviewService: what was good and what was luck in a match that is over."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from functools import partial

from croupier.v1 import match_pb2, review_pb2, review_pb2_grpc
from croupier.v1.error_pb2 import ErrorReason
from engine.model import learned
from service.admission.admission import Admission
from service.admission.budgets import Budget
from service.api.authentication import Authenticator
from service.common.call import Call
from service.common.errors import Refusal, invalid_field
from service.common.event_loop import LongWork
from service.hosting.matches import Matches
from service.hosting.records import RecordError, digest
from service.reviewing.reviews import Kept, Options, Reviewer
from service.reviewing.steps import Steps, reading_steps
from service.searching.options import Models
from service.searching.searches import Searches
from service.searching.tasks import Kind, Requester
from service.wire.fields import read_mask

ITERATIONS = 10_000
DEEP_ITERATIONS = 30_000
MIN_ITERATIONS = 100
DEEPEN_ABOVE = 0.03
RANK = 1  # Of its searches: after those for hints.
MAX_REVIEWS = 32  # At a time: each keeps all positions of its match, which are some megabytes.
RETRY_SECONDS = 5.0


class ReviewService(review_pb2_grpc.ReviewServiceServicer):
    """Reviews a hosted match, or a record that is sent."""

    def __init__(
        self,
        matches: Matches,
        searches: Searches,
        admission: Admission,
        authenticator: Authenticator,
        models: Models = learned,
        long_work: LongWork | None = None,
    ) -> None:
        self._matches = matches
        self._searches = searches
        self._admission = admission
        self._authenticator = authenticator
        self._models = models
        self._long_work = long_work or LongWork()
        self._kept = Kept()
        self._running = 0

    async def ReviewMatch(
        self, request: review_pb2.ReviewMatchRequest, call: Call
    ) -> AsyncIterator[review_pb2.ReviewMatchResponse]:
        fields = read_mask(request.read_mask, review_pb2.ReviewMatchResponse)
        for field in ("iterations", "deep_iterations"):
            if 0 < getattr(request, field) < MIN_ITERATIONS:
                rule = f"must be 0 or at least {MIN_ITERATIONS}"
                raise invalid_field(field, "TOO_FEW_ITERATIONS", rule)
        with self._admission.hold(call, Budget.REVIEWS), self._place():
            async with aclosing(self._reports(request, call)) as reports:
                async for report in reports:
                    fields.prune(report)
                    yield report

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._running >= MAX_REVIEWS:
            rule = f"at most {MAX_REVIEWS} reviews of all callers together at a time"
            raise Refusal(
                ErrorReason.ERROR_REASON_TOO_MANY_SEARCHES,
                f"{rule}; come back when one has ended",
                retry_seconds=RETRY_SECONDS,
                quota=("server", rule),
            )
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    async def _reports(
        self, request: review_pb2.ReviewMatchRequest, call: Call
    ) -> AsyncGenerator[review_pb2.ReviewMatchResponse, None]:
        record = await self._read_record(request, call)
        steps = await self._read_steps(record)
        identity = digest(record)
        reviewer = Reviewer(
            steps,
            identity,
            read_options(request, identity),
            self._searches,
            Requester(Kind.HINT, call.principal, RANK),
            self._models(steps.state.game),
            self._kept,
            partial(self._admission.wait_for, call, Budget.SEARCH_SECONDS),
            partial(self._admission.charge, call, Budget.SEARCH_SECONDS),
        )

        def priced(
            report: review_pb2.ReviewMatchResponse,
        ) -> review_pb2.ReviewMatchResponse:
            left = report.progress.remaining_search_time.ToNanoseconds() / 1e9
            share = self._admission.share(call, Budget.SEARCH_SECONDS, left)
            report.progress.budget_share = share
            return report

        yield priced(reviewer.plan())
        if request.validate_only:
            return
        self._admission.spend(call, Budget.SEARCH_RATE)
        with self._admission.hold(call, Budget.SEARCHES):
            async with aclosing(reviewer.reports()) as reports:
                async for report in reports:
                    yield priced(report)

    async def _read_record(
        self, request: review_pb2.ReviewMatchRequest, call: Call
    ) -> match_pb2.MatchRecord:
        if request.WhichOneof("source") == "record":
            self._admission.check_restriction(call, "hint_without_match")
            return request.record
        _, state = await self._authenticator.enter(call, request.match_name)
        if not state.over:
            raise Refusal(
                ErrorReason.ERROR_REASON_MATCH_NOT_OVER,
                "a review shows hidden cards: it is for matches that are over",
            )
        return match_pb2.MatchRecord.FromString(await self._matches.record(state))

    async def _read_steps(self, record: match_pb2.MatchRecord) -> Steps:
        try:
            return await self._long_work.finish(reading_steps(record))
        except RecordError as error:
            field = f"record.{error.field}" if error.field else "record"
            raise invalid_field(field, "NOT_A_RECORD", str(error)) from None


def read_options(request: review_pb2.ReviewMatchRequest, digest: bytes) -> Options:
    """How to review, with the defaults; `digest` is that of the record."""
    return Options(
        iterations=request.iterations or ITERATIONS,
        deep_iterations=request.deep_iterations or DEEP_ITERATIONS,
        deepen_above=request.deepen_above if request.HasField("deepen_above") else DEEPEN_ABOVE,
        seats=frozenset(request.seats or (0, 1)),
        seed=request.seed if request.HasField("seed") else int.from_bytes(digest[:8], "big"),
    )
