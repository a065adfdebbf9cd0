"""The types of what one thread searches with; ai/worker.pyx says what everything does."""

from typing import NamedTuple

from ai.results import StopReason

class RootAction(NamedTuple):
    action: int
    visits: int
    availability: int
    samples: int
    total: float
    squares: float
    strategy: float
    early_samples: int = 0
    early_total: float = 0.0
    early_squares: float = 0.0
    dominated: bool = False
    def merge(self, other: RootAction) -> RootAction: ...

class Watched(NamedTuple):
    times: int
    scores: float
    totals: tuple[float, ...]
    squares: tuple[float, ...]
    products: tuple[float, ...]

class Rounds(NamedTuple):
    actions: tuple[int, ...]
    rounds: int
    totals: tuple[float, ...]
    draws: tuple[float, ...]
    products: tuple[tuple[float, ...], ...]
    watched: tuple[Watched, ...] = ()

class Summary(NamedTuple):
    iterations: int
    playouts: int
    total: float
    draws: float
    nodes: int
    full: bool
    def merge(self, other: Summary) -> Summary: ...

class Stop:
    def set(self) -> None: ...
    def is_set(self) -> bool: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def is_paused(self) -> bool: ...
    def hold(self, deadline: float = 0.0) -> bool: ...

class Worker:
    iterations: int
    abandoned: bool
    def run(self, iterations: int, seconds: float, stop: Stop) -> StopReason: ...
    def root_actions(self) -> list[RootAction]: ...
    def summary(self) -> Summary: ...
