"""The types of the tree search; ai/ismcts.pyx says what everything does."""

from collections.abc import Sequence
from typing import Self

from ai.memory import Grant
from ai.results import ActionResult, Parameters
from ai.worker import Rounds, Worker
from engine.sampler import Sampler

class IsmctsWorker(Worker):
    def __new__(
        cls,
        sampler: Sampler,
        seed: int,
        thread: int,
        parameters: Parameters,
        max_nodes: int,
        root_actions: Sequence[int] | None = None,
        stops_when_full: bool = False,
        grant: Grant | None = None,
    ) -> Self: ...
    def look(self, actions: Sequence[int], aspects: bool) -> None: ...
    def end_look(self) -> None: ...
    def rounds_seen(self) -> Rounds: ...

def sample_action(seed: int, actions: Sequence[ActionResult]) -> int: ...
