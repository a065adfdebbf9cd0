"""A log that ends with the process."""

from collections.abc import Callable, Sequence

from service.store.changes import Changes
from service.store.interface import Due, Entry, Header, Listed, MatchStatus, Query, Snapshot, Stored


class MemoryStore:
    """A log that ends with the process; servers of one event loop may share it."""

    def __init__(self) -> None:
        self._key = b""
        self._headers: dict[str, Header] = {}
        self._entries: dict[str, list[Entry]] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._due: dict[str, int] = {}
        self._ended: dict[str, int] = {}
        self._changes = Changes()

    async def open(self) -> None:
        """There is nothing to make ready."""

    async def close(self) -> None:
        """There is nothing to let go of."""

    async def key(self, offered: bytes) -> bytes:
        self._key = self._key or offered
        return self._key

    async def create(self, header: Header, status: MatchStatus) -> None:
        if header.match_id in self._headers:
            raise ValueError("there is a match of this id already")
        self._headers[header.match_id] = header
        self._entries[header.match_id] = []
        self._set_status(header.match_id, status)

    async def load(self, match_id: str) -> Stored | None:
        header = self._headers.get(match_id)
        if header is None:
            return None
        return Stored(header, list(self._entries[match_id]), self._snapshots.get(match_id))

    async def read(self, match_id: str, version: int) -> list[Entry]:
        return self._entries.get(match_id, [])[version:]

    async def append(
        self,
        match_id: str,
        version: int,
        entry: Entry,
        status: MatchStatus,
        added: Callable[[], None] | None = None,
    ) -> bool:
        entries = self._entries.get(match_id)
        if entries is None or len(entries) != version or _repeats(entries, entry):
            return False
        entries.append(entry)
        self._set_status(match_id, status)
        if status.over:
            self._ended[match_id] = entry.at
        if added is not None:
            added()
        self._changes.tell(match_id, len(entries))
        return True

    async def wait(self, match_id: str, version: int) -> None:
        await self._changes.wait(match_id, version, self._head)

    def keep(self, match_id: str, snapshot: Snapshot) -> None:
        kept = self._snapshots.get(match_id)
        if kept is None or kept.version < snapshot.version:
            self._snapshots[match_id] = snapshot

    async def due(self, until: int, most: int) -> list[Due]:
        found = [Due(match_id, at) for match_id, at in self._due.items() if at <= until]
        return sorted(found, key=lambda due: due.at)[:most]

    async def postpone(self, due: Due, to: int) -> bool:
        if self._due.get(due.match_id) != due.at:
            return False
        self._due[due.match_id] = to
        return True

    async def find(self, query: Query, most: int) -> list[Listed]:
        found = [
            Listed(
                header.match_id,
                header.game,
                header.bots,
                header.created,
                self._ended.get(header.match_id),
                len(self._entries[header.match_id]),
            )
            for header in self._headers.values()
            if query.game in ("", header.game)
            and query.over in (None, header.match_id in self._ended)
            and (query.before is None or (header.created, header.match_id) < query.before)
        ]
        found.sort(key=lambda listed: (listed.created, listed.match_id), reverse=True)
        return found[:most]

    async def forget(self, before: int, most: int) -> Sequence[str]:
        old = sorted((at, match_id) for match_id, at in self._ended.items() if at < before)[:most]
        for _, match_id in old:
            for table in (self._headers, self._entries, self._snapshots, self._due, self._ended):
                table.pop(match_id, None)
        return [match_id for _, match_id in old]

    async def _head(self, match_id: str) -> int:
        return len(self._entries.get(match_id, []))

    def _set_status(self, match_id: str, status: MatchStatus) -> None:
        self._due.pop(match_id, None)
        if status.due is not None:
            self._due[match_id] = status.due


def _repeats(entries: list[Entry], entry: Entry) -> bool:
    return entry.request_id != "" and any(
        (each.seat, each.request_id) == (entry.seat, entry.request_id) for each in entries
    )
