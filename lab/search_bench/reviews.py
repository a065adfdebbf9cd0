"""How just are reviews: `python -m lab.search_bench.reviews`.

Expert bots play matches. At some decisions an action is played that loses at least 15 points of a
hundred, as a search of 50 times the effort confirms: a *planted blunder*. Then each match is
reviewed with the default limits. The command prints how many planted blunders the review calls an
error, how many of the bots' own decisions it calls a mistake or worse, how many losses are within
two deviations of those of the search of 50 times the effort, and how long a review took.

With --luck, two players of the arena play matches instead, and only luck is measured: its mean must
be 0, and the terms of each match must add up to its result.

With --apart, their decisions are also judged, quickly. The table says for the result, for the
result less luck and for what the decisions lost how much they vary, and after how many matches they
tell the two players apart: when the mean is two of its deviations.
"""

import argparse
import math
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ai.results import Parameters
from ai.search import search
from ai.strengths import STRENGTHS
from croupier.terminal.arguments import whole
from croupier.v1 import review_pb2
from engine.model import learned
from engine.position import Position
from lab.elo import Z, elo
from lab.players import Configuration
from lab.self_play import Choose, compare, play
from lab.workers import in_order, processors
from service import wire
from service.api.review_service import DEEP_ITERATIONS, DEEPEN_ABOVE, ITERATIONS, MIN_ITERATIONS
from service.common.event_loop import finish_now
from service.reviewing.alone import review_record
from service.reviewing.reviews import Options
from service.reviewing.steps import reading_steps
from service.reviewing.verdicts import BLUNDER, derive

MATCHES, LUCK_MATCHES, APART_MATCHES = 10, 2000, 150
LUCK_PLAYERS = ("search:iterations=100", "search:iterations=100")
APART_PLAYERS = ("search:iterations=400", "search:iterations=100")
APART_ITERATIONS = 1000  # Of the quick reviews.
PLANTED = 12  # In a match.
TRIED = 8  # Actions of a decision that may lose so much, at most.
OWN = 3  # Other decisions of a match whose losses are searched for by great effort.
EFFORT = 50  # Times the iterations of a review.
DEVIATIONS = 2

Key = tuple[int, int]


class Task(NamedTuple):
    """A match to play and to review."""

    game_id: str
    number: int


class Judged(NamedTuple):
    """What came of one match."""

    planted: list[int]  # The verdicts on planted blunders.
    own: list[int]  # Those on the bots' decisions, forced ones left out.
    within: list[bool]  # Whether losses agree with those of the great effort.
    seconds: float
    processor_seconds: float
    first_seconds: float


class Reviewed(NamedTuple):
    """What came of a match of two players. All but the luck of seat 0 is that of the first one."""

    result: float  # From -1/2 to 1/2.
    luck: float
    skill: float  # What the other one lost more.
    luck_of_0: float
    start: float
    exact: bool  # Whether the terms add up to the result.


def unforced(choose: Choose) -> Choose:
    """Chooses only where there is a choice."""

    def chosen(position: Position, seat: int, version: int) -> int:
        return position.only_action(seat) or choose(position, seat, version)

    return chosen


