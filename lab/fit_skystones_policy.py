"""Fit the constants of the Skystones playout policy: `python -m lab.fit_skystones_policy`.

The policy (engine/skystones/playout.pyx) adds up points for each legal placement: TAKEN for each
card that it takes, less WEAK[p] for each open edge of p points, plus noise, a whole number below
NOISE. It plays the highest sum, the first of equal ones. Constants therefore give each placement a
probability.

The script plays matches by the policy, asks a search for its strategy at each placement with a
choice, and looks for the whole numbers that make the strategies likeliest: a maximum-likelihood
fit by local search. A share of slips, uniform over the legal placements and fitted too, keeps
a placement that the policy would never play from ruling out all constants. Every third match is
held out of the fit; the likelihoods on these matches are the ones to compare. What fits best need
not play best, so the fitted constants, and three variants of those in use, also play matches
against those in use.

By default the search plays out at random, so that its strategies do not depend on the constants
that are fitted. `--policy-playouts` makes it stronger, and dependent on them.
"""

import argparse
import math
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations, product
from typing import NamedTuple

from ai.results import Parameters
from ai.search import search
from engine import games
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.skystones import playout
from lab import workers

MATCHES = 45
ITERATIONS = 5_000
PAIRS = 400
HELD_OUT = 3  # Every third match.
MAX_NOISE = 12  # Finer steps than a twelfth of the noise would fit chance.
STEPS = (1, -1, 2, -2, 4, -4)
SLIPS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
EDGES = ("north", "east", "south", "west")
OPPOSITE = 2
BLOCKED = 6
PLACE = 2  # The phase.
WEAK_POINTS = 4  # Edges with as many points or more count nothing.


class Constants(NamedTuple):
    """The constants of the policy, in the order in which they are printed."""

    taken: int
    noise: int
    weak: tuple[int, ...]  # By the points of the edge, 0 to WEAK_POINTS - 1.

    def __str__(self) -> str:
        return f"TAKEN {self.taken:2}  NOISE {self.noise:2}  WEAK {list(self.weak)}"


class Features(NamedTuple):
    """What the policy looks at in a placement."""

    taken: int  # Cards that it takes.
    open: tuple[int, ...]  # Its open edges, by their points, 0 to WEAK_POINTS - 1.


class Decision(NamedTuple):
    """A placement with a choice, and the search's strategy for it."""

    placements: list[Features]  # In the order of the legal actions.
    strategy: list[float]


class Fit(NamedTuple):
    """How well constants explain decisions."""

    likelihood: float  # The mean logarithm.
    slip: float  # The share of slips that makes it highest.
    agreement: float  # The mean probability that the policy plays as the search does.


def default_constants() -> Constants:
    """The constants that the policy uses."""
    taken, noise, weak = playout.constants()
    assert not any(weak[WEAK_POINTS:])
    return Constants(taken, noise, tuple(weak[:WEAK_POINTS]))


def features(position: Position) -> list[Features]:
    """The features of each legal placement, in the order of the legal actions."""
    game = position.game
    cards, side = game.ruleset["cards"], game.ruleset["board_size"]
    board = position.fields["common"]["board"]
    seat = position.deciders[0]
    found = []
    for action in position.legal(seat):
        placement = game.read_action(action)
        square = placement["square"]
        row, column = divmod(square, side)
        points = [cards[placement["card"]][edge] for edge in EDGES]
        beside = (row > 0, column < side - 1, row < side - 1, column > 0)
        taken, opened = 0, [0] * WEAK_POINTS
        for edge, step in enumerate((-side, 1, side, -1)):
            if not beside[edge]:
                continue
            other = board[square + step]
            if other["card"]:
                facing = cards[other["card"] - 1][EDGES[edge ^ OPPOSITE]]
                taken += other["owner"] != seat and points[edge] > facing
            elif other["field"] != BLOCKED and points[edge] < WEAK_POINTS:
                opened[points[edge]] += 1
        found.append(Features(taken, tuple(opened)))
    return found


