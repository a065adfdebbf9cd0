"""The exact distribution of the other card in Kuhn poker, which needs no computing."""

import collections

import pytest

from engine import games
from engine.position import Position
from engine.sampler import Sampler
from lab.chi_squared import p_of_distribution

DRAWS = 2000
CHECK, BET, FOLD = 1, 2, 4


@pytest.mark.parametrize("line", [(), (CHECK,), (BET,), (CHECK, BET), (BET, FOLD)], ids=str)
@pytest.mark.parametrize("seat", range(2))
@pytest.mark.parametrize("card", (1, 2, 3))
def test_both_other_cards_are_equally_likely(card, seat, line):
    game = games()["kuhn_poker"]()
    cards = [0, 0]
    cards[seat], cards[1 - seat] = card, card % 3 + 1
    decisions = [*line, *[0] * (8 - len(line))]
    position = Position.from_fields(game, {"cards": cards, "common": 0, "decisions": decisions})
    sampler = Sampler.of(position.view(seat))
    drawn = collections.Counter(
        sampler.sample(seed).fields["cards"][1 - seat] for seed in range(DRAWS)
    )
    exact = {other: 0.5 for other in (1, 2, 3) if other != card}
    assert p_of_distribution(drawn, exact) > 0.001 / 30
