"""A test that the sampler of Castle Rampage draws worlds in the proportions of a filter."""

import functools
from collections import Counter

from engine import games
from engine.position import Position
from tests.games.castle_rampage import read_card_list
from tests.games.castle_rampage.filter import world_of
from tests.support.chi_squared import p_of_distribution

TURNS = 70
DRAWS = 20  # Worlds drawn for each world of the filter,
MAX_DRAWS = 4000  # and at most in all.
CERTAIN = 25  # A world that is expected this often must come up.
P = 1e-3


def game_with(cards, set_ups=1):
    return games()["castle_rampage"](
        {"set_ups": set_ups, "turns": TURNS, "cards": read_card_list(cards)}
    )


@functools.cache
def pile_of_state(game):
    """The slice of the draw pile in the bytes of a state."""
    fields = Position.deal(game, 0).fields
    first = game.make_state(fields)
    fields["draw_pile"] = [card + 1 for card in fields["draw_pile"]]
    changed = [
        i
        for i, pair in enumerate(zip(first, game.make_state(fields), strict=True))
        if len(set(pair)) > 1
    ]
    return slice(changed[0], changed[-1] + 1)


def count_worlds(sampler, draws, rng):
    """Count how often each world is drawn, whatever the order of the draw pile."""
    pile = pile_of_state(sampler.game)
    states = Counter()
    for _ in range(draws):
        state = bytearray(bytes(sampler.sample(rng.getrandbits(64))))
        size = len(state[pile].rstrip(b"\0"))
        start = slice(pile.start, pile.start + size)
        state[start] = sorted(state[start])
        states[bytes(state)] += 1
    worlds = Counter()
    for state, n in states.items():
        worlds[world_of(sampler.game.read_state(state), sampler.seat)] += n
    return worlds


def p_of_draws(sampler, expected, rng, draws=None):
    """Return the p-value of draws; check that they hold no impossible and every likely world."""
    draws = draws or min(DRAWS * len(expected) + 200, MAX_DRAWS)
    drawn = count_worlds(sampler, draws, rng)
    assert drawn.keys() <= expected.keys(), "an impossible world is drawn"
    assert drawn.keys() >= {world for world, p in expected.items() if p * draws > CERTAIN}
    return p_of_distribution(drawn, expected)
