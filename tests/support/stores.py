"""Headers, entries and a place for a log of each kind, for the tests of the stores."""

import asyncio
import contextlib

import pytest

from service.hosting.entries import EntryKind
from service.store import (
    Entry,
    Head,
    Header,
    Listener,
    MatchStatus,
    MemoryStore,
    SqliteStore,
    StoredMatch,
    chain,
    queries,
    sqlite_tables,
)
from service.store.postgresql import PostgresStore
from wire.errors import Refusal

NOT_DUE = MatchStatus()


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


def sealed(head, entry):
    """An entry as the log has it after a version."""
    return entry._replace(digest=chain.next_digest(head.digest, entry, entry.course))


class Branch:
    """What a test adds to a match, one entry after another, without asking the log for its head."""

    def __init__(self, match_id="one", **fields):
        self.head = Head(0, chain.first_digest(header(match_id, **fields)))
        self._match_id = match_id

    def past(self, *entries):
        """The branch with these entries, which the log has, or may have."""
        for entry in entries:
            self.head = Head(self.head.version + 1, sealed(self.head, entry).digest)
        return self

    def append(self, store, entry, status=NOT_DUE, on_added=None):
        """Asks a store at once to add the next entry; what it answers can be awaited."""
        head = self.head
        self.past(entry)
        return store.append(self._match_id, head, sealed(head, entry), status, on_added)


def bare(entries):
    """Entries of a log as they were before they were sealed."""
    return [Entry(*entry[:7]) for entry in entries]


def stored_match(state, snapshot=None):
    """A match as a log has it."""
    status = state.status
    return StoredMatch(
        state.header, list(state.entries), snapshot, state.head, status.over, status.due
    )


async def head_of(store, match_id, version):
    """A version of a match that the log has; else one of this number that it has not."""
    stored = await store.load(match_id)
    if stored is None or not 0 <= version <= len(stored.entries):
        return Head(version, b"of no log")
    if not version:
        return Head(0, chain.first_digest(stored.header))
    return Head(version, stored.entries[version - 1].digest)


async def append(store, match_id, version, entry, status=NOT_DUE, on_added=None):
    """Adds an entry after a version of a match, sealed; returns whether the store did."""
    head = await head_of(store, match_id, version)
    return await store.append(match_id, head, sealed(head, entry), status, on_added)


async def add(store, version):
    """Adds an action to the match "one", which has so many and nothing else."""
    return await Branch().past(*[action(0)] * version).append(store, action(0))


async def refused(call):
    """Awaits a call that must be refused, and returns the reason."""
    with pytest.raises(Refusal) as caught:
        await call
    return caught.value.reason


async def read(store, match_id, version=0):
    """The entries after a version, as they were before they were sealed."""
    found = await store.read(match_id, await head_of(store, match_id, version))
    return None if found is None else bare(found.entries)


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

    def __init__(self, server, schema=None, host=None):
        self.server = server
        self.schema = schema or server.new_schema()
        self._host = host

    @property
    def url(self):
        return self.server.url(self.schema, self._host)

    def store(self):
        return PostgresStore(self.url)


@contextlib.asynccontextmanager
async def opened(place, *matches):
    """Opens a store of the log at a place, which gets these matches, and closes it at the end."""
    store = place.store()
    await store.open()
    try:
        for match_id in matches:
            if await store.load(match_id) is None:
                await store.create(header(match_id), NOT_DUE)
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
        if not await read(store, match_id, version):
            await heard.past(version)
    finally:
        heard.stop()


def _losing(stored, version):
    # The statements that take the entries after a version out of a log.
    match_id = stored.header.match_id
    branch = [Head(0, chain.first_digest(stored.header))]
    branch += [Head(number, each.digest) for number, each in enumerate(stored.entries, 1)]
    at = stored.entries[version - 1].at if version else stored.header.created
    _, *head = queries.head_row(match_id, branch[version], at, over=False)
    return [
        ("DELETE FROM entries WHERE match_id = $1 AND version > $2", match_id, version),
        ("DELETE FROM snapshots WHERE match_id = $1 AND version > $2", match_id, version),
        ("UPDATE matches SET ended = NULL WHERE match_id = $1", match_id),
        (
            "UPDATE heads SET version = $1, digest = $2, at = $3, over = $4, seal = $5 "
            "WHERE match_id = $6",
            *head,
            match_id,
        ),
    ]


async def execute(store, sql, *values):
    """Carries out a statement on a log, as somebody does who knows nothing of its store."""
    if isinstance(store, PostgresStore):
        await store._use("write", "other", lambda file: file.execute(sql, *values))
        return
    await store._run_in_writer(lambda file: file.execute(sql.replace("$", "?"), values).rowcount)
    store._writer.heads.clear()


async def lose(store, match_id, version):
    """Loses the entries after a version, as a database does whose standby lacks the last."""
    stored = await store.load(match_id)
    for sql, *values in _losing(stored, version):
        await execute(store, sql, *values)


def _lose(connection, store, stored, version):
    for sql, *values in _losing(stored, version):
        connection.execute(sql.replace("$", "?"), values)
    store._writer.heads.pop(stored.header.match_id, None)


class LosingStore(MemoryStore):
    """A log in memory that can lose entries at once."""

    def lose(self, match_id, version):
        """As the function of this name."""
        _lose(self._anchor, self, sqlite_tables.read_match(self._anchor, match_id), version)
