"""Calls of one function for many tasks, in processes of this machine or on a Ray cluster.

The results come in the order of the tasks, so what is made of them does not depend on where and how
fast the tasks ran. A function and its tasks must be picklable, and a result a function of its task:
Ray repeats a task whose process or machine has died.
"""

import argparse
import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from importlib import import_module, metadata
from typing import Any, TypeVar

from croupier.terminal.arguments import whole

AHEAD = 4  # Tasks of each worker that are begun or queued. Whoever ends early discards them.
INTERRUPT_SECONDS = 0.1  # Until an interrupt is noticed.
REACH_SECONDS = 5.0
TELL_EVERY = 10.0  # Seconds.

T = TypeVar("T")
R = TypeVar("R")


class WorkersError(Exception):
    """The workers that were asked for cannot be had."""


class RayCluster:
    """A connection to a Ray cluster, on which tasks run."""

    def __init__(self, address: str, processors: int = 1) -> None:
        """Connects; `processors` are those that a task takes. Raises WorkersError."""
        try:
            ray: Any = import_module("ray")
        except ModuleNotFoundError:
            raise WorkersError("--ray needs Ray: pip install 'croupier-server[ray]'") from None
        try:
            _reach(address)
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, RuntimeError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise WorkersError(f"--ray {address}: no cluster is reached: {reason}") from error
        self._ray = ray
        machines = [each["Resources"] for each in ray.nodes() if each["Alive"]]
        self.slots = sum(int(machine.get("CPU", 0)) // processors for machine in machines)
        if not self.slots:
            ray.shutdown()
            raise WorkersError(f"--ray {address}: no machine has {processors} processors")
        # Ray repeats a task three times if its process dies, and none that raises an exception.
        self._call = ray.remote(num_cpus=processors, max_retries=3)(_call_as_here)

    def submit(self, function: Callable[[T], R], task: T) -> Future[R]:
        """Starts a task as soon as the cluster has room."""
        future: Future[R] = self._call.remote(_version(), function, task).future()
        return future

    def close(self) -> None:
        """Ends the connection, and all tasks that it has started."""
        self._ray.shutdown()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds --workers and --ray."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--workers",
        metavar="N",
        type=whole(1),
        help="processes (default: one for each processor)",
    )
    group.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="run on this Ray cluster, with a task for each of its processors: HOST:PORT on a "
        "machine of the cluster, else ray://HOST:PORT (needs croupier-server[ray])",
    )


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> int | RayCluster:
    """Returns the workers that the options of `add_options` name, for tasks of one processor."""
    try:
        return RayCluster(chosen.ray) if chosen.ray else chosen.workers or processors()
    except WorkersError as error:
        parser.error(str(error))


@contextlib.contextmanager
def in_order(
    function: Callable[[T], R], tasks: Sequence[T], workers: int | RayCluster
) -> Iterator[Iterator[R]]:
    """Yields the results in the order of the tasks. At the end, tasks that still run are ended.

    `workers` is a number of processes, or a cluster; one process is this one.
    """
    if isinstance(workers, RayCluster):
        with _noted_interrupts() as interrupts:
            yield _results(workers.submit, function, tasks, AHEAD * workers.slots, interrupts)
        return
    workers = min(workers, len(tasks))
    if workers <= 1:
        yield map(function, tasks)
        return
    others = set(multiprocessing.active_children())
    # Spawned, not forked, because the progress bar has threads.
    executor = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_ignore_interrupts
    )
    with _noted_interrupts() as interrupts:
        try:
            yield _results(executor.submit, function, tasks, AHEAD * workers, interrupts)
        finally:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            executor.shutdown(wait=True)


def telling(results: Iterable[R], of: int, what: str) -> Iterator[R]:
    """Passes results on, and now and then says on standard error how many of `what` there are."""
    told = time.monotonic()
    for number, result in enumerate(results, 1):
        yield result
        if time.monotonic() - told >= TELL_EVERY:
            told = time.monotonic()
            print(f"{number} of {of} {what}", file=sys.stderr, flush=True)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _results(
    submit: Callable[[Callable[[T], R], T], Future[R]],
    function: Callable[[T], R],
    tasks: Sequence[T],
    ahead: int,
    interrupts: list[int],
) -> Iterator[R]:
    waiting: deque[Future[R]] = deque()
    for task in tasks:
        waiting.append(submit(function, task))
        if len(waiting) > ahead:
            yield _result(waiting.popleft(), interrupts)
    while waiting:
        yield _result(waiting.popleft(), interrupts)


def _result(future: Future[R], interrupts: list[int]) -> R:
    while not interrupts:
        if wait((future,), timeout=INTERRUPT_SECONDS).done:
            return future.result()
    raise KeyboardInterrupt


@contextlib.contextmanager
def _noted_interrupts() -> Iterator[list[int]]:
    # An exception within the executor would leave its locks broken, so interrupts are only noted as
    # long as there is one.
    interrupts: list[int] = []
    replaced = [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is signal.default_int_handler
        and threading.current_thread() is threading.main_thread()
    ]
    for number in replaced:
        signal.signal(number, lambda received, _: interrupts.append(received))
    try:
        yield interrupts
    finally:
        for number in replaced:
            signal.signal(number, signal.default_int_handler)


def _ignore_interrupts() -> None:
    # Ctrl-C goes to the whole process group, and the parent process ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _reach(address: str) -> None:
    # Ray itself would try for two minutes.
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), timeout=REACH_SECONDS).close()


def _call_as_here(version: str, function: Callable[[Any], R], task: Any) -> R:
    # Another version may play differently, which nothing else would tell.
    if _version() != version:
        raise WorkersError(f"a machine of the cluster has Croupier {_version()}, not {version}")
    return function(task)


def _version() -> str:
    return metadata.version("croupier-server")
