"""How strong the bots are. The server plays these strengths, and the arena measures them."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.game import Game


class Strength(NamedTuple):
    """How a bot decides: by a search of so many iterations, or at random (0)."""

    name: str
    iterations: int

    def temperature(self, game: Game) -> float:
        """How softly it chooses in a game (ai/softness.py); 0: as well as its search can."""
        return game.temperatures.get(self.name, 0.0)


# From "beginner" on, each is 80 to 200 Elo above the one before, in every game that we host, as
# measured by `croupier arena --ladder` (docs/measurements/strength.md has the figures). The
# iterations are enough to see most blunders; the temperatures make the steps even.
STRENGTHS = {
    name: Strength(name, iterations)
    for name, iterations in (
        ("random", 0),
        ("beginner", 200),
        ("casual", 400),
        ("regular", 1_000),
        ("skilled", 3_000),
        ("expert", 10_000),
    )
}


def random_action(legal: Sequence[int], chance: int) -> int:
    """The decision of a bot without a search, by 256 bits of chance."""
    return legal[(chance >> 128) % len(legal)]
