"""How strong the bots are. The server plays these strengths, and the arena measures them."""

from collections.abc import Sequence
from typing import NamedTuple


class Strength(NamedTuple):
    """How a bot decides: by a search, but at some decisions at random."""

    iterations: int
    # The share of the decisions that are random.
    slips: float = 0.0


# Each is at least 40 Elo above the one before, in every game, as measured by
# `croupier arena --ladder --game all` (docs/measurements/strength.md has the figures).
STRENGTHS = {
    "random": Strength(0, 1.0),
    "beginner": Strength(20),
    "casual": Strength(150),
    "skilled": Strength(1_000),
    "expert": Strength(10_000),
}


def slip(strength: Strength, legal: Sequence[int], chance: int) -> int | None:
    """A random action if the bot slips at this decision, else None.

    `chance` has 256 bits, of which the lowest 64 are left for the seed of the search.
    """
    if (chance >> 64) % 2**64 >= strength.slips * 2**64:
        return None
    return legal[(chance >> 128) % len(legal)]
