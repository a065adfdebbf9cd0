"""The types of aspects; engine/aspects.pyx says what everything does."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from engine.game import Game
from engine.position import Position

CHANCE: str
AMOUNT: str

class Aspects:
    units: ClassVar[Mapping[str, str]]
    game: Game
    def __init__(self, game: Game) -> None: ...
    @staticmethod
    def of(game: Game) -> Aspects: ...
    def measure(self, positions: Sequence[Position], seat: int) -> dict[str, float] | None: ...
