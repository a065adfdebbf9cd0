"""The plain search in C finds what the real one does."""

import itertools
import math
import random
import statistics

import pytest

from ai.results import Parameters
from ai.search import search
from engine import games
from engine.game import SeatView
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from lab import plain_search

PLACE = 2  # The phase.
ITERATIONS = 20_000
WORLDS = 400


def first_placements(seed: int) -> list[SeatView]:
    """The view of who places first, in each round of a random match."""
    chance = random.Random(seed)
    position = Position.deal(games()["skystones"](), seed)
    found = []
    while not position.over:
        common = position.fields["common"]
        if common["phase"] == PLACE and not any(square["card"] for square in common["board"]):
            found.append(position.view(position.deciders[0]))
        joint = {seat: chance.choice(position.legal(seat)) for seat in position.deciders}
        position.apply(joint, chance.getrandbits(64))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_both_searches_expect_the_same(seed: int) -> None:
    view = first_placements(seed)[-1]
    plain = plain_search.search(view, ITERATIONS, seed)
    parameters = Parameters(playout_policy=False, widening=0)
    found = search(view, iterations=ITERATIONS, seed=seed, parameters=parameters)
    real = {one.action: one for one in found.actions}
    assert plain.placements.keys() == real.keys()
    assert sum(one.visits for one in plain.placements.values()) == ITERATIONS
    assert plain.seconds > 0
    # Near ties, they may name different actions, which both expect to score the same.
    best = plain.placements[plain.action].score
    assert real[found.action].expected_score == pytest.approx(best, abs=0.04)
    assert real[plain.action].expected_score == pytest.approx(best, abs=0.08)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("which", [0, -1])
def test_worlds_and_playouts_are_those_of_the_rules(seed: int, which: int) -> None:
    view = first_placements(seed)[which]
    sampler, policy = Sampler.of(view), PlayoutPolicy.uniform(view.game)
    plain: list[float] = []
    expected: list[float] = []
    for chance in range(WORLDS):
        # As many iterations as actions: each is tried once, at random from there.
        world = sampler.sample(chance)
        legal = world.legal(view.seat)
        found = plain_search.search(view, len(legal), chance)
        assert found.placements.keys() == set(legal)
        plain.append(statistics.mean(one.score for one in found.placements.values()))
        scores = []
        for action in legal:
            position = world.copy()
            position.apply({view.seat: action}, chance)
            score, _ = policy.playouts(position, 1, chance * 100 + len(scores))
            scores.append(1 - score if view.seat else score)
        expected.append(statistics.mean(scores))
    error = math.sqrt((statistics.variance(plain) + statistics.variance(expected)) / WORLDS)
    assert abs(statistics.mean(plain) - statistics.mean(expected)) < 4 * error
    assert error < 0.02


def test_a_seed_repeats_and_another_one_does_not() -> None:
    view = first_placements(1)[-1]
    first, again, other = (plain_search.search(view, 2_000, seed) for seed in (1, 1, 2))
    assert first.placements == again.placements != other.placements


def test_it_refuses_other_positions() -> None:
    special = games()["skystones"]({"special_fields": 2})
    views = [
        Position.deal(games()["skystones"](), 1).view(0),
        Position.deal(games()["powershot_soccer"](), 1).view(0),
        Position.deal(special, 1).view(0),
    ]
    for view, other in itertools.product(views, (1, 2)):
        with pytest.raises(ValueError, match="knows only"):
            plain_search.search(view, 100, other)
