"""Cases and random play for the tests over all games."""

import collections

import pytest

from engine import games
from engine.position import Position
from lab.contract import VIEWERS as VIEWERS
from lab.contract import note_on_failure as note_on_failure
from lab.contract import random_joint as random_joint
from lab.contract import random_secret as random_secret
from lab.contract import seeded as seeded
from tests.games import facts_of


def cases(rulesets):
    """Return a parameter for each game and each of its `rulesets` (or `small_rulesets`)."""
    return [
        pytest.param(game_id, name, id=f"{game_id}-{name}")
        for game_id in games()
        for name in getattr(facts_of(game_id), rulesets)
    ]


def game_of(game_id, name):
    """Return a game under one of the rulesets of its facts, and the facts."""
    facts = facts_of(game_id)
    return games()[game_id]({**facts.rulesets, **facts.small_rulesets}[name]), facts


def chances(worlds, hidden):
    """Return the probability of each hidden thing. `hidden` finds it in the position of a world."""
    likely = collections.Counter()
    for world, chance in worlds.items():
        likely[hidden(world)] += chance
    return likely


def check_uniform(p_values):
    """Check that p-values are distributed as for draws in proportion."""
    n = len(p_values)
    assert n > 20
    assert min(p_values) > 1e-3 / n
    assert abs(sum(p_values) / n - 0.5) < 4 / (12 * n) ** 0.5


def decisions(game_id, count, seed):
    """Yield positions of random matches, each with a seat that has several actions there."""
    rng = seeded(seed, game_id)
    game = games()[game_id]()
    position = Position.deal(game, rng.getrandbits(60))
    while count:
        for _ in range(rng.randrange(1, 15)):
            if position.over:
                position = Position.deal(game, rng.getrandbits(60))
            position.apply(random_joint(position, rng), rng.getrandbits(60))
        for seat in position.deciders[:1]:
            if len(position.legal(seat)) > 1:
                count -= 1
                yield position.copy(), seat
