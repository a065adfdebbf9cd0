"""The types of a sampler; engine/sampler.pyx says what everything does."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.game import Game, SeatView
from engine.model import Model
from engine.position import Position

class CardBelief(NamedTuple):
    place: str
    card: int
    expected: float
    probability: float

class Beliefs(NamedTuple):
    worlds: int
    cards: list[CardBelief]

class Sampler:
    game: Game
    seat: int
    model: Model | None
    @staticmethod
    def of(view: SeatView, model: Model | None = None) -> Sampler: ...
    def __init__(self, view: SeatView, model: Model | None = None) -> None: ...
    def sample(self, seed: int, earlier: Position | None = None) -> Position: ...
    def draws(self, n: int, seed: int) -> None: ...
    def worlds(self, most: int) -> dict[Position, float] | None: ...
    def beliefs(
        self, worlds: int, seed: int, interrupted: Callable[[], bool] | None = None
    ) -> Beliefs: ...

class KnownWorld(Sampler):
    def __init__(self, position: Position, seat: int) -> None: ...

class WeightedWorlds(Sampler):
    def __init__(
        self,
        view: SeatView,
        worlds: Sequence[Position],
        weights: Sequence[float],
        model: Model | None = None,
    ) -> None: ...
