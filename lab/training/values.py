"""Fits the net that values positions (engine/net.pyx) to how matches ended.

The net is trained by stochastic gradient descent on the log loss of the outcome, first on many
matches of the playout policy against itself, which cost next to nothing, then on the matches of the
search. The former teach what the cards do, the latter how good play goes on from there. Positions
where playouts can end are described: the first of each stage (`PlayoutPolicy.stage`). Weights are
kept in the range of their whole numbers, and rounded in the end.

    D. P. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015; I. Loshchilov, F.
    Hutter, "Decoupled Weight Decay Regularization", ICLR 2019.
"""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.features import Features
from engine.game import Game
from engine.model import Model
from engine.net import LEAST_HALF_WIDTH, MOST, SCALES, shapes
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from lab.training.self_play import positions

BATCH = 512
DECAY = 0.03  # Of weights in each step, for each unit of the rate.
FIRST_MOMENT, SECOND_MOMENT = 0.9, 0.999
TINY = 1e-12

Numbers = NDArray[np.float32]
Layers = dict[str, list[int]]  # As in a model.
PASSES = 2  # Over smoothed targets.
LAMBDA = 0.8  # The share of the target of the next position; what the net says of it has the rest.


class Schedule(NamedTuple):
    """How many times to go through some outcomes, and how fast to learn at first."""

    epochs: int
    rate: float


OF_POLICY = Schedule(4, 3e-3)
OF_SEARCH = Schedule(4, 1e-3)
OF_SMOOTH = Schedule(8, 1e-3)


class Outcomes(NamedTuple):
    """Positions, each as its perspective sees it, and how likely their matches end how."""

    rows: NDArray[np.int16]
    seats: NDArray[np.int8]  # The perspectives.
    matches: NDArray[np.int32]  # Positions of one match follow each other.
    targets: Numbers  # By position: of a loss, a draw and a win of its seat. What came is 1.
    by_present: Numbers  # The likelihood of what came, by the estimate without this net.


def of_policy(game: Game, features: Features, model: Model | None, n: int, seed: int) -> Outcomes:
    """The positions of `n` matches of the playout policy against itself."""
    policy = PlayoutPolicy.of(game, model)
    return _outcomes(
        features,
        policy,
        ((_policy_match(game, policy, f"values {seed} {number}"), 0) for number in range(n)),
    )


def _policy_match(game: Game, policy: PlayoutPolicy, seed: str) -> Iterator[Position]:
    chance = random.Random(seed)
    position = Position.deal(game, chance.getrandbits(64))
    while not position.over:
        yield position
        joint = {
            seat: position.only_action(seat)
            or policy.action(position, seat, chance.getrandbits(64))
            for seat in position.deciders
        }
        position.apply(joint, chance.getrandbits(64))
    yield position


def of_matches(
    game: Game, features: Features, model: Model | None, matches: Iterable[dict[str, Any]]
) -> Outcomes:
    """The positions of recorded matches, after the last decision in which a seat slipped."""
    policy = PlayoutPolicy.of(game, model)
    return _outcomes(
        features,
        policy,
        (
            ((each.position for each in positions(game, match)), match["last_slip"] + 1)
            for match in matches
        ),
    )


def _outcomes(
    features: Features, policy: PlayoutPolicy, matches: Iterable[tuple[Iterator[Position], int]]
) -> Outcomes:
    # Of each match, its positions in order, and the number of the first that counts.
    rows: list[bytes] = []
    seats: list[int] = []
    numbers: list[int] = []
    ends: list[int] = []
    by_present: list[float] = []
    for number, (match, first) in enumerate(matches):
        estimates: list[tuple[float, float]] = []
        stage: int | None = None
        for at, position in enumerate(match):
            end = position.scores
            if position.over:
                break
            before, stage = stage, policy.at(position)
            if before is not None and stage != before and at >= first:
                seat, row = features.row(position)
                rows.append(row)
                seats.append(seat)
                numbers.append(number)
                estimates.append(policy.score(position))
        assert end is not None
        for seat, (score, draw) in zip(seats[len(ends) :], estimates, strict=True):
            ends.append(round(2 * end[seat]))
            by_present.append((1 - score - draw / 2, draw, score - draw / 2)[round(2 * end[0])])
    return Outcomes(
        np.frombuffer(b"".join(rows), np.int16).reshape(-1, len(features.inputs)),
        np.array(seats, np.int8),
        np.array(numbers, np.int32),
        np.eye(3, dtype=np.float32)[np.array(ends, np.intp)],
        np.array(by_present, np.float32),
    )


