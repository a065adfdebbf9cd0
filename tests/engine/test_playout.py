"""Playout policies choose legally, sensibly and only by what their seat knows."""

import itertools
import random

import pytest

from ai.results import Parameters
from ai.search import search
from engine import games
from engine.game import Game
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from tests.support.long_form import LONG_FORM

MATCHES = 10 if LONG_FORM else 5
WORLDS = 5

GAMES = [pytest.param(game_class(), id=game_id) for game_id, game_class in games().items()]
HOSTED = [one for one in GAMES if not one.values[0].reference]


def positions(game: Game, seed: int) -> list[Position]:
    """Return all positions of a random match in which a seat must decide."""
    chance = random.Random(seed)
    position = Position.deal(game, seed)
    found = []
    for ply in itertools.count():
        if position.over:
            return found
        found.append(position.copy())
        joint = {seat: chance.choice(position.legal(seat)) for seat in position.deciders}
        position.apply(joint, seed * 100_003 + ply)
    raise AssertionError


@pytest.mark.parametrize("game", GAMES)
def test_its_choices_are_legal_and_its_estimates_are_probabilities(game: Game) -> None:
    policy = PlayoutPolicy.of(game)
    for seed in range(MATCHES):
        stage = -1
        for ply, position in enumerate(positions(game, seed)):
            where = f"seed {seed}, ply {ply}"
            for seat in position.deciders:
                for chance in range(3):
                    assert policy.action(position, seat, chance) in position.legal(seat), where
            score, draw = policy.score(position)
            assert draw / 2 <= score <= 1 - draw / 2 and draw >= 0, where
            assert policy.at(position) >= stage, where
            stage = policy.at(position)


@pytest.mark.parametrize("game", GAMES)
def test_it_chooses_by_what_its_seat_knows(game: Game) -> None:
    policy = PlayoutPolicy.of(game)
    for seed in range(MATCHES // 2):
        for ply, position in enumerate(positions(game, seed)[::4]):
            for seat in position.deciders:
                sampler = Sampler.of(position.view(seat))
                chosen = {
                    policy.action(sampler.sample(world), seat, ply) for world in range(WORLDS)
                }
                assert chosen == {policy.action(position, seat, ply)}, f"seed {seed}, ply {ply * 4}"


@pytest.mark.parametrize("game", HOSTED)
def test_it_beats_random_play(game: Game) -> None:
    policy = PlayoutPolicy.of(game)
    score = 0.0
    for seed, informed in itertools.product(range(25), (0, 1)):
        chance = random.Random(seed)
        position = Position.deal(game, seed)
        for ply in itertools.count():
            if position.over:
                break
            joint = {
                seat: policy.action(position, seat, seed * 7_919 + ply)
                if seat == informed
                else chance.choice(position.legal(seat))
                for seat in position.deciders
            }
            position.apply(joint, seed * 100_003 + ply)
        assert position.scores is not None
        score += position.scores[informed]
    # Each policy scores at least 95 % over hundreds of matches.
    assert score / 50 > 0.8


@pytest.mark.parametrize("game", GAMES)
def test_both_seats_expect_equal_scores_over_many_deals(game: Game) -> None:
    # Both seats have the same chances, so over many deals their mean scores are equal.
    scores = [
        PlayoutPolicy.of(game).playouts(Position.deal(game, seed), 20, seed)[0]
        for seed in range(200)
    ]
    mean = sum(scores) / len(scores)
    deviation = (sum((score - mean) ** 2 for score in scores) / len(scores) ** 2) ** 0.5
    assert abs(mean - 0.5) < 5 * deviation


def test_a_node_tries_few_of_many_actions_first() -> None:
    game = games()["castle_rampage"]()
    alone = [one for seed in range(5) for one in positions(game, seed) if len(one.deciders) == 1]
    position = max(alone, key=lambda one: len(one.legal(one.deciders[0])))
    view = position.view(position.deciders[0])
    legal = len(position.legal(position.deciders[0]))

    def tried(iterations: int, widening: float) -> int:
        parameters = Parameters(widening=widening)
        result = search(view, iterations=iterations, seed=1, parameters=parameters)
        return sum(one.visits > 0 for one in result.actions)

    assert tried(400, 0.5) <= 0.5 * 400**0.5 + 1
    assert tried(400, 0.5) < tried(1_600, 0.5) < tried(1_600, 1) <= legal
    assert tried(2 * legal, 0) == legal
