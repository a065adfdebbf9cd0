"""The speed of the search, and its fingerprint: `python -m ai.bench`.

For each game: playouts a second by the game's own playout, the ratio to plain random play, and
iterations a second of the search from the first decision; everything on one thread, interleaved
over several rounds, the median of which is shown. Timings drift between machines and runs, ratios
less so. The last line is a number that depends on what the search answers and not on how fast: it
changes when play changes, and a commit that touches the search can quote it.
"""

import argparse
import statistics
import time
import zlib
from collections.abc import Callable

from ai.search import search
from engine import games
from engine.game import Position

PLAYOUTS = 2_000
ITERATIONS = 5_000
FINGERPRINT_ITERATIONS = 2_000
FINGERPRINT_POSITIONS = 12


def rate(run: Callable[[], object], times: int) -> float:
    """Times a second that `run`, which does something `times` times, does it."""
    start = time.perf_counter()
    run()
    return times / (time.perf_counter() - start)


def measure(game_id: str, rounds: int) -> tuple[float, float, float]:
    """Playouts a second, their ratio to plain ones, and iterations a second; medians."""
    position = Position.deal(games()[game_id](), 1)
    view = position.view(position.deciders[0])
    fast, ratio, iterations = [], [], []
    for seed in range(rounds):
        fast.append(rate(lambda seed=seed: position.playouts(PLAYOUTS, seed), PLAYOUTS))
        plain = rate(lambda seed=seed: position.playouts(PLAYOUTS, seed, plain=True), PLAYOUTS)
        ratio.append(fast[-1] / plain)
        iterations.append(
            rate(lambda seed=seed: search(view, iterations=ITERATIONS, seed=seed), ITERATIONS)
        )
    return statistics.median(fast), statistics.median(ratio), statistics.median(iterations)


def fingerprint() -> int:
    """One number for what the search answers at a few positions of each game."""
    number = 0
    for game_id, game_class in games().items():
        game = game_class()
        for seed in range(FINGERPRINT_POSITIONS):
            position = Position.deal(game, seed)
            # Some positions from the middle of a match: every second one a few plies on.
            for ply in range(3 * (seed % 2) * seed):
                if position.over:
                    break
                joint = {seat: position.legal(seat)[-1] for seat in position.deciders}
                position.apply(joint, ply)
            for seat in position.deciders[:1]:
                result = search(position.view(seat), iterations=FINGERPRINT_ITERATIONS, seed=seed)
                answer = (game_id, seed, result.action, result.nodes)
                number = zlib.crc32(repr((*answer, *result.actions)).encode(), number)
    return number


def main() -> None:
    """Prints the table and the fingerprint."""
    parser = argparse.ArgumentParser(prog="ai.bench", description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="rounds to take the median of")
    rounds = parser.parse_args().rounds
    print(f"{'game':18}{'playouts/s':>12}{'to plain':>10}{'iterations/s':>14}")
    for game_id in games():
        playouts, ratio, iterations = measure(game_id, rounds)
        print(f"{game_id:18}{playouts:12,.0f}{ratio:10.2f}{iterations:14,.0f}", flush=True)
    print(f"fingerprint of the search: {fingerprint()}")


if __name__ == "__main__":
    main()
