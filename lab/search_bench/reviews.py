"""How just are reviews: `python -m lab.search_bench.reviews`.

Expert bots play matches. At some decisions an action is played that loses at least 15 points of a
hundred, as a search of 50 times the effort confirms: a *planted blunder*. Then each match is
reviewed. The command prints how many planted blunders the review calls an error, how many of the
bots' own decisions it calls a mistake or worse, how many losses are within two deviations of those
of the search of 50 times the effort, and how long a review took.

With --luck, matches of quick bots are played instead, and only their luck is measured: its mean
must be 0. The table compares the variance of the result with that of the result less luck.
"""

import argparse
import hashlib
import math
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ai.results import Parameters
from ai.search import Search, search
from ai.strengths import STRENGTHS
from croupier.terminal.arguments import whole
from croupier.v1 import match_pb2, review_pb2
from engine.game import SeatView
from engine.model import learned
from engine.position import Position
from lab.workers import in_order, processors
from service import wire
from service.api.review_service import DEEP_ITERATIONS, DEEPEN_ABOVE, ITERATIONS
from service.common.event_loop import finish_now
from service.hosting.match_state import MatchState
from service.hosting.records import write_record
from service.reviewing.alone import review_record
from service.reviewing.chance import review_chance
from service.reviewing.reviews import Options
from service.reviewing.steps import reading_steps
from service.reviewing.verdicts import BLUNDER, COMPARING_SHARE, derive
from service.searching.pool import Limits, SearchJob
from service.store import Entry, EntryKind, Header

MATCHES, LUCK_MATCHES = 10, 2000
PLANTED = 5  # In a match.
OWN = 5  # Other decisions of a match whose losses are searched for by great effort.
EFFORT = 50  # Times the iterations of a review.
DEVIATIONS = 2
BOTS = (5, 5)  # In the header of a record; who really plays matters nowhere.

Choose = Callable[[Position, int, int], int]
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
    first_seconds: float


def play(game_id: str, number: int, choose: Choose) -> match_pb2.MatchRecord:
    """The record of a match; `choose` gets the position, the seat and the version."""
    game = wire.hosted_games()[game_id]()
    name = f"m{number}"
    header = Header(
        match_id=name,
        game=game_id,
        ruleset=wire.write_ruleset(game).SerializeToString(deterministic=True),
        rules_version=game.rules_version,
        secret=hashlib.sha256(f"{game_id}{number}".encode()).digest(),
        chance_id=name,
        bots=BOTS,
        created=0,
        hint_policy=1,
    )
    state = MatchState.begin(header)
    while not state.over:
        seat = state.deciders[0]
        chosen = choose(state.dealt().position, seat, state.version)
        action = wire.serialize_action(game, chosen)
        state = state.after(Entry(EntryKind.ACTION, seat, state.version, action, state.version))
    return write_record(state)


def lost(view: SeatView, best: int, played: int, seed: int) -> tuple[float, float]:
    """The loss by great effort, and its deviation."""
    running = Search(
        view,
        seed=seed,
        parameters=Parameters(evaluation_share=COMPARING_SHARE),
        root_actions=sorted((best, played)),
        model=learned(view.game),
    )
    running.run(iterations=EFFORT * ITERATIONS)
    found = {each.action: each for each in running.result().actions}
    difference = found[best].expected_score - found[played].expected_score
    return difference, math.hypot(found[best].deviation, found[played].deviation)


