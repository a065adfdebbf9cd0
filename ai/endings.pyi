"""The types of exact endings; ai/endings.pyx says what everything does."""

from collections.abc import Iterable
from typing import NamedTuple

from ai.memory import Grant
from ai.results import ActionResult
from ai.worker import Stop
from engine.sampler import Sampler

class Proof(NamedTuple):
    best: tuple[int, ...]
    scores: dict[int, float]
    expected_score: float
    win: float
    draw: float
    def replace(
        self, actions: Iterable[ActionResult]
    ) -> tuple[list[ActionResult], float, float]: ...

def prove(
    sampler: Sampler,
    legal: Iterable[int],
    *,
    iterations: int = 0,
    seconds: float = 0.0,
    nodes: int = 0,
    memory: int = 0,
    stop: Stop | None = None,
    grant: Grant | None = None,
) -> Proof | None: ...
