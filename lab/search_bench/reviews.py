"""How just are reviews, and is luck fair in them.

*reviews*: expert bots play matches. At some decisions an action is played that loses at least 15
points of a hundred, as a search of 50 times the effort confirms: a *planted blunder*. Then the
match is reviewed: how many planted blunders does the review call an error, how many of the bots'
own decisions does it call a mistake or worse, and how many losses are within two deviations of
those of the great effort?

*luck*: two searches of 100 iterations play matches, of which only luck is measured. Its mean must
be 0, and the terms of each match must add up to its result.
"""

import math
import time
from collections.abc import Iterator

from ai.results import Parameters
from ai.search import search
from ai.strengths import STRENGTHS
from croupier.v1 import review_pb2
from engine.model import learned
from engine.position import Position
from lab.players import Configuration
from lab.search_bench.figures import Figure, Task
from lab.self_play import Choose, compare, play
from service import wire
from service.api.review_service import DEEP_ITERATIONS, DEEPEN_ABOVE, ITERATIONS, MIN_ITERATIONS
from service.common.event_loop import finish_now
from service.reviewing.alone import review_record
from service.reviewing.reviews import Options
from service.reviewing.steps import reading_steps
from service.reviewing.verdicts import BLUNDER, derive

LUCK_PLAYER = "search:iterations=100"
PLANTED = 12  # In a match, at most.
TRIED = 8  # Actions of a decision that may lose so much, at most.
OWN = 3  # Other decisions of a match whose losses are searched for by great effort.
EFFORT = 50  # Times the iterations of a review.
DEVIATIONS = 2
ERRORS = (review_pb2.VERDICT_INACCURACY, review_pb2.VERDICT_MISTAKE, review_pb2.VERDICT_BLUNDER)

Key = tuple[int, int]


def unforced(choose: Choose) -> Choose:
    """Chooses only where there is a choice."""

    def chosen(position: Position, seat: int, version: int) -> int:
        return position.only_action(seat) or choose(position, seat, version)

    return chosen


def reviews(task: Task) -> Iterator[Figure]:
    """Plays a match with planted blunders, and reviews it."""
    rng = task.chance()
    effort = EFFORT * task.iterations
    planted: dict[Key, tuple[float, float]] = {}

    def choose(position: Position, seat: int, version: int) -> int:
        view = position.view(seat)
        found = search(
            view,
            iterations=STRENGTHS["expert"].iterations,
            seed=rng.getrandbits(64),
            model=learned(position.game),
            parameters=Parameters(evaluation_share=0.2),
        )
        best = found.actions[0]
        bad = [
            each
            for each in found.actions
            if best.expected_score - each.expected_score >= BLUNDER and each.probability == 0
        ]
        tried = rng.sample(bad, min(TRIED, len(bad))) if len(planted) < PLANTED else []
        for each in tried:
            pair = best.action, each.action
            # The great effort is only made where a small one gives hope, and once.
            small = compare(view, *pair, task.iterations, rng.getrandbits(64))
            if small.points >= BLUNDER:
                gap = compare(view, *pair, effort, rng.getrandbits(64))
                if gap.points - DEVIATIONS * gap.deviation >= BLUNDER:
                    planted[version, seat] = gap.points, gap.deviation
                    return each.action
                break
        return found.action

    record = play(task.game_id, f"{task.seed}p{task.number}", unforced(choose))
    found: dict[Key, review_pb2.DecisionReview] = {}
    began, processor_began = time.perf_counter(), time.process_time()

    def note(report: review_pb2.ReviewMatchResponse) -> None:
        if report.HasField("decision"):
            found[report.decision.version, report.decision.seat] = report.decision

    deep = task.iterations * DEEP_ITERATIONS // ITERATIONS
    seed = derive(task.seed, task.game_id, task.number)
    both = frozenset((0, 1))
    review_record(record, Options(task.iterations, deep, DEEPEN_ABOVE, both, seed), note)
    yield "a review", "seconds", time.perf_counter() - began
    yield "a review", "of a processor", time.process_time() - processor_began
    for key in planted:
        yield "planted blunders", "called an error", found[key].verdict in ERRORS
        yield "planted blunders", "mistake or worse", found[key].verdict in ERRORS[1:]
    own = {
        key: each
        for key, each in found.items()
        if key not in planted and each.verdict != review_pb2.VERDICT_FORCED
    }
    for each in own.values():
        yield "own decisions", "mistake or worse", each.verdict in ERRORS[1:]
        yield "own decisions", "unclear", each.verdict == review_pb2.VERDICT_UNCLEAR
    erred = [key for key, each in own.items() if each.deviation]
    steps = finish_now(reading_steps(record))
    views = {(each.version, each.seat): each for each in steps.decisions}
    losses = {key: planted[key] for key in planted if found[key].deviation}
    for key in rng.sample(erred, min(OWN, len(erred))):
        decision = views[key]
        best = wire.read_action(decision.view.game, found[key].best_action)
        pair = best, decision.action
        gap = compare(decision.view, *pair, effort, rng.getrandbits(64))
        losses[key] = gap.points, gap.deviation
    for key, (loss, deviation) in losses.items():
        most = DEVIATIONS * math.hypot(found[key].deviation, deviation)
        yield "losses", "within", abs(found[key].loss - max(0.0, loss)) <= most


def luck(task: Task) -> Iterator[Figure]:
    """Lets two searches play a match, and measures the luck of seat 0."""
    rng = task.chance()
    player = Configuration.read(LUCK_PLAYER).player()

    def choose(position: Position, seat: int, version: int) -> int:
        view, legal = position.view(seat), position.legal(seat)
        return player.choose(view, legal, rng.getrandbits(256)).action

    record = play(task.game_id, f"{task.seed}p{task.number}", unforced(choose))
    # The fewest playouts by which luck is measured, since its mean is 0 with any number.
    options = Options(MIN_ITERATIONS, MIN_ITERATIONS, 1.0, frozenset(), rng.getrandbits(64))
    summary = review_record(record, options)
    found = sum(each.luck for each in summary.chance_outcomes)
    skill = summary.seats[1].loss - summary.seats[0].loss
    terms = summary.start + found + skill + summary.rest
    yield "seat 0", "luck", found
    yield "seat 0", "points at the start", summary.start
    yield "a match", "terms add up", summary.result.scores[0] - 0.5 == terms
