"""Shuffles are uniform."""

from collections import Counter

import pytest

from engine import games
from engine.position import Position
from engine.sampler import Sampler
from tests.support.chi_squared import p_of_distribution

DRAWS = 20_000
LEAST_P = 1e-6


@pytest.mark.parametrize("game_id", ["powershot_soccer", "champion_chess"])
def test_every_order_of_a_pile_is_equally_likely(game_id):
    # The pile of the seat itself, whose cards it knows.
    position = Position.deal(games()[game_id](), 1)
    sampler = Sampler.of(position.view(0))
    places, pairs, ends = Counter(), Counter(), Counter()
    pile = pile_of(position, game_id)
    card, other = sorted(card for card in set(pile) if pile.count(card) == 1)[:2]
    for seed in range(DRAWS):
        position = sampler.sample(seed, position)
        pile = pile_of(position, game_id)
        at, other_at = pile.index(card), pile.index(other)
        places[at] += 1
        pairs[(at - other_at) % len(pile)] += 1
        ends[at < 7, other_at < 7, at > other_at] += 1
    size = len(pile)
    assert p_of_distribution(places, dict.fromkeys(range(size), 1 / size)) > LEAST_P
    assert p_of_distribution(pairs, dict.fromkeys(range(1, size), 1 / (size - 1))) > LEAST_P
    first = 7 * 6 / size / (size - 1) / 2
    last = (size - 7) * (size - 8) / size / (size - 1) / 2
    apart = 7 * (size - 7) / size / (size - 1)
    likely = {
        (True, True, True): first,
        (True, True, False): first,
        (False, False, True): last,
        (False, False, False): last,
        (True, False, False): apart,
        (False, True, True): apart,
    }
    assert p_of_distribution(ends, likely) > LEAST_P


def pile_of(position, game_id):
    """The draw pile of seat 0."""
    fields = position.fields
    if game_id == "champion_chess":
        return fields["deck"][0][: fields["side"][0]["deck_size"]]
    return fields["own"][0]["draw_pile"][: fields["common"]["draw_sizes"][0]]
