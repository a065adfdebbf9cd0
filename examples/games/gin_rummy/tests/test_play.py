"""How well the playout policy and the search play, and what the package says to a server."""

import copy
import itertools
import random
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from ai.search import search
from engine.aspects import Aspects
from engine.errors import ViewError
from engine.game import SeatView
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from gin_rummy.rules.rules import GinRummy
from lab import contract, contract_messages

import gin_table as table

GAME = GinRummy()
RACE = GinRummy({"target": 100})


def at_random(position, seat, seed):
    return random.Random(seed).choice(position.legal(seat))


def by_policy(position, seat, seed):
    return PlayoutPolicy.of(position.game).action(position, seat, seed)


def by_search(position, seat, seed):
    return search(position.view(seat), iterations=1_000, seed=seed).action


def score(game, first, second, pairs):
    """The mean score of the first player against the second, in pairs with the same deal."""
    total = 0.0
    for seed, swapped in itertools.product(range(pairs), (False, True)):
        players = (second, first) if swapped else (first, second)
        position = Position.deal(game, seed)
        for ply in itertools.count():
            if position.over:
                break
            [seat] = position.deciders
            action = players[seat](position, seat, seed * 7_919 + ply)
            position.apply({seat: action}, seed * 100_003 + ply)
        total += position.scores[swapped]
    return total / pairs / 2


@pytest.mark.parametrize("game", [GAME, RACE], ids=["one hand", "to a target"])
def test_the_policy_beats_random_play(game):
    assert score(game, by_policy, at_random, 25) > 0.95


def test_the_search_beats_random_play():
    assert score(GAME, by_search, at_random, 10) > 0.9


@pytest.mark.parametrize("game", [GAME, RACE], ids=["one hand", "to a target"])
def test_the_policy_is_legal_and_goes_by_what_its_seat_knows(game):
    policy = PlayoutPolicy.of(game)
    for seed in range(5):
        rng = random.Random(seed)
        position = Position.deal(game, seed)
        stage = 0
        for ply in itertools.count():
            if position.over:
                break
            [seat] = position.deciders
            action = policy.action(position, seat, ply)
            assert action in position.legal(seat)
            sampler = Sampler.of(position.view(seat))
            worlds = [sampler.sample(n) for n in range(4)]
            assert {policy.action(world, seat, ply) for world in worlds} == {action}
            expected, draw = policy.score(position)
            assert draw / 2 <= expected <= 1 - draw / 2 and draw >= 0
            assert policy.at(position) >= stage
            stage = policy.at(position)
            position.apply({seat: rng.choice(position.legal(seat))}, ply)


@pytest.mark.parametrize("game", [GAME, RACE, GinRummy(table.SMALL)])
def test_a_forged_view_is_refused_or_harmless(game):
    refused = 0
    for seed in range(8):
        rng = random.Random(seed)
        position = Position.deal(game, seed)
        for ply in range(rng.randrange(60)):
            before = position.copy()
            position.apply(contract.random_joint(position, rng), ply)
            if position.over:
                position = before
                break
        truth = position.view(rng.randrange(2)).fields
        paths = list(leaves(truth))
        for _ in range(100):
            lie = copy.deepcopy(truth)
            top = rng.choice(sorted(truth))
            *parents, last = rng.choice([path for path in paths if path[0] == top])
            inner = lie
            for key in parents:
                inner = inner[key]
            inner[last] = max(0, rng.choice((inner[last] + 1, inner[last] - 1, 0, 1, 53, 255)))
            try:
                view = SeatView.from_fields(game, lie)
                sampler = Sampler.of(view)
            except ViewError:
                refused += 1
                continue
            world = sampler.sample(seed)
            assert world.view(view.seat) == view
            PlayoutPolicy.uniform(game).playouts(world, 5, seed)
    assert refused > 200


def leaves(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, (dict, list)):
            yield from leaves(item, (*path, key))
        else:
            yield (*path, key)


def test_messages():
    contract_messages.check_messages(GAME, range(3))
    contract_messages.check_messages(RACE, range(1))
    contract_messages.check_kinds_of_events(GAME)
    contract_messages.check_phrases(GAME)


def test_german_has_every_text():
    path = Path(__file__).parents[1] / "gin_rummy" / "de.toml"
    german = tomllib.loads(path.read_text(encoding="utf-8"))
    texts = {*GAME.seat_titles}
    for card in GAME.cards():
        texts |= {card["title"], card["kind"], *card["numbers"]}
    assert set(german["texts"]) == texts
    assert german["title"] and german["rules"].count("\n\n") == GAME.summary.count("\n\n")


def test_it_fulfils_the_contract():
    small = [part for name, n in table.SMALL.items() for part in ("--small", f"{name}={n}")]
    command = [str(Path(sys.executable).with_name("croupier")), "check-game", "gin_rummy"]
    subprocess.run([*command, "--matches", "3", "--simulated", "60000", *small], check=True)


def test_aspects_are_the_deadwood_and_whether_the_discard_is_taken():
    aspects = Aspects.of(GAME)
    taken = set()
    for seed in range(60):
        position = Position.deal(GAME, seed)
        positions, decided = [position.copy()], []
        while not position.over:
            [seat] = position.deciders
            decided.append((seat, GAME.read_action(by_policy(position, seat, seed))))
            position.apply({seat: GAME.make_action(decided[-1][1])}, seed)
            positions.append(position.copy())
        for at, (seat, fields) in enumerate(decided[:-1]):
            if fields["kind"] == "discard":
                told = aspects.measure(positions[at:], seat)
                assert told["discard_taken"] == (decided[at + 1][1]["kind"] == "take_discard")
                assert 0 <= told["deadwood"] <= 100
                taken.add(told["discard_taken"])
    assert taken == {0, 1}
