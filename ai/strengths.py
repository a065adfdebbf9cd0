"""How strong the bots are. The server plays these strengths, and the arena measures them."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.game import Game

# That of a person, who may be as strong as any bot: it costs little against all of them.
PERSONS_SHARPNESS = 0.5


class Strength(NamedTuple):
    """How a bot decides: by a search of so many iterations, or at random (0)."""

    name: str
    iterations: int
    # How sharply its choices follow from what it holds, in relation to a search (Model.against).
    sharpness: float

    def temperature(self, game: Game) -> float:
        """How softly it chooses in a game (ai/softness.py); 0: as well as its search can."""
        return game.temperatures.get(self.name, 0.0)


# From "beginner" on, each is 80 to 200 Elo above the one before, in every game that we host, as
# measured by `croupier arena --ladder` (docs/measurements/strength.md has the figures). The
# iterations are enough to see most blunders; the temperatures make the steps even. With these
# sharpnesses, beliefs foresee the hidden cards best (docs/measurements/strength.md).
STRENGTHS = {
    name: Strength(name, iterations, sharpness)
    for name, iterations, sharpness in (
        ("random", 0, 0.0),
        ("beginner", 200, 0.25),
        ("casual", 400, 0.4),
        ("regular", 1_000, 0.5),
        ("skilled", 3_000, 0.8),
        ("expert", 10_000, 1.0),
    )
}


def random_action(legal: Sequence[int], chance: int) -> int:
    """The decision of a bot without a search, by 256 bits of chance."""
    return legal[(chance >> 128) % len(legal)]
