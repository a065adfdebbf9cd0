"""The exploitability of the search beside that of a git revision.

Run it by `python -m lab.search_bench.nash_conv`.

In each small game, the search is asked at every information set for as many iterations and with as
many seeds as the options say, and so is the search of the revision. The command prints NashConv
(lab/exploit.py): the mean over the seeds, the least and the most in parentheses, and the ratio of
this code's mean to the revision's. A seed counts the same for both.
"""

import argparse
import statistics
import sys
from functools import cache, partial
from typing import NamedTuple

from croupier.terminal.arguments import whole
from engine import games
from engine.game import SeatView
from lab.best_response import ExtensiveGame
from lab.exploit import Answer, evaluate, presets
from lab.player import ConfigurationError
from lab.revision import build, search_process
from lab.workers import in_order, processors

AGAINST = "81ccebf"
SEEDS = 6
ITERATIONS = "1000,10000"
ROW = "{:24}{:>12}  {:28}{:28}{:>6}".format


class Task(NamedTuple):
    """A figure to compute; no revision is this code."""

    game: str
    iterations: int
    seed: int
    revision: str | None


def by_process(revision: str | None, view: SeatView, iterations: int, seed: int) -> Answer:
    """The answer of the search of a revision."""
    process = search_process(revision)
    found = process.ask(view, seed, {"iterations": iterations}, all_actions=True)
    return {one.action: one.probability for one in found.actions}


@cache
def tree_of(name: str) -> ExtensiveGame:
    """All lines of play of a small game."""
    preset = presets()[name]
    return ExtensiveGame(games()[preset.game](preset.ruleset))


def nash_conv(task: Task) -> float:
    """Computes one figure, in the unit of its game."""
    row = evaluate(
        tree_of(task.game),
        presets()[task.game],
        "croupier",
        iterations=task.iterations,
        seed=task.seed,
        by_croupier=partial(by_process, task.revision),
    )
    return row.nash_conv


def spread(figures: list[float]) -> str:
    """The mean, and the range in parentheses."""
    return f"{statistics.mean(figures):.4f} ({min(figures):.4f} to {max(figures):.4f})"


def main() -> None:
    """Prints a line for each game and number of iterations."""
    parser = argparse.ArgumentParser(
        prog="lab.search_bench.nash_conv", description=__doc__.split("\n\n")[0]
    )
    small = presets()
    add = parser.add_argument
    add("--games", metavar="GAME,...", default=",".join(small), help="default: all small games")
    add("--iterations", metavar="N,...", default=ITERATIONS, help="default: %(default)s")
    add("--seeds", type=whole(1), default=SEEDS, help="from 1 on; default: %(default)s")
    add("--against", metavar="REVISION", default=AGAINST, help="default: %(default)s")
    add("--workers", type=whole(1), default=processors(), help="processes; default: %(default)s")
    chosen = parser.parse_args()
    names = chosen.games.split(",")
    if unknown := set(names) - set(small):
        parser.error(f"no small game is called {', '.join(sorted(unknown))}")
    try:
        limits = [whole(1)(text) for text in chosen.iterations.split(",")]
        build(chosen.against)
    except (argparse.ArgumentTypeError, ConfigurationError) as error:
        parser.error(str(error))
    cells = [(name, iterations) for name in names for iterations in limits]
    tasks = [
        Task(*cell, seed, revision)
        for cell in cells
        for seed in range(1, chosen.seeds + 1)
        for revision in (None, chosen.against)
    ]
    print(f"NashConv, mean and range of {chosen.seeds} seeds.")
    print(ROW("game", "iterations", "this code", chosen.against, "ratio"))
    with in_order(nash_conv, tasks, chosen.workers) as results:
        for name, iterations in cells:
            ours, theirs = [], []
            for seed in range(1, chosen.seeds + 1):
                ours.append(next(results))
                theirs.append(next(results))
                print(f"{name}, {iterations:,} iterations, seed {seed}", file=sys.stderr)
            mean = statistics.mean(theirs)
            ratio = f"{statistics.mean(ours) / mean:.2f}" if mean else "-"
            print(ROW(name, f"{iterations:,}", spread(ours), spread(theirs), ratio), flush=True)


if __name__ == "__main__":
    main()
