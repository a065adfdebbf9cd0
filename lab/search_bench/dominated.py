"""Answers that no hidden card excuses: `python -m lab.search_bench.dominated`.

The search plays whole matches against itself, and two things are counted.

- *Throw-aways*, in PowerShot Soccer: a card that is given up or declined with is lost, so of two
  cards with the same role the lower one should go. An answer is dominated if it throws the higher
  one away, and a dominated action is named if its probability is not 0.
- *Ties*, in Champion Chess by default: decisions in which several actions have the best score
  exactly, because it is proven or because the match is decided. A tie is told if each of them has
  a probability above 0 or is said to be tied.

With --revision, a git revision plays matches of its own from the same deals.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from croupier.terminal.arguments import whole
from engine import games
from engine.game import Game
from engine.position import Position
from lab.player import ConfigurationError
from lab.revision import Answer, build, search_process
from lab.workers import in_order, processors

SOCCER = "powershot_soccer"
DECISIONS = 1_000  # In which a card may be thrown away; of each game with ties, all.
ITERATIONS = 10_000
NO_SCORE = 0.5  # The deviation of a score of which there are no samples.
EQUAL = 1e-9  # Scores that differ by less are equal.
TELL_EVERY = 10.0  # Seconds.

# Roles of a play of PowerShot Soccer that throw the card away.
GIVE_UP, DECLINE = 11, 12


class Task(NamedTuple):
    """A match, and whose search plays it; no revision is this code."""

    game_id: str
    seed: int
    match: int
    iterations: int
    revision: str | None


class Decision(NamedTuple):
    """What was found about an answer."""

    # A card may be thrown away; this was a dominated one; dominated ones were named.
    may_throw: bool
    dominated: bool
    named: bool
    # Several actions have the best score; the score is proven; some of them are not told.
    tie: bool
    proven: bool
    untold: bool


def throw_aways(game: Game, legal: Iterable[int]) -> list[tuple[int, int, int]]:
    """The actions of PowerShot Soccer that throw a card away, each with its role and power."""
    cards = game.ruleset["cards"]
    found = []
    for action in legal:
        fields = game.read_action(action)
        if fields["role"] in (GIVE_UP, DECLINE):
            card = cards[fields["card"]]
            found.append((action, card["role"], card["power"]))
    return found


def dominated(thrown: Sequence[tuple[int, int, int]]) -> set[int]:
    """The throw-aways for which there is one with the same role and less power."""
    return {
        action
        for action, role, power in thrown
        if any(role == other and power > less for _, other, less in thrown)
    }


def judge(game: Game, legal: Sequence[int], answer: Answer) -> Decision:
    """Looks at the answer to a decision between the legal actions."""
    thrown = throw_aways(game, legal) if game.id == SOCCER else []
    worse = dominated(thrown)
    proven = answer.stop_reason == "proven"
    # A score that is neither proven nor sampled is none.
    scored = [
        each for each in answer.actions if proven or (each.visits and each.deviation < NO_SCORE)
    ]
    best = max((each.expected_score for each in scored), default=0.0)
    equal = [each for each in scored if each.expected_score >= best - EQUAL]
    tie = len(equal) > 1
    return Decision(
        may_throw=bool(thrown),
        dominated=answer.action in worse,
        named=any(each.action in worse and each.probability > 0 for each in answer.actions),
        tie=tie,
        proven=proven,
        untold=tie and any(each.probability == 0 and not each.tied for each in equal),
    )


def play(task: Task) -> list[Decision]:
    """Plays a match and judges all its decisions between several actions."""
    chance = random.Random(f"{task.game_id}/{task.seed}/{task.match}")
    position = Position.deal(games()[task.game_id](), chance.getrandbits(64))
    process = search_process(task.revision)
    decisions = []
    while not position.over:
        joint = {}
        for seat in position.deciders:
            legal = position.legal(seat)
            joint[seat] = legal[0]
            if len(legal) > 1:
                limits = {"iterations": task.iterations}
                seed = chance.getrandbits(64)
                answer = process.ask(position.view(seat), seed, limits, all_actions=True)
                decisions.append(judge(position.game, legal, answer))
                joint[seat] = answer.action
        position.apply(joint, chance.getrandbits(64))
    return decisions


def collect(
    task: Task, wanted: int, counts: Callable[[Decision], bool], workers: int
) -> list[Decision]:
    """Plays matches until so many decisions that count were made, and returns these."""
    found: list[Decision] = []
    told = time.monotonic()
    # One match has at least one decision, so these are enough.
    tasks = [task._replace(match=match) for match in range(wanted)]
    with in_order(play, tasks, workers) as results:
        for decisions in results:
            found += filter(counts, decisions)
            if len(found) >= wanted:
                break
            if time.monotonic() - told >= TELL_EVERY:
                told = time.monotonic()
                print(f"{task.game_id}: {len(found):,} of {wanted:,} decisions", file=sys.stderr)
    return found[:wanted]


def show_throw_aways(code: str, found: Sequence[Decision]) -> None:
    """Prints the row of one code."""
    row = [sum(each.dominated for each in found), sum(each.named for each in found)]
    print(f"{code:14}{len(found):>11,}{row[0]:>12,}{row[1]:>19,}", flush=True)


def show_ties(game_id: str, code: str, found: Sequence[Decision]) -> None:
    """Prints the rows of one code: ties that are proven, and others."""
    proven = sum(each.proven for each in found)
    by_proof = sorted(found, key=lambda each: not each.proven)
    for is_proven, group in groupby(by_proof, key=lambda each: each.proven):
        ties = [each for each in group if each.tie]
        untold = sum(each.untold for each in ties)
        number = proven if is_proven else len(found) - proven
        kind = "proven" if is_proven else "searched"
        print(f"{game_id:18}{code:14}{kind:10}{number:>10,}{len(ties):>8,}{untold:>10,}")
    sys.stdout.flush()


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(
        prog="lab.search_bench.dominated", description=__doc__.split("\n\n")[0]
    )
    add = parser.add_argument
    add("--decisions", type=whole(0), default=DECISIONS, help="of throw-aways; %(default)s")
    add("--ties", metavar="GAME,...", default="champion_chess", help="default: %(default)s")
    add("--tie-decisions", type=whole(0), default=DECISIONS, help="of each game; %(default)s")
    add("--iterations", type=whole(1), default=ITERATIONS, help="default: %(default)s")
    add("--seed", type=int, default=0, help="default: %(default)s")
    add("--revision", help="a git revision to compare with")
    add("--workers", type=whole(1), default=processors(), help="processes; default: %(default)s")
    chosen = parser.parse_args()
    game_ids = [game_id for game_id in chosen.ties.split(",") if game_id]
    if unknown := set(game_ids) - set(games()):
        parser.error(f"there is no game {', '.join(sorted(unknown))}")
    codes: dict[str, str | None] = {"this code": None}
    if chosen.revision:
        codes[chosen.revision] = chosen.revision
        try:
            build(chosen.revision)
        except ConfigurationError as error:
            parser.error(str(error))
    print(f"Self-play, {chosen.iterations:,} iterations a decision, seed {chosen.seed}.")
    if chosen.decisions:
        print(f"\nThrow-aways in {SOCCER}\n{'code':14}{'decisions':>11}", end="")
        print(f"{'dominated':>12}{'dominated, named':>19}")
        for code, revision in codes.items():
            task = Task(SOCCER, chosen.seed, 0, chosen.iterations, revision)
            may_throw = collect(
                task, chosen.decisions, lambda decision: decision.may_throw, chosen.workers
            )
            show_throw_aways(code, may_throw)
    if chosen.tie_decisions and game_ids:
        print(f"\nTies\n{'game':18}{'code':14}{'scores':10}{'decisions':>10}", end="")
        print(f"{'ties':>8}{'not told':>10}")
        for game_id in game_ids:
            for code, revision in codes.items():
                task = Task(game_id, chosen.seed, 0, chosen.iterations, revision)
                every = collect(task, chosen.tie_decisions, lambda decision: True, chosen.workers)
                show_ties(game_id, code, every)


if __name__ == "__main__":
    main()
