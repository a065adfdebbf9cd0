"""The search pools of a server: one for hints, one for bots."""

import os
from typing import NamedTuple

from ai.results import Parameters
from service.metrics import Metrics
from service.searching.pool import Quotas, SearchPool
from service.searching.tasks import Kind

MAX_ALL_HINTS_WAITING = 512
MIN_HINTS_RUNNING = 4  # Of one caller, if the server is not told how many.


class SearchOptions(NamedTuple):
    """What searches may use."""

    threads: int = 0  # Of each pool; 0: as many as there are processors.
    max_seconds: float = 60.0  # Of a hint.
    running: int = 0  # Hints of one caller; 0: twice the threads, at least 4.
    waiting: int = 64  # Hints of one caller.
    learned: bool = True  # Whether to search by what was learned of the games.

    @property
    def number_of_threads(self) -> int:
        """The threads of each pool."""
        return self.threads or os.cpu_count() or 1


def open_pools(options: SearchOptions, metrics: Metrics) -> dict[Kind, SearchPool]:
    """The pools by kind."""
    threads = options.number_of_threads
    quotas = Quotas(
        running=options.running or max(MIN_HINTS_RUNNING, 2 * threads),
        waiting=options.waiting,
        all_waiting=max(MAX_ALL_HINTS_WAITING, options.waiting),
    )
    # A bot thinks as long about a single or a proven action as about others: otherwise its time
    # would tell what it holds.
    bots_search = Parameters(single_action=0, proven=0)
    return {
        Kind.HINT: SearchPool(Kind.HINT, threads, metrics, quotas, options.max_seconds),
        Kind.BOT: SearchPool(Kind.BOT, threads, metrics, parameters=bots_search),
    }
