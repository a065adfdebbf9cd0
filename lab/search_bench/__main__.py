"""The speed of the search, and its fingerprint: `python -m lab.search_bench`.

All measurements are interleaved over several rounds, and the table shows their medians: timings
drift between machines and runs, ratios less so. Everything runs on one thread, except where two
threads are compared with one. The last line is a number that depends on what the search answers and
not on its speed: it changes when play changes, and a commit that touches the search can quote it.
"""

import argparse
import statistics
import time
import zlib
from collections.abc import Callable, Sequence
from functools import partial

from ai.search import search
from engine import games
from engine.game import Game, SeatView
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler

PLAYOUTS = 2_000
ITERATIONS = 5_000
FINGERPRINT_ITERATIONS = 2_000
FINGERPRINT_POSITIONS = 12

Run = Callable[[int], object]


def rates(runs: Sequence[Run], times: int, rounds: int) -> list[list[float]]:
    """The rates of each run, in each round: `times` by the seconds that the run took.

    A run is called with a seed. The runs take turns, and each round begins with another one.
    """
    found: list[list[float]] = [[] for _ in runs]
    for seed in range(rounds):
        for turn in range(len(runs)):
            at = (seed + turn) % len(runs)
            start = time.perf_counter()
            runs[at](seed)
            found[at].append(times / (time.perf_counter() - start))
    return found


def show_games(rounds: int) -> None:
    """Shows playouts and iterations a second from the first decision, and where the time goes."""
    print("From the first decision; world, playout and tree are shares of an iteration's time.")
    print(
        f"{'game':18}{'playouts/s':>12}{'iterations/s':>14}"
        f"{'world':>8}{'playout':>9}{'tree':>7}{'2 threads':>11}"
    )
    for game_id, game_class in games().items():
        if game_class.reference:
            continue
        game = game_class()
        position = Position.deal(game, 1)
        view = position.view(position.deciders[0])
        sampler = Sampler.of(view)
        speeds = rates(
            [
                partial(PlayoutPolicy.of(game).playouts, position, PLAYOUTS),
                partial(sampler.draws, PLAYOUTS),
            ],
            PLAYOUTS,
            rounds,
        )
        informed, worlds = (statistics.median(speed) for speed in speeds)
        searched = rates([_searches(view, ITERATIONS)], ITERATIONS, rounds)[0]
        iterations = statistics.median(searched)
        # One second for one thread: in less time, other processes would decide the ratio.
        second = int(iterations)
        one, two = rates([_searches(view, second, threads) for threads in (1, 2)], second, rounds)
        ratio = statistics.median(b / a for a, b in zip(one, two, strict=True))
        world, playout = iterations / worlds, iterations / informed
        # Playouts of the search begin later in the match than those that are measured alone.
        tree = max(0.0, 1 - world - playout)
        print(
            f"{game_id:18}{informed:12,.0f}{iterations:14,.0f}"
            f"{world:8.0%}{playout:9.0%}{tree:7.0%}{ratio:10.2f}x",
            flush=True,
        )


def _searches(view: SeatView, iterations: int, threads: int = 1) -> Run:
    return lambda seed: search(view, iterations=iterations, threads=threads, seed=seed)


def fingerprint() -> int:
    """One number for what the search answers at a few positions of each game."""
    number = 0
    for game_id, game_class in games().items():
        for seed in range(FINGERPRINT_POSITIONS):
            position = _position(game_class(), seed)
            for seat in position.deciders[:1]:
                result = search(position.view(seat), iterations=FINGERPRINT_ITERATIONS, seed=seed)
                answer = (game_id, seed, result.action, result.nodes)
                number = zlib.crc32(repr((*answer, *result.actions)).encode(), number)
    return number


def _position(game: Game, seed: int) -> Position:
    # Odd seeds: some plies into a match.
    position = Position.deal(game, seed)
    for ply in range(3 * (seed % 2) * seed):
        if position.over:
            break
        joint = {seat: position.legal(seat)[-1] for seat in position.deciders}
        position.apply(joint, ply)
    return position


def main() -> None:
    """Prints the table and the fingerprint."""
    parser = argparse.ArgumentParser(prog="lab.search_bench", description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="rounds to take the median of")
    rounds = parser.parse_args().rounds
    show_games(rounds)
    print(f"\nfingerprint of the search: {fingerprint()}")


if __name__ == "__main__":
    main()
