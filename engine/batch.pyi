"""The types of a batch; engine/batch.pyx says what everything does."""

from typing import Any, Self

from engine.encoding import Numbering
from engine.game import Game, SeatView
from engine.position import Position

class ViewLayout:
    game: Game
    labels: list[str]
    def __new__(cls, game: Game) -> Self: ...
    def read(self, view: SeatView, found: Any) -> None: ...

class Batch:
    game: Game
    size: int
    layout: ViewLayout
    numbering: Numbering
    observations: Any
    mask: Any
    codes: Any
    deciders: Any
    scores: Any
    def __new__(cls, game: Game, size: int, numbering: Numbering) -> Self: ...
    def deal(self, seed: int) -> None: ...
    def step(self, chosen: Any, which: Any) -> None: ...
    def position(self, match: int) -> Position: ...
    def observe(self, match: int, seat: int) -> None: ...
