"""Reads that are gathered: what is asked while a statement is under way becomes the next statement.

So all readers of a turn of the event loop cost one round trip, and a busy server has one read under
way at a time. A read is answered only by a statement that was sent after it was asked for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import Context
from typing import Generic, TypeVar

from service.common.tasks import Tasks, told
from service.store.postgresql_connections import is_of_the_database

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


class ReadGatherer(Generic[_Asked, _Answer]):
    """Gathers the reads of one event loop."""

    def __init__(
        self,
        read: Callable[[list[_Asked]], Awaitable[Sequence[_Answer]]],
        max_batch: int,
        tasks: Tasks,
    ) -> None:
        """`read` returns the answers to at most `max_batch` different reads, in their order."""
        self._read = read
        self._max_batch = max_batch
        self._tasks = tasks
        self._asked: dict[_Asked, list[asyncio.Future[_Answer]]] = {}
        self._in_hand: dict[_Asked, list[asyncio.Future[_Answer]]] = {}  # That are being read.
        self._reading: asyncio.Task[None] | None = None

    def ask(self, asked: _Asked) -> "asyncio.Future[_Answer]":
        """The answer to one read, or the exception that `read` raised."""
        future: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(asked, []).append(future)
        if self._reading is None or self._reading.done():
            # It begins in the next turn, and is for many calls, so it belongs to none.
            self._reading = self._tasks.finish("read", self._read_all, context=Context())
        return future

    async def close(self) -> None:
        """Returns when everything that was asked is answered."""
        if self._reading is not None:
            await asyncio.wait([self._reading])

    async def _read_all(self) -> bool:
        while self._asked or self._in_hand:
            if not self._in_hand:  # Else it was begun again, and these have no answer yet.
                # What is asked from now on is not in this statement, even if it is about the same.
                some = list(self._asked)[: self._max_batch]
                self._in_hand = {asked: self._asked.pop(asked) for asked in some}
            await self._answer(self._in_hand)
            self._in_hand = {}
        return True

    async def _answer(self, batch: "dict[_Asked, list[asyncio.Future[_Answer]]]") -> None:
        try:
            answers = await self._read(list(batch))
        # Whatever the failure is, those who wait are told, and the next ones get their try.
        except BaseException as caught:
            error = told(caught)
            if len(batch) > 1 and not is_of_the_database(error):
                # One of them is to blame, and must not take the others along.
                for asked, futures in batch.items():
                    await self._answer({asked: futures})
                return
            for future in _waiting(batch.values()):
                future.set_exception(error)
            return
        for futures, answer in zip(batch.values(), answers, strict=True):
            for future in _waiting([futures]):
                future.set_result(answer)


def _waiting(lists: "Iterable[list[asyncio.Future[_Answer]]]") -> "list[asyncio.Future[_Answer]]":
    # Those whose callers have not gone.
    return [future for futures in lists for future in futures if not future.done()]