def sums_of(constants: Constants, placements: Sequence[Features]) -> list[int]:
    """What the policy adds up for each placement, without the noise."""
    return [
        constants.taken * taken
        - sum(weak * n for weak, n in zip(constants.weak, opened, strict=True))
        for taken, opened in placements
    ]


def probabilities(constants: Constants, placements: Sequence[Features]) -> list[float]:
    """The probability with which the policy plays each placement."""
    noise = constants.noise
    sums = sums_of(constants, placements)
    top = max(sums)
    # The others stay below the top even with the most noise.
    contenders = [i for i, points in enumerate(sums) if points + noise > top]
    found = [0.0] * len(sums)
    for highest in range(top, top + noise):
        # It is played if it reaches this sum, those before it stay below, and those after it do
        # not exceed it.
        after = [1.0]
        for i in reversed(contenders):
            after.append(after[-1] * min(1.0, (highest - sums[i] + 1) / noise))
        before = 1.0 / noise
        for i in contenders:
            after.pop()
            if highest - sums[i] < noise:
                found[i] += before * after[-1]
            before *= min(1.0, (highest - sums[i]) / noise)
    return found


def fit(constants: Constants, decisions: Sequence[Decision]) -> Fit:
    """How well constants explain decisions, with the share of slips that suits them best."""
    totals = [0.0] * len(SLIPS)
    agreement = 0.0
    for placements, strategy in decisions:
        found = probabilities(constants, placements)
        for share, chance in zip(strategy, found, strict=True):
            if share:
                agreement += share * chance
                for i, slip in enumerate(SLIPS):
                    totals[i] += share * math.log((1 - slip) * chance + slip / len(found))
    best = max(range(len(SLIPS)), key=totals.__getitem__)
    n = len(decisions)
    return Fit(totals[best] / n, SLIPS[best], agreement / n)


def neighbours(constants: Constants) -> list[Constants]:
    """The constants one step away: one changed, two changed by 1, or all doubled."""
    values = [constants.taken, constants.noise, *constants.weak]
    changes = [{i: step} for i in range(len(values)) for step in STEPS]
    changes += [
        {i: one, j: other}
        for i, j in combinations(range(len(values)), 2)
        for one, other in product((1, -1), repeat=2)
    ]
    found = [[value + change.get(i, 0) for i, value in enumerate(values)] for change in changes]
    # Doubled constants play almost alike, and smaller steps in proportion become possible.
    found.append([2 * value for value in values])
    return [
        Constants(taken, noise, tuple(weak))
        for taken, noise, *weak in found
        if 1 <= noise <= MAX_NOISE and taken >= 0 and min(weak) >= 0
    ]


def climb(
    start: Constants, decisions: Sequence[Decision], report: Callable[[Constants, Fit], None]
) -> Constants:
    """The constants from which no single step explains the decisions better."""
    known = {start: fit(start, decisions)}
    best = start
    while True:
        before = best
        for one in neighbours(before):
            if one not in known:
                known[one] = fit(one, decisions)
            if known[one].likelihood > known[best].likelihood:
                best = one
        if best == before:
            return best
        report(best, known[best])


def decisions_of(seed: int, iterations: int, parameters: Parameters) -> list[Decision]:
    """The placements of one match by the policy, with the strategies of the search."""
    chance = random.Random(seed)
    game = games()["skystones"]()
    policy = PlayoutPolicy.of(game)
    position = Position.deal(game, seed)
    found = []
    while not position.over:
        joint = {}
        for seat in position.deciders:
            legal = position.legal(seat)
            if len(legal) > 1 and position.fields["common"]["phase"] == PLACE:
                result = search(
                    position.view(seat),
                    iterations=iterations,
                    seed=chance.getrandbits(64),
                    parameters=parameters,
                )
                strategy = {one.action: one.probability for one in result.actions}
                found.append(Decision(features(position), [strategy[action] for action in legal]))
            joint[seat] = policy.action(position, seat, chance.getrandbits(64))
        position.apply(joint, chance.getrandbits(64))
    return found


