"""The keeper of a log that one process can use, on behalf of the other processes of its server.

It carries out what the stores of the other processes (`service/store/remote.py`) ask, in the order
in which it hears of it. A process is answered after the commit, as if the log were its own, and a
read is carried out after it was asked for: so all processes together read the log as one would.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

from service.errors import Refusal, log_failure, store_unavailable
from service.store.interface import Entry, Store

MAX_RECENT_MATCHES = 4096
MAX_RECENT_ENTRIES = 16  # Of one match.
_PLAIN = frozenset(
    {
        "key",
        "create",
        "load",
        "list_due",
        "reschedule",
        "count_live",
        "list_idle",
        "list_matches",
    }
)


class RecentEntries:
    """The newest entries of the matches that have changed last.

    Whoever follows a match reads each of its entries once, right after the commit. All entries pass
    through the keeper, so that it can answer without reading the log.
    """

    def __init__(self) -> None:
        # By match, in the order of their last change: the version before the entries, and these.
        self._matches: dict[str, tuple[int, list[Entry]]] = {}

    def add(self, match_id: str, version: int, entry: Entry) -> None:
        """Notes that the log has an entry as this version of a match; called with each of them."""
        before, entries = self._matches.pop(match_id, (version - 1, []))
        entries.append(entry)
        if len(entries) > MAX_RECENT_ENTRIES:
            before += 1
            del entries[0]
        self._matches[match_id] = before, entries
        if len(self._matches) > MAX_RECENT_MATCHES:
            del self._matches[next(iter(self._matches))]

    def drop(self, match_id: str) -> None:
        """Forgets a match."""
        self._matches.pop(match_id, None)

    def after(self, match_id: str, version: int) -> list[Entry] | None:
        """The entries after the first `version` ones; None if that is not known."""
        before, entries = self._matches.get(match_id, (0, None))
        if entries is None or not before <= version <= before + len(entries):
            return None
        return entries[version - before :]


class StoreKeeper:
    """Carries out what some processes ask of a store, which only this object uses."""

    def __init__(self, store: Store) -> None:
        """The store is open as long as this is used."""
        self._store = store
        self._recent = RecentEntries()
        self._numbers = count()
        self._sends: dict[int, Callable[[Any], None]] = {}
        self._running: set[asyncio.Future[Any]] = set()

    def add(self, send: Callable[[Any], None]) -> int:
        """Begins to serve a process, which hears by `send`; returns its number.

        No two processes have the same, so that none gets an answer to what one before it has asked.
        """
        process = next(self._numbers)
        self._sends[process] = send
        return process

    def remove(self, process: int) -> None:
        """Ends to serve a process. What it has asked for is carried out."""
        del self._sends[process]

    def hear(self, process: int, message: tuple[Any, ...]) -> None:
        """Takes a message of a process's store."""
        match message:
            case "ask", number, method, arguments:
                self._carry_out(process, number, method, arguments)
            case "snapshot", match_id, snapshot:
                self._store.save_snapshot(match_id, snapshot)

    def _carry_out(
        self, process: int, number: int, method: str, arguments: tuple[Any, ...]
    ) -> None:
        if method == "read":
            entries = self._recent.after(*arguments)
            if entries is not None:
                self._tell(process, ("done", number, entries))
                return
        try:
            future = asyncio.ensure_future(self._begin(process, method, arguments))
        except Refusal as refusal:
            self._tell(process, _failed(number, refusal))
            return
        self._running.add(future)
        future.add_done_callback(partial(self._answer, process, number))

    def _begin(self, process: int, method: str, arguments: tuple[Any, ...]) -> Awaitable[Any]:
        if method == "append":
            match_id, version, entry, status = arguments
            added = partial(self._added, process, match_id, version + 1, entry)
            return self._store.append(match_id, version, entry, status, added)
        if method == "read":
            return self._store.read(*arguments)
        if method == "delete_ended":
            return self._delete_ended(*arguments)
        assert method in _PLAIN
        carried_out: Awaitable[Any] = getattr(self._store, method)(*arguments)
        return carried_out

    def _added(self, process: int, match_id: str, version: int, entry: Entry) -> None:
        # Before the process that has added it is answered: whoever asks after that, finds it.
        self._recent.add(match_id, version, entry)
        for other, send in self._sends.items():
            if other != process:
                send(("added", match_id, version))

    async def _delete_ended(self, before: int, limit: int) -> Sequence[str]:
        deleted = await self._store.delete_ended(before, limit)
        for match_id in deleted:
            self._recent.drop(match_id)
        return deleted

    def _answer(self, process: int, number: int, future: "asyncio.Future[Any]") -> None:
        self._running.discard(future)
        if future.cancelled():
            self._tell(process, _failed(number, store_unavailable()))
        elif (error := future.exception()) is not None:
            self._tell(process, _failed(number, error))
        else:
            self._tell(process, ("done", number, future.result()))

    def _tell(self, process: int, message: Any) -> None:
        send = self._sends.get(process)
        if send is not None:
            send(message)


def _failed(number: int, error: BaseException) -> tuple[str, int, str, Any]:
    if isinstance(error, Refusal):
        return "failed", number, "refusal", error.status.SerializeToString()
    if isinstance(error, ValueError):
        return "failed", number, "value", str(error)
    log_failure("the log", error)
    return "failed", number, "other", type(error).__name__