def learn(
    of_policy: Outcomes,
    of_search: Outcomes,
    inputs: int,
    seed: int,
    begin_from: Layers | None = None,
) -> Layers:
    """The layers of a net for matches of the playout policy and of the search.

    They begin from other layers, or from random ones.

    An outcome says little of a position long before. So the net is fitted again, to targets that
    mix the outcome with what the net of before said of the positions between.

        R. S. Sutton, "Learning to Predict by the Methods of Temporal Differences", Machine Learning
        3, 1988: TD(lambda), here with the forward view.
    """
    layers = fit([(of_policy, OF_POLICY), (of_search, OF_SEARCH)], inputs, seed, begin_from)
    for _ in range(PASSES):
        smooth = smoothed(of_search, likelihoods(layers, inputs, of_search))
        layers = fit([(of_policy, OF_POLICY), (smooth, OF_SMOOTH)], inputs, seed, begin_from)
    return layers


def smoothed(outcomes: Outcomes, said: Numbers) -> Outcomes:
    """The outcomes with targets that a net's likelihoods of each position are mixed into."""
    targets = outcomes.targets.copy()
    for i in range(len(targets) - 2, -1, -1):
        if outcomes.matches[i] == outcomes.matches[i + 1]:
            mixed = (1 - LAMBDA) * said[i + 1] + LAMBDA * targets[i + 1]
            targets[i] = mixed if outcomes.seats[i] == outcomes.seats[i + 1] else mixed[::-1]
    return outcomes._replace(targets=targets)


def fit(
    stages: Sequence[tuple[Outcomes, Schedule]],
    inputs: int,
    seed: int,
    begin_from: Layers | None = None,
) -> Layers:
    """The layers of a net, fitted to some outcomes after others."""
    chance = np.random.default_rng(seed)
    weights = _as_floats(begin_from, inputs) if begin_from else _first_weights(inputs, chance)
    moments = [{name: np.zeros_like(each) for name, each in weights.items()} for _ in range(2)]
    step = 0
    for outcomes, schedule in stages:
        n = len(outcomes.rows)
        batches = schedule.epochs * math.ceil(n / BATCH)
        done = 0
        for _ in range(schedule.epochs):
            order = chance.permutation(n)
            for start in range(0, n, BATCH):
                batch = order[start : start + BATCH]
                gradients = _gradients(
                    weights, outcomes.rows[batch].astype(np.float32), outcomes.targets[batch]
                )
                step += 1
                rate = schedule.rate * (1 - done / batches)
                done += 1
                _descend(weights, gradients, moments, step, rate)
    return {
        name: np.rint(each * SCALES[name]).astype(int).ravel().tolist()
        for name, each in weights.items()
    }


def likelihoods(layers: Layers, inputs: int, outcomes: Outcomes) -> Numbers:
    """How likely a net takes a loss, a draw and a win in each position."""
    weights = _as_floats(layers, inputs)
    found = [np.zeros((0, 3), np.float32)]
    for at in range(0, len(outcomes.rows), BATCH):
        rows = outcomes.rows[at : at + BATCH].astype(np.float32)
        found.append(np.stack(_chances(*_forward(weights, rows)[-1]), axis=1))
    return np.concatenate(found)


def loss(layers: Layers, inputs: int, outcomes: Outcomes) -> float:
    """The mean log loss of outcomes by a net."""
    return _mean_loss((likelihoods(layers, inputs, outcomes) * outcomes.targets).sum(1))


def present_loss(outcomes: Outcomes) -> float:
    """The mean log loss of outcomes by the estimate of the present."""
    return _mean_loss(outcomes.by_present)


def _mean_loss(found: Numbers) -> float:
    return float(-np.log(np.maximum(found, TINY)).mean()) if len(found) else math.nan


