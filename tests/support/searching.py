"""Searches in one pool of this process, without a server."""

import threading
import time

import grpc

from croupier.v1 import hint_pb2
from service.observability.metrics import Metrics
from service.searching.pool import ANYBODY, Limits, SearchPool
from service.searching.searches import OwnThreads, Searches
from service.searching.tasks import Kind, Requester, SearchTask
from tests.support.waiting import waiting_for


def bot_searches(threads=1):
    """Searches for bots in a pool of its own, and the pool, which is to be closed."""
    metrics = Metrics()
    pool = SearchPool(Kind.BOT, threads, metrics)
    return Searches(OwnThreads({Kind.BOT: pool}, metrics.tasks)), pool


async def outcome_in(pool, *arguments, **named):
    """What `SearchPool.search` does in the end."""
    with pool.search(*arguments, **named) as outcome:
        return await outcome


async def search_in(pool, view, limits, seed, prepare=lambda: None, owner=ANYBODY, rank=0):
    """Searches a view in a pool; returns the result and the seconds that it took.

    `prepare` is called first, in the same thread.
    """
    seconds = 0.0

    def work(job):
        nonlocal seconds
        prepare()
        search = job.search(view, seed)
        search.run(iterations=limits.iterations, seconds=limits.seconds, stop=job.stop)
        result = search.result()
        seconds = time.monotonic() - job.began
        return result

    result = await outcome_in(pool, limits, work, owner, rank)
    return result, seconds


def in_time(call):
    """Makes a call of the service, which gets its deadline in seconds; returns the answer.

    A busy machine may leave a search without a processor for longer than a server keeps for its
    answer, so the deadline comes later each time.
    """
    seconds = 0.4
    while True:
        try:
            return call(seconds)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                raise
        seconds *= 2


def wait_for_metric(metrics, name, labels, wanted):
    """Waits until a gauge of search pools, asked for with each of their reports, has a value."""
    changed = threading.Event()
    report = metrics.pool

    def tell(*arguments):
        report(*arguments)
        changed.set()

    metrics.pool = tell
    with waiting_for(lambda: f"{name} {labels} to be {wanted}"):
        while metrics.registry.get_sample_value(name, labels) != wanted:
            changed.wait()
            changed.clear()


def task_of(view, seed=1, belief_worlds=0):
    """The task of a hint of a view, as a thread of a pool gets it."""
    search = hint_pb2.Search(seed=seed, belief_worlds=belief_worlds)
    return SearchTask(Requester(Kind.HINT, ANYBODY), search, view, Limits())
