"""The types of the exact computations; lab/best_response.pyx says what everything does."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

from engine.game import Game, SeatView

class InfoSet(NamedTuple):
    view: SeatView
    actions: tuple[int, ...]
    first: int
    parent: int

class ExtensiveGame:
    game: Game
    info_sets: list[InfoSet]
    @property
    def history_count(self) -> int: ...
    def __new__(cls, game: Game, memory: int = ...) -> Self: ...
    def uniform_strategy(self) -> list[float]: ...
    def collect_strategy(self, play: Callable[[InfoSet], list[float]]) -> list[float]: ...
    def best_response_values(self, strategy: Sequence[float]) -> tuple[float, float]: ...
    def nash_conv(self, strategy: Sequence[float]) -> float: ...