def judge(task: Task) -> Judged:
    """Plays a match with planted blunders, and reviews it."""
    rng = random.Random(f"{task.game_id} {task.number}")
    planted: dict[Key, tuple[float, float]] = {}

    def choose(position: Position, seat: int, version: int) -> int:
        legal = position.legal(seat)
        if len(legal) == 1:
            return legal[0]
        found = search(
            position.view(seat),
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
        if bad and len(planted) < PLANTED and rng.random() < 0.25:
            blunder = rng.choice(bad).action
            view = position.view(seat)
            loss, deviation = lost(view, best.action, blunder, rng.getrandbits(64))
            if loss - DEVIATIONS * deviation >= BLUNDER:
                planted[version, seat] = loss, deviation
                return blunder
        return found.action

    record = play(task.game_id, task.number, choose)
    found: dict[Key, review_pb2.DecisionReview] = {}
    began = time.perf_counter()
    first: list[float] = []

    def note(report: review_pb2.ReviewMatchResponse) -> None:
        if report.HasField("decision"):
            first.append(time.perf_counter() - began)
            found[report.decision.version, report.decision.seat] = report.decision

    seed = derive(0, task.game_id, task.number)
    both = frozenset((0, 1))
    review_record(record, Options(ITERATIONS, DEEP_ITERATIONS, DEEPEN_ABOVE, both, seed), note)
    seconds = time.perf_counter() - began
    steps = finish_now(reading_steps(record))
    own = {
        key: each
        for key, each in found.items()
        if key not in planted and each.verdict != review_pb2.VERDICT_FORCED
    }
    erred = [key for key, each in own.items() if each.deviation]
    sample = rng.sample(erred, min(OWN, len(erred)))
    views = {(each.version, each.seat): each for each in steps.decisions}
    losses = {key: planted[key] for key in planted if found[key].deviation}
    for key in sample:
        decision = views[key]
        best = wire.read_action(decision.view.game, found[key].best_action)
        losses[key] = lost(decision.view, best, decision.action, rng.getrandbits(64))
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
        first[0],
    )


def measure_luck(iterations: int, task: Task) -> tuple[float, float, float]:
    """The result of a match of quick bots for seat 0, its luck, and what it is to be seat 0."""
    rng = random.Random(f"{task.game_id} {task.number}")

    def choose(position: Position, seat: int, version: int) -> int:
        legal = position.legal(seat)
        if len(legal) == 1:
            return legal[0]
        return search(position.view(seat), iterations=iterations, seed=rng.getrandbits(64)).action

    steps = finish_now(reading_steps(play(task.game_id, task.number, choose)))
    job = SearchJob(Limits(), Parameters())
    chance = review_chance(steps, iterations, rng.getrandbits(64), job)
    luck = sum(each.luck for each in chance.outcomes)
    assert steps.state.result is not None
    return steps.state.result.scores[0], luck, chance.start


def main() -> None:
    """Reviews, and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, prog="reviews")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--game", choices=sorted(wire.hosted_games()), action="append", help="default: all")
    add(
        "--matches",
        type=whole(1),
        help=f"of each game (default: {MATCHES}; {LUCK_MATCHES} of luck)",
    )
    add("--workers", type=whole(1), default=processors(), help="processes")
    add("--luck", action="store_true", help="measure luck alone")
    add("--iterations", type=whole(1), default=100, help="of the quick bots (default: 100)")
    chosen = parser.parse_args()
    matches = chosen.matches or (LUCK_MATCHES if chosen.luck else MATCHES)
    for game_id in chosen.game or wire.hosted_games():
        tasks = [Task(game_id, number) for number in range(matches)]
        if chosen.luck:
            _print_luck(game_id, tasks, chosen.iterations, chosen.workers)
        else:
            _print_judged(game_id, tasks, chosen.workers)


def _print_judged(game_id: str, tasks: list[Task], workers: int) -> None:
    found = []
    with in_order(judge, tasks, workers) as results:
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
    worst = max(each.first_seconds for each in found)
    print(f"  seconds to the first, longest     {worst:.2f}", flush=True)


def _share(flags: list[bool]) -> str:
    return f"{sum(flags)} of {len(flags)}, {100 * sum(flags) / max(1, len(flags)):.1f} %"


def _print_luck(game_id: str, tasks: list[Task], iterations: int, workers: int) -> None:
    with in_order(partial(measure_luck, iterations), tasks, workers) as results:
        found = list(results)
    scores, luck, starts = (list(each) for each in zip(*found, strict=True))
    rest = [score - each for score, each in zip(scores, luck, strict=True)]
    mean, deviation = statistics.fmean(luck), statistics.stdev(luck) / math.sqrt(len(luck))
    print(f"{game_id}, {len(tasks)} matches")
    points = f"{100 * mean:+.2f} ± {100 * deviation:.2f} points"
    print(f"  mean luck       {points}, {mean / deviation:+.1f} deviations")
    print(f"  start           {100 * statistics.fmean(starts):+.2f} points")
    ratio = statistics.variance(rest) / statistics.variance(scores)
    print(f"  variance        {ratio:.2f} of that of the result, if luck is taken away", flush=True)


if __name__ == "__main__":
    main()
