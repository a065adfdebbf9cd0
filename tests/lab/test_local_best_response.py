"""The local best response: what it may know, what it believes, and what it gains."""

import collections
import contextlib
import json
import random

import pytest

from engine import games
from engine.match import Match
from engine.position import Position
from engine.sampler import Sampler, WeightedWorlds
from lab import local_best_response, particles
from lab.best_response import ExtensiveGame
from lab.exploit import evaluate, presets
from lab.local_best_response import Exploiter, Task
from tests.support.commands import croupier

GAMES = list(games())
POKER = ["kuhn_poker", "leduc_poker"]
JACK, QUEEN, KING = 1, 2, 3
CHECK, BET, CALL, FOLD = 1, 2, 3, 4


def task_of(game_id, player="uniform", *, iterations=20, worlds=8, seed=1, pair=0):
    return Task(game_id, {}, player, iterations, worlds, seed, pair)


def gain(game_id, player, *, iterations, matches, worlds=16):
    tasks = [
        task_of(game_id, player, iterations=iterations, worlds=worlds, pair=pair)
        for pair in range(matches // 2)
    ]
    return local_best_response.run(tasks)


# What it gains


@pytest.mark.parametrize("game_id", POKER)
def test_it_gains_no_more_than_a_best_response_does(game_id):
    preset = presets()[game_id]
    row = evaluate(ExtensiveGame(games()[game_id]()), preset, "croupier", iterations=500)
    most = 100 * row.nash_conv / 2 / preset.scale
    points = gain(game_id, "croupier", iterations=500, matches=120).points
    assert points.low < most, "more than can be gained: the exploiter knows too much"


@pytest.mark.parametrize(("game_id", "matches"), [("kuhn_poker", 300), ("leduc_poker", 200)])
def test_it_exploits_a_player_that_chooses_uniformly(game_id, matches):
    assert gain(game_id, "uniform", iterations=100, matches=matches).points.low > 0


# What it knows


@pytest.mark.parametrize("game_id", GAMES)
def test_it_decides_alike_in_worlds_that_its_seat_cannot_tell_apart(game_id, monkeypatch):
    decided = []
    choose = Exploiter.choose

    def note(self, view, legal):
        action = choose(self, view, legal)
        decided.append((view, action))
        if len(decided) == 3:
            raise EnoughError
        return action

    monkeypatch.setattr(Exploiter, "choose", note)
    rng = random.Random(game_id)
    for plies in (0, 3):
        for seat in (0, 1):
            position = position_after(game_id, plies, rng)
            lines = []
            for world in (position, twin_of(position, seat, rng)):
                decided.clear()
                match = Match(position.game, bytes(32), start=world.copy())
                with contextlib.suppress(EnoughError):
                    local_best_response.play(task_of(game_id, worlds=4), match, seat)
                lines.append(list(decided))
            # The worlds may show the seat something else later on.
            for (view, action), (other_view, other) in zip(*lines, strict=False):
                if view != other_view:
                    break
                assert action == other


class EnoughError(Exception):
    """Ends a match."""


def position_after(game_id, plies, rng):
    """A position in which somebody decides, so many plies after a deal, or fewer."""
    position = Position.deal(games()[game_id](), rng.getrandbits(64))
    for _ in range(plies):
        after = position.copy()
        joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
        after.apply(joint, rng.getrandbits(64))
        if after.over:
            break
        position = after
    return position


def twin_of(position, seat, rng):
    """A world that looks alike to a seat, with other cards in the other hand if there are any."""
    sampler = Sampler.of(position.view(seat))
    for _ in range(100):
        twin = sampler.sample(rng.getrandbits(64))
        if twin.hidden(seat) != position.hidden(seat):
            break
    return twin


# What it believes


@pytest.mark.parametrize(("bets_with", "answer"), [(KING, FOLD), (JACK, CALL)])
def test_it_believes_what_a_bet_says(bets_with, answer, monkeypatch):
    def one_card(view, iterations, seed):
        return {BET if view.fields["cards"][view.seat] == bets_with else CHECK: 1.0}

    monkeypatch.setitem(local_best_response.PLAYERS, "one card", one_card)
    game = games()["kuhn_poker"]()
    fields = {"cards": [bets_with, QUEEN], "common": 0, "decisions": [0] * 8}
    position = Position.from_fields(game, fields)
    task = task_of("kuhn_poker", "one card", worlds=64)
    exploiter = Exploiter(task, game, position.view(1))
    position.apply({0: BET}, 0)
    exploiter.observe(0, position.observe((BET, 0), 1), position.view(1))
    assert exploiter.choose(position.view(1), position.legal(1)) == answer


@pytest.mark.parametrize("game_id", GAMES)
def test_worlds_go_on_to_what_the_seat_sees(game_id):
    rng = random.Random(game_id)
    position = Position.deal(games()[game_id](), rng.getrandbits(64))
    steps = went_on = 0
    while steps < 12:
        after = position.copy()
        joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
        after.apply(joint, rng.getrandbits(64))
        if after.over:
            break
        steps += 1
        both = joint.get(0, 0), joint.get(1, 0)
        view, key = after.view(0), after.observe(both, 0)
        for world in (position, twin_of(position, 0, rng)):
            seed = rng.getrandbits(64)
            actions = world.legal(1) or (0,)
            fits = particles.after(world, 0, both[0], actions, key, view, 20_000, seed)
            for action, follows in fits:
                assert follows.view(0) == view
                assert follows.observe((both[0], action), 0) == key
            if world is position and fits:
                assert both[1] in dict(fits)
                went_on += 1
        position = after
    # A whole hand that is drawn anew is not met by chance.
    assert went_on >= steps - 2


def test_a_world_in_which_something_else_would_be_seen_does_not_go_on():
    game = games()["leduc_poker"]()
    fields = {"cards": [QUEEN, JACK], "common": KING, "decisions": [CHECK] + [0] * 7}
    shown = Position.from_fields(game, fields)
    shown.apply({1: CHECK}, 0)
    key, view = shown.observe((0, CHECK), 0), shown.view(0)
    for common, actions, fitting in ((KING, (1, 2), [CHECK]), (KING, (2,), []), (JACK, (1, 2), [])):
        world = Position.from_fields(game, {**fields, "common": common})
        assert list(dict(particles.after(world, 0, 0, actions, key, view, 99, 5))) == fitting
        assert not particles.after(world, 0, 0, actions, ~key % 2**64, view, 99, 5)


def test_worlds_are_drawn_by_their_weights():
    game = games()["champion_chess"]()
    position = Position.deal(game, 3)
    view = position.view(0)
    worlds = [Sampler.of(view).sample(seed) for seed in range(3)]
    sampler = WeightedWorlds(view, worlds, [0.75, 0.0, 2.25])
    hands = [json.dumps(world.view(1).fields) for world in worlds]
    drawn = [sampler.sample(seed) for seed in range(400)]
    found = collections.Counter(json.dumps(one.view(1).fields) for one in drawn)
    assert found.keys() <= {hands[0], hands[2]}
    assert found[hands[0]] / 400 == pytest.approx(0.25, abs=0.08)
    assert {bytes(one.view(0)) for one in drawn} == {bytes(view)}
    assert len(set(drawn)) > 2, "the decks lie in an order that nobody has seen"
    for weights in ([], [0.0, 0.0, 0.0], [1.0]):
        with pytest.raises(ValueError, match="must have a weight"):
            WeightedWorlds(view, worlds, weights)


# The command


def test_the_number_of_workers_changes_nothing():
    given = ["exploit", "leduc_poker", "--local-best-response", "--json", "--iterations", "100"]
    found = []
    for workers in ("1", "2", "2"):
        ended = croupier(*given, "--matches", "8", "--workers", workers)
        assert ended.status == 0
        found.append(ended.out)
    assert found[0] == found[1] == found[2]
    report = json.loads(found[0])
    assert report["bound"] == "lower"
    assert [row["player"] for row in report["rows"]] == ["croupier"]
    assert report["rows"][0]["matches"] == 8


def test_the_command_says_that_it_is_a_lower_bound():
    given = ["exploit", "skystones_small", "--local-best-response", "--iterations", "50"]
    few = ("--players", "uniform,croupier", "--matches", "2", "--worlds", "4", "--workers=1")
    told = croupier(*given, *few)
    assert "LOWER bound" in told.out
    assert "uniform" in told.out
    refused = croupier(*given, "--players", "nobody")
    assert refused.status == 2
    assert "no player is called 'nobody'" in refused.err
