"""The types of the exact computations; lab/best_response.pyx says what everything does."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.game import Game, SeatView

class InfoSet(NamedTuple):
    view: SeatView
    actions: tuple[int, ...]
    first: int
    after: int

class GameTree:
    game: Game
    infos: list[InfoSet]
    histories: int
    def __init__(self, game: Game, memory: int = ...) -> None: ...
    def uniform(self) -> list[float]: ...
    def strategy_of(self, play: Callable[[InfoSet], list[float]]) -> list[float]: ...
    def gains(self, strategy: Sequence[float]) -> tuple[float, float]: ...
    def nash_conv(self, strategy: Sequence[float]) -> float: ...
    def cfr_plus(self, iterations: int) -> list[float]: ...
