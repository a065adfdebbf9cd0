"""How strong the bots are: what the server plays, and what the arena measures."""

from collections.abc import Sequence
from typing import NamedTuple


class Strength(NamedTuple):
    """How a bot decides: at a share of its decisions, `slips`, at random; else by a search."""

    iterations: int
    slips: float = 0.0


# Each is at least 40 Elo above the one before, in every game (docs/measurements/strength.md):
# `croupier arena --ladder --game all`.
STRENGTHS = {
    "random": Strength(0, 1.0),
    "beginner": Strength(20),
    "casual": Strength(150),
    "skilled": Strength(1_000),
    "expert": Strength(10_000),
}


def slip(strength: Strength, legal: Sequence[int], chance: int) -> int | None:
    """The action of a bot that slips, or None if it does not, by 256 bits of chance.

    The lowest 64 of them are left for the seed of the search.
    """
    if (chance >> 64) % 2**64 >= strength.slips * 2**64:
        return None
    return legal[(chance >> 128) % len(legal)]
