"""A forged view is refused or harmless: it neither crashes nor hangs a search."""

import copy

import pytest

from ai.search import search
from engine.errors import ViewError
from engine.game import SeatView
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from tests.support.long_form import LONG_FORM
from tests.support.play import cases, game_of, note_on_failure, random_joint, seeded

POSITIONS = 8 if LONG_FORM else 2
LIES = 60


def random_positions(game, rng, n):
    """Yield positions throughout random matches in which a seat must decide."""
    while n:
        position = Position.deal(game, rng.getrandbits(60))
        for _ in range(rng.randrange(60)):
            before = position.copy()
            position.apply(random_joint(position, rng), rng.getrandbits(60))
            if position.over:
                position = before
                break
        yield position
        n -= 1


def leaves(value, path=()):
    """Yield the paths of all integers in nested dicts and lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, (dict, list)):
            yield from leaves(item, (*path, key))
        else:
            yield (*path, key)


def change(fields, path, rng):
    """Change the integer at a path by a little or a lot."""
    *parents, last = path
    for key in parents:
        fields = fields[key]
    new = rng.choice((fields[last] + 1, fields[last] - 1, 0, 1, rng.randrange(256)))
    fields[last] = max(0, new)


def try_view(game, view):
    """Return whether a view is accepted. If so, play on from worlds that fit it."""
    try:
        sampler = Sampler.of(view)
    except ViewError as error:
        assert error.rule
        return False
    for seed in range(2):
        world = sampler.sample(seed)
        assert world.view(view.seat) == view
        PlayoutPolicy.uniform(game).playouts(world, 10, seed)
        if world.legal(view.seat):
            search(view, iterations=20, seed=seed)
    return True


@pytest.mark.parametrize("game_id, ruleset", cases("rulesets"))
def test_a_view_with_changed_fields_is_refused_or_harmless(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    rng = seeded("lies", game_id, ruleset)
    refused = 0
    for position in random_positions(game, rng, POSITIONS):
        truth = position.view(rng.choice(position.deciders)).fields
        paths = list(leaves(truth))
        # Long lists hold most of the integers, so each top-level field gets the same share.
        tops = {path[0] for path in paths}
        for _ in range(LIES):
            lie = copy.deepcopy(truth)
            for _ in range(rng.choice((1, 1, 2))):
                top = rng.choice(sorted(tops))
                change(lie, rng.choice([path for path in paths if path[0] == top]), rng)
            with note_on_failure(lie={k: v for k, v in lie.items() if v != truth[k]}):
                try:
                    view = SeatView.from_fields(game, lie)
                except ViewError:
                    refused += 1
                    continue
                refused += not try_view(game, view)
    assert refused > POSITIONS * LIES / 4


@pytest.mark.parametrize("game_id, ruleset", cases("rulesets"))
def test_the_fields_of_any_bytes_can_be_read(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    rng = seeded("bytes", game_id, ruleset)
    length = len(bytes(Position.deal(game, 0).view(0)))
    for _ in range(LIES):
        for data in (rng.randbytes(length), bytes([rng.randrange(256)]) * length):
            with note_on_failure(data=data[:64].hex()):
                fields = SeatView(game, data).fields
                assert SeatView.from_fields(game, fields).fields == fields


@pytest.mark.parametrize("game_id, ruleset", cases("rulesets"))
def test_bytes_of_another_length_are_refused(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    position = Position.deal(game, 0)
    for data, read in (
        (bytes(position), game.read_state),
        (bytes(position.view(0)), game.read_view),
    ):
        read(data)
        for other in (b"", data[:-1], data + b"\0"):
            with pytest.raises(ValueError, match="bytes"):
                read(other)
