"""Connections to the PostgreSQL database of a log, and what to do when it does not answer."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg

from service.common.errors import Unreadable, store_full, store_unavailable
from service.common.event_loop import Lines
from service.common.urls import without_password
from service.store import postgresql_feed
from service.store import postgresql_tables as tables
from service.store.faults import is_damage
from wire.errors import Refusal

CONNECTIONS = 5  # That are lent out.
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
IDLE_SECONDS = 300.0  # A connection that was not used for so long is not used again.
MIN_RETRY_SECONDS = 0.05
MAX_RETRY_SECONDS = 5.0
# Of several hosts in the URL, or of several servers behind one, the one that takes writes.
PRIMARY = "read-write"

# What tells a database from another one that gets its name.
_DATABASE = "SELECT oid FROM pg_database WHERE datname = current_database()"

# How the database fails. The internal error is that of a connection which the database has told to
# end, and which has not ended yet.
FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
# Planning the statement of a commit takes longer than carrying it out. One plan serves all if it
# finds rows by the indexes of their keys, also when it was made while the tables were small.
_PLAN_ONCE = """
    SELECT set_config(name, value, false) FROM (VALUES
        ('plan_cache_mode', 'force_generic_plan'), ('jit', 'off'),
        ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off')
    ) AS settings (name, value)