def _as_floats(layers: Layers, inputs: int) -> dict[str, Numbers]:
    shaped = shapes(inputs)
    return {
        name: (np.array(layer, np.float32) / np.float32(SCALES[name])).reshape(shaped[name])
        for name, layer in layers.items()
    }


def _first_weights(inputs: int, chance: np.random.Generator) -> dict[str, Numbers]:
    weights = {name: np.zeros(shape, np.float32) for name, shape in shapes(inputs).items()}
    for name, spread in (("first", 0.1), ("second", 0.18), ("output", 0.12)):
        weights[name] += chance.normal(0, spread, weights[name].shape)
    weights["output"][1] = 0
    weights["output_bias"][0, 1] = 0.25
    return weights


def _forward(weights: dict[str, Numbers], rows: Numbers) -> tuple[Any, ...]:
    # The sums and the units of both layers; x, and half the width of a draw before it is bounded.
    first = rows @ weights["first"] + weights["first_bias"]
    first_units = np.clip(first, 0, 1)
    second = first_units @ weights["second"].T + weights["second_bias"]
    second_units = np.clip(second, 0, 1)
    found = second_units @ weights["output"].T + weights["output_bias"]
    x = found[:, 0] + (rows @ weights["direct"].T)[:, 0]
    return first, first_units, second, second_units, (x, found[:, 1])


def _logistic(x: Numbers) -> Numbers:
    found: Numbers = np.reciprocal(1 + np.exp(-x))
    return found


def _chances(x: Numbers, width: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    # Of a loss, a draw and a win.
    half = np.maximum(width, LEAST_HALF_WIDTH)
    win, lost = _logistic(x - half), _logistic(-x - half)
    return lost, 1 - win - lost, win


def _gradients(weights: dict[str, Numbers], rows: Numbers, targets: Numbers) -> dict[str, Numbers]:
    # Of the mean log loss.
    first, first_units, second, second_units, (x, width) = _forward(weights, rows)
    lost, draw, win = _chances(x, width)
    to_lose, to_draw, to_win = targets.T
    by_x = to_win * (win - 1) + to_lose * (1 - lost) + to_draw * (win - lost)
    slopes = (win * (1 - win) + lost * (1 - lost)) / np.maximum(draw, TINY)
    by_half = to_win * (1 - win) + to_lose * (1 - lost) - to_draw * slopes
    # A width that is too small is still pushed up, but not further down.
    by_half = by_half * ((width >= LEAST_HALF_WIDTH) | (by_half < 0))
    by_outputs = np.stack([by_x, by_half], axis=1) / len(rows)
    by_second = (by_outputs @ weights["output"]) * ((second > 0) & (second < 1))
    by_first = (by_second @ weights["second"]) * ((first > 0) & (first < 1))
    return {
        "first": rows.T @ by_first,
        "first_bias": by_first.sum(0, keepdims=True),
        "second": by_second.T @ first_units,
        "second_bias": by_second.sum(0, keepdims=True),
        "output": by_outputs.T @ second_units,
        "output_bias": by_outputs.sum(0, keepdims=True),
        "direct": by_outputs[:, :1].T @ rows,
    }


def _descend(
    weights: dict[str, Numbers],
    gradients: dict[str, Numbers],
    moments: Sequence[dict[str, Numbers]],
    step: int,
    rate: float,
) -> None:
    for name, gradient in gradients.items():
        mean, square = moments[0][name], moments[1][name]
        mean += (1 - FIRST_MOMENT) * (gradient - mean)
        square += (1 - SECOND_MOMENT) * (gradient * gradient - square)
        move = mean / (1 - FIRST_MOMENT**step)
        move /= np.sqrt(square / (1 - SECOND_MOMENT**step)) + 1e-8
        each = weights[name]
        each -= np.float32(rate) * (move + DECAY * each)
        np.clip(each, -_most(name), _most(name), out=each)


def _most(name: str) -> float:
    # Of the first layer: so that a sum of a hundred inputs fits into 16 bits.
    return 2.0 if name.startswith("first") else MOST / SCALES[name]
