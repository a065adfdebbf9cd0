"""German Whist in Cython and in Python are one game; this also prints how fast each is."""

import random
import time

import pytest
from german_whist.rules import GermanWhist
from german_whist_twin.rules import CompiledGermanWhist

from ai.results import Parameters
from ai.search import search
from engine.match import Match
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler

UNIFORM = Parameters(from_deal=False, endings=False, playout_policy=False)


def both(size):
    return [kind({"cards_per_hand": size}) for kind in (CompiledGermanWhist, GermanWhist)]


@pytest.mark.parametrize("size", [3, 4, 7, 13])
def test_both_are_one_game(size):
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed={seed}")
    rng = random.Random(seed)
    games = both(size)
    secret = rng.randbytes(32)
    compiled, interpreted = (Match(game, secret) for game in games)
    assert compiled.events == interpreted.events
    while True:
        assert bytes(compiled) == bytes(interpreted)
        assert compiled.deciders == interpreted.deciders
        assert compiled.scores == interpreted.scores
        for seat in (0, 1, 2):
            assert bytes(compiled.view(seat)) == bytes(interpreted.view(seat))
        for seat in (0, 1):
            assert compiled.position.hidden(seat) == interpreted.position.hidden(seat)
            samplers = [Sampler.of(match.view(seat)) for match in (compiled, interpreted)]
            for _ in range(3):
                world = rng.getrandbits(64)
                drawn = [bytes(sampler.sample(world)) for sampler in samplers]
                assert drawn[0] == drawn[1]
        if compiled.over:
            break
        [seat] = compiled.deciders
        assert compiled.legal(seat) == interpreted.legal(seat)
        found = [
            search(match.view(seat), iterations=60, seed=seed, parameters=UNIFORM)
            for match in (compiled, interpreted)
        ]
        assert found[0] == found[1]
        action = rng.choice(compiled.legal(seat))
        assert compiled.apply(seat, action) == interpreted.apply(seat, action)


def test_the_speed_of_both(capsys):
    rates = []
    for game, amount in zip(both(13), (20_000, 600), strict=True):
        at = Position.deal(game, 0)
        view = at.view(0)
        sampler = Sampler.of(view)
        policy = PlayoutPolicy.uniform(game)
        rates.append(
            [
                rate(amount, lambda n, s=sampler: s.draws(n, 0)),
                rate(amount, lambda n, p=policy, a=at: p.playouts(a, n, 0)),
                rate(amount, lambda n, v=view: search(v, iterations=n, parameters=UNIFORM)),
            ]
        )
    with capsys.disabled():
        print()
        for name, compiled, interpreted in zip(
            ("worlds", "playouts", "iterations"), *rates, strict=True
        ):
            print(
                f"{name} a second: {compiled:.0f} compiled, {interpreted:.0f} in Python,"
                f" {compiled / interpreted:.0f} times as many"
            )
    assert all(compiled > interpreted for compiled, interpreted in zip(*rates, strict=True))


def rate(amount, work):
    began = time.perf_counter()
    work(amount)
    return amount / (time.perf_counter() - began)
