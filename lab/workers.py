"""Calls of one function for many tasks, in processes of this machine.

The results come in the order of the tasks, so what is made of them does not depend on where and how
fast the tasks ran. A function and its tasks must be picklable.
"""

import argparse
import contextlib
import itertools
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TextIO, TypeVar

from croupier.terminal.arguments import whole

AHEAD = 4  # Tasks of each worker that are begun or queued. Whoever ends early discards them.
INTERRUPT_SECONDS = 0.1  # Until an interrupt is noticed.
TELL_EVERY = 10.0  # Seconds.

T = TypeVar("T")
R = TypeVar("R")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds --workers."""
    parser.add_argument(
        "--workers", metavar="N", type=whole(1), help="processes (default: one for each processor)"
    )


@contextlib.contextmanager
def in_order(
    function: Callable[[T], R], tasks: Sequence[T], workers: int | None
) -> Iterator[Iterator[R]]:
    """Yields the results in the order of the tasks. At the end, tasks that still run are ended.

    `workers` is a number of processes (None: one for each processor); one process is this one.
    """
    workers = min(workers or processors(), len(tasks))
    if workers <= 1:
        yield map(function, tasks)
        return
    others = set(multiprocessing.active_children())
    # Spawned, not forked, because the progress bar has threads.
    executor = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_begin_worker
    )
    with _noted_interrupts() as interrupts:
        try:
            yield _results(executor.submit, function, tasks, AHEAD * workers, interrupts)
        finally:
            for child in set(multiprocessing.active_children()) - others:
                child.kill()
            executor.shutdown(wait=True)


class Teller:
    """Prints lines of progress: each is left out that comes too soon after the one before."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._told = -math.inf

    def __call__(self, text: str) -> None:
        """Prints a line, or leaves it out."""
        if time.monotonic() - self._told >= TELL_EVERY:
            self._told = time.monotonic()
            print(text, file=self._stream, flush=True)


def counting(of: int, what: str) -> Callable[[], None]:
    """Returns what, whenever it is called, says on standard error that one more of `what` is done.

    There are `of` of them in all.
    """
    tell, done = Teller(sys.stderr), itertools.count(1)
    return lambda: tell(f"{next(done)} of {of} {what}")


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
    try:
        for task in tasks:
            waiting.append(submit(function, task))
            if len(waiting) > ahead:
                yield _result(waiting.popleft(), interrupts)
        while waiting:
            yield _result(waiting.popleft(), interrupts)
    except BrokenProcessPool:
        # A signal to all processes of a group may end a worker that is not ready to ignore it.
        if interrupts:
            raise KeyboardInterrupt from None
        raise ChildProcessError("a worker was killed, or crashed, or memory ran out") from None


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


def _begin_worker() -> None:
    # Ctrl-C goes to the whole process group, and a SIGTERM may; the parent ends its workers. They
    # end by themselves if it was killed.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
