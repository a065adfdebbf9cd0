"""How well beliefs tell the hidden cards: `python -m lab.search_bench.hidden_cards`.

The search plays matches against itself as it is served. At each decision, the beliefs of the seat
are compared with what the hidden cards were: the log loss (lab/training/hidden_cards.py), in nats a
view, summed over the cards of a place. *By hand* are the beliefs without a model, *served* those of
hints against an opponent as strong as the search, and *by policies* those that also weigh past
choices by the model where a game does not. The last columns are what a model gains on the beliefs
by hand, with 95 % intervals over matches.

With `--bots`, the bots of a strength play each other. *By strength* are the beliefs of hints
against them, and *person* those against a person, of whom nothing is known.
"""

import argparse
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ai.strengths import PERSONS_SHARPNESS, STRENGTHS
from croupier.terminal.arguments import whole
from engine import games
from engine.model import BELIEFS, Model, file_of, learned
from lab.training import hidden_cards, self_play
from lab.workers import in_order, processors, telling

BY_HAND, SERVED, BY_POLICIES = "by hand", "served", "by policies"
BY_STRENGTH, PERSON = "by strength", "person"
MATCHES = 40  # Of each game.
ITERATIONS = 300  # Of each decision.

Losses = Mapping[str, Mapping[str, float]]  # By model, then by hidden place.


class Task(NamedTuple):
    """A match of a game, and how long its players search or which bots they are."""

    game_id: str
    seed: int
    number: int
    iterations: int
    bot: str = ""


def compare(task: Task) -> Losses:
    """Plays a match, and returns the losses of the beliefs in it."""
    game = games()[task.game_id]()
    served = learned(game)
    bot = STRENGTHS.get(task.bot)
    # Both seats play by the model that is served, and neither slips in a match of even number.
    match = self_play.play(
        self_play.Task(
            task.game_id,
            task.seed,
            2 * task.number,
            bot.iterations if bot else task.iterations,
            str(file_of(type(game)) or ""),
            against_served=True,
            temperature=bot.temperature(game) if bot else 0.0,
        )
    )
    models = {BY_HAND: None, SERVED: served}
    if served is not None and bot is not None:
        models[BY_STRENGTH] = served.against(bot.sharpness)
        models[PERSON] = served.against(PERSONS_SHARPNESS)
    elif served is not None and served.weights:
        models[BY_POLICIES] = Model(game, served.weights, {BELIEFS})
    return {name: hidden_cards.loss(game, [match], model) for name, model in models.items()}


def interval(gains: Sequence[float]) -> str:
    """A mean and its 95 % interval."""
    mean = statistics.fmean(gains)
    if len(gains) < 2:
        return f"{mean:+.3f}"
    half = 1.96 * statistics.stdev(gains) / math.sqrt(len(gains))
    return f"{mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f})"


def show(title: str, found: Sequence[Losses]) -> None:
    """Prints the rows of a game, or of the bots of a strength in it."""
    models = list(found[0])
    for place in found[0][BY_HAND]:
        # A match in which nothing is ever decided with cards there has no loss.
        matches = [each for each in found if not math.isnan(each[BY_HAND][place])]
        if not matches:
            continue
        losses = {name: [each[name][place] for each in matches] for name in models}
        means = [f"{statistics.fmean(losses[name]):.3f}" for name in models]
        gains = [
            interval([old - new for old, new in zip(losses[BY_HAND], losses[name], strict=True)])
            for name in models[1:]
        ]
        print(_row(title, place, means, gains), flush=True)


def _row(title: str, place: str, means: Sequence[str], gains: Sequence[str]) -> str:
    cells = [f"{title:28}{place:16}", *(f"{each:>12}" for each in means)]
    return "".join((*cells, *(f"{each:>29}" for each in gains)))


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
    add("--bots", action="store_true", help="bots of each strength play in place of the search")
    add("--seed", type=int, default=0, help="of the matches; default: %(default)s")
    add("--workers", type=whole(1), default=processors(), help="processes; default: %(default)s")
    chosen = parser.parse_args()
    game_ids = chosen.games.split(",")
    if unknown := set(game_ids) - set(hosted):
        parser.error(f"there is no game {', '.join(sorted(unknown))}")
    bots = [each.name for each in STRENGTHS.values() if each.iterations] if chosen.bots else [""]
    length = "" if chosen.bots else f" of {chosen.iterations:,} iterations a decision"
    print(f"Log loss of hidden cards, {chosen.matches} matches{length}, seed {chosen.seed}.")
    models = (SERVED, BY_STRENGTH, PERSON) if chosen.bots else (SERVED, BY_POLICIES)
    print(_row("game", "place", (BY_HAND, *models), [f"gain, {each}" for each in models]))
    for game_id in game_ids:
        for bot in bots:
            title = f"{game_id}, {bot}" if bot else game_id
            tasks = [
                Task(game_id, chosen.seed, number, chosen.iterations, bot)
                for number in range(chosen.matches)
            ]
            with in_order(compare, tasks, chosen.workers) as results:
                found = list(telling(results, len(tasks), f"matches of {title}"))
            show(title, found)


if __name__ == "__main__":
    main()
