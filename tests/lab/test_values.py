"""Fits of the net for values: gradients, what a fit finds, and which positions count."""

import math

import numpy as np
import pytest

from engine import games
from engine.features import Features
from engine.net import SCALES, Net, shapes
from engine.playout_policy import PlayoutPolicy
from lab.training import self_play, values
from lab.training.self_play import Task
from lab.training.values import Outcomes, Schedule
from tests.support.models import random_net

INPUTS = 6


def some_outcomes(n, seed):
    """Outcomes that depend on the inputs, on two of them together, and on chance."""
    chance = np.random.default_rng(seed)
    rows = chance.integers(0, 3, (n, INPUTS)).astype(np.int16)
    x = rows @ np.array([0.8, -0.8, 0.4, -0.4, 0, 0]) + 1.5 * (rows[:, 4] > 0) * (rows[:, 5] > 0)
    x += chance.logistic(size=n) - 0.6
    ends = np.where(x > 0.5, 2, np.where(x < -0.5, 0, 1))
    return Outcomes(
        rows,
        chance.integers(0, 2, n).astype(np.int8),
        np.arange(n, dtype=np.int32),
        np.eye(3, dtype=np.float32)[ends],
        np.full(n, 1 / 3, np.float32),
    )


def float_weights(layers):
    return {
        name: (np.array(layer) / SCALES[name]).reshape(shapes(INPUTS)[name])
        for name, layer in layers.items()
    }


def test_gradients_are_those_of_the_loss():
    rows = some_outcomes(40, 1).rows.astype(float)
    targets = np.random.default_rng(5).dirichlet((1, 1, 1), len(rows))

    def loss(weights):
        chances = np.stack(values._chances(*values._forward(weights, rows)[-1]), 1)
        return -(targets * np.log(chances)).sum(1).mean()

    weights = float_weights(random_net(INPUTS, 3, 40))
    weights["output_bias"][0, 1] += 1  # The draw has a width.
    gradients = values._gradients(weights, rows, targets)
    chance = np.random.default_rng(2)
    checked = 0
    for name, gradient in gradients.items():
        assert gradient.shape == weights[name].shape
        for _ in range(10):
            at = tuple(chance.integers(0, size) for size in gradient.shape)
            kept = weights[name][at]
            found = []
            for step in (1e-6, -1e-6):
                weights[name][at] = kept + step
                found.append(loss(weights))
            weights[name][at] = kept
            assert (found[0] - found[1]) / 2e-6 == pytest.approx(gradient[at], abs=1e-5), name
            checked += abs(gradient[at]) > 1e-4
    assert checked > 20


def test_a_fit_finds_what_outcomes_depend_on():
    outcomes, others = some_outcomes(20_000, 1), some_outcomes(5_000, 2)
    layers = values.fit([(outcomes, Schedule(8, 3e-3))], INPUTS, 1)
    fitted = values.loss(layers, INPUTS, others)
    shares = others.targets.mean(0)
    without = -sum(share * math.log(share) for share in shares)
    linear = {**layers, "output": [0] * len(layers["output"])}
    assert fitted < without - 0.15
    # The bias of the output is not fitted without the units, but what they tell is clear.
    assert fitted < values.loss(linear, INPUTS, others) - 0.05
    assert values.present_loss(others) == pytest.approx(math.log(3))
    # The likelihoods are those of the net in whole numbers.
    net = Net(INPUTS, layers)
    said = values.likelihoods(layers, INPUTS, others)
    for row, each in zip(others.rows[:500].tolist(), said[:500], strict=True):
        x, half = (output / SCALES["direct"] for output in net.outputs(row))
        win, lost = 1 / (1 + math.exp(half - x)), 1 / (1 + math.exp(half + x))
        assert each == pytest.approx((lost, 1 - win - lost, win), abs=0.02)


def test_smooth_targets_mix_the_outcome_with_what_the_net_says_of_later_positions():
    rows = np.zeros((5, INPUTS), np.int16)
    targets = np.eye(3, dtype=np.float32)[[2, 0, 2, 1, 1]]  # A match of three, and one of two.
    seats, matches = np.array([0, 1, 0, 1, 1]), np.array([0, 0, 0, 1, 1])
    outcomes = Outcomes(rows, seats, matches, targets, np.ones(5))
    said = np.array([[0.1, 0.2, 0.7]] * 5)
    found = values.smoothed(outcomes, said).targets
    assert found[2] == pytest.approx(targets[2]) and found[4] == pytest.approx(targets[4])
    second = 0.2 * said[2] + 0.8 * targets[2]
    assert found[1] == pytest.approx(second[::-1])
    assert found[0] == pytest.approx((0.2 * said[1] + 0.8 * found[1])[::-1])
    assert found[3] == pytest.approx(0.2 * said[4] + 0.8 * targets[4])  # The same seat.


def test_the_same_seed_gives_the_same_net():
    outcomes = some_outcomes(2_000, 1)
    one, same, other = (
        values.fit([(outcomes, Schedule(1, 3e-3))], INPUTS, seed) for seed in (1, 1, 2)
    )
    assert one == same != other


@pytest.mark.parametrize("game_id", ["castle_rampage", "skystones", "powershot_soccer"])
def test_positions_count_from_the_last_slip_on_where_playouts_can_end(game_id):
    game = games()[game_id]()
    features, policy = Features.of(game), PlayoutPolicy.of(game)
    counted = {True: 0, False: 0}
    for number in range(8):
        match = self_play.play(Task(game_id, 4, number, 5))
        assert (match["last_slip"] < 0) == self_play.is_clean(number)
        expected, stage = [], None
        for i, decided in enumerate(self_play.positions(game, match)):
            end = decided.position.scores
            if decided.position.over:
                break
            now = policy.at(decided.position)
            if stage is not None and now != stage and i > match["last_slip"]:
                expected.append(features.row(decided.position))
            stage = now
        found = values.of_matches(game, features, None, [match])
        assert [row.tobytes() for row in found.rows] == [row for _, row in expected]
        assert found.seats.tolist() == [seat for seat, _ in expected]
        assert (found.targets @ (0, 0.5, 1)).tolist() == [end[seat] for seat, _ in expected]
        counted[self_play.is_clean(number)] += len(expected)
    assert counted[True] > counted[False]


def test_matches_of_the_policy_have_outcomes():
    game = games()["skystones"]()
    found = values.of_policy(game, Features.of(game), None, 40, 1)
    assert len({len(each) for each in found}) == 1 and len(found.rows) > 80
    assert set(found.matches.tolist()) == set(range(40))
    assert (found.targets.sum(1) == 1).all() and (found.targets.mean(0) > 0.1).all()
    assert (found.by_present > 0).all() and (found.by_present < 1).all()


def test_a_fit_begins_from_the_layers_that_it_is_given():
    nothing, some = some_outcomes(0, 1), some_outcomes(600, 1)
    layers = random_net(INPUTS, 3, 40)
    assert values.learn(nothing, nothing, INPUTS, 1, layers) == layers
    assert values.learn(nothing, nothing, INPUTS, 1) != layers
    better = values.learn(nothing, some, INPUTS, 1, layers)
    assert values.loss(better, INPUTS, some) < values.loss(layers, INPUTS, some)
    # So few matches leave most of it as it was.
    for name, layer in layers.items():
        moved = [abs(a - b) for a, b in zip(layer, better[name], strict=True)]
        assert max(moved) < 0.1 * SCALES[name]
