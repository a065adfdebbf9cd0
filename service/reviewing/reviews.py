"""Reviews: all decisions of a match are judged, then those that lost much once more."""

import hashlib
import heapq
import math
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from functools import partial
from typing import NamedTuple, TypeVar

from google.protobuf.duration_pb2 import Duration

from croupier.v1 import hint_pb2, review_pb2
from engine.game import Game
from engine.model import Model
from service.common.errors import shutting_down
from service.hosting.seats import write_seats
from service.reviewing.chance import ChanceReview, review_chance
from service.reviewing.steps import Decision, Steps
from service.reviewing.verdicts import MISTAKE, judge, quantized
from service.searching.pool import Limits, SearchJob
from service.searching.searches import Searches
from service.searching.tasks import Requester, SearchTask

KEPT_BYTES = 32 << 20  # Of decisions that were judged.
KEY_MOMENTS = 5
CHANCE_LIMITS = Limits(seconds=0.1)  # What the luck of a match is expected to take.
MOMENT = 0.03  # The least change that turns a match.
LONGER = 4  # Times the iterations, for what may be a mistake and is still unclear.
# At first, roughly: the iterations of a decision, in those of its first search, with those of the
SEARCHES_PER_DECISION = 2.2  # second pass; and how long a search is that tells how fast they are.
PROBE = Limits(iterations=10_000, seconds=0.05)

_VERDICTS = (
    review_pb2.VERDICT_FORCED,
    review_pb2.VERDICT_BEST,
    review_pb2.VERDICT_GOOD,
    review_pb2.VERDICT_INACCURACY,
    review_pb2.VERDICT_MISTAKE,
    review_pb2.VERDICT_BLUNDER,
    review_pb2.VERDICT_UNCLEAR,
)

_T = TypeVar("_T")


class Options(NamedTuple):
    """How to review."""

    iterations: int
    deep_iterations: int
    deepen_above: float
    seats: frozenset[int]
    seed: int


class Kept:
    """Reviews of decisions that were found before, the most recently used ones."""

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self._most = most
        self._bytes = 0
        self._found: OrderedDict[bytes, bytes] = OrderedDict()
        self.iteration_seconds: dict[str, float] = {}  # By game: what its iterations took.

    def get(self, key: bytes) -> review_pb2.DecisionReview | None:
        """What was found under a key."""
        found = self._found.get(key)
        if found is None:
            return None
        self._found.move_to_end(key)
        return review_pb2.DecisionReview.FromString(found)

    def keep(self, key: bytes, review: review_pb2.DecisionReview) -> None:
        """Keeps it, and forgets others if there is no room."""
        if key not in self._found:
            data = self._found[key] = review.SerializeToString()
            self._bytes += len(key) + len(data)
        while self._bytes > self._most:
            old, data = self._found.popitem(last=False)
            self._bytes -= len(old) + len(data)


