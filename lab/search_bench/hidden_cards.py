"""How well beliefs tell the hidden cards: `python -m lab.search_bench.hidden_cards`.

The search plays matches against itself as it is served. At each decision, the beliefs of the seat
are compared with what the hidden cards were: the log loss (lab/training/hidden_cards.py), in nats a
view, summed over the cards of a place. *By hand* are the beliefs without a model, *served* those of
hints, and *by policies* those that also weigh past choices by the model where a game does not. The
last columns are what a model gains on the beliefs by hand, with 95 % intervals over matches.
"""

import argparse
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from croupier.terminal.arguments import whole
from engine import games
from engine.model import Model, file_of, learned
from lab.training import hidden_cards, self_play
from lab.workers import in_order, processors, telling

BELIEFS = "beliefs"
BY_HAND, SERVED, BY_POLICIES = MODELS = ("by hand", "served", "by policies")
MATCHES = 40  # Of each game.
ITERATIONS = 300  # Of each decision.
ROW = "{:18}{:16}{:>9}{:>9}{:>13}{:>29}{:>29}".format

Losses = Mapping[str, Mapping[str, float]]  # By model, then by hidden place.


class Task(NamedTuple):
    """A match of a game, and how long its players search."""

    game_id: str
    seed: int
    number: int
    iterations: int


def compare(task: Task) -> Losses:
    """Plays a match, and returns the losses of the beliefs in it."""
    game = games()[task.game_id]()
    served = learned(game)
    path = file_of(type(game))
    # Both seats play by the model that is served, and neither slips in a match of even number.
    match = self_play.play(
        self_play.Task(
            task.game_id,
            task.seed,
            2 * task.number,
            task.iterations,
            str(path or ""),
            against_served=True,
        )
    )
    models = {BY_HAND: None, SERVED: served}
    if served is not None and served.weights:
        models[BY_POLICIES] = Model(game, served.weights, {BELIEFS})
    return {name: hidden_cards.loss(game, [match], model) for name, model in models.items()}


def interval(gains: Sequence[float]) -> str:
    """A mean and its 95 % interval."""
    mean = statistics.fmean(gains)
    if len(gains) < 2:
        return f"{mean:+.3f}"
    half = 1.96 * statistics.stdev(gains) / math.sqrt(len(gains))
    return f"{mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f})"


def show(game_id: str, found: Sequence[Losses]) -> None:
    """Prints the rows of a game."""
    for place in found[0][BY_HAND]:
        # A match in which nothing is ever decided with cards there has no loss.
        matches = [each for each in found if not math.isnan(each[BY_HAND][place])]
        if not matches:
            continue
        losses = {
            name: [each[name][place] for each in matches] for name in MODELS if name in found[0]
        }
        means = [
            f"{statistics.fmean(losses[name]):.3f}" if name in losses else "" for name in MODELS
        ]
        by_hand = losses[BY_HAND]
        gains = [
            interval([old - new for old, new in zip(by_hand, losses[name], strict=True)])
            if name in losses
            else ""
            for name in (SERVED, BY_POLICIES)
        ]
        print(ROW(game_id, place, *means, *gains), flush=True)


def main() -> None:
    """Compares the games and the matches that the command line names."""
    hosted = games()
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        prog="python -m lab.search_bench.hidden_cards",
    )
    add = parser.add_argument
    full = [game_id for game_id, game in hosted.items() if file_of(game)]
    add("--games", default=",".join(full), help="separated by commas; default: %(default)s")
    add("--matches", type=whole(1), default=MATCHES, help="of each game; default: %(default)s")
    add("--iterations", type=whole(1), default=ITERATIONS, help="default: %(default)s")
    add("--seed", type=int, default=0, help="of the matches; default: %(default)s")
    add("--workers", type=whole(1), default=processors(), help="processes; default: %(default)s")
    chosen = parser.parse_args()
    game_ids = chosen.games.split(",")
    if unknown := set(game_ids) - set(hosted):
        parser.error(f"there is no game {', '.join(sorted(unknown))}")
    print(f"Log loss of hidden cards, {chosen.matches} matches a game of ", end="")
    print(f"{chosen.iterations:,} iterations a decision, seed {chosen.seed}.")
    print(ROW("game", "place", *MODELS, "gain, served", "gain, by policies"))
    for game_id in game_ids:
        tasks = [
            Task(game_id, chosen.seed, number, chosen.iterations)
            for number in range(chosen.matches)
        ]
        with in_order(compare, tasks, chosen.workers) as results:
            found = list(telling(results, len(tasks), f"matches of {game_id}"))
        show(game_id, found)


if __name__ == "__main__":
    main()
