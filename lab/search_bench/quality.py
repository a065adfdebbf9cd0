"""How good are hints and reviews: `python -m lab.search_bench.quality MEASURE`.

A measure looks at so many positions or matches of each game, and prints the mean of each of its
figures, with the standard deviation of the mean as if all values were independent. Shares are
means, too. What is measured, and what the figures mean, is in the files beside this one:

    scores    are the scores of a hint right? (scores.py)
    reviews   does a review find planted blunders, and no others? (reviews.py)
    luck      is the luck that a review tells fair? (reviews.py)

With --revision, the search of a git revision is asked for scores at the same positions, so that one
run shows both.
"""

import argparse
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import NamedTuple

from croupier.terminal.arguments import whole
from engine import games
from lab.player import ConfigurationError
from lab.revision import build
from lab.search_bench import reviews, scores
from lab.search_bench.figures import Figure, Task
from lab.workers import counting, in_order, processors
from service.api.review_service import ITERATIONS

ROW = "{:18}{:26}{:20}".format
CELL = "{:>9}{:>10}{:>9}".format


class Measure(NamedTuple):
    """What is measured, and how much of it unless the command says otherwise."""

    find: Callable[[Task], Iterator[Figure]]
    number: int  # Of positions or matches of each game.
    iterations: int
    # Whose answers it takes: those of any revision, or of this code.
    of_revisions: bool = False


MEASURES = {
    "scores": Measure(scores.scores, 200, 10_000, of_revisions=True),
    "reviews": Measure(reviews.reviews, 10, ITERATIONS),
    "luck": Measure(reviews.luck, 2000, 0),
}


def find(task: Task) -> list[Figure]:
    """All figures of a task."""
    return list(MEASURES[task.measure].find(task))


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
    """Prints the table of a measure."""
    parser = argparse.ArgumentParser(
        prog="lab.search_bench.quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    hosted = [game_id for game_id, game in games().items() if not game.reference]
    add = parser.add_argument
    add("measure", choices=tuple(MEASURES))
    add("--games", metavar="GAME,...", help="default: all that are hosted")
    add("--number", metavar="N", type=whole(1), help="positions or matches of each game")
    add("--iterations", metavar="N", type=whole(1), help="of a hint, or of a review's searches")
    add("--seed", type=int, default=0, help="of the positions and matches; default: %(default)s")
    add("--revision", help="a git revision to compare scores with")
    add("--workers", type=whole(1), default=processors(), help="processes; default: %(default)s")
    chosen = parser.parse_args()
    measure = MEASURES[chosen.measure]
    game_ids = chosen.games.split(",") if chosen.games else hosted
    if unknown := set(game_ids) - set(hosted):
        parser.error(f"there is no game {', '.join(sorted(unknown))}")
    codes: dict[str, str | None] = {"this code": None}
    if chosen.revision:
        if not measure.of_revisions:
            parser.error(f"{chosen.measure} are of this code alone, without --revision")
        codes[chosen.revision] = chosen.revision
        try:
            build(chosen.revision)
        except ConfigurationError as error:
            parser.error(str(error))
    number = chosen.number or measure.number
    iterations = chosen.iterations or measure.iterations
    print(f"{chosen.measure}: {number:,} of each game, {iterations:,} iterations, ", end="")
    print(f"seed {chosen.seed}.")
    print(" " * 64 + "".join(f"{code:>28}" for code in codes))
    for game_id in game_ids:
        tasks = [
            Task(chosen.measure, game_id, chosen.seed, each, iterations, revision)
            for each in range(number)
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
