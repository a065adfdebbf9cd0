"""The log in a SQLite file: one server, everything on one disk.

One thread writes (`sqlite_writer.py`), and the event loop gathers what it is asked to write
(`jobs.py`). Reading goes beside it on connections of its own, and the event loop waits for neither.
"""

import asyncio
import fcntl
import shutil
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, TypeVar

from service.common.event_loop import Lines, paid
from service.common.tasks import Threads
from service.observability.metrics import Metrics
from service.store import chain, faults, sqlite_recovery
from service.store import sqlite_tables as tables
from service.store.base import BaseStore
from service.store.interface import (
    ANOTHER_LOG,
    DueMatch,
    Head,
    Header,
    Later,
    MatchStatus,
    Position,
    Snapshot,
    StoredMatch,
    Updates,
    read_key,
)
from service.store.jobs import Append, JobGatherer
from service.store.sqlite_writer import (
    MAX_BATCH,
    Create,
    Erase,
    Job,
    Replace,
    SqliteWriter,
    Work,
)
from wire.errors import Refusal

FILE = "croupier.db"
READERS = 3  # One caller has all of them but one.
BUSY_SECONDS = 2.0

_T = TypeVar("_T")


class SqliteStore(BaseStore):
    """A log in a directory of its own, which no other server may use at the same time."""

    def __init__(self, directory: Path, metrics: Metrics | None = None) -> None:
        super().__init__(metrics)
        self._directory = directory
        self._path = directory / FILE
        self._files = files = sqlite_recovery.Files()
        self._writer = SqliteWriter(
            self._connect, files.check, self._answer_later, self._metrics, self._faults
        )
        self._jobs = JobGatherer[Job](self._writer.hand_over)
        # Open and idle as long as the log is. With its last connection, SQLite forgets how much of
        # the write-ahead log was committed, and the next connection takes what it finds there, also
        # what a sync has failed for: with that, all that is written after it could be lost.
        self._anchor: sqlite3.Connection | None = None
        self._readers = Threads("store-reader", READERS)
        self._lines = Lines(READERS - 1)
        self._reader = threading.local()
        # The connections of the readers. Python closes none that is merely dropped, since each is
        # part of a circle; an open one would keep the last from emptying the write-ahead log.
        self._reading: list[sqlite3.Connection] = []
        self._loop: asyncio.AbstractEventLoop
        self._lock: IO[bytes] | None = None
        self._mode = "rw"  # In which SQLite opens the file.
        self._copy: TemporaryDirectory[str] | None = None

    # Opening and closing

    async def open(self) -> None:
        await self._open(self._prepare)
        self._writer.start()

    async def open_to_check(self) -> None:
        await self._open(self._look)

    async def _open(self, prepare: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            await asyncio.to_thread(prepare)
        except (OSError, ValueError):
            self._finish()
            raise

    def _look(self) -> None:
        if self._directory.is_file():
            # A copy of a log, under any name, or by a link a log that is used.
            self._path = self._directory.resolve()
        if self._path.name == FILE and self._path.with_name("lock").exists():
            self._take_lock("rb")  # Who uses a log has written one.
        sqlite_recovery.check_length(self._path, sqlite_recovery.read_frames(self._path))
        self._mode = "ro&immutable=1"
        wal = sqlite_recovery.wal(self._path)
        if wal.exists() and wal.stat().st_size:
            # To read it, SQLite writes beside it.
            self._mode, self._copy = "ro", TemporaryDirectory()
            for each in (self._path, wal):
                shutil.copy(each, self._copy.name)
            self._path = Path(self._copy.name, self._path.name)
        try:
            self._anchor = self._connect()
            tables.check_open(self._anchor, self._path)
        except sqlite3.Error as error:
            raise OSError(f"{self._path}: {error}") from None

    def _prepare(self) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._take_lock("wb")
        frames = sqlite_recovery.read_frames(self._path)
        sqlite_recovery.check_length(self._path, frames)
        # It holds the secrets of matches that run.
        self._path.touch(mode=0o600)
        try:
            self._anchor = self._connect()
            sqlite_recovery.checkpoint(self._anchor, self._path, frames)
            tables.migrate(self._anchor, self._path)
            tables.begin_epoch(self._anchor)
        except sqlite3.Error as error:
            raise OSError(f"{self._path}: {error}") from None
        self._files.remember(self._path)

    def _take_lock(self, mode: str) -> None:
        self._lock = self._path.with_name("lock").open(mode)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"{self._path.parent} is in use by another server") from None

    async def close(self) -> None:
        self._jobs.flush()
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self._writer.stop()
        self._readers.close()
        for connection in self._reading:
            connection.close()
        if self._anchor is not None:
            self._anchor.close()
        if self._lock is not None:
            self._lock.close()
        if self._copy is not None:
            self._copy.cleanup()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            # If the file is gone, an empty one in its place would be a log without matches.
            f"{self._path.absolute().as_uri()}?mode={self._mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,  # The anchor is opened and closed by different threads.
            cached_statements=MAX_BATCH * 2,
        )
        connection.text_factory = _text
        if self._mode != "rw":
            return connection
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise sqlite3.OperationalError("the file system allows no write-ahead log")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.execute("PRAGMA cache_size = -32768")
            # What is erased does not stay in parts of the file that are free.
            connection.execute("PRAGMA secure_delete = ON")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    # Writing

    async def key(self, offered: bytes) -> bytes:
        def keep_first(connection: sqlite3.Connection) -> bytes:
            value = chain.sealed("key", offered)
            connection.execute("INSERT OR IGNORE INTO settings VALUES ('key', ?)", (value,))
            rows = connection.execute("SELECT value FROM settings WHERE name = 'key'")
            return bytes(rows.fetchone()[0])

        return read_key(await self._run_in_writer(keep_first))

    async def create_all(self, matches: Sequence[tuple[Header, MatchStatus]]) -> None:
        if not await self._jobs.add(Create(_future(), matches)):
            raise ValueError("there is a match of this id already")

    async def replace_ahead(self, match_id: str, head: Head, ahead: bytes, due: int | None) -> bool:
        return bool(await self._jobs.add(Replace(_future(), match_id, head, ahead, due)))

    async def erase_names(self, match_id: str, seats: int) -> bool:
        if not await self._jobs.add(Erase(_future(), match_id, seats)):
            return False
        if not await self._forget_erased():
            self._metrics.tasks.finish("erased names", self._forget_erased)
        return True

    async def _forget_erased(self) -> bool:
        # Whoever reads or writes just now may keep it from it.
        with suppress(Refusal):
            return await self._read(sqlite_recovery.empty, self._path)
        return False

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
                self._changes.added(job.match_id, job.head.version + 1, job.on_added)
            elif isinstance(job, Create) and answer is True:
                for header, _ in job.matches:
                    if header.rematch_of:
                        self._changes.tell(header.match_id, 0)
            elif isinstance(job, Erase | Replace) and answer is True:
                self._changes.tell(job.match_id, ANOTHER_LOG)

    # Reading

    @property
    def reads(self) -> bool:
        return not self._faults.failing("read")

    async def check(self) -> list[str]:
        return await self._read(tables.check)

    async def list_ids(self, table: str, after: str, limit: int) -> list[str]:
        return await self._read(tables.read_ids, table, after, limit)

    async def load(self, match_id: str) -> StoredMatch | None:
        return await self._read(tables.read_match, match_id)

    async def read(self, match_id: str, head: Head) -> Later | None:
        if self._writer.heads.get(match_id) == head:
            return Later(head, [])
        return await self._read(tables.read_later, match_id, head)

    async def list_updates(self, after: Position | None, limit: int) -> Updates | None:
        return await self._read(tables.read_updates, after, limit)

    async def _list(
        self, purpose: str, read: Callable[[list[Any]], _T], sql: str, *values: object
    ) -> _T:
        return await self._read(lambda file: read(tables.fetch(file, sql, *values)))

    async def _read(self, query: Callable[..., _T], *arguments: object) -> _T:
        async with self._lines.own():
            return await self._readers.do(paid(self._query), query, arguments)

    def _query(self, query: Callable[..., _T], arguments: tuple[object, ...]) -> _T:
        try:
            self._files.check()
            connection = getattr(self._reader, "connection", None)
            if connection is None:
                connection = self._reader.connection = self._connect()
                self._reading.append(connection)
            answer = query(connection, *arguments)
        except sqlite3.Error as error:
            self._forget_reader()
            self._faults.failed("read", faults.name(error))
            raise faults.refusal(error) from None
        self._faults.worked("read")
        return answer

    def _forget_reader(self) -> None:
        connection = getattr(self._reader, "connection", None)
        if connection is not None:
            self._reader.connection = None
            self._reading.remove(connection)
            with suppress(sqlite3.Error):
                connection.close()


def _future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


def _text(data: bytes) -> str:
    # A text that has changed must not keep the rows beside it from being read.
    return data.decode(errors="surrogateescape")
