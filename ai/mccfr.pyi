"""The types of the search from the deal; ai/mccfr.pyx says what everything does."""

from ai.results import Parameters
from ai.worker import Worker
from engine.sampler import Sampler

class MccfrWorker(Worker):
    def __init__(self, sampler: Sampler, thread: int, parameters: Parameters) -> None: ...
