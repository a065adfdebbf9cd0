"""The types of the graph of a small game; ai/game_graph.pyx says what everything does."""

from typing import Any, Self

from ai.memory import Grant
from ai.worker import Worker
from engine.game import Game

class GameGraph(Worker):
    game: Game
    fits: bool
    states: dict[int, Any]
    def __new__(cls, game: Game, capacity: int, grant: Grant | None = None) -> Self: ...
    @property
    def complete(self) -> bool: ...
    @property
    def bytes_used(self) -> int: ...
    def charge(self, size: int) -> bool: ...

def may_fit(game: Game) -> bool: ...
