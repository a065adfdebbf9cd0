"""The worlds that a sampler draws for a view are sound, complete and in proportion.

Sound: every drawn world would have shown the seat the same view. Complete and in proportion: on
small rulesets, very many random matches reach the same view, and their hidden things have the same
distribution as those of the worlds drawn for that view. In random matches both seats choose
uniformly among the legal actions, the case for which a sampler promises the right proportions.
"""

import collections
import functools
import os

import pytest

from engine.errors import ViewError
from engine.match import Match
from engine.position import Position
from engine.sampler import Sampler
from tests.support.chi_squared import compare, upper_tail
from tests.support.long_form import LONG_FORM
from tests.support.play import (
    cases,
    count_worlds,
    game_of,
    note_on_failure,
    random_joint,
    random_secret,
    seeded,
)

MATCHES = 8 if LONG_FORM else 3
WORLDS = 8
STYLED_MATCHES = int(os.environ.get("TEST_PLAY_STYLES", "6"))
SIMULATED = 40_000 if LONG_FORM else 16_000
STEPS = 6  # Joint actions.
MAX_VIEWS = 30  # Tested views: the most frequent ones after each number of steps,
LEAST = 40  # and only those that are seen at least so often.
DRAWN = 4  # Worlds drawn for each world seen.
P = 0.001


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_a_drawn_world_shows_the_seat_the_same(game_id, ruleset):
    game, facts = game_of(game_id, ruleset)
    for seed in range(MATCHES):
        with note_on_failure(seed=seed):
            rng = seeded("sound", game_id, ruleset, seed)
            match = Match(game, random_secret(rng))
            while True:
                position = match.position
                for seat in range(2):
                    view = position.view(seat)
                    sampler = Sampler.of(view)
                    for n in range(WORLDS):
                        world = sampler.sample(n)
                        assert world.view(seat) == view
                        assert world.deciders == position.deciders
                        assert world.legal(seat) == position.legal(seat)
                        assert world.root_key(seat) == position.root_key(seat)
                        assert world == sampler.sample(n), "a seed draws one world"
                        facts.check_conserved(game, world.fields)
                if match.over:
                    break
                for seat, action in random_joint(position, rng).items():
                    match.apply(seat, action)


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_a_world_does_not_depend_on_what_it_is_drawn_over(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    for seed in range(MATCHES):
        with note_on_failure(seed=seed):
            rng = seeded("over", game_id, ruleset, seed)
            positions = [Position.deal(game, seed)]
            while not positions[-1].over:
                positions.append(positions[-1].copy())
                positions[-1].apply(random_joint(positions[-2], rng), rng.getrandbits(64))
            for n, position in enumerate(positions):
                sampler = Sampler.of(position.view(n % 2))
                earlier = rng.choice(positions).copy()
                assert sampler.sample(n, earlier) == sampler.sample(n)


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_every_view_of_a_match_has_worlds(game_id, ruleset):
    # Seats that often play the first or the last legal action reach positions that uniform play
    # does not: long memories, full hands, empty piles.
    game, _ = game_of(game_id, ruleset)
    for seed in range(STYLED_MATCHES):
        with note_on_failure(seed=seed):
            rng = seeded("habit", game_id, ruleset, seed)
            share = rng.random()  # Of the decisions that follow the play style.
            position = Position.deal(game, seed)
            while not position.over:
                for seat in position.deciders:
                    Sampler.of(position.view(seat))
                joint = random_joint(position, rng)
                for seat in joint:
                    if rng.random() < share:
                        joint[seat] = position.legal(seat)[-rng.randrange(2)]
                position.apply(joint, rng.getrandbits(64))


@pytest.mark.parametrize(("game_id", "ruleset"), cases("small_rulesets"))
def test_worlds_are_drawn_in_proportion(game_id, ruleset):
    game, facts = game_of(game_id, ruleset)
    rng = seeded("proportion", game_id, ruleset)
    seen = [collections.defaultdict(collections.Counter) for _ in range(STEPS)]
    for seed in range(SIMULATED):
        # One state of each match and one seat, so that the samples are independent.
        position = Position.deal(game, seed)
        step, seat = rng.randrange(STEPS), rng.randrange(2)
        for _ in range(step):
            if not position.over:
                position.apply(random_joint(position, rng), rng.getrandbits(64))
        seen[step][position.view(seat)][facts.hidden(game, position.fields, seat)] += 1
    tested = [
        (step, view, worlds)
        for step, views in enumerate(seen)
        for view, worlds in sorted(views.items(), key=lambda item: -item[1].total())[:MAX_VIEWS]
        if worlds.total() >= LEAST
    ]
    assert any(len(worlds) > 1 for _, _, worlds in tested)
    total, freedom = 0, 0
    for step, view, worlds in tested:
        with note_on_failure(step=step, view=facts.show_view(game, view.fields)):
            sampler = Sampler.of(view)
            hidden = functools.partial(facts.hidden, game, seat=view.seat)
            drawn = count_worlds(sampler, DRAWN * worlds.total(), rng, hidden)
            assert {world for world, n in worlds.items() if n > 5} <= drawn.keys()
            statistic, degrees = compare(worlds, drawn)
            assert upper_tail(statistic, degrees) > P / len(tested)
        total, freedom = total + statistic, freedom + degrees
    assert upper_tail(total, freedom) > P


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_a_spectator_has_no_worlds(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    with pytest.raises(ViewError) as error:
        Sampler.of(Position.deal(game, 0).view(2))
    assert error.value.field == "seat"
