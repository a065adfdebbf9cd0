"""Headers, entries and a place for a log of each kind, for the tests of the stores."""

import asyncio
import contextlib
import socket
from functools import partial

from service.link import Link
from service.store import (
    Entry,
    EntryKind,
    Header,
    Listener,
    MatchStatus,
    MemoryStore,
    SqliteStore,
)
from service.store.keeper import StoreKeeper
from service.store.postgresql import PostgresStore
from service.store.remote import RemoteStore

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


class LinkedStores:
    """The stores of processes whose log another one keeps, with links between them as there are.

    All of them are in one event loop. A store is closed before the log is.
    """

    def __init__(self, kept):
        self._kept = kept
        self.keeper = StoreKeeper(kept)
        self._links = {}

    async def open(self):
        """Opens the log."""
        await self._kept.open()

    async def add(self, store_class=RemoteStore):
        """The store of one more process."""
        at_keeper = Link(lambda message: self.keeper.hear(number, message), lambda: None)
        at_process = Link(lambda message: store.hear(message), lambda: None)
        store = store_class(at_process.send)
        number = self.keeper.add(at_keeper.send)
        self._links[store] = number, at_keeper, at_process
        loop = asyncio.get_running_loop()
        for link, end in zip((at_keeper, at_process), socket.socketpair(), strict=True):
            await loop.create_unix_connection(partial(_itself, link), sock=end)
        return store

    def remove(self, store):
        """Ends to serve a process, which has been killed."""
        number, at_keeper, at_process = self._links.pop(store)
        self.keeper.remove(number)
        at_keeper.close()
        at_process.close()

    async def close(self):
        """Closes the links and the log."""
        for _, *links in self._links.values():
            for link in links:
                link.close()
        await self._kept.close()


def _itself(link):
    return link


class LinkedStore(RemoteStore):
    """The only store of a log that another process would keep; opened and closed with it."""

    def __init__(self, kept):
        self._stores = LinkedStores(kept)
        self._link = None
        super().__init__(lambda message: self._link(message))

    async def open(self):
        await self._stores.open()
        store = await self._stores.add(self._become)
        assert store is self

    def _become(self, send):
        self._link = send
        return self

    async def close(self):
        await super().close()
        await self._stores.close()


class LinkedPlace:
    """A SQLite log that is reached through its keeper."""

    def __init__(self, directory):
        self.directory = directory

    def store(self):
        return LinkedStore(SqliteStore(self.directory))
