"""The types of a search from the deal; ai/deal_search.pyx says what everything does."""

from ai.limits import Worker
from ai.search import Parameters
from engine.game import Sampler

class DealSearch(Worker):
    def __init__(self, sampler: Sampler, thread: int, parameters: Parameters) -> None: ...
