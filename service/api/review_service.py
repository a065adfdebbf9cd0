"""ReviewService: what happened in a match that is over, what was good in it, and what was luck."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from functools import partial
from typing import TypeVar

from croupier.v1 import game_pb2, match_pb2, review_pb2, review_pb2_grpc
from croupier.v1.error_pb2 import ErrorReason
from engine.game import SPECTATOR
from engine.model import learned
from service.admission.admission import Admission
from service.admission.budgets import Budget
from service.api.authentication import Authenticator
from service.common.call import Call
from service.common.errors import shutting_down, version_in_future
from service.common.event_loop import LongWork, Work
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches
from service.hosting.records import RecordError, digest, replaying_record
from service.hosting.replays import replaying, trying
from service.reviewing.reviews import Kept, Options, Reviewer
from service.reviewing.steps import reading_steps
from service.searching.searches import Searches
from service.searching.tasks import Kind, Requester
from wire.errors import Refusal, invalid_field
from wire.fields import all_but, read_mask

_T = TypeVar("_T")

ITERATIONS = 10_000
DEEP_ITERATIONS = 30_000
MIN_ITERATIONS = 100
DEEPEN_ABOVE = 0.03
RANK = 1  # Of its searches: after those for hints.
MAX_REVIEWS = 32  # At a time: each keeps all positions of its match, which are some megabytes.
RETRY_SECONDS = 5.0
BATCH_BYTES = 65_536  # Of a replay, which are made at once and then sent.


class ReviewService(review_pb2_grpc.ReviewServiceServicer):
    """Reviews or replays a hosted match, or a record that is sent."""

    def __init__(
        self,
        matches: Matches,
        searches: Searches,
        admission: Admission,
        authenticator: Authenticator,
        long_work: LongWork | None = None,
    ) -> None:
        self._matches = matches
        self._searches = searches
        self._admission = admission
        self._authenticator = authenticator
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
            rule = f"at most {MAX_REVIEWS} reviews, and replays of records, of all callers together"
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
        if request.WhichOneof("source") == "record":
            self._admission.check_restriction(call, "hint_without_match")
            record = request.record
        else:
            state = await self._hosted(request.match_name, call)
            record = match_pb2.MatchRecord.FromString(await self._matches.record(state))
        steps = await self._finish(reading_steps(record))
        identity = digest(record)
        reviewer = Reviewer(
            steps,
            identity,
            read_options(request, identity),
            self._searches,
            Requester(Kind.HINT, call.principal, RANK),
            learned(steps.state.game),
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

        yield priced(await reviewer.plan())
        if request.validate_only:
            return
        self._admission.spend(call, Budget.SEARCH_RATE)
        with self._admission.hold(call, Budget.SEARCHES):
            async with aclosing(reviewer.reports()) as reports:
                async for report in reports:
                    if report.HasField("summary") and request.match_name:
                        await self._name(report.summary)
                    yield priced(report)

    async def _name(self, summary: review_pb2.MatchReview) -> None:
        # The names may have been erased since the review has begun, which can take minutes.
        state = await self._matches.find(summary.name.removeprefix("matches/"), shown=True)
        names = ("", "") if state is None else state.header.display_names
        for each in summary.seats:
            each.player.display_name = names[each.seat]

    async def ReplayMatch(
        self, request: review_pb2.ReplayMatchRequest, call: Call
    ) -> AsyncIterator[bytes]:
        sent = request.after_version if request.HasField("after_version") else -1
        viewers = sorted(request.seats) or ([] if request.spectator else [0, 1])
        viewers += [SPECTATOR] * request.spectator
        left_out = set() if request.legal_actions else {"legal_actions"}
        watch = None
        with ExitStack() as held:
            if request.WhichOneof("source") == "record":
                # Only this caller has the match: it costs memory as that of a review does.
                held.enter_context(self._admission.hold(call, Budget.REVIEWS))
                held.enter_context(self._place())
                self._admission.check_restriction(call, "hint_without_match")
                state = await self._finish(replaying_record(request.record))
                left_out.add("etag")
            else:
                match_id = request.match_name.removeprefix("matches/")
                watch = held.enter_context(self._matches.watch(match_id))
                state = await self._hosted(request.match_name, call)
            if sent > state.version:
                raise version_in_future(state.version)
            if request.tried_actions:
                left_out.add("etag")
            fields = all_but(game_pb2.View, *sorted(left_out))
            after, told = sent, 0

            def replay(state: MatchState) -> Iterator[bytes | None]:
                if request.tried_actions:
                    return trying(state, viewers, fields, max(after, 0), request.tried_actions)
                return replaying(state, viewers, fields, after)

            steps = replay(state)
            while responses := await self._long_work.finish(_next_batch(steps)):
                for response in responses:
                    if self._matches.closing:
                        raise shutting_down(None if sent < 0 else sent)
                    newest = state if watch is None else watch.newest(state)
                    if newest.lacks_names_of(state):
                        # They were erased meanwhile.
                        state, steps = newest, _skipping(replay(newest), told)
                        break
                    yield response
                    sent, told = sent + 1, told + 1

    async def _hosted(self, name: str, call: Call) -> MatchState:
        state = await self._authenticator.read(call, name)
        if not state.over:
            raise Refusal(
                ErrorReason.ERROR_REASON_MATCH_NOT_OVER,
                "hidden cards are shown of matches that are over, and of no others",
            )
        return state

    async def _finish(self, work: Work[_T]) -> _T:
        # Work with a record.
        try:
            return await self._long_work.finish(work)
        except RecordError as error:
            field = f"record.{error.field}" if error.field else "record"
            raise invalid_field(field, "NOT_A_RECORD", str(error)) from None


def _next_batch(replay: Iterator[bytes | None]) -> Work[list[bytes]]:
    # The next responses of a replay; none at its end.
    batch: list[bytes] = []
    size = 0
    for response in replay:
        if response is not None:
            batch.append(response)
            size += len(response)
            if size >= BATCH_BYTES:
                break
        yield
    return batch


def _skipping(replay: Iterator[bytes | None], count: int) -> Iterator[bytes | None]:
    # A replay without its first responses.
    for response in replay:
        skipped = response is not None and count > 0
        count -= skipped
        yield None if skipped else response


def read_options(request: review_pb2.ReviewMatchRequest, digest: bytes) -> Options:
    """How to review, with the defaults; `digest` is that of the record."""
    return Options(
        iterations=request.iterations or ITERATIONS,
        deep_iterations=request.deep_iterations or DEEP_ITERATIONS,
        deepen_above=request.deepen_above if request.HasField("deepen_above") else DEEPEN_ABOVE,
        seats=frozenset(request.seats or (0, 1)),
        seed=request.seed if request.HasField("seed") else int.from_bytes(digest[:8], "big"),
    )