"""


class Connections:
    """The connections to a database, which is left alone for a while when it fails.

    Some are lent out for any statement; others are kept, each for one purpose (`keep_one`).
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._backoff = Backoff()
        self._database: int | None = None  # What it calls itself, when it is known.
        self._all: list[Connection] = []
        self._lent = [self._add("") for _ in range(CONNECTIONS)]
        self._free = list(self._lent)  # The one that was used last comes last, and is used next.
        self._room = asyncio.Semaphore(CONNECTIONS)
        self._lines = Lines(max(1, CONNECTIONS - 1))
        self.waiting = 0  # For a connection.

    def _add(self, settings: str) -> "Connection":
        arguments = self._url, self._backoff, self._leave, self._know, settings
        self._all.append(Connection(*arguments))
        return self._all[-1]

    def keep_one(self) -> "Connection":
        """A connection besides those that are lent out, of which one statement is sent at a time.

        All its statements find their rows by keys, so each is planned once.
        """
        return self._add(_PLAN_ONCE)

    async def open(self) -> None:
        """Brings the tables up to date; raises OSError or ValueError."""
        await self._open(self._prepare)

    async def _prepare(self, connection: Any) -> None:
        await tables.migrate(connection)
        await postgresql_feed.begin_epoch(connection)
        self._database = await connection.fetchval(_DATABASE)

    async def _know(self, connection: Any) -> None:
        # One that was restored behind this server, and got the name, begins an epoch as at a start.
        # Where there is no log, none is made: one may be about to be restored.
        database = await connection.fetchval(_DATABASE)
        if self._database not in (None, database):
            try:
                await tables.check_open(connection)
            except ValueError as error:
                raise OSError(str(error)) from None
            await postgresql_feed.begin_epoch(connection)
            self._database = database

    async def open_to_check(self) -> None:
        """Changes nothing; raises OSError, or ValueError if the tables are not up to date."""
        for each in self._lent:
            each.settings = _PLAN_ONCE  # A page that is damaged hides nothing but what is on it.
        await self._open(tables.check_open)

    async def _open(self, prepare: Callable[[Any], Awaitable[None]]) -> None:
        try:
            await _check_sessions(self._url)
            async with _connected(self._url) as connection:
                await prepare(connection)
        except FAILURES as error:
            what = str(error) or "no answer"
            if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
                what = "it takes no writes, as a standby"
            where = without_password(self._url)
            raise OSError(f"cannot use the PostgreSQL database {where}: {what}") from None

    @property
    def open_connections(self) -> int:
        """How many of those that are lent out are open."""
        return sum(each.process > 0 for each in self._lent)

    @property
    def idle(self) -> int:
        """How many of them nothing uses."""
        return sum(each.process > 0 for each in self._free)

    async def close(self) -> None:
        """Closes all connections when nothing uses them, at the latest after CONNECT_SECONDS."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                for _ in self._lent:
                    await self._room.acquire()
        for each in self._all:
            each.close()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Any]:
        """A connection; raises Refusal while the database is left alone, or one of FAILURES."""
        async with self._lines.own():
            self._backoff.check()
            self.waiting += 1
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self._room.acquire()
            except TimeoutError:
                self._backoff.failed()
                raise
            finally:
                self.waiting -= 1
            lent = self._free.pop()
            try:
                async with lent.use() as connection:
                    yield connection
            finally:
                self._free.append(lent)
                self._room.release()

    def _leave(self) -> None:
        # Replaces all connections before they are used again: the database has moved.
        for each in self._all:
            each.expired = True


class Connection:
    """A connection that is opened when it is used, and kept from one use to the next."""

    def __init__(
        self,
        url: str,
        backoff: "Backoff",
        on_moved: Callable[[], None],
        know: Callable[[Any], Awaitable[None]],
        settings: str,
    ) -> None:
        """`on_moved` is called when the database takes no writes here any more.

        `know` is awaited with it whenever it is opened. `settings` is a statement that is carried
        out first, if it is not empty.
        """
        self._url = url
        self._backoff = backoff
        self._on_moved = on_moved
        self._know = know
        self.settings = settings
        self._connection: Any = None
        self._used = 0.0
        self.expired = False  # Whether it is to be replaced before it is used again.

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Any]:
        """The connection; raises Refusal while the database is left alone, or one of FAILURES."""
        self._backoff.check()
        now = time.monotonic()
        # A router between may have forgotten an idle one, and would drop what is sent.
        if self.expired or now - self._used > IDLE_SECONDS:
            self.close()
        self._used = now
        if self._connection is None or self._connection.is_closed():
            try:
                self._connection = await _connect(self._url, "croupier")
                await _require_durability(self._connection)
                await self._know(self._connection)
                if self.settings:
                    await self._connection.execute(self.settings)
            except BaseException as error:
                # Also of a caller that has gone: nothing is done before the settings are made.
                self.close()
                if isinstance(error, FAILURES):
                    self._backoff.failed()
                raise
        try:
            yield self._connection
            check_primary(self._connection)
        except BaseException as error:
            if not isinstance(error, asyncpg.DiskFullError) and not (
                isinstance(error, Exception) and tables.is_fault_of_ours(error)
            ):
                # What it would answer next is not certain.
                self.close()
            if isinstance(error, TimeoutError):
                self._backoff.failed()
            if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                self._on_moved()
            if isinstance(error, TypeError):
                # asyncpg does not know what to expect of a connection that was told to end.
                raise asyncpg.InternalClientError(str(error)) from None
            raise
        self._backoff.answered()

    @property
    def process(self) -> int:
        """The process of the database that answers it; 0 if it is not open."""
        if self._connection is None or self._connection.is_closed():
            return 0
        return int(self._connection.get_server_pid())

    def close(self) -> None:
        """Ends the connection."""
        self.expired = False
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


class Backoff:
    """For how long a database that does not answer is left alone: exponential, with jitter."""

    def __init__(self) -> None:
        self._until = 0.0
        self._seconds = MIN_RETRY_SECONDS

    def check(self) -> None:
        """Raises Refusal while the database is left alone."""
        if time.monotonic() < self._until:
            raise store_unavailable()

    async def wait(self) -> None:
        """Returns when the database may be tried again."""
        await asyncio.sleep(self._until - time.monotonic())

    def failed(self) -> None:
        """The database did not answer."""
        if time.monotonic() < self._until:
            return
        # Not all at once, where many servers wait.
        self._until = time.monotonic() + self._seconds * random.uniform(0.5, 1.0)
        self._seconds = min(2 * self._seconds, MAX_RETRY_SECONDS)

    def answered(self) -> None:
        """The database answered."""
        self._seconds = MIN_RETRY_SECONDS


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Any]:
    # A connection without statements that outlast a transaction, for the start of a server.
    connection = await asyncpg.connect(
        url, timeout=CONNECT_SECONDS, target_session_attrs=PRIMARY, statement_cache_size=0
    )
    try:
        yield connection
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


async def _check_sessions(url: str) -> None:
    # Raises OSError if a pooler lends a session of the database to each transaction. Settings,
    # prepared statements and LISTEN would not last, which would be noticed under load only.
    processes = []
    async with _connected(url) as one, _connected(url) as other:
        # A pooler that lends the same session again lends it to both; one that takes turns lends
        # two to one of them.
        for connection in (one, other, other, one):
            async with connection.transaction():
                processes.append(await connection.fetchval("SELECT pg_backend_pid()"))
    first, *others, last = processes
    if first != last or others != [others[0]] * 2 or first in others:
        raise OSError(
            "the pooler in front of it lends its connections to single transactions: name the "
            "database itself in the URL, or let the pooler keep sessions (pool_mode = session)"
        )


async def listening_connection(url: str) -> Any:
    """A connection to wait for notifications."""
    return await _connect(url, tables.LISTENER)


async def _connect(url: str, name: str) -> Any:
    return await asyncpg.connect(
        url,
        timeout=CONNECT_SECONDS,
        command_timeout=ANSWER_SECONDS,
        target_session_attrs=PRIMARY,
        server_settings={"application_name": name},
    )


def check_primary(connection: Any) -> None:
    """Raises one of FAILURES if a connection that was used is to a server that takes no writes.

    A database may have moved to another server, behind the same address. Without this, its previous
    server would be asked for ever, and might not know what is new.
    """
    # Servers tell of a change of these settings with their next answer.
    settings = connection.get_settings()
    for name in ("in_hot_standby", "default_transaction_read_only"):
        if getattr(settings, name, "off") == "on":
            raise asyncpg.ReadOnlySQLTransactionError(f"{name} is on")


def is_of_the_database(error: Exception) -> bool:
    """Whether the database is away or overloaded, rather than the statement or a match wrong."""
    of_one = tables.is_fault_of_ours(error) or is_damage(error)
    return isinstance(error, (*FAILURES, Refusal)) and not of_one


def refusal(error: Exception) -> Exception:
    """The error for a caller."""
    if isinstance(error, asyncpg.DiskFullError):
        return store_full()
    if is_damage(error):
        return store_unavailable(Unreadable)
    return store_unavailable() if is_of_the_database(error) else error


async def _require_durability(connection: Any) -> None:
    # What is answered must be on the disk; a database may be set to more, but not to less.
    await connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )
