"""Long work on the event loop, such as the replay of a long match, done in pieces.

Work is a generator that yields after each short step and returns its result. All other calls go on
between two pieces. Most work ends within its first pieces. What goes on shares a small part of the
loop's time with all other work of its kind, a piece each in turn, however much of it there is.
"""

import asyncio
import time
from collections.abc import Generator
from typing import TypeAlias, TypeVar

PIECE_SECONDS = 0.001
FIRST_PIECES = 8  # After which work waits for its turns.
PART = 0.2  # Of the loop's time, for all work that waits for turns.

_T = TypeVar("_T")
Work: TypeAlias = Generator[None, None, _T]


class LongWork:
    """The long work of a server."""

    def __init__(self) -> None:
        self._turns = asyncio.Lock()  # Fair: whoever waits longest is next.

    async def finish(self, work: Work[_T]) -> _T:
        """Does work, and returns its result; raises what it raises."""
        for _ in range(FIRST_PIECES):
            try:
                _do_piece(work)
            except StopIteration as ended:
                first: _T = ended.value
                return first
            await asyncio.sleep(0)
        while True:
            async with self._turns:
                began = time.perf_counter()
                try:
                    _do_piece(work)
                except StopIteration as ended:
                    result: _T = ended.value
                    return result
                await asyncio.sleep((time.perf_counter() - began) * (1 / PART - 1))


def _do_piece(work: Work[object]) -> None:
    until = time.perf_counter() + PIECE_SECONDS
    next(work)
    while time.perf_counter() < until:
        next(work)


def finish_now(work: Work[_T]) -> _T:
    """Does work at once, where nobody else waits; returns its result."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: _T = ended.value
            return result
