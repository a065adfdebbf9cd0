"""The log in a SQLite file: one server, everything on one disk.

One thread writes (`sqlite_writer.py`), and the event loop gathers what it is asked to write
(`jobs.py`). Reading goes beside it on connections of its own, and the event loop waits for neither.
"""

import asyncio
import fcntl
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from service.observability.metrics import Metrics
from service.store import faults, sqlite_recovery
from service.store import sqlite_tables as tables
from service.store.faults import Faults
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
from service.store.jobs import Append, JobGatherer
from service.store.sqlite_writer import MAX_BATCH, Create, Job, SqliteWriter, Work

FILE = "croupier.db"
READERS = 2
BUSY_SECONDS = 2.0

_T = TypeVar("_T")


class SqliteStore:
    """A log in a directory of its own, which no other server may use at the same time."""

    def __init__(self, directory: Path, metrics: Metrics | None = None) -> None:
        self._directory = directory
        self._path = directory / FILE
        self._metrics = metrics or Metrics()
        self._faults = Faults(self._metrics)
        self._changes = Changes(self._metrics.tasks)
        self._writer = SqliteWriter(self._connect, self._answer_later, self._metrics, self._faults)
        self._jobs = JobGatherer[Job](self._writer.hand_over)
        # Open and idle as long as the log is. With its last connection, SQLite forgets how much of
        # the write-ahead log was committed, and the next connection takes what it finds there, also
        # what a sync has failed for: with that, all that is written after it could be lost.
        self._anchor: sqlite3.Connection | None = None
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")
        self._reader = threading.local()
        self._loop: asyncio.AbstractEventLoop
        self._lock: IO[bytes] | None = None

    # Opening and closing

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            await asyncio.to_thread(self._prepare)
        except (OSError, ValueError):
            self._finish()
            raise
        self._writer.start()

    def _prepare(self) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = (self._directory / "lock").open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"{self._directory} is in use by another server") from None
        # It holds the secrets of matches that run.
        self._path.touch(mode=0o600)
        frames = sqlite_recovery.read_frames(self._path)
        sqlite_recovery.check_length(self._path, frames)
        try:
            self._anchor = self._connect()
            sqlite_recovery.checkpoint(self._anchor, self._path, frames)
            tables.migrate(self._anchor, self._path)
        except sqlite3.Error as error:
            raise OSError(f"{self._path}: {error}") from None

    async def close(self) -> None:
        self._jobs.flush()
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self._writer.stop()
        # The connection of a reader belongs to its thread and ends with it.
        self._readers.shutdown()
        if self._anchor is not None:
            self._anchor.close()
        if self._lock is not None:
            self._lock.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            # If the file is gone, an empty one in its place would be a log without matches.
            f"{self._path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,  # The anchor is opened and closed by different threads.
            cached_statements=MAX_BATCH * 2,
        )
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise sqlite3.OperationalError("the file system allows no write-ahead log")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.execute("PRAGMA cache_size = -32768")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    # Writing

    async def key(self, offered: bytes) -> bytes:
        def keep_first(connection: sqlite3.Connection) -> bytes:
            connection.execute("INSERT OR IGNORE INTO settings VALUES ('key', ?)", (offered,))
            rows = connection.execute("SELECT value FROM settings WHERE name = 'key'")
            return bytes(rows.fetchone()[0])

        return bytes(await self._run_in_writer(keep_first))

    async def create(self, header: Header, status: MatchStatus) -> None:
        if not await self._jobs.add(Create(_future(), header, status)):
            raise ValueError("there is a match of this id already")

    def append(
        self,
        match_id: str,
        version: int,
        entry: Entry,
        status: MatchStatus,
        on_added: Callable[[], None] | None = None,
        since: int | None = None,
    ) -> "asyncio.Future[bool]":
        job = Append(_future(), match_id, version, entry, status, on_added, since)
        return self._jobs.add(job)

    async def reschedule(self, due: DueMatch, at: int) -> bool:
        def compare_and_set(connection: sqlite3.Connection) -> bool:
            return tables.reschedule(connection, due, at)

        return bool(await self._run_in_writer(compare_and_set))

    def save_snapshot(self, match_id: str, snapshot: Snapshot) -> None:
        self._writer.save_snapshot(match_id, snapshot)

    async def delete_ended(self, before: int, limit: int) -> Sequence[str]:
        def delete(connection: sqlite3.Connection) -> Sequence[str]:
            deleted = tables.delete_ended(connection, before, limit)
            for match_id in deleted:
                self._writer.heads.pop(match_id, None)
            return deleted

        deleted: Sequence[str] = await self._run_in_writer(delete)
        return deleted

    def _run_in_writer(self, work: Callable[[sqlite3.Connection], Any]) -> "asyncio.Future[Any]":
        return self._jobs.add(Work(_future(), work))

    def _answer_later(self, jobs: list[Job], answers: list[Any]) -> None:
        # In the writer's thread. If the loop is gone, so are those who wait.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._answer, jobs, answers)

    def _answer(self, jobs: list[Job], answers: list[Any]) -> None:
        self._jobs.answer(jobs, answers)
        # Those who wait for an answer go on in a later turn of the loop.
        for job, answer in zip(jobs, answers, strict=True):
            if isinstance(job, Append) and answer is True:
                self._changes.added(job.match_id, job.version + 1, job.on_added)
            elif isinstance(job, Create) and answer is True and job.header.rematch_of:
                self._changes.tell(job.match_id, 0)

    # Reading

    async def load(self, match_id: str) -> StoredMatch | None:
        return await self._read(tables.read_match, match_id)

    async def read(
        self, match_id: str, version: int, since: int | None = None
    ) -> list[Entry] | None:
        # What the writer knows of a match is gone before another one can have its id.
        if self._writer.heads.get(match_id) == version:
            return []
        return await self._read(tables.read_later, match_id, version, since)

    async def list_due(self, until: int, limit: int) -> list[DueMatch]:
        return await self._read(tables.read_due, until, limit)

    async def count_live(self, creator: str) -> int:
        return await self._read(tables.count_live, creator)

    async def list_idle(
        self, before: int, after: IdleMatch | None, limit: int
    ) -> Sequence[IdleMatch]:
        return await self._read(tables.read_idle, before, after, limit)

    async def list_matches(self, query: Query, limit: int) -> Sequence[ListedMatch]:
        return await self._read(tables.read_listed, query, limit)

    async def list_updates(self, after: int | None, limit: int) -> Updates:
        return await self._read(tables.read_updates, after, limit)

    async def list_running(
        self, owner: str | None, after: tuple[int, str], limit: int
    ) -> list[Update]:
        return await self._read(tables.read_running, owner, after, limit)

    def listen(self, listener: Listener) -> Callable[[], None]:
        return self._changes.listen(listener)

    async def _read(self, query: Callable[..., _T], *arguments: object) -> _T:
        return await self._loop.run_in_executor(self._readers, self._query, query, arguments)

    def _query(self, query: Callable[..., _T], arguments: tuple[object, ...]) -> _T:
        try:
            connection = getattr(self._reader, "connection", None)
            if connection is None:
                connection = self._reader.connection = self._connect()
            answer = query(connection, *arguments)
        except sqlite3.Error as error:
            self._reader.connection = None
            self._faults.failed("read", faults.name(error))
            raise faults.refusal(error) from None
        self._faults.worked("read")
        return answer


def _future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()
