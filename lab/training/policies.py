"""Fits the weights of a model's policy to recorded matches.

A policy is a softmax of the weighted features of the legal actions, as in conditional logit
(D. McFadden, "Conditional Logit Analysis of Qualitative Choice Behavior", 1974); its weights make
the answers of the search likeliest. The fit is convex, and has a penalty on large weights (ridge
regression), so that a feature that is rarely seen does not get a large one. What comes out is
rounded to whole numbers. Every fifth match is held out: losses are of these.
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
from lab.training.self_play import positions

HELD_OUT = 5  # Every fifth match.
PENALTY = 1.0  # Half of it times the sum of the squared weights.
MAX_STEPS = 500

Numbers = NDArray[np.float64]


class Choices(NamedTuple):
    """Decisions of one kind: all their actions, one after the other."""

    rows: Any  # The features of each action, as a sparse array: most are 0.
    shares: Numbers  # The probability of each action in the answer of the search.
    starts: NDArray[np.intp]  # Where each decision begins.


class Fit(NamedTuple):
    """The weights of each kind, and how well they do on matches that were held out."""

    weights: dict[str, dict[str, int]]
    # By kind: how many decisions, and the mean log loss of each way to tell.
    losses: dict[str, dict[str, float]]


def fit(game: Game, features: Features, matches: Sequence[dict[str, Any]]) -> Fit:
    """Fits all kinds of decisions of a game."""
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
    return Fit(weights, losses)


def is_held_out(number: int) -> bool:
    """Whether no weights are fitted to the match of a number."""
    return number % HELD_OUT == HELD_OUT - 1


def whole(weights: Iterable[float]) -> list[int]:
    """The weights as whole numbers."""
    return [round(SCALE * float(weight)) for weight in weights]


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
