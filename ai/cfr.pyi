"""The types of the search from the deal; ai/cfr.pyx says what everything does."""

from typing import NamedTuple, Self, final

from ai.game_graph import GameGraph
from ai.memory import Grant
from ai.worker import Worker
from engine.sampler import Sampler

class CfrState(NamedTuple):
    iterations: int
    sweeps: int
    visits_left: int
    found: bytes

@final
class CfrWorker(Worker):
    graph: GameGraph
    def __new__(cls, graph: GameGraph, sampler: Sampler, grant: Grant | None = None) -> Self: ...
    @property
    def knows_view(self) -> bool: ...
    @property
    def min_iterations(self) -> int: ...
    def state(self) -> CfrState: ...
    def restore(self, state: CfrState) -> None: ...
    def weighted_sampler(self) -> Sampler: ...

class GraphSampler(Sampler): ...
