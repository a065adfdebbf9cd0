"""How right are the scores of a hint: `python -m lab.search_bench.hint_scores`.

A hint shows an expected score for every action, but most of its iterations go to the best. Here
each action is also searched for alone, from the same view and for as many iterations as the whole
hint had. The command prints how many of the two scores differ by at most two deviations, and how
much they differ on average. A deviation is that of both scores together: the root of the sum of
their squares. Its mean is printed too, since scores that promise little are easily within. With
--revision, the search of a git revision gives hints and searches alone at the
same positions, so that one run shows both.

The positions are decisions between several actions, drawn from matches that are played at random.
In a search for one action, the other seat learns to answer this action even where it decides at the
same time. The score alone is then lower by right, so the table keeps simultaneous decisions apart.
"""

import argparse
import math
import random
import statistics
from collections.abc import Iterable
from functools import cache
from itertools import cycle
from typing import NamedTuple

from croupier.terminal.arguments import whole
from engine import games
from engine.position import Position
from lab.player import ConfigurationError
from lab.revision import ROOT, build, search_process
from lab.workers import in_order, processors, telling

POSITIONS = 200  # Of each game.
ITERATIONS = 10_000
EVALUATION_SHARE = 0.2
MAX_ACTIONS = 12  # That are searched for alone, of one position.
DEVIATIONS = 2
ROUNDING = 1e-9  # Exact scores differ by less.

# Actions of a hint.
BEST, OTHER, UNTRIED = "best", "other", "untried"
GROUPS: dict[str, tuple[str, ...]] = {
    "all": (BEST, OTHER, UNTRIED),
    "the best": (BEST,),
    "others": (OTHER,),
    "never tried": (UNTRIED,),
}
ROW = "{:18}{:14}{:13}{:12}{:>8}{:>9}{:>14}{:>10}{:>11}".format


class Task(NamedTuple):
    """A position to draw, and who searches from it; no revision is this code."""

    game_id: str
    seed: int
    number: int
    iterations: int
    revision: str | None


class Score(NamedTuple):
    """An action's score as the hint shows it, less its score alone, and what both deviate by."""

    group: str
    error: float
    deviation: float

    @property
    def within(self) -> bool:
        """Whether the two scores agree."""
        return abs(self.error) <= DEVIATIONS * self.deviation + ROUNDING


class Compared(NamedTuple):
    """A position whose actions were compared."""

    simultaneous: bool
    stop_reason: str
    scores: list[Score]


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


@cache
def has_share(revision: str | None) -> bool:
    """Whether the search of a revision divides some of its visits evenly."""
    folder = build(revision) if revision else ROOT
    return "evaluation_share" in (folder / "ai/results.py").read_text()


def compare(task: Task) -> Compared:
    """Draws a position, asks for a hint, and searches for its actions alone."""
    chance = random.Random(f"{task.game_id}/{task.seed}/{task.number}")
    position, seat = random_decision(task.game_id, chance)
    view = position.view(seat)
    process = search_process(task.revision)
    limits = {"iterations": task.iterations}
    # As the server asks by default, unless it is a revision from before that.
    share = {"evaluation_share": EVALUATION_SHARE} if has_share(task.revision) else {}
    hint = process.ask(view, chance.getrandbits(64), limits | share, all_actions=True)
    shown = {each.action: each for each in hint.actions}
    legal = position.legal(seat)
    scores = []
    drawn = chance.sample(legal, min(MAX_ACTIONS, len(legal)))
    best = hint.actions[0].action
    if best not in drawn:
        drawn[-1] = best
    for action in drawn:
        alone = process.ask(
            view,
            chance.getrandbits(64),
            # 0: a search for one action is as long as any other.
            {**limits, "single_action": 0},
            root_actions=[action],
            all_actions=True,
        ).actions[0]
        one = shown[action]
        group = BEST if action == best else OTHER if one.visits else UNTRIED
        deviation = math.hypot(one.deviation, alone.deviation)
        scores.append(Score(group, one.expected_score - alone.expected_score, deviation))
    return Compared(len(position.deciders) > 1, hint.stop_reason, scores)


def row_of(scores: Iterable[Score]) -> tuple[str, ...]:
    """How many there are, the share within, and the means of |error|, error and deviation."""
    scores = list(scores)
    return (
        f"{len(scores):,}",
        f"{statistics.mean(score.within for score in scores):.1%}",
        f"{statistics.mean(abs(score.error) for score in scores):.4f}",
        f"{statistics.mean(score.error for score in scores):+.4f}",
        f"{statistics.mean(score.deviation for score in scores):.4f}",
    )


def show(game_id: str, found: dict[str, list[Compared]]) -> None:
    """Prints the rows of a game; `found` is by the code that searched."""
    kinds = {each.simultaneous for each in next(iter(found.values()))}
    titles = {"any": kinds, "alone": {False}, "simultaneous": {True}}
    for title, members in titles.items():
        if (title == "any" and len(kinds) == 1) or not members <= kinds:
            continue
        for group, groups in GROUPS.items():
            for code, compared in found.items():
                scores = [
                    score
                    for position in compared
                    if position.simultaneous in members
                    for score in position.scores
                    if score.group in groups
                ]
                if scores:
                    print(ROW(game_id, title, group, code, *row_of(scores)))
    for code, compared in found.items():
        proven = sum(each.stop_reason == "proven" for each in compared)
        print(f"  {code}: {len(compared)} positions, {proven} proven", flush=True)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        prog="lab.search_bench.hint_scores", description=__doc__.split("\n\n")[0]
    )
    hosted = [game_id for game_id, game in games().items() if not game.reference]
    add = parser.add_argument
    add("--games", metavar="GAME,...", default=",".join(hosted))
    add("--positions", type=whole(1), default=POSITIONS, help="of each game; default: %(default)s")
    add("--iterations", type=whole(1), default=ITERATIONS, help="default: %(default)s")
    add("--seed", type=int, default=0, help="of the positions; default: %(default)s")
    add("--revision", help="a git revision to compare with")
    add("--workers", type=whole(1), default=processors(), help="processes; default: %(default)s")
    chosen = parser.parse_args()
    game_ids = chosen.games.split(",")
    if unknown := set(game_ids) - set(hosted):
        parser.error(f"there is no game {', '.join(sorted(unknown))}")
    codes: dict[str, str | None] = {"this code": None}
    if chosen.revision:
        codes[chosen.revision] = chosen.revision
        try:
            build(chosen.revision)
        except ConfigurationError as error:
            parser.error(str(error))
    print(f"Scores of hints beside scores alone, {chosen.iterations:,} iterations each, ", end="")
    print(f"seed {chosen.seed}.")
    titles = "game", "decision", "actions", "code", "number", "within", "mean |error|", "error"
    print(ROW(*titles, "deviation"))
    for game_id in game_ids:
        tasks = [
            Task(game_id, chosen.seed, number, chosen.iterations, revision)
            for number in range(chosen.positions)
            for revision in codes.values()
        ]
        found: dict[str, list[Compared]] = {code: [] for code in codes}
        with in_order(compare, tasks, chosen.workers) as results:
            told = telling(results, len(tasks), f"positions of {game_id}")
            for code, result in zip(cycle(codes), told, strict=False):
                found[code].append(result)
        show(game_id, found)


if __name__ == "__main__":
    main()
