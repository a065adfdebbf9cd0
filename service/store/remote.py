"""The log of a process whose server keeps it in another process (`service/store/keeper.py`)."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

from google.rpc import status_pb2

from service.errors import Refusal
from service.store.changes import Changes, Listener
from service.store.interface import (
    DueMatch,
    Entry,
    Header,
    IdleMatch,
    ListedMatch,
    MatchStatus,
    Query,
    Snapshot,
    StoredMatch,
)

CLOSE_SECONDS = 2.0


class RemoteStore:
    """Asks the keeper of a log. It is open as long as its link is."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        """`send` sends a message to the keeper; `hear` takes those that come from there."""
        self._send = send
        self._numbers = count()
        self._asked: dict[int, tuple[asyncio.Future[Any], Callable[[Any], None] | None]] = {}
        self._answered = asyncio.Event()
        self._changes = Changes()

    async def open(self) -> None:
        """The keeper has opened the log."""

    async def close(self) -> None:
        """Waits until all that was asked for is answered; the keeper closes the log."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                while self._asked:
                    self._answered.clear()
                    await self._answered.wait()

    # What the keeper says

    def hear(self, message: tuple[Any, ...]) -> None:
        """Takes a message of the keeper."""
        match message:
            case "done", number, answer:
                future, then = self._take(number)
                if not future.done():
                    future.set_result(answer)
                if then is not None:
                    then(answer)
            case "failed", number, kind, text:
                future, _ = self._take(number)
                if not future.done():
                    future.set_exception(_error(kind, text))
            case "added", match_id, version:
                self._changes.tell(match_id, version)

    def _take(self, number: int) -> tuple["asyncio.Future[Any]", Callable[[Any], None] | None]:
        self._answered.set()
        return self._asked.pop(number)

    # The log

    def _ask(
        self, method: str, *arguments: Any, then: Callable[[Any], None] | None = None
    ) -> "asyncio.Future[Any]":
        # `then` is called with the answer also when nobody waits for it any more.
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        number = next(self._numbers)
        self._asked[number] = future, then
        self._send(("ask", number, method, arguments))
        return future

    async def key(self, offered: bytes) -> bytes:
        return bytes(await self._ask("key", offered))

    async def create(self, header: Header, status: MatchStatus) -> None:
        await self._ask("create", header, status)

    async def load(self, match_id: str) -> StoredMatch | None:
        loaded: StoredMatch | None = await self._ask("load", match_id)
        return loaded

    async def read(self, match_id: str, version: int) -> list[Entry]:
        entries: list[Entry] = await self._ask("read", match_id, version)
        return entries

    def append(
        self,
        match_id: str,
        version: int,
        entry: Entry,
        status: MatchStatus,
        on_added: Callable[[], None] | None = None,
    ) -> "asyncio.Future[bool]":
        then = partial(self._appended, match_id, version + 1, on_added)
        return self._ask("append", match_id, version, entry, status, then=then)

    def _appended(
        self, match_id: str, version: int, on_added: Callable[[], None] | None, added: bool
    ) -> None:
        if not added:
            return
        if on_added is not None:
            on_added()
        self._changes.tell(match_id, version)

    def listen(self, listener: Listener) -> Callable[[], None]:
        return self._changes.listen(listener)

    def save_snapshot(self, match_id: str, snapshot: Snapshot) -> None:
        self._send(("snapshot", match_id, snapshot))

    async def list_due(self, until: int, limit: int) -> list[DueMatch]:
        due: list[DueMatch] = await self._ask("list_due", until, limit)
        return due

    async def reschedule(self, due: DueMatch, at: int) -> bool:
        return bool(await self._ask("reschedule", due, at))

    async def count_live(self, creator: str) -> int:
        return int(await self._ask("count_live", creator))

    async def list_idle(
        self, before: int, after: IdleMatch | None, limit: int
    ) -> Sequence[IdleMatch]:
        idle: Sequence[IdleMatch] = await self._ask("list_idle", before, after, limit)
        return idle

    async def list_matches(self, query: Query, limit: int) -> Sequence[ListedMatch]:
        listed: Sequence[ListedMatch] = await self._ask("list_matches", query, limit)
        return listed

    async def delete_ended(self, before: int, limit: int) -> Sequence[str]:
        deleted: Sequence[str] = await self._ask("delete_ended", before, limit)
        return deleted


def _error(kind: str, text: Any) -> Exception:
    if kind == "refusal":
        return Refusal.of(status_pb2.Status.FromString(text))
    return ValueError(text) if kind == "value" else RuntimeError(text)