def score_against(constants: Constants, others: Constants, pairs: int, seed: int) -> list[float]:
    """The scores of constants against others, one for each pair of matches.

    Both matches of a pair have one deal, with the seats exchanged. Picks are uniform.
    """
    game = games()["skystones"]()
    scores = []
    for pair in range(pairs):
        score = 0.0
        for seat in (0, 1):
            chance = random.Random(f"{seed} {pair}")
            position = Position.deal(game, chance.getrandbits(64))
            while not position.over:
                joint = {}
                for decider in position.deciders:
                    legal = position.legal(decider)
                    at = chance.randrange(len(legal))
                    if position.fields["common"]["phase"] == PLACE:
                        playing = constants if decider == seat else others
                        sums = sums_of(playing, features(position))
                        noisy = [points + chance.randrange(playing.noise) for points in sums]
                        at = noisy.index(max(noisy))
                    joint[decider] = legal[at]
                position.apply(joint, chance.getrandbits(64))
            assert position.scores is not None
            score += position.scores[seat] / 2
        scores.append(score)
    return scores


def main() -> None:
    """Collects the decisions, fits, and prints the constants beside those in use."""
    parser = argparse.ArgumentParser(
        prog="lab.fit_skystones_policy", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--matches", type=int, default=MATCHES, help="matches to take them from")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="of each search")
    parser.add_argument("--seed", type=int, default=1, help="of the first match")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of matches against those in use")
    parser.add_argument(
        "--policy-playouts", action="store_true", help="let the search play out by the policy"
    )
    workers.add_options(parser)
    arguments = parser.parse_args()
    played_by = workers.read_options(parser, arguments)
    parameters = Parameters(playout_policy=arguments.policy_playouts)
    fitted: list[Decision] = []
    held_out: list[Decision] = []
    one_match = partial(decisions_of, iterations=arguments.iterations, parameters=parameters)
    seeds = range(arguments.seed, arguments.seed + arguments.matches)
    with workers.in_order(one_match, seeds, played_by) as found:
        for number, decisions in enumerate(found, 1):
            (fitted if number % HELD_OUT else held_out).extend(decisions)
            _progress(f"match {number} of {arguments.matches}")
    if not fitted or not held_out:
        parser.error(f"--matches must be at least {HELD_OUT}")
    in_use = default_constants()
    candidates = [("in use", in_use)]
    for start in (in_use, Constants(1, 1, (0,) * WEAK_POINTS)):
        candidates.append(
            (
                "fitted from those" if start == in_use else "fitted from nothing",
                climb(
                    start, fitted, lambda best, found: _progress(f"{best}  {found.likelihood:.4f}")
                ),
            )
        )
    _progress("")
    print(
        f"{arguments.matches} matches: {len(fitted):,} placements, and {len(held_out):,} held out; "
        f"searches of {arguments.iterations:,} iterations"
    )
    print(f"{'constants':61}{'log-likelihood':>15}{'held out':>10}{'slips':>7}{'agreement':>11}")
    for title, constants in candidates:
        one, other = fit(constants, fitted), fit(constants, held_out)
        print(
            f"{title:21}{constants!s:40}{one.likelihood:15.4f}{other.likelihood:10.4f}"
            f"{one.slip:7.0%}{other.agreement:11.1%}",
            flush=True,
        )
    uniform = [
        sum(-math.log(len(one.strategy)) for one in group) / len(group)
        for group in (fitted, held_out)
    ]
    print(f"{'uniform play':61}{uniform[0]:15.4f}{uniform[1]:10.4f}", flush=True)
    variants = [
        ("half the noise", in_use._replace(noise=max(1, in_use.noise // 2))),
        ("twice the noise", in_use._replace(noise=2 * in_use.noise)),
        ("no loss for edges", in_use._replace(weak=(0,) * WEAK_POINTS)),
    ]
    for title, constants in [*candidates[1:], *variants]:
        scores = score_against(constants, in_use, arguments.pairs, arguments.seed)
        error = statistics.stdev(scores) / math.sqrt(len(scores))
        print(
            f"{title} against in use: {statistics.mean(scores):.1%} "
            f"\N{PLUS-MINUS SIGN}{1.96 * error:.1%} in {2 * len(scores):,} matches",
            flush=True,
        )


def _progress(text: str) -> None:
    print(f"\r{text:78}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
