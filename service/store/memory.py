"""A log that ends with the process."""

import secrets
from collections.abc import Callable, Sequence

from service.store.interface import (
    Changes,
    DueMatch,
    Entry,
    Header,
    IdleMatch,
    ListedMatch,
    Listener,
    MatchStatus,
    Query,
    Snapshot,
    StoredMatch,
    Update,
    Updates,
)


class MemoryStore:
    """A log that ends with the process. Servers of one event loop may share it."""

    def __init__(self) -> None:
        self._key = b""
        self._headers: dict[str, Header] = {}
        self._entries: dict[str, list[Entry]] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._due: dict[str, int] = {}
        self._ended: dict[str, int] = {}
        self._feed: dict[str, tuple[int, bytes]] = {}  # By match, in order of the positions.
        self._end = 0  # Of the feed.
        self._epoch = secrets.token_hex(4)
        self._changes = Changes()

    async def open(self) -> None:
        """There is nothing to open."""

    async def close(self) -> None:
        """There is nothing to close."""

    async def key(self, offered: bytes) -> bytes:
        self._key = self._key or offered
        return self._key

    async def create(self, header: Header, status: MatchStatus) -> None:
        if header.match_id in self._headers:
            raise ValueError("there is a match of this id already")
        self._headers[header.match_id] = header
        self._entries[header.match_id] = []
        self._set_status(header.match_id, status)

    async def load(self, match_id: str) -> StoredMatch | None:
        header = self._headers.get(match_id)
        if header is None:
            return None
        return StoredMatch(header, list(self._entries[match_id]), self._snapshots.get(match_id))

    async def read(
        self, match_id: str, version: int, since: int | None = None
    ) -> list[Entry] | None:
        if since is not None and self._made(match_id, version) != since:
            return None
        return self._entries.get(match_id, [])[version:]

    def _made(self, match_id: str, version: int) -> int | None:
        # When a version of a match was made, if there is one.
        entries = self._entries.get(match_id)
        if entries is None or len(entries) < version:
            return None
        return entries[version - 1].at if version else self._headers[match_id].created

    async def append(
        self,
        match_id: str,
        version: int,
        entry: Entry,
        status: MatchStatus,
        on_added: Callable[[], None] | None = None,
        since: int | None = None,
    ) -> bool:
        entries = self._entries.get(match_id)
        if entries is None or len(entries) != version or _repeats(entries, entry):
            return False
        if since is not None and self._made(match_id, version) != since:
            return False
        entries.append(entry)
        self._set_status(match_id, status)
        if status.over:
            self._ended[match_id] = entry.at
        if on_added is not None:
            on_added()
        self._changes.tell(match_id, len(entries))
        return True

    def listen(self, listener: Listener) -> Callable[[], None]:
        return self._changes.listen(listener)

    def save_snapshot(self, match_id: str, snapshot: Snapshot) -> None:
        saved = self._snapshots.get(match_id)
        if saved is None or saved.version < snapshot.version:
            self._snapshots[match_id] = snapshot

    async def list_due(self, until: int, limit: int) -> list[DueMatch]:
        found = [DueMatch(match_id, at) for match_id, at in self._due.items() if at <= until]
        return sorted(found, key=lambda due: due.at)[:limit]

    async def reschedule(self, due: DueMatch, at: int) -> bool:
        if self._due.get(due.match_id) != due.at:
            return False
        self._due[due.match_id] = at
        return True

    async def count_live(self, creator: str) -> int:
        return sum(
            header.creator == creator and header.match_id not in self._ended
            for header in self._headers.values()
        )

    async def list_idle(
        self, before: int, after: IdleMatch | None, limit: int
    ) -> Sequence[IdleMatch]:
        found = [
            IdleMatch(header.created, match_id)
            for match_id, header in self._headers.items()
            if match_id not in self._ended and match_id not in self._due
            if max([header.created, *(entry.at for entry in self._entries[match_id][-1:])]) < before
        ]
        return sorted(idle for idle in found if after is None or idle > after)[:limit]

    async def list_matches(self, query: Query, limit: int) -> list[ListedMatch]:
        found = [
            ListedMatch(
                header.match_id,
                header.game,
                header.bots,
                header.created,
                self._ended.get(header.match_id),
                len(self._entries[header.match_id]),
                header.rules_version,
                max([header.created, *(entry.at for entry in self._entries[header.match_id][-1:])]),
                header.invited,
            )
            for header in self._headers.values()
            if query.game in ("", header.game)
            and query.over in (None, header.match_id in self._ended)
            and (query.before is None or (header.created, header.match_id) < query.before)
        ]
        found.sort(key=lambda listed: (listed.created, listed.match_id), reverse=True)
        return found[:limit]

    async def list_updates(self, after: int | None, limit: int) -> Updates:
        found = []
        if after is not None:
            # The newest positions are last.
            for match_id, (position, _) in reversed(self._feed.items()):
                if position <= after:
                    break
                found.append(self._update(match_id))
        found = found[::-1][:limit]
        more = len(found) == limit
        return Updates(self._epoch, found[-1].position if more else self._end, found, more)

    async def list_running(
        self, owner: str | None, after: tuple[int, str], limit: int
    ) -> list[Update]:
        found = sorted(
            (header.created, match_id)
            for match_id, header in self._headers.items()
            if match_id not in self._ended and owner in (None, header.owner)
        )
        return [
            self._update(match_id) for created, match_id in found if (created, match_id) > after
        ][:limit]

    def _update(self, match_id: str) -> Update:
        header, entries = self._headers[match_id], self._entries[match_id]
        position, feed = self._feed[match_id]
        at = entries[-1].at if entries else header.created
        return Update(position, match_id, len(entries), at, header.created, header.owner, feed)

    async def delete_ended(self, before: int, limit: int) -> Sequence[str]:
        ended = sorted((at, match_id) for match_id, at in self._ended.items() if at < before)
        for _, match_id in ended[:limit]:
            for table in (
                self._headers,
                self._entries,
                self._snapshots,
                self._due,
                self._ended,
                self._feed,
            ):
                table.pop(match_id, None)
        return [match_id for _, match_id in ended[:limit]]

    def _set_status(self, match_id: str, status: MatchStatus) -> None:
        self._due.pop(match_id, None)
        if status.due is not None:
            self._due[match_id] = status.due
        self._feed.pop(match_id, None)
        self._end += 1
        self._feed[match_id] = (self._end, status.feed)


def _repeats(entries: list[Entry], entry: Entry) -> bool:
    return entry.request_id != "" and any(
        (each.seat, each.request_id) == (entry.seat, entry.request_id) for each in entries
    )