def judge(most: int, task: Task) -> Judged:
    """Plays a match with at most so many planted blunders, and reviews it."""
    rng = random.Random(f"{task.game_id} {task.number}")
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
        tried = rng.sample(bad, min(TRIED, len(bad))) if len(planted) < most else []
        for each in tried:
            pair = best.action, each.action
            # The great effort is only made where a small one gives hope, and once.
            small = compare(view, *pair, ITERATIONS, rng.getrandbits(64))
            if small.points >= BLUNDER:
                gap = compare(view, *pair, EFFORT * ITERATIONS, rng.getrandbits(64))
                if gap.points - DEVIATIONS * gap.deviation >= BLUNDER:
                    planted[version, seat] = gap.points, gap.deviation
                    return each.action
                break
        return found.action

    record = play(task.game_id, task.number, unforced(choose))
    found: dict[Key, review_pb2.DecisionReview] = {}
    began, processor_began = time.perf_counter(), time.process_time()
    first: list[float] = []

    def note(report: review_pb2.ReviewMatchResponse) -> None:
        if report.HasField("decision"):
            first.append(time.perf_counter() - began)
            found[report.decision.version, report.decision.seat] = report.decision

    seed = derive(0, task.game_id, task.number)
    both = frozenset((0, 1))
    review_record(record, Options(ITERATIONS, DEEP_ITERATIONS, DEEPEN_ABOVE, both, seed), note)
    seconds = time.perf_counter() - began
    processor_seconds = time.process_time() - processor_began
    steps = finish_now(reading_steps(record))
    own = {
        key: each
        for key, each in found.items()
        if key not in planted and each.verdict != review_pb2.VERDICT_FORCED
    }
    erred = [key for key, each in own.items() if each.deviation]
    sample = rng.sample(erred, min(OWN if most else 0, len(erred)))
    views = {(each.version, each.seat): each for each in steps.decisions}
    losses = {key: planted[key] for key in planted if found[key].deviation}
    for key in sample:
        decision = views[key]
        best = wire.read_action(decision.view.game, found[key].best_action)
        pair = best, decision.action
        gap = compare(decision.view, *pair, EFFORT * ITERATIONS, rng.getrandbits(64))
        losses[key] = gap.points, gap.deviation
    within = [
        abs(found[key].loss - max(0.0, loss))
        <= DEVIATIONS * math.hypot(found[key].deviation, deviation)
        for key, (loss, deviation) in losses.items()
    ]
    return Judged(
        [found[key].verdict for key in planted],
        [each.verdict for each in own.values()],
        within,
        seconds,
        processor_seconds,
        first[0],
    )


def tell_apart(
    players: Sequence[str], seats: frozenset[int], iterations: int, task: Task
) -> Reviewed:
    """Lets two players play a match, in turn from seat 0 and 1, and reviews these seats of it."""
    rng = random.Random(f"{task.game_id} {task.number}")
    turned = task.number % 2
    by_seat = [Configuration.read(players[seat ^ turned]).player() for seat in (0, 1)]

    def choose(position: Position, seat: int, version: int) -> int:
        view, legal = position.view(seat), position.legal(seat)
        return by_seat[seat].choose(view, legal, rng.getrandbits(256)).action

    record = play(task.game_id, task.number, unforced(choose))
    options = Options(iterations, iterations, 1.0, seats, rng.getrandbits(64))
    summary = review_record(record, options)
    result = summary.result.scores[0] - 0.5
    luck = sum(each.luck for each in summary.chance_outcomes)
    skill = summary.seats[1].loss - summary.seats[0].loss
    sign = -1 if turned else 1
    return Reviewed(
        sign * result,
        sign * luck,
        sign * skill,
        luck,
        summary.start,
        result == summary.start + luck + skill + summary.rest,
    )


