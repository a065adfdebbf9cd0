"""Cases and random play for the tests over all games."""

import collections

import pytest

from engine import games
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
