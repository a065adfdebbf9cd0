"""Cases and random play for the tests over all games."""

import collections
import contextlib
import random

import pytest

from engine import games
from engine.game import SEATS, SPECTATOR
from tests.games import facts_of

VIEWERS = (*range(SEATS), SPECTATOR)


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


@contextlib.contextmanager
def note_on_failure(**what):
    """Add these values, such as the seed, to the message of a failure, to reproduce it."""
    try:
        yield
    except Exception as error:
        error.add_note(", ".join(f"{name}={value}" for name, value in what.items()))
        raise


def random_joint(position, rng):
    """Return a legal action for each decider, by seat."""
    return {seat: rng.choice(position.legal(seat)) for seat in position.deciders}


def random_secret(rng):
    """Return the secret of a match."""
    return rng.randbytes(32)


def seeded(*seeds):
    """Return the generator of this combination of seeds and names."""
    return random.Random("/".join(map(str, seeds)))


def count_worlds(sampler, draws, rng, hidden):
    """Return how often each hidden thing is drawn. `hidden` finds it in the fields of a world."""
    # A small ruleset has few different worlds, and reading the fields is slow: read each once.
    worlds = collections.Counter(bytes(sampler.sample(rng.getrandbits(64))) for _ in range(draws))
    counted = collections.Counter()
    for world, n in worlds.items():
        counted[hidden(sampler.game.read_state(world))] += n
    return counted


def chances(worlds, hidden):
    """Return the probability of each hidden thing. `hidden` finds it in the position of a world."""
    likely = collections.Counter()
    for world, chance in worlds.items():
        likely[hidden(world)] += chance
    return likely