def main() -> None:
    """Reviews, and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, prog="reviews")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--game", choices=sorted(wire.hosted_games()), action="append", help="default: all")
    add(
        "--matches",
        type=whole(1),
        help=f"of each game (default: {MATCHES}; {LUCK_MATCHES} of luck; {APART_MATCHES} of "
        "--apart)",
    )
    add("--first", type=whole(0), default=0, help="the number of the first match, to go on with")
    add("--workers", type=whole(1), default=processors(), help="processes")
    add(
        "--planted",
        metavar="N",
        type=whole(0),
        default=PLANTED,
        help="blunders in a match, at most; 0: only verdicts and times, without the great effort "
        "(default: %(default)s)",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--luck", action="store_true", help="measure luck alone")
    what.add_argument("--apart", action="store_true", help="measure what tells two players apart")
    add(
        "--players",
        nargs=2,
        metavar="PLAYER",
        help=f"of the arena (default: {' '.join(LUCK_PLAYERS)}; {' '.join(APART_PLAYERS)} with "
        "--apart)",
    )
    add(
        "--iterations",
        type=whole(MIN_ITERATIONS),
        default=APART_ITERATIONS,
        help="of the searches of --apart (default: %(default)s)",
    )
    chosen = parser.parse_args()
    matches = (chosen.luck and LUCK_MATCHES) or (chosen.apart and APART_MATCHES) or MATCHES
    last = chosen.first + (chosen.matches or matches)
    for game_id in chosen.game or wire.hosted_games():
        tasks = [Task(game_id, number) for number in range(chosen.first, last)]
        if not (chosen.luck or chosen.apart):
            _print_judged(game_id, tasks, chosen.planted, chosen.workers)
            continue
        players = chosen.players or (LUCK_PLAYERS if chosen.luck else APART_PLAYERS)
        seats = frozenset[int]() if chosen.luck else frozenset((0, 1))
        # The fewest playouts by which luck is measured, since its mean is 0 with any number.
        iterations = MIN_ITERATIONS if chosen.luck else chosen.iterations
        with in_order(
            partial(tell_apart, players, seats, iterations), tasks, chosen.workers
        ) as found:
            reviews = list(found)
        print(f"{game_id}, {len(reviews)} matches of {' and '.join(players)}")
        _print_luck(reviews)
        if chosen.apart:
            _print_apart(reviews)


def _print_judged(game_id: str, tasks: list[Task], most: int, workers: int) -> None:
    found = []
    with in_order(partial(judge, most), tasks, workers) as results:
        for number, result in enumerate(results, 1):
            found.append(result)
            print(f"{game_id}: {number} of {len(tasks)}", file=sys.stderr)
    planted = [verdict for each in found for verdict in each.planted]
    own = [verdict for each in found for verdict in each.own]
    within = [agrees for each in found for agrees in each.within]
    errors = (review_pb2.VERDICT_INACCURACY, review_pb2.VERDICT_MISTAKE, review_pb2.VERDICT_BLUNDER)
    print(f"{game_id}, {len(tasks)} matches")
    print(f"  planted blunders called an error  {_share([each in errors for each in planted])}")
    print(f"                  mistake or worse  {_share([each in errors[1:] for each in planted])}")
    print(f"  own decisions a mistake or worse  {_share([each in errors[1:] for each in own])}")
    unclear = [each == review_pb2.VERDICT_UNCLEAR for each in own]
    print(f"                           unclear  {_share(unclear)}")
    print(f"  losses within two deviations      {_share(within)}")
    print(f"  seconds a review, mean            {statistics.fmean(e.seconds for e in found):.1f}")
    processor = statistics.fmean(each.processor_seconds for each in found)
    print(f"          of a processor            {processor:.1f}")
    worst = max(each.first_seconds for each in found)
    print(f"  seconds to the first, longest     {worst:.2f}", flush=True)


def _share(flags: list[bool]) -> str:
    return f"{sum(flags)} of {len(flags)}, {100 * sum(flags) / max(1, len(flags)):.1f} %"


def _print_luck(reviews: list[Reviewed]) -> None:
    mean, deviation = _mean([each.luck_of_0 for each in reviews])
    print(f"  mean luck of seat 0  {_points(mean, deviation)}, {mean / deviation:+.1f} deviations")
    print(f"  being seat 0         {_points(*_mean([each.start for each in reviews]))}")
    print(f"  terms add up in      {_share([each.exact for each in reviews])}", flush=True)


def _print_apart(reviews: list[Reviewed]) -> None:
    scores = Counter(each.result + 0.5 for each in reviews)
    print("  Elo                  {:+.0f} ({:+.0f} to {:+.0f})".format(*elo(scores)))
    print("                       points           variance  matches that tell them apart")
    measures = {
        "result": [each.result for each in reviews],
        "result less luck": [each.result - each.luck for each in reviews],
        "losses": [each.skill for each in reviews],
    }
    for name, values in measures.items():
        mean, deviation = _mean(values)
        needed = [
            (DEVIATIONS * statistics.stdev(values) / each) ** 2 if each > 0 else math.inf
            for each in (mean, mean + Z * deviation, mean - Z * deviation)
        ]
        told = "{:.0f} ({:.0f} to {:.0f})".format(*needed)
        ratio = _variance(values, reviews)
        print(f"  {name:19}  {_points(mean, deviation):15}  {ratio:8.2f}  {told}", flush=True)


def _mean(values: list[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def _points(mean: float, deviation: float) -> str:
    return f"{100 * mean:+.2f} ± {100 * deviation:.2f}"


def _variance(values: list[float], reviews: list[Reviewed]) -> float:
    # In relation to that of the result.
    return statistics.variance(values) / statistics.variance(each.result for each in reviews)


if __name__ == "__main__":
    main()
