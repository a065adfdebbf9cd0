"""What the arena calls a player, and what is wrong with one that it cannot play."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from ai.results import ActionResult
from engine.game import SeatView


class ConfigurationError(ValueError):
    """A configuration that cannot be understood, or cannot be played on this machine."""


Share = tuple[int, float]  # An action and its probability.


class Choice(NamedTuple):
    """What a player decided, and how many iterations it took (0: no search)."""

    action: int
    iterations: int
    # The distribution that the action was drawn from; empty if the player has none to tell.
    shares: tuple[Share, ...] = ()


def shares_of(actions: Iterable[ActionResult]) -> tuple[Share, ...]:
    """The distribution that a search draws its action from."""
    return tuple((one.action, one.probability) for one in actions if one.probability > 0)


class Player(Protocol):
    """Something that decides for a seat, by what the seat knows and 256 bits of chance."""

    def choose(self, view: SeatView, legal: Sequence[int], chance: int) -> Choice:
        """Chooses one of `legal`, of which there are at least two."""
