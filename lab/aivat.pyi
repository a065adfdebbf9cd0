"""The types of the measure of luck; lab/aivat.pyx says what everything does."""

from collections.abc import Sequence
from typing import Self

from engine.game import Game
from engine.position import Position

class Luck:
    piles: int
    def __new__(cls, game: Game, samples: int, playouts: int) -> Self: ...
    def correction(
        self,
        before: Position,
        choices: Sequence[Sequence[tuple[int, float]]],
        after: Position,
        seed: int,
    ) -> float: ...
    def shuffled(self, position: Position, seed: int) -> Position: ...
