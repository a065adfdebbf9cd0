"""Connections to the PostgreSQL database of a log, and what to do when it does not answer."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from service.common.errors import Refusal, store_full, store_unavailable
from service.store import postgresql_tables as tables

CONNECTIONS = 5  # Of the pool.
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
IDLE_SECONDS = 300.0  # A connection that was not used for so long is not used again.
MIN_RETRY_SECONDS = 0.05
MAX_RETRY_SECONDS = 5.0
# Of several hosts in the URL, or of several servers behind one, the one that takes writes.
PRIMARY = "read-write"

# How the database fails. The internal error is that of a connection which the database has told to
# end, and which has not ended yet.
FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)


# With which the database says that it ends a connection, or takes none. It need not say so at once.
_ENDED = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
)


class Connections:
    """A pool of connections to a database, which is left alone for a while when it fails."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: Any = None
        self._kept: list[KeptConnection] = []
        self.waiting = 0  # For a connection.
        self._backoff = Backoff()

    async def open(self) -> None:
        """Brings the tables up to date and opens the pool; raises OSError or ValueError."""
        try:
            await _check_sessions(self._url)
            async with _connected(self._url) as connection:
                await tables.migrate(connection)
            self._pool = await asyncpg.create_pool(
                self._url,
                min_size=0,
                max_size=CONNECTIONS,
                max_inactive_connection_lifetime=IDLE_SECONDS,
                timeout=CONNECT_SECONDS,
                command_timeout=ANSWER_SECONDS,
                target_session_attrs=PRIMARY,
                init=_require_durability,
                reset=_reset_nothing,
                server_settings={"application_name": "croupier"},
            )
        except FAILURES as error:
            # Without the URL, which may hold a password.
            what = str(error) or "no answer"
            if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
                what = "it takes no writes, as a standby"
            raise OSError(f"cannot use the PostgreSQL database: {what}") from None

    @property
    def open_connections(self) -> int:
        """How many connections the pool has."""
        return int(self._pool.get_size()) if self._pool is not None else 0

    @property
    def idle(self) -> int:
        """How many of them nothing uses."""
        return int(self._pool.get_idle_size()) if self._pool is not None else 0

    async def close(self) -> None:
        """Closes all connections of the pool, at the latest after CONNECT_SECONDS."""
        if self._pool is not None:
            try:
                await asyncio.wait_for(self._pool.close(), CONNECT_SECONDS)
            except TimeoutError:
                self._pool.terminate()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Any]:
        """A connection; raises Refusal while the database is left alone, or one of FAILURES."""
        self._backoff.check()
        self.waiting += 1
        try:
            connection = await self._pool.acquire(timeout=CONNECT_SECONDS)
        except FAILURES:
            self._backoff.failed()
            raise
        finally:
            self.waiting -= 1
        try:
            yield connection
            check_primary(connection)
        except asyncpg.ReadOnlySQLTransactionError:
            await self.leave()
            raise
        except _ENDED:
            connection.terminate()
            raise
        except (asyncpg.InternalClientError, TypeError) as error:
            # asyncpg does not know what to expect of a connection that was told to end.
            connection.terminate()
            raise asyncpg.InternalClientError(str(error)) from None
        except TimeoutError:
            self._backoff.failed()
            raise
        finally:
            # A lost connection need not mean that the database is lost: the next one tells.
            await self._pool.release(connection)
        self._backoff.answered()

    def keep_one(self) -> "KeptConnection":
        """A connection besides the pool."""
        self._kept.append(KeptConnection(self._url, self._backoff, self.leave))
        return self._kept[-1]

    async def leave(self) -> None:
        """Replaces all connections before they are used again: the database has moved."""
        await self._pool.expire_connections()
        for kept in self._kept:
            kept.expired = True


class KeptConnection:
    """A connection that is kept from one statement to the next, of which one is sent at a time.

    A connection of the pool would cost more than a short statement does. All statements find their
    rows by keys, so each is planned once (`_PLAN_ONCE`).
    """

    def __init__(
        self, url: str, backoff: "Backoff", on_moved: Callable[[], Awaitable[None]]
    ) -> None:
        """`on_moved` is called when the database takes no writes here any more."""
        self._url = url
        self._backoff = backoff
        self._on_moved = on_moved
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
                await self._connection.execute(_PLAN_ONCE)
            except FAILURES:
                self._backoff.failed()
                self.close()
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
                await self._on_moved()
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
    """A connection that is not of the pool, to wait for notifications."""
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
    """Whether the database is away or overloaded, rather than the statement wrong."""
    return isinstance(error, (*FAILURES, Refusal)) and not tables.is_fault_of_ours(error)


def refusal(error: Exception) -> Exception:
    """The error for a caller."""
    if isinstance(error, asyncpg.DiskFullError):
        return store_full()
    return store_unavailable() if is_of_the_database(error) else error


# Planning the statement of a commit takes longer than carrying it out. One plan serves all if it
# finds rows by the indexes of their keys, also when it was made while the tables were small.
_PLAN_ONCE = """
    SELECT set_config(name, value, false) FROM (VALUES
        ('plan_cache_mode', 'force_generic_plan'), ('jit', 'off'),
        ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off')
    ) AS settings (name, value)
"""


async def _require_durability(connection: Any) -> None:
    # What is answered must be on the disk; a database may be set to more, but not to less.
    await connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )


async def _reset_nothing(connection: Any) -> None:
    """Nothing of a session is changed in use; asyncpg's own reset would cost a round trip."""
