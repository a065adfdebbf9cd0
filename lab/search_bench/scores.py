"""How right are the scores of a hint: `python -m lab.search_bench.scores`.

A hint shows an expected score for every action, but most of its iterations go to the best. Here
each action is also searched for alone, from the same view and for as many iterations as the whole
hint had. Two scores agree if they differ by at most two deviations: that of both together, the root
of the sum of their squares. Its mean is shown too, since scores that promise little easily agree.

The positions are decisions between several actions, drawn from matches that are played at random.
In a search for one action, the other seat learns to answer this action even where it decides at the
same time. The score alone is then lower by right, so simultaneous decisions are kept apart.

Prints the mean of each figure, with the standard deviation of the mean as if all values were
independent; shares are means, too. With --revision, the search of a git revision is asked at the
same positions, so that one run shows both.
"""

import argparse
import math
import random
import statistics
from collections import defaultdict
from collections.abc import Iterator
from itertools import cycle
from typing import NamedTuple

from croupier.terminal.arguments import whole
from engine import games
from engine.position import Position
from lab.player import ConfigurationError
from lab.revision import build, search_process
from lab.workers import counting, in_order, processors

EVALUATION_SHARE = 0.2  # As the server asks by default.
MAX_ACTIONS = 12  # That are searched for alone, of one position.
DEVIATIONS = 2
ROUNDING = 1e-9  # Exact scores differ by less.
POSITIONS = 200
ITERATIONS = 10_000
ROW = "{:18}{:26}{:20}".format
CELL = "{:>9}{:>10}{:>9}".format

# A value of a figure of a group.
Figure = tuple[str, str, float]


class Task(NamedTuple):
    """One position to look at, and whose search answers; no revision is this code."""

    game_id: str
    seed: int
    number: int
    iterations: int
    revision: str | None = None

    def chance(self) -> random.Random:
        """Its own chance, which is the same for each revision."""
        return random.Random(f"{self.game_id}/{self.seed}/{self.number}")


def random_decision(game_id: str, chance: random.Random) -> tuple[Position, int]:
    """A decision between several actions, and its seat, from a match that is played at random."""
    found: list[tuple[Position, int]] = []
    while not found:
        position = Position.deal(games()[game_id](), chance.getrandbits(64))
        while not position.over:
            legal = {seat: position.legal(seat) for seat in position.deciders}
            before = position.copy()
            found += [(before, seat) for seat in legal if len(legal[seat]) > 1]
            joint = {seat: chance.choice(actions) for seat, actions in legal.items()}
            position.apply(joint, chance.getrandbits(64))
    return chance.choice(found)


def find(task: Task) -> list[Figure]:
    """All figures of a task."""
    return list(scores(task))


def scores(task: Task) -> Iterator[Figure]:
    """Draws a position, asks for a hint, and searches for its actions alone."""
    chance = task.chance()
    position, seat = random_decision(task.game_id, chance)
    ask = search_process(task.revision).ask
    view, legal = position.view(seat), position.legal(seat)
    limits = {"iterations": task.iterations}
    share = {"evaluation_share": EVALUATION_SHARE}
    hint = ask(view, chance.getrandbits(64), limits | share, all_actions=True)
    when = "simultaneous" if len(position.deciders) > 1 else "in turn"
    yield when, "proven", hint.stop_reason == "proven"
    shown = {each.action: each for each in hint.actions}
    drawn = chance.sample(legal, min(MAX_ACTIONS, len(legal)))
    best = hint.actions[0].action
    if best not in drawn:
        drawn[-1] = best
    for action in drawn:
        alone = ask(
            view,
            chance.getrandbits(64),
            # 0: a search for one action is as long as any other.
            {**limits, "single_action": 0},
            root_actions=[action],
            all_actions=True,
        ).actions[0]
        one = shown[action]
        kind = "the best" if action == best else "others" if one.visits else "never tried"
        error = one.expected_score - alone.expected_score
        deviation = math.hypot(one.deviation, alone.deviation)
        for group in (f"{when}, all", f"{when}, {kind}"):
            yield group, "within", abs(error) <= DEVIATIONS * deviation + ROUNDING
            yield group, "|error|", abs(error)
            yield group, "error", error
            yield group, "deviation", deviation


def show(game_id: str, found: dict[str, list[Figure]]) -> None:
    """Prints the rows of a game; `found` is by the code that searched."""
    values: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(dict)
    for code, figures in found.items():
        for group, figure, value in figures:
            values[group, figure].setdefault(code, []).append(value)
    for name, by_code in sorted(values.items(), key=lambda item: item[0][0]):
        cells = (_cell(by_code[code]) if code in by_code else CELL("", "", "") for code in found)
        print(ROW(game_id, *name) + "".join(cells), flush=True)


def _cell(values: list[float]) -> str:
    deviation = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return CELL(f"{len(values):,}", f"{statistics.fmean(values):.4f}", f"±{deviation:.4f}")


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        prog="lab.search_bench.scores", description=__doc__.split("\n\n")[0]
    )
    hosted = [game_id for game_id, game in games().items() if not game.reference]
    add = parser.add_argument
    add("--games", metavar="GAME,...", help="default: all that are hosted")
    add("--number", metavar="N", type=whole(1), default=POSITIONS, help="positions of each game")
    add("--iterations", metavar="N", type=whole(1), default=ITERATIONS, help="of a hint")
    add("--seed", type=int, default=0, help="of the positions; default: %(default)s")
    add("--revision", help="a git revision to compare with")
    add("--workers", type=whole(1), default=processors(), help="processes; default: %(default)s")
    chosen = parser.parse_args()
    game_ids = chosen.games.split(",") if chosen.games else hosted
    if unknown := set(game_ids) - set(hosted):
        parser.error(f"there is no game {', '.join(sorted(unknown))}")
    codes: dict[str, str | None] = {"this code": None}
    if chosen.revision:
        codes[chosen.revision] = chosen.revision
        try:
            build(chosen.revision)
        except ConfigurationError as error:
            parser.error(str(error))
    print(f"{chosen.number:,} of each game, {chosen.iterations:,} iterations, seed {chosen.seed}.")
    print(" " * 64 + "".join(f"{code:>28}" for code in codes))
    for game_id in game_ids:
        tasks = [
            Task(game_id, chosen.seed, each, chosen.iterations, revision)
            for each in range(chosen.number)
            for revision in codes.values()
        ]
        found: dict[str, list[Figure]] = {code: [] for code in codes}
        with in_order(find, tasks, chosen.workers) as results:
            tell = counting(len(tasks), f"of {game_id}")
            for code, figures in zip(cycle(codes), results, strict=False):
                found[code] += figures
                tell()
        show(game_id, found)


if __name__ == "__main__":
    main()
