"""The types of the search from the deal; ai/mccfr.pyx says what everything does."""

from typing import Self

from ai.results import Parameters
from ai.worker import Worker
from engine.sampler import Sampler

class MccfrWorker(Worker):
    def __new__(cls, sampler: Sampler, thread: int, parameters: Parameters) -> Self: ...
