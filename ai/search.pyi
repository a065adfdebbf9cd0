"""The types of the search; ai/search.pyx says what everything does."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ai.limits import Stop as Stop
from engine.game import Sampler, SeatView

class ActionResult(NamedTuple):
    action: int
    visits: int
    availability: int
    expected_score: float
    deviation: float
    probability: float

class Result(NamedTuple):
    action: int
    actions: list[ActionResult]
    expected_score: float
    win: float
    draw: float
    loss: float
    iterations: int
    worlds: int
    nodes: int
    full: bool
    stop_reason: str

class Parameters(NamedTuple):
    exploration: float = ...
    uniform: float = ...
    sequential_regret: bool | None = ...
    mixed_most: int | None = ...
    guided: bool = ...
    widening: float = ...
    from_deal: bool | None = ...
    floor: float = ...
    single_action: int = ...
    endings: bool = ...
    memory: int = ...

class Search:
    legal: tuple[int, ...]
    sampler: Sampler
    seed: int
    stop_reason: str
    def __init__(
        self,
        view: SeatView,
        *,
        threads: int = 1,
        seed: int = 0,
        parameters: Parameters = ...,
        most_iterations: int = 0,
        sampler: Sampler | None = None,
        only: Sequence[int] | None = None,
        most_nodes: int = 0,
    ) -> None: ...
    @property
    def iterations(self) -> int: ...
    def run(
        self,
        *,
        iterations: int = 0,
        seconds: float = 0.0,
        stop: Stop | None = None,
        every: float = 0.0,
        report: Callable[[], object] | None = None,
    ) -> None: ...
    def result(self) -> Result: ...

def search(
    view: SeatView,
    *,
    iterations: int = 0,
    seconds: float = 0.0,
    threads: int = 1,
    seed: int = 0,
    stop: Stop | None = None,
    parameters: Parameters = ...,
    sampler: Sampler | None = None,
) -> Result: ...
