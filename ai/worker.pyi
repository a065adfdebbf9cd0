"""The types of what one thread searches with; ai/worker.pyx says what everything does."""

from typing import NamedTuple

class RootAction(NamedTuple):
    action: int
    visits: int
    availability: int
    tried: int
    total: float
    squares: float
    strategy: float
    def plus(self, other: RootAction) -> RootAction: ...

class Summary(NamedTuple):
    iterations: int
    playouts: int
    wins: float
    draws: float
    nodes: int
    full: bool
    def plus(self, other: Summary) -> Summary: ...

class Stop:
    def set(self) -> None: ...
    def is_set(self) -> bool: ...

class Worker:
    iterations: int
    def run(self, iterations: int, seconds: float, stop: Stop) -> str: ...
    def root(self) -> list[RootAction]: ...
    def summary(self) -> Summary: ...
