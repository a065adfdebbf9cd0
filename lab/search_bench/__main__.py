"""The speed of the search, and its fingerprint: `python -m lab.search_bench`.

All measurements are interleaved over several rounds, and the table shows their medians: timings
drift between machines and runs, ratios less so. Everything runs on one thread, except where two
threads are compared with one. The last line is a number that depends on what the search answers and
not on its speed: it changes when play changes, and a commit that touches the search can quote it.
"""

import argparse
import importlib.util
import random
import statistics
import time
import zlib
from collections.abc import Callable, Sequence
from functools import partial

from ai.results import Parameters
from ai.search import search
from engine import games
from engine.game import Game, SeatView
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from lab import plain_search

DEFAULTS = Parameters()
PLAYOUTS = 2_000
ITERATIONS = 5_000
SMALL_ITERATIONS = 10_000
PLAIN_ITERATIONS = (10_000, 100_000)
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


def median_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """The median, over the rounds, of the first rate divided by the second."""
    return statistics.median(a / b for a, b in zip(first, second, strict=True))


# Measurements


def show_games(rounds: int) -> None:
    """Shows playouts and iterations a second from the first decision, and where the time goes."""
    print("From the first decision; world, playout and tree are shares of an iteration's time.")
    print(
        f"{'game':18}{'random':>12}{'policy':>12}{'iterations/s':>14}"
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
                partial(PlayoutPolicy.uniform(game).playouts, position, PLAYOUTS),
                partial(PlayoutPolicy.of(game).playouts, position, PLAYOUTS),
                partial(sampler.draws, PLAYOUTS),
            ],
            PLAYOUTS,
            rounds,
        )
        uniform, informed, worlds = (statistics.median(speed) for speed in speeds)
        searched = rates([_searches(view, ITERATIONS)], ITERATIONS, rounds)[0]
        iterations = statistics.median(searched)
        # One second for one thread: in less time, other processes would decide the ratio.
        second = int(iterations)
        one, two = rates([_searches(view, second, threads) for threads in (1, 2)], second, rounds)
        world, playout = iterations / worlds, iterations / informed
        # Playouts of the search begin later in the match than those that are measured alone.
        tree = max(0.0, 1 - world - playout)
        print(
            f"{game_id:18}{uniform:12,.0f}{informed:12,.0f}{iterations:14,.0f}"
            f"{world:8.0%}{playout:9.0%}{tree:7.0%}{median_ratio(two, one):10.2f}x",
            flush=True,
        )


def last_round() -> SeatView:
    """The view of who places first in the last round of a match of Skystones."""
    chance = random.Random(1)
    game = games()["skystones"]()
    position = Position.deal(game, 1)
    last = position.copy()
    placing = False
    while not position.over:
        placed = len(position.deciders) == 1
        if placed and not placing:
            last = position.copy()
        placing = placed
        joint = {seat: chance.choice(position.legal(seat)) for seat in position.deciders}
        position.apply(joint, chance.getrandbits(64))
    return last.view(last.deciders[0])


def show_last_round(rounds: int) -> None:
    """Shows iterations a second from the first placement of the last round of Skystones."""
    found = rates([_searches(last_round(), ITERATIONS)], ITERATIONS, rounds)[0]
    print(
        f"\nSkystones, first placement of the last round: {statistics.median(found):,.0f} "
        "iterations/s"
    )


def show_plain_search(rounds: int) -> None:
    """Shows iterations a second of processor time from there, beside a plain search in C.

    Both play out at random. The plain search tries all actions of a node before it returns to one,
    as the search does without widening.
    """
    print("Beside a plain search in C, with random playouts, by processor time:")
    view = last_round()
    print(
        f"{'iterations':>12}{'plain C':>14}{'search':>14}{'ratio':>8}{'all tried':>14}{'ratio':>8}"
    )
    for iterations in PLAIN_ITERATIONS:
        found: list[list[float]] = [[], [], []]
        for seed in range(rounds):
            found[0].append(iterations / plain_search.search(view, iterations, seed).seconds)
            for which, widening in ((1, Parameters().widening), (2, 0.0)):
                parameters = Parameters(playout_policy=False, widening=widening)
                start = time.process_time()
                search(view, iterations=iterations, seed=seed, parameters=parameters)
                found[which].append(iterations / (time.process_time() - start))
        plain, wide, narrow = found
        print(
            f"{iterations:12,}{statistics.median(plain):14,.0f}"
            f"{statistics.median(wide):14,.0f}{median_ratio(wide, plain):7.2f}x"
            f"{statistics.median(narrow):14,.0f}{median_ratio(narrow, plain):7.2f}x",
            flush=True,
        )


def show_openspiel(rounds: int) -> None:
    """Shows iterations a second beside OpenSpiel's ISMCTSBot, in the same games.

    The search is from the present there: one from the deal keeps what it finds for the next.
    """
    print("\nBeside OpenSpiel's ISMCTSBot (C++), from the first decision:")
    if not importlib.util.find_spec("pyspiel"):
        print("open-spiel is not installed: pip install 'croupier-server[openspiel]'")
        return
    print(f"{'game':18}{'iterations':>12}{'search':>14}{'OpenSpiel':>14}{'ratio':>8}")
    present = Parameters(from_deal=False, endings=False)
    for game_id in ("kuhn_poker", "leduc_poker"):
        position = Position.deal(games()[game_id](), 1)
        view = position.view(position.deciders[0])
        for iterations in (SMALL_ITERATIONS, 10 * SMALL_ITERATIONS):
            ours, theirs = rates(
                [
                    _searches(view, iterations, parameters=present),
                    _openspiel_searches(game_id, iterations),
                ],
                iterations,
                rounds,
            )
            print(
                f"{game_id:18}{iterations:12,}{statistics.median(ours):14,.0f}"
                f"{statistics.median(theirs):14,.0f}{median_ratio(ours, theirs):7.1f}x",
                flush=True,
            )


def _searches(
    view: SeatView, iterations: int, threads: int = 1, parameters: Parameters = DEFAULTS
) -> Run:
    return lambda seed: search(
        view, iterations=iterations, threads=threads, seed=seed, parameters=parameters
    )


def _openspiel_searches(game_id: str, iterations: int) -> Run:
    import pyspiel

    state = pyspiel.load_game(game_id).new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])

    def run(seed: int) -> None:
        final = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        pyspiel.ISMCTSBot(seed, evaluator, 2.0, iterations, -1, final, False, False).get_policy(
            state
        )

    return run


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
    """Prints the tables and the fingerprint."""
    parser = argparse.ArgumentParser(prog="lab.search_bench", description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="rounds to take the median of")
    rounds = parser.parse_args().rounds
    show_games(rounds)
    show_last_round(rounds)
    show_plain_search(rounds)
    show_openspiel(rounds)
    print(f"\nfingerprint of the search: {fingerprint()}")


if __name__ == "__main__":
    main()