class Reviewer:
    """Reviews one match."""

    def __init__(
        self,
        steps: Steps,
        digest: bytes,
        options: Options,
        searches: Searches,
        requester: Requester,
        model: Model | None,
        kept: Kept,
        wait: Callable[[], Awaitable[object]],
        charge: Callable[[float], object],
    ) -> None:
        """`digest` is that of the record.

        `wait` returns when the next search may begin; `charge` is told its thread-seconds.
        """
        self._steps = steps
        self._digest = digest
        self._options = options
        self._searches = searches
        self._requester = requester
        self._model = model
        self._kept = kept
        self._wait = wait
        self._charge = charge
        self._decisions = [each for each in steps.decisions if each.seat in options.seats]
        self._found: dict[tuple[int, int], review_pb2.DecisionReview] = {}  # By version and seat.
        self._to_deepen: list[Decision] = []
        self._deepened = 0
        self._seconds = 0.0
        self._searched = 0  # Iterations that were asked for.

    async def plan(self) -> review_pb2.ReviewMatchResponse:
        """The first report: what the review will take. Of a game that is new, it takes a search."""
        game = self._steps.state.game
        if game.id not in self._kept.iteration_seconds and self._decisions:
            # One from the middle, since the first and the last ones may be of a kind of their own.
            middle = self._decisions[len(self._decisions) // 2]

            def measure(job: SearchJob) -> float:
                began = time.thread_time()
                search = job.search(middle.view, 0)
                search.run(iterations=PROBE.iterations, seconds=PROBE.seconds, stop=job.stop)
                return (time.thread_time() - began) / max(1, search.iterations)

            self._kept.iteration_seconds[game.id] = await self._searches.compute(
                self._requester, PROBE, measure, self._charge, game.id
            )
        return review_pb2.ReviewMatchResponse(progress=self._progress())

    async def reports(self) -> AsyncGenerator[review_pb2.ReviewMatchResponse, None]:
        """All further reports; raises Refusal."""
        options, found = self._options, self._found
        for decision in self._decisions:
            review = found[decision[:2]] = await self._judged(decision, options.iterations)
            may_have_lost = review.loss + review.deviation
            if may_have_lost > options.deepen_above and options.deepen_above < 1:
                self._to_deepen.append(decision)
            yield self._report(review)
        self._to_deepen.sort(key=lambda decision: -found[decision[:2]].loss)
        for decision in self._to_deepen:
            review = await self._judged(decision, options.deep_iterations)
            if review.verdict == review_pb2.VERDICT_UNCLEAR and review.loss >= MISTAKE:
                review = await self._judged(decision, LONGER * options.deep_iterations)
            found[decision[:2]] = review
            review.deep = True
            self._deepened += 1
            yield self._report(review)
        work = partial(review_chance, self._steps, options.iterations, options.seed)
        chance = await self.compute(self._steps.state.game, CHANCE_LIMITS, work)
        summary = self._summary(chance)
        yield review_pb2.ReviewMatchResponse(progress=self._progress(), summary=summary)

    async def _judged(self, decision: Decision, iterations: int) -> review_pb2.DecisionReview:
        seed = self._options.seed
        parts = (*decision[:2], iterations, seed, self._model_name)
        key = hashlib.sha256(repr((self._digest, parts)).encode()).digest()
        review = self._kept.get(key)
        if review is None:
            opponent = self._steps.state.header.bots[1 - decision.seat]
            review = await judge(
                decision, self, self._requester, self._model, opponent, iterations, seed
            )
            if review.verdict != review_pb2.VERDICT_FORCED:
                self._searched += iterations
            self._kept.keep(key, review)
        return review

    def _report(self, review: review_pb2.DecisionReview) -> review_pb2.ReviewMatchResponse:
        return review_pb2.ReviewMatchResponse(progress=self._progress(), decision=review)

    def _progress(self) -> review_pb2.ReviewProgress:
        judged, deepened = len(self._found), self._deepened
        left = (len(self._decisions) - judged) * self._options.iterations
        left += (len(self._to_deepen) - deepened) * self._options.deep_iterations
        return review_pb2.ReviewProgress(
            decisions_judged=judged,
            decisions=len(self._decisions),
            decisions_deepened=deepened,
            decisions_to_deepen=len(self._to_deepen),
            search_time=_duration(self._seconds),
            remaining_search_time=_duration(left * self._seconds_per_iteration),
        )

    @property
    def _model_name(self) -> str:
        return "" if self._model is None else self._model.name

    @property
    def _seconds_per_iteration(self) -> float:
        known = self._kept.iteration_seconds
        game = self._steps.state.game.id
        if not self._searched:
            return known.get(game, 0.0) * SEARCHES_PER_DECISION
        known[game] = self._seconds / self._searched / SEARCHES_PER_DECISION
        return self._seconds / self._searched

    # What judging needs

    async def search(self, task: SearchTask) -> hint_pb2.Hint:
        """The hint of a search; raises Refusal, also if the server stops before its end."""
        await self._wait()
        report = await self._searches.report(task._replace(charge=self._spent))
        if report.hint.stop_reason == hint_pb2.STOP_REASON_SHUTDOWN:
            raise shutting_down()
        return report.hint

    async def compute(self, game: Game, limits: Limits, work: Callable[[SearchJob], _T]) -> _T:
        """What `work` returns, in a thread for searches; raises Refusal likewise."""

        def whole(job: SearchJob) -> _T:
            found = work(job)
            if job.shutting_down:
                raise shutting_down()
            return found

        await self._wait()
        return await self._searches.compute(self._requester, limits, whole, self._spent, game.id)

    def _spent(self, seconds: float) -> None:
        self._seconds += seconds
        self._charge(seconds)

    # The whole match

    def _summary(self, chance: ChanceReview) -> review_pb2.MatchReview:
        state, options, decisions = self._steps.state, self._options, list(self._found.values())
        header = state.header
        summary = review_pb2.MatchReview(
            name=f"matches/{header.match_id}",
            game=f"games/{header.game}",
            result=state.result,
            chance_outcomes=chance.outcomes,
            start=chance.start,
            model=self._model_name,
            seed=options.seed,
            iterations=options.iterations,
            deep_iterations=options.deep_iterations,
        )
        luck = sum(each.luck for each in chance.outcomes)
        luck_deviation = _root(each.deviation for each in chance.outcomes)
        players = write_seats(header.bots, header.invited, header.display_names)
        for seat, player in enumerate(players):
            own = [each for each in decisions if each.seat == seat]
            counts = Counter(each.verdict for each in own)
            summary.seats.add(
                seat=seat,
                player=player,
                verdicts=[
                    review_pb2.VerdictCount(verdict=each, count=counts[each]) for each in _VERDICTS
                ],
                counted_decisions=len(own) - counts[review_pb2.VERDICT_FORCED],
                loss=sum(each.loss for each in own),
                loss_deviation=_root(each.deviation for each in own),
                luck=-luck if seat else luck,
                luck_deviation=luck_deviation,
            )
        losses = [each.loss for each in summary.seats]
        # A match that was aborted has none.
        result = quantized((*summary.result.scores, 0.5)[0] - 0.5)
        summary.rest = result - (chance.start + luck - losses[0] + losses[1])
        summary.rest_deviation = math.hypot(
            luck_deviation, *(each.loss_deviation for each in summary.seats)
        )
        summary.key_moments.extend(_key_moments(decisions, chance))
        return summary


def _key_moments(
    decisions: Iterable[review_pb2.DecisionReview], chance: ChanceReview
) -> list[review_pb2.KeyMoment]:
    moments = [
        review_pb2.KeyMoment(version=each.version, change=each.luck) for each in chance.outcomes
    ]
    moments += (
        review_pb2.KeyMoment(
            version=each.version, change=each.loss if each.seat else -each.loss, seat=each.seat
        )
        for each in decisions
    )
    large = [each for each in moments if abs(each.change) >= MOMENT]
    return heapq.nlargest(KEY_MOMENTS, large, key=lambda each: abs(each.change))


def _root(deviations: Iterable[float]) -> float:
    return math.hypot(*deviations)


def _duration(seconds: float) -> Duration:
    duration = Duration()
    duration.FromMilliseconds(round(1000 * seconds))
    return duration
