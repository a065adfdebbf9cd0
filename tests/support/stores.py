"""Headers, entries and a place for a log of each kind, for the tests of the stores."""

import asyncio
import contextlib

from service.hosting.entries import EntryKind
from service.store import Entry, Header, Listener, MatchStatus, MemoryStore, SqliteStore
from service.store.postgresql import PostgresStore

NOT_DUE = MatchStatus()
NEVER_DUE = MatchStatus(was_due=False)


def header(match_id="one", **fields):
    """A header with some fields changed; its game does not exist."""
    whole = Header(match_id, "none", b"", 1, bytes(32), match_id, (0, 0), 1_700_000_000_000)
    return whole._replace(**fields)


def action(seat, data=b"x", expected_version=0, request_id="", at=1_700_000_000_000):
    """An action of a seat."""
    return Entry(EntryKind.ACTION, seat, at, data, expected_version, request_id)


def resignation(seat, at=1_700_000_000_000):
    """A resignation of a seat."""
    return Entry(EntryKind.RESIGNATION, seat, at)


class MemoryPlace:
    """A log in memory, which survives the closing of its store."""

    def __init__(self):
        self._store = MemoryStore()

    def store(self):
        return self._store


class SqlitePlace:
    """A directory with a SQLite log."""

    def __init__(self, directory):
        self.directory = directory

    def store(self):
        return SqliteStore(self.directory)


class PostgresPlace:
    """A schema of a PostgreSQL database with a log."""

    def __init__(self, server):
        self.server = server
        self.schema = server.new_schema()

    @property
    def url(self):
        return self.server.url(self.schema)

    def store(self):
        return PostgresStore(self.url)


@contextlib.asynccontextmanager
async def opened(place):
    """Opens a store of the log at a place, and closes it at the end."""
    store = place.store()
    await store.open()
    try:
        yield store
    finally:
        await store.close()


class Heard:
    """What a listener of a store hears of a match."""

    def __init__(self, store, match_id="one"):
        self.versions = []
        self._news = asyncio.Event()
        self._match_id = match_id
        self.stop = store.listen(Listener(self._hear, lambda: [match_id]))

    def _hear(self, match_id, version):
        if match_id == self._match_id:
            self.versions.append(version)
            self._news.set()

    async def past(self, version):
        """Returns when the match is known to have more entries."""
        while max(self.versions, default=0) <= version:
            self._news.clear()
            await self._news.wait()


async def wait_past(store, match_id, version):
    """Returns when a match has more entries than `version`."""
    heard = Heard(store, match_id)
    try:
        if not await store.read(match_id, version):
            await heard.past(version)
    finally:
        heard.stop()


class LosingStore(MemoryStore):
    """A log in memory that can lose entries, as a database does whose standby lacks the last."""

    def lose(self, match_id, version):
        """Loses the entries of a match after a version."""
        after = (match_id, version)
        self._anchor.execute("DELETE FROM entries WHERE match_id = ? AND version > ?", after)
        self._writer.heads.pop(match_id, None)

    async def read(self, match_id, version, since=None):
        if await self._has(match_id, version, since):
            return await super().read(match_id, version)
        return None

    async def append(self, match_id, version, entry, status, on_added=None, since=None):
        if await self._has(match_id, version, since):
            return await super().append(match_id, version, entry, status, on_added)
        return False

    async def _has(self, match_id, version, since):
        # Whether a version was made at a time.
        if since is None:
            return True
        stored = await self.load(match_id)
        times = [stored.header.created, *(each.at for each in stored.entries)]
        return times[version : version + 1] == [since]
