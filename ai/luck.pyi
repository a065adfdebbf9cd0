"""The types of the measure of luck; ai/luck.pyx says what everything does."""

from collections.abc import Sequence
from typing import Self

from engine.game import Game
from engine.model import Model
from engine.position import Position

class Luck:
    piles: bool
    deviation: float
    def __new__(
        cls, game: Game, samples: int, playouts: int, model: Model | None = None
    ) -> Self: ...
    def correction(
        self,
        before: Position,
        choices: Sequence[Sequence[tuple[int, float]]],
        after: Position,
        seed: int,
    ) -> float: ...
    def deal(self, dealt: Position, seed: int) -> tuple[float, float]: ...
    def mean_score(self, position: Position, seed: int) -> float: ...
    def shuffled(self, position: Position, seed: int) -> Position: ...
