"""Fits the weights of a model to recorded matches.

A policy is a softmax of the weighted features of the legal actions, as in conditional logit
(D. McFadden, "Conditional Logit Analysis of Qualitative Choice Behavior", 1974); its weights make
the answers of the search likeliest. A value is an ordinal logistic model of the outcome: see
engine/features.pxd. Both fits are convex but for the width of a draw, and have a penalty
on large weights (ridge regression), so that a feature that is rarely seen does not get a large one.
What comes out is rounded to whole numbers. Every fifth match is held out: losses are of these.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array

from engine.features import SCALE, Features
from engine.game import Game
from engine.playout_policy import PlayoutPolicy
from lab.training.self_play import is_clean, positions

HELD_OUT = 5  # Every fifth match.
PENALTY = 1.0  # Half of it times the sum of the squared weights.
MAX_STEPS = 500
TINY = 1e-12

Numbers = NDArray[np.float64]


class Choices(NamedTuple):
    """Decisions of one kind: all their actions, one after the other."""

    rows: Any  # The features of each action, as a sparse array: most are 0.
    shares: Numbers  # The probability of each action in the answer of the search.
    starts: NDArray[np.intp]  # Where each decision begins.


class Outcomes(NamedTuple):
    """Positions of one kind, and how their matches ended."""

    rows: Numbers
    scores: Numbers  # Of seat 0: 0, 0.5 or 1.
    by_hand: Numbers  # The likelihood of the outcome, by what is written by hand.


class Fit(NamedTuple):
    """The weights of each kind, and how well they do on matches that were held out."""

    weights: dict[str, dict[str, int]]
    # By kind: how many decisions or positions, and the mean log loss of each way to tell.
    losses: dict[str, dict[str, float]]


def fit(game: Game, features: Features, matches: Sequence[dict[str, Any]]) -> Fit:
    """Fits all kinds of decisions and positions of a game."""
    fitted = [match for match in matches if not is_held_out(match["match"])]
    held_out = [match for match in matches if is_held_out(match["match"])]
    weights: dict[str, dict[str, int]] = {}
    losses: dict[str, dict[str, float]] = {}
    for kind, names in features.decisions.items():
        choices = choices_of(game, features, kind, fitted)
        found = whole(fit_choices(choices, len(names)))
        weights[kind] = dict(zip(names, found, strict=True))
        others = choices_of(game, features, kind, held_out)
        losses[kind] = {
            "decisions": len(choices.starts),
            "held_out": len(others.starts),
            "uniform": choices_loss(others, np.zeros(len(names))),
            "fitted": choices_loss(others, np.array(found) / SCALE),
        }
    for kind, names in features.positions.items():
        outcomes = outcomes_of(game, features, kind, fitted)
        found = whole(fit_outcomes(outcomes, len(names)))
        weights[kind] = dict(zip((*names, "draw"), found, strict=True))
        rest = outcomes_of(game, features, kind, held_out)
        losses[kind] = {
            "positions": len(outcomes.scores),
            "held_out": len(rest.scores),
            "by_hand": _mean(-np.log(np.maximum(rest.by_hand, TINY))),
            "fitted": outcomes_loss(rest, np.array(found) / SCALE),
        }
    return Fit(weights, losses)


def is_held_out(number: int) -> bool:
    """Whether no weights are fitted to the match of a number."""
    return number % HELD_OUT == HELD_OUT - 1


def whole(weights: Iterable[float]) -> list[int]:
    """The weights as whole numbers."""
    return [round(SCALE * float(weight)) for weight in weights]


# Policies


def choices_of(
    game: Game, features: Features, kind: str, matches: Iterable[dict[str, Any]]
) -> Choices:
    """The decisions of one kind in matches."""
    width = len(features.decisions[kind])
    rows, shares, starts = [], [], [0]
    for match in matches:
        for decided in positions(game, match):
            for seat, answer in decided.answers.items():
                described = features.rows(decided.position, seat)
                if described is not None and described[0] == kind:
                    rows.append(np.frombuffer(described[1], np.int16).reshape(-1, width))
                    shares += [answer.get(action, 0.0) for action in decided.position.legal(seat)]
                    starts.append(len(shares))
    return Choices(
        csr_array(np.concatenate(rows) if rows else np.zeros((0, width)), dtype=np.float64),
        np.array(shares),
        np.array(starts[:-1], np.intp),
    )


def _log_probabilities(choices: Choices, weights: Numbers) -> Numbers:
    sums = choices.rows @ weights
    counts = np.diff(np.append(choices.starts, len(sums)))
    sums -= np.repeat(np.maximum.reduceat(sums, choices.starts), counts)
    totals = np.add.reduceat(np.exp(sums), choices.starts)
    found: Numbers = sums - np.repeat(np.log(totals), counts)
    return found


def choices_loss(choices: Choices, weights: Numbers) -> float:
    """The mean log loss of decisions: the cross entropy with the answers of the search."""
    if not len(choices.starts):
        return math.nan
    lost = float(choices.shares @ _log_probabilities(choices, weights))
    return -lost / len(choices.starts)


def fit_choices(choices: Choices, width: int) -> Numbers:
    """The weights that make the answers of the search likeliest."""
    if not len(choices.starts):
        return np.zeros(width)

    def loss(weights: Numbers) -> tuple[float, Numbers]:
        logs = _log_probabilities(choices, weights)
        total = -float(choices.shares @ logs) + PENALTY / 2 * float(weights @ weights)
        return total, choices.rows.T @ (np.exp(logs) - choices.shares) + PENALTY * weights

    found: Numbers = minimize(
        loss, np.zeros(width), jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS}
    ).x
    return found


# Values


def outcomes_of(
    game: Game, features: Features, kind: str, matches: Iterable[dict[str, Any]]
) -> Outcomes:
    """The positions of one kind in clean matches."""
    policy = PlayoutPolicy.of(game)
    width = len(features.positions[kind])
    rows, scores, by_hand = [], [], []
    for match in filter(lambda match: is_clean(match["match"]), matches):
        seen = []
        for decided in positions(game, match):
            described = features.row(decided.position)
            if described is not None and described[0] == kind:
                seen.append(policy.score(decided.position))
                rows.append(np.frombuffer(described[1], np.int16))
            end = decided.position.scores
        assert end is not None
        scores += [end[0]] * len(seen)
        for score, draw in seen:
            chance = {0.0: 1 - score - draw / 2, 0.5: draw, 1.0: score - draw / 2}
            by_hand.append(chance[end[0]])
    return Outcomes(
        np.array(rows, np.float64).reshape(-1, width), np.array(scores), np.array(by_hand)
    )


def _likelihoods(outcomes: Outcomes, weights: Numbers) -> Numbers:
    x, half = outcomes.rows @ weights[:-1], weights[-1]
    win, loss = 1 / (1 + np.exp(half - x)), 1 / (1 + np.exp(half + x))
    scores = outcomes.scores
    found: Numbers = np.where(scores == 1, win, np.where(scores == 0, loss, 1 - win - loss))
    return found


def outcomes_loss(outcomes: Outcomes, weights: Numbers) -> float:
    """The mean log loss of the outcomes."""
    return _mean(-np.log(np.maximum(_likelihoods(outcomes, weights), TINY)))


def fit_outcomes(outcomes: Outcomes, width: int) -> Numbers:
    """The weights that make the outcomes likeliest; the last one is half the width of a draw."""
    start = np.append(np.zeros(width), 0.5)
    if not len(outcomes.scores):
        return start

    def loss(weights: Numbers) -> float:
        total = np.log(np.maximum(_likelihoods(outcomes, weights), TINY)).sum()
        return -float(total) + PENALTY / 2 * float(weights @ weights)

    bounds = [(None, None)] * width + [(1 / SCALE, None)]
    found: Numbers = minimize(loss, start, method="L-BFGS-B", bounds=bounds).x
    return found


def _mean(numbers: Numbers) -> float:
    return float(numbers.mean()) if len(numbers) else math.nan
