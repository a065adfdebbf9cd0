"""The fit of the playout policy of Skystones, compared with the policy itself."""

import random
import subprocess
import sys
from collections import Counter

import pytest

from engine import games
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from lab.fit_skystones_policy import (
    PLACE,
    Constants,
    Decision,
    Features,
    climb,
    default_constants,
    features,
    fit,
    probabilities,
    score_against,
)
from tests.support.chi_squared import p_of_distribution

DRAWS = 2_000


def placements_of(ruleset, seed):
    """The placements with a choice, of a match that the policy plays."""
    game = games()["skystones"](ruleset)
    policy = PlayoutPolicy.of(game)
    chance = random.Random(seed)
    position = Position.deal(game, seed)
    while not position.over:
        if (
            position.fields["common"]["phase"] == PLACE
            and len(position.legal(position.deciders[0])) > 1
        ):
            yield position, policy
        joint = {
            seat: policy.action(position, seat, chance.getrandbits(64))
            for seat in position.deciders
        }
        position.apply(joint, chance.getrandbits(64))


@pytest.mark.parametrize("ruleset", [{}, {"special_fields": 4}, {"board_size": 2, "hand_size": 2}])
def test_the_policy_plays_with_the_probabilities_of_its_constants(ruleset):
    constants = default_constants()
    p_values = []
    for position, policy in placements_of(ruleset, 7):
        [seat] = position.deciders
        chances = probabilities(constants, features(position))
        assert sum(chances) == pytest.approx(1)
        expected = {a: p for a, p in zip(position.legal(seat), chances, strict=True) if p}
        drawn = Counter(policy.action(position, seat, seed) for seed in range(DRAWS))
        assert drawn.keys() <= expected.keys()
        if len(expected) > 1:
            p_values.append(p_of_distribution(drawn, expected))
    assert len(p_values) >= 3
    assert min(p_values) > 1e-3 / len(p_values)


def test_the_fit_finds_the_constants_behind_the_decisions():
    made_with = Constants(6, 7, (3, 1, 0, 0))
    chance = random.Random(1)
    decisions = []
    for _ in range(200):
        placements = [
            Features(chance.randrange(3), tuple(chance.randrange(3) for _ in made_with.weak))
            for _ in range(8)
        ]
        decisions.append(Decision(placements, probabilities(made_with, placements)))
    start = Constants(1, 1, (0, 0, 0, 0))
    found = climb(start, decisions, lambda constants, how_well: None)
    assert fit(found, decisions).likelihood >= fit(made_with, decisions).likelihood - 0.01
    assert fit(found, decisions).likelihood > fit(default_constants(), decisions).likelihood + 0.1


def test_constants_that_take_cards_beat_constants_that_do_not():
    constants = default_constants()
    scores = score_against(constants, constants._replace(taken=0), 20, 3)
    assert sum(scores) > 12


def test_the_script_prints_default_and_fitted_constants():
    command = [sys.executable, "-m", "lab.fit_skystones_policy"]
    command += ["--matches", "3", "--iterations", "10", "--pairs", "2"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert str(default_constants()) in printed and "fitted from nothing" in printed
