"""Headers, entries and a place for each kind of store, for the tests of the log."""

import contextlib

from service.store import Entry, EntryKind, Header, MatchStatus, MemoryStore, SqliteStore
from service.store.postgresql import PostgresStore

NOTHING = MatchStatus()


def header(match_id="one", **fields):
    """The header of a match of no game."""
    whole = Header(match_id, "none", b"", 1, bytes(32), match_id, (0, 0), 1_700_000_000_000)
    return whole._replace(**fields)


def action(seat, data=b"x", expected_version=0, request_id="", at=1_700_000_000_000):
    """An action of a seat."""
    return Entry(EntryKind.ACTION, seat, at, data, expected_version, request_id)


def resignation(seat, at=1_700_000_000_000):
    """A resignation of a seat."""
    return Entry(EntryKind.RESIGNATION, seat, at)


class MemoryPlace:
    """A log in memory, which outlives its closing."""

    def __init__(self):
        self._store = MemoryStore()

    def store(self):
        return self._store


class SqlitePlace:
    """A directory in which a log is."""

    def __init__(self, directory):
        self.directory = directory

    def store(self):
        return SqliteStore(self.directory)


class PostgresPlace:
    """A schema of a database in which a log is."""

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
    """A store of a place, open."""
    store = place.store()
    await store.open()
    try:
        yield store
    finally:
        await store.close()
