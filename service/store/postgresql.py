"""The log in a PostgreSQL database, which any number of servers share.

What arrives while a statement is under way becomes the next one, so that under load one commit
serves many. Whoever waits for a match is woken by a notification, which is sent after the commit,
for many matches at once: in the same transaction, notifications would let one commit happen at a
time. They can be lost; every few seconds it is looked whether one was.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import asyncpg

from service.errors import Refusal, store_full, store_unavailable
from service.metrics import Metrics
from service.store import postgresql_tables as tables
from service.store.changes import Changes
from service.store.faults import Faults
from service.store.interface import Due, Entry, Header, Listed, MatchStatus, Query, Snapshot, Stored

CHANNEL = "croupier"
CONNECTIONS = 8
COMMITTERS = 2  # So that one commit is under way while the next one is being made up.
MAX_BATCH = 256
MAX_WAITING = 8192
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
POLL_SECONDS = 2.0
RETRY_LEAST_SECONDS = 0.05
RETRY_MOST_SECONDS = 5.0

# How the database fails. The internal error is that of a connection which the database has told to
# end, and which has not ended yet.
_FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)

_NOTICE_BYTES = 7900  # A notification takes 8000.

_T = TypeVar("_T")


class _Append(NamedTuple):
    match_id: str
    version: int
    entry: Entry
    status: MatchStatus
    added: Callable[[], None] | None
    answer: "asyncio.Future[bool]"


class PostgresStore:
    """A log in a database, by its URL. Servers that share it host the same matches."""

    def __init__(self, url: str, metrics: Metrics | None = None) -> None:
        self._url = url
        self._metrics = metrics or Metrics()
        self._faults = Faults(self._metrics)
        self._changes = Changes()
        self._appends: deque[_Append] = deque()
        self._committing: set[asyncio.Task[None]] = set()
        self._changed: dict[str, int] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._telling: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._pool: Any = None
        self._pause = _Pause()

    async def open(self) -> None:
        try:
            connection = await asyncpg.connect(self._url, timeout=CONNECT_SECONDS)
            try:
                await tables.migrate(connection)
            finally:
                await connection.close()
            self._pool = await asyncpg.create_pool(
                self._url,
                min_size=0,
                max_size=CONNECTIONS,
                timeout=CONNECT_SECONDS,
                command_timeout=ANSWER_SECONDS,
                init=_prepare,
                reset=_reset,
                server_settings={"application_name": "croupier"},
            )
        except _FAILURES as error:
            # The URL is not told: it may hold a password.
            what = str(error) or "no answer"
            raise OSError(f"cannot use the PostgreSQL database: {what}") from None
        self._listening = asyncio.create_task(self._listen())

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        while self._committing:
            await asyncio.wait(self._committing)
        if self._telling is not None:
            await asyncio.wait([self._telling])
        if self._pool is not None:
            try:
                await asyncio.wait_for(self._pool.close(), CONNECT_SECONDS)
            except TimeoutError:
                self._pool.terminate()

    # Single statements

    async def key(self, offered: bytes) -> bytes:
        async def ask(connection: Any) -> bytes:
            await connection.execute(
                "INSERT INTO settings VALUES ('key', $1) ON CONFLICT DO NOTHING", offered
            )
            key = await connection.fetchval("SELECT value FROM settings WHERE name = 'key'")
            return bytes(key)

        return await self._use("write", ask)

    async def create(self, header: Header, status: MatchStatus) -> None:
        values = (*header._replace(bots=bytes(header.bots)), status.due)  # type: ignore[arg-type]
        began = time.perf_counter()
        created = await self._use(
            "write", lambda connection: connection.fetchval(tables.CREATE, *values)
        )
        self._metrics.store_committed(1, time.perf_counter() - began)
        if created is None:
            raise ValueError("there is a match of this id already")

    async def load(self, match_id: str) -> Stored | None:
        return await self._use("read", lambda connection: tables.read_match(connection, match_id))

    async def read(self, match_id: str, version: int) -> list[Entry]:
        return await self._use(
            "read", lambda connection: tables.read_entries(connection, match_id, version)
        )

    async def due(self, until: int, most: int) -> list[Due]:
        return await self._use("read", lambda connection: tables.read_due(connection, until, most))

    async def postpone(self, due: Due, to: int) -> bool:
        sql = "UPDATE agenda SET at = $1 WHERE match_id = $2 AND at = $3"
        done = await self._use("write", lambda connection: connection.execute(sql, to, *due))
        return bool(done == "UPDATE 1")

    async def find(self, query: Query, most: int) -> Sequence[Listed]:
        return await self._use(
            "read", lambda connection: tables.read_listed(connection, query, most)
        )

    async def forget(self, before: int, most: int) -> Sequence[str]:
        rows = await self._use(
            "write", lambda connection: connection.fetch(tables.FORGET, before, most)
        )
        return [match_id for (match_id,) in rows]

    async def _use(self, kind: str, ask: Callable[[Any], Awaitable[_T]]) -> _T:
        try:
            async with self._connection() as connection:
                answer = await ask(connection)
        except _FAILURES as error:
            self._faults.failed(kind, type(error).__name__)
            raise _refusal(error) from None
        self._faults.worked(kind)
        return answer

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        self._pause.check()
        try:
            connection = await self._pool.acquire(timeout=CONNECT_SECONDS)
        except _FAILURES:
            self._pause.begin()
            raise
        try:
            yield connection
        except (asyncpg.InternalClientError, TypeError) as error:
            # asyncpg does not know what to expect of a connection that was told to end.
            connection.terminate()
            raise asyncpg.InternalClientError(str(error)) from None
        except TimeoutError:
            self._pause.begin()
            raise
        finally:
            # One that was lost need not mean that the database is: the next one tells.
            await self._pool.release(connection)
        self._pause.end()

    # Adding entries

    async def append(
        self,
        match_id: str,
        version: int,
        entry: Entry,
        status: MatchStatus,
        added: Callable[[], None] | None = None,
    ) -> bool:
        if len(self._appends) >= MAX_WAITING:
            raise store_unavailable()
        answer = asyncio.get_running_loop().create_future()
        self._appends.append(_Append(match_id, version, entry, status, added, answer))
        if len(self._committing) < COMMITTERS:
            task = asyncio.create_task(self._commit_all())
            self._committing.add(task)
            task.add_done_callback(self._committing.discard)
        return bool(await answer)

    async def _commit_all(self) -> None:
        while self._appends:
            await self._try(self._take())

    async def _try(self, batch: list[_Append]) -> None:
        try:
            await self._commit(batch)
        # Whatever it is, those who wait are told, and the next ones get their try.
        except Exception as error:
            if len(batch) > 1 and not _is_of_the_database(error):
                # One of them is to blame, and must not take the others along.
                for each in batch:
                    await self._try([each])
                return
            if _is_of_the_database(error):
                self._faults.failed("write", type(error).__name__)
            for each in batch:
                if not each.answer.done():
                    each.answer.set_exception(_refusal(error))

    def _take(self) -> list[_Append]:
        batch: dict[str, _Append] = {}
        others: list[_Append] = []
        while self._appends and len(batch) < MAX_BATCH:
            each = self._appends.popleft()
            # Of two for the same match, only the log can say which one was added.
            if each.match_id in batch:
                others.append(each)
            else:
                batch[each.match_id] = each
        self._appends.extendleft(reversed(others))
        return list(batch.values())

    async def _commit(self, batch: list[_Append]) -> None:
        began = time.perf_counter()
        columns = zip(*(_row(each) for each in batch), strict=True)
        async with self._connection() as connection:
            rows = await connection.fetch(tables.APPEND, *columns)
        self._metrics.store_committed(len(batch), time.perf_counter() - began)
        self._faults.worked("write")
        added = {match_id for (match_id,) in rows}
        for each in batch:
            done = each.match_id in added
            if done:
                if each.added is not None:
                    each.added()
                self._changed[each.match_id] = each.version + 1
                self._changes.tell(each.match_id, each.version + 1)
            if not each.answer.done():
                each.answer.set_result(done)
        self._tell_others()

    # Telling and hearing of changes, and snapshots: nobody waits for them

    def keep(self, match_id: str, snapshot: Snapshot) -> None:
        kept = self._snapshots.get(match_id)
        if kept is None or kept.version < snapshot.version:
            self._snapshots[match_id] = snapshot
        self._tell_others()

    def _tell_others(self) -> None:
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        # What cannot be told now is found by those who poll, and a snapshot is not missed.
        with suppress(*_FAILURES, Refusal):
            while self._changed or self._snapshots:
                changed, self._changed = self._changed, {}
                snapshots, self._snapshots = self._snapshots, {}
                async with self._connection() as connection:
                    for notice in _notices(changed):
                        await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, notice)
                    for match_id, snapshot in snapshots.items():
                        await connection.execute(tables.KEEP, match_id, *snapshot)

    async def wait(self, match_id: str, version: int) -> None:
        await self._changes.wait(match_id, version, self._head)

    async def _head(self, match_id: str) -> int:
        heads = await self._use(
            "read", lambda connection: tables.read_heads(connection, [match_id])
        )
        return heads.get(match_id, 0)

    async def _listen(self) -> None:
        pause = _Pause()
        while True:
            try:
                await pause.over()
                connection = await asyncpg.connect(
                    self._url,
                    timeout=CONNECT_SECONDS,
                    command_timeout=ANSWER_SECONDS,
                    server_settings={"application_name": "croupier listens"},
                )
                try:
                    await connection.add_listener(CHANNEL, self._hear)
                    pause.end()
                    while True:
                        # At once, for what happened while nobody listened, and then for what was
                        # not told. It also finds out that the connection is gone.
                        await self._poll(connection)
                        await asyncio.sleep(POLL_SECONDS)
                finally:
                    connection.terminate()
            # Whatever it is: if this ended, nobody would be told of changes any more.
            except Exception:
                pause.begin()

    async def _poll(self, connection: Any) -> None:
        waited = self._changes.waited_for()
        heads = await tables.read_heads(connection, list(waited))
        for match_id, version in heads.items():
            self._changes.tell(match_id, version)

    def _hear(self, connection: Any, process: int, channel: str, notice: str) -> None:
        for each in notice.split(","):
            match_id, _, version = each.partition(" ")
            self._changes.tell(match_id, int(version))


class _Pause:
    """How long a database that does not answer is left alone: longer each time, up to a limit."""

    def __init__(self) -> None:
        self._until = 0.0
        self._seconds = RETRY_LEAST_SECONDS

    def check(self) -> None:
        """Raises Refusal while it lasts."""
        if time.monotonic() < self._until:
            raise store_unavailable()

    async def over(self) -> None:
        """Returns when it is over."""
        await asyncio.sleep(self._until - time.monotonic())

    def begin(self) -> None:
        """The database did not answer."""
        if time.monotonic() < self._until:
            return
        # Not all at once, when it is many servers that wait.
        self._until = time.monotonic() + self._seconds * random.uniform(0.5, 1.0)
        self._seconds = min(2 * self._seconds, RETRY_MOST_SECONDS)

    def end(self) -> None:
        """It did."""
        self._seconds = RETRY_LEAST_SECONDS


async def _prepare(connection: Any) -> None:
    # What is answered must be on the disk; a database may be set to more, but not to less.
    await connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )


async def _reset(connection: Any) -> None:
    """Nothing of a session is changed in use: without this, each use would cost one more way."""


def _row(each: _Append) -> tuple[object, ...]:
    entry, status = each.entry, each.status
    return (
        each.match_id,
        each.version + 1,
        entry.kind,
        entry.seat,
        entry.at,
        entry.action,
        entry.expected_version,
        entry.request_id.encode(),
        status.over,
        status.due,
    )


def _notices(changed: dict[str, int]) -> list[str]:
    notices: list[str] = []
    for match_id, version in changed.items():
        each = f"{match_id} {version}"
        if notices and len(notices[-1]) + len(each) < _NOTICE_BYTES:
            notices[-1] += f",{each}"
        else:
            notices.append(each)
    return notices


def _is_of_the_database(error: Exception) -> bool:
    # It is away or overloaded, rather than that what it was asked was wrong.
    return isinstance(error, (*_FAILURES, Refusal)) and not tables.is_fault_of_ours(error)


def _refusal(error: Exception) -> Exception:
    if isinstance(error, asyncpg.DiskFullError):
        return store_full()
    return store_unavailable() if _is_of_the_database(error) else error
