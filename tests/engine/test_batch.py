"""Matches side by side: what their arrays say is what positions say."""

import numpy as np
import pytest

from engine import games
from engine.batch import Batch, ViewLayout
from engine.encoding import Numbering, labels, numbers, survey
from engine.game import SEATS, SPECTATOR
from engine.position import Position
from tests.support.long_form import LONG_FORM
from tests.support.play import note_on_failure, seeded

GAMES = list(games())
SEED = 7
SIZE = 8
STEPS = 400 if LONG_FORM else 60


def batch_of(game, size=SIZE, table=()):
    return Batch(game, size, Numbering(table, game.most_legal))


def chosen(batch, rng):
    """A legal number for each seat, (size, 2)."""
    mask = np.asarray(batch.mask)
    legal = [[np.flatnonzero(mask[match, seat]) for seat in (0, 1)] for match in range(batch.size)]
    return np.array([[rng.choice(each.tolist()) for each in both] for both in legal], np.int64)


def everything(of):
    return b"".join(
        bytes(each) for each in (of.observations, of.mask, of.codes, of.deciders, of.scores)
    )


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("has_table", [False, True])
def test_the_arrays_say_what_the_positions_say(name, has_table):
    game = games()[name]()
    rng = seeded(SEED, name)
    batch = batch_of(game, table=survey(game, 2) if has_table else ())
    ended = 0
    with note_on_failure(seed=SEED):
        batch.deal(SEED)
        for _ in range(STEPS):
            for match in range(SIZE):
                check(batch, match)
            ended += (np.asarray(batch.deciders) == 0).sum()
            batch.step(chosen(batch, rng), np.ones(SIZE, np.uint8))
    assert ended or name == "powershot_soccer", "matches are over and begin anew"


def check(batch, match):
    position = batch.position(match)
    assert batch.deciders[match] == sum(1 << seat for seat in position.deciders)
    scores = position.scores or (0.5, 0.5)
    for seat in range(SEATS):
        assert batch.scores[match, seat] == scores[seat]
        codes = np.asarray(batch.codes)[match, seat]
        mask = np.asarray(batch.mask)[match, seat]
        legal = batch.numbering.numbered(position.legal(seat)) or {0: 0}
        assert dict(zip(mask.nonzero()[0], codes[mask != 0], strict=True)) == legal
        assert not codes[mask == 0].any()
        if seat in position.deciders or position.over:
            seen = np.asarray(batch.observations)[match, seat]
            assert seen.tolist() == numbers(position.view(seat).fields)


@pytest.mark.parametrize("name", GAMES)
def test_the_layout_of_views_finds_every_number(name):
    game = games()[name]()
    layout, rng = ViewLayout(game), seeded(SEED, name)
    assert layout.labels == labels(game)
    found = np.empty(len(layout.labels), np.int64)
    with note_on_failure(seed=SEED):
        position = Position.deal(game, rng.getrandbits(64))
        for _ in range(STEPS):
            for viewer in (0, 1, SPECTATOR):
                view = position.view(viewer)
                layout.read(view, found)
                assert found.tolist() == numbers(view.fields)
            if position.over:
                break
            joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
            position.apply(joint, rng.getrandbits(64))


def test_a_seed_repeats_and_only_the_matches_that_are_named_go_on():
    game = games()["skystones"]()
    one, other = batch_of(game), batch_of(game)
    one.deal(SEED), other.deal(SEED)
    assert everything(one) == everything(other)
    which = np.array([1, 0] * (SIZE // 2), np.uint8)
    both = chosen(one, seeded(SEED))
    before = [one.position(match) for match in range(SIZE)]
    one.step(both, which), other.step(both, which)
    assert everything(one) == everything(other)
    for match in range(SIZE):
        assert (one.position(match) == before[match]) == (not which[match])
    other.deal(SEED + 1)
    assert everything(one) != everything(other)


@pytest.mark.parametrize("number", [-1, 1 << 40, 4])
def test_a_number_that_is_not_legal_loses_and_the_next_step_deals(number):
    game = games()["champion_chess"]({"hand_size": 3})
    batch = batch_of(game, size=3)
    batch.deal(1)
    wrong = np.zeros((3, 2), np.int64)
    wrong[0, 0] = wrong[1, 1] = wrong[2] = number
    batch.step(wrong, np.ones(3, np.uint8))
    assert np.asarray(batch.scores).tolist() == [[0, 1], [1, 0], [0.5, 0.5]]
    assert np.asarray(batch.deciders).tolist() == [0, 0, 0]
    batch.step(wrong, np.ones(3, np.uint8))
    assert np.asarray(batch.deciders).tolist() == [3, 3, 3]


def test_what_does_not_fit_is_refused():
    game = games()["skystones"]()
    with pytest.raises(ValueError, match=r"have no number of their own, and there are 2 spare"):
        Batch(game, 1, Numbering((), 2)).deal(1)
    with pytest.raises(ValueError, match="at least one match"):
        batch_of(game, size=0)
    batch = batch_of(game)
    batch.deal(1)
    with pytest.raises(ValueError, match=r"shape \(8, 2\)"):
        batch.step(np.zeros((3, 2), np.int64), np.ones(SIZE, np.uint8))
    with pytest.raises(ValueError, match="which must have 8"):
        batch.step(np.zeros((SIZE, 2), np.int64), np.ones(3, np.uint8))
    with pytest.raises(IndexError):
        batch.position(SIZE)
    with pytest.raises(ValueError, match="room for"):
        ViewLayout(game).read(batch.position(0).view(0), np.zeros(3, np.int64))
