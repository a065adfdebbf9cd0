"""What the tests over all games share: their cases and random play."""

import collections
import contextlib
import random

import pytest

from engine import games
from engine.game import SEATS, SPECTATOR
from tests.games import facts_of

VIEWERS = (*range(SEATS), SPECTATOR)


def cases(rulesets):
    """A parameter for each game and each of its rulesets: `rulesets` or `small_rulesets`."""
    return [
        pytest.param(game_id, name, id=f"{game_id}-{name}")
        for game_id in games()
        for name in getattr(facts_of(game_id), rulesets)
    ]


def game_of(game_id, name):
    """A game under one of the rulesets of its facts, and the facts."""
    facts = facts_of(game_id)
    return games()[game_id]({**facts.rulesets, **facts.small_rulesets}[name]), facts


@contextlib.contextmanager
def told(**what):
    """Names the seed, and whatever else leads back here, in the message of a failure."""
    try:
        yield
    except Exception as error:
        error.add_note(", ".join(f"{name}={value}" for name, value in what.items()))
        raise


def random_joint(position, rng):
    """A legal action for each decider, by seat."""
    return {seat: rng.choice(position.legal(seat)) for seat in position.deciders}


def random_secret(rng):
    """The secret of a match."""
    return rng.randbytes(32)


def seeded(*seeds):
    """A generator for each combination of seeds and names."""
    return random.Random("/".join(map(str, seeds)))


def count_worlds(sampler, draws, rng, hidden):
    """How often each hidden thing is drawn: `hidden` of the fields of a world."""
    # Few worlds differ on a small ruleset, and reading their fields is what takes time.
    worlds = collections.Counter(bytes(sampler.sample(rng.getrandbits(64))) for _ in range(draws))
    counted = collections.Counter()
    for world, n in worlds.items():
        counted[hidden(sampler.game.read_state(world))] += n
    return counted


def chances(worlds, hidden):
    """How likely each hidden thing is: `hidden` of the positions among all worlds of a sampler."""
    likely = collections.Counter()
    for world, chance in worlds.items():
        likely[hidden(world)] += chance
    return likely
