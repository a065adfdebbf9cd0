"""The speed of the search beside that of a git revision: `python -m lab.search_bench.speed`.

Both search on one thread, each in a process of its own, in turns: first the one, then the other,
and in the next round the other way round. A rate is iterations per second of processor time, which
other work on the machine changes less than the time by the clock. The ratio is the median over the
rounds of this code's rate divided by the revision's, with the least and the most in parentheses.

Each position is searched twice: for a fixed number of iterations, and for as many as each of the
two does in a fixed time.
"""

import argparse
import itertools
import random
import statistics
from collections.abc import Iterator
from typing import NamedTuple

from croupier.terminal.arguments import whole
from engine import games
from engine.game import SeatView
from engine.position import Position
from lab.player import ConfigurationError
from lab.revision import SearchProcess, build

AGAINST = "HEAD"
ROUNDS = 11
ITERATIONS = 10_000
MS = 100
CALIBRATION = 2_000  # Iterations of the first search, which tells how many a time holds.
PLIES = {
    "castle_rampage": (0, 12, 40, 80),
    "champion_chess": (0, 12, 40),
    "powershot_soccer": (0, 12, 40),
    "skystones": (0, 12, 47),  # The last: where the last round begins.
}
SEED = 1  # Of the first match that positions are taken from.


class Rates(NamedTuple):
    """The rates of both, and their ratio, by round."""

    ours: list[float]
    theirs: list[float]
    stop_reasons: set[str]

    @property
    def ratios(self) -> list[float]:
        """Our rate divided by theirs, by round."""
        return [ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True)]


def positions(game_id: str) -> Iterator[tuple[str, Position]]:
    """Decisions early and late in a match that is played at random, with their names."""
    for ply in PLIES[game_id]:
        yield (f"ply {ply}" if ply else "the deal"), _after(game_id, ply)


def _after(game_id: str, plies: int) -> Position:
    # Of the first match that lasts so long.
    for seed in itertools.count(SEED):
        chance = random.Random(seed)
        position = Position.deal(games()[game_id](), seed)
        for _ in range(plies):
            if position.over:
                break
            joint = {seat: chance.choice(position.legal(seat)) for seat in position.deciders}
            position.apply(joint, chance.getrandbits(64))
        if not position.over:
            return position
    raise AssertionError


def compare(
    view: SeatView,
    processes: tuple[SearchProcess, SearchProcess],
    iterations: tuple[int, int],
    rounds: int,
) -> Rates:
    """Searches from a view in turns; `iterations` are those of the one and of the other."""
    rates: tuple[list[float], list[float]] = ([], [])
    reasons = set()
    for seed in range(rounds):
        for which in (0, 1) if seed % 2 else (1, 0):
            found = processes[which].ask(view, seed, {"iterations": iterations[which]})
            rates[which].append(found.iterations / found.processor_seconds)
            reasons.add(found.stop_reason)
    return Rates(*rates, reasons)


def iterations_in(view: SeatView, process: SearchProcess, ms: int) -> int:
    """How many iterations a search from a view does in a time, by two searches."""
    iterations = CALIBRATION
    for seed in range(2):
        found = process.ask(view, seed, {"iterations": iterations})
        iterations = max(1, round(found.iterations / found.processor_seconds * ms / 1000))
    return iterations


def main() -> None:
    """Prints a line for each position and limit."""
    parser = argparse.ArgumentParser(
        prog="lab.search_bench.speed", description=__doc__.split("\n\n")[0]
    )
    add = parser.add_argument
    add("--against", metavar="REVISION", default=AGAINST, help="default: %(default)s")
    add("--games", metavar="GAME,...", default=",".join(PLIES))
    add("--rounds", type=whole(1), default=ROUNDS, help="default: %(default)s")
    add("--iterations", type=whole(1), default=ITERATIONS, help="default: %(default)s")
    add("--ms", type=whole(1), default=MS, help="default: %(default)s")
    chosen = parser.parse_args()
    game_ids = chosen.games.split(",")
    if unknown := set(game_ids) - set(PLIES):
        parser.error(f"no positions are known of {', '.join(sorted(unknown))}")
    try:
        processes = SearchProcess(), SearchProcess(build(chosen.against))
    except ConfigurationError as error:
        parser.error(str(error))
    print(f"Iterations per second of processor time, {chosen.rounds} rounds, one thread.")
    row = "{:18}{:12}{:>9}{:>14}{:>12}{:>12}  {}".format
    print(row("game", "position", "actions", "limit", "this code", chosen.against, "ratio"))
    for game_id in game_ids:
        for name, position in positions(game_id):
            seat = position.deciders[0]
            view = position.view(seat)
            timed = tuple(iterations_in(view, process, chosen.ms) for process in processes)
            for limit, iterations in (
                (f"{chosen.iterations:,}", (chosen.iterations, chosen.iterations)),
                (f"{chosen.ms} ms", (timed[0], timed[1])),
            ):
                rates = compare(view, processes, iterations, chosen.rounds)
                ours, theirs, ratio = map(
                    statistics.median, (rates.ours, rates.theirs, rates.ratios)
                )
                spread = f"{ratio:.2f} ({min(rates.ratios):.2f} to {max(rates.ratios):.2f})"
                if "proven" in rates.stop_reasons:
                    spread += ", proven"
                actions = len(position.legal(seat))
                print(
                    row(game_id, name, actions, limit, f"{ours:,.0f}", f"{theirs:,.0f}", spread),
                    flush=True,
                )
    for process in processes:
        process.close()


if __name__ == "__main__":
    main()
