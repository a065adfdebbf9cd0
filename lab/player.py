"""What the arena calls a player, and what is wrong with one that it cannot play."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from engine.game import SeatView


class ConfigurationError(ValueError):
    """A configuration that cannot be understood, or cannot be played on this machine."""


class Choice(NamedTuple):
    """What a player decided, and how many iterations it took (0: no search)."""

    action: int
    iterations: int


class Player(Protocol):
    """Something that decides for a seat, by what the seat knows and 256 bits of chance."""

    def choose(self, view: SeatView, legal: Sequence[int], chance: int) -> Choice:
        """Chooses one of `legal`, of which there are at least two."""
