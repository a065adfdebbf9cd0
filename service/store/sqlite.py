"""The log in a SQLite file: one server, everything on one disk.

All writing is done by one thread. What arrives while it commits becomes its next transaction, so
that under load one sync of the disk serves many. Where the disk is quick, these would be few: so
what is asked is gathered while the event loop is busy, and alone nobody waits for others. A caller
is answered after the commit that holds its entry. Reading goes beside it on connections of its own,
and the event loop waits for neither.
"""

import asyncio
import fcntl
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias, TypeVar

from service.errors import Refusal, store_unavailable
from service.metrics import Metrics
from service.store import sqlite_faults, sqlite_recovery
from service.store import sqlite_tables as tables
from service.store.changes import Changes
from service.store.faults import Faults
from service.store.interface import Due, Entry, Header, Listed, MatchStatus, Query, Snapshot, Stored

FILE = "croupier.db"
MAX_BATCH = 256
MAX_GATHER = 32
GATHER_TURNS = 16  # Of the event loop, one after the other, that bring nothing more.
MAX_WAITING = 8192  # Beyond it the disk is too slow for what is asked, and callers are told so.
HEADS_KEPT = 65536
READERS = 2
BUSY_SECONDS = 2.0
PROBE_SECONDS = 1.0

_ENTRY = "(?, ?, ?, ?, ?, ?, ?, ?)"
_HEADER = ", ".join("?" * len(Header._fields))

_T = TypeVar("_T")


# What the writer is asked to do, and whom it answers.


class _Append(NamedTuple):
    answer: "asyncio.Future[Any]"
    match_id: str
    version: int
    entry: Entry
    status: MatchStatus
    added: Callable[[], None] | None


class _Create(NamedTuple):
    answer: "asyncio.Future[Any]"
    header: Header
    status: MatchStatus

    @property
    def match_id(self) -> str:
        return self.header.match_id


class _Work(NamedTuple):
    answer: "asyncio.Future[Any] | None"
    work: Callable[[sqlite3.Connection], Any]


_Job: TypeAlias = _Append | _Create | _Work


class SqliteStore:
    """A log in a directory of its own, which no other server may use at the same time."""

    def __init__(self, directory: Path, metrics: Metrics | None = None) -> None:
        self._directory = directory
        self._path = directory / FILE
        self._metrics = metrics or Metrics()
        self._faults = Faults(self._metrics)
        self._changes = Changes()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._gathered: list[_Job] = []  # Of which the writer does not know yet.
        self._unanswered = 0
        self._together = 1  # How many the last commit has written.
        self._snapshots: dict[str, Snapshot] = {}
        # How many entries a match has. As no other process writes, it is known without asking.
        # Only the writer changes it, after a commit.
        self._heads: dict[str, int] = {}
        self._due: set[str] = set()
        # Open and idle as long as the log is. With its last connection, SQLite forgets how much of
        # the write-ahead log was committed, and the next one takes what it finds there, also what a
        # sync has failed for: with that, all that is written after it could be lost.
        self._anchor: sqlite3.Connection | None = None
        self._connection: sqlite3.Connection | None = None
        self._writer = threading.Thread(target=self._write, name="store-writer", daemon=True)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")
        self._reading = threading.local()
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
        found = sqlite_recovery.look(self._path)
        sqlite_recovery.check_length(self._path, found)
        try:
            self._anchor = self._connect()
            sqlite_recovery.settle(self._anchor, self._path, found)
            tables.migrate(self._anchor, self._path)
        except sqlite3.Error as error:
            raise OSError(f"{self._path}: {error}") from None

    async def close(self) -> None:
        self._hand_over()
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        if self._writer.is_alive():
            self._jobs.put(None)
            self._writer.join()
        # A connection belongs to its thread and ends with it.
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
            check_same_thread=False,  # The thread that closes the log ends the first one.
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

    # What is asked of the writer

    async def key(self, offered: bytes) -> bytes:
        def work(connection: sqlite3.Connection) -> bytes:
            connection.execute("INSERT OR IGNORE INTO settings VALUES ('key', ?)", (offered,))
            rows = connection.execute("SELECT value FROM settings WHERE name = 'key'")
            return bytes(rows.fetchone()[0])

        return bytes(await self._ask_for(work))

    async def create(self, header: Header, status: MatchStatus) -> None:
        if not await self._ask(_Create(self._loop.create_future(), header, status)):
            raise ValueError("there is a match of this id already")

    def append(
        self,
        match_id: str,
        version: int,
        entry: Entry,
        status: MatchStatus,
        added: Callable[[], None] | None = None,
    ) -> "asyncio.Future[bool]":
        answer = self._loop.create_future()
        return self._ask(_Append(answer, match_id, version, entry, status, added))

    async def postpone(self, due: Due, to: int) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            done = connection.execute(
                "UPDATE agenda SET at = ? WHERE match_id = ? AND at = ?", (to, *due)
            )
            return done.rowcount == 1

        return bool(await self._ask_for(work))

    def keep(self, match_id: str, snapshot: Snapshot) -> None:
        # Written along with the next commit: nobody waits for it.
        kept = self._snapshots.get(match_id)
        if kept is None or kept.version < snapshot.version:
            self._snapshots[match_id] = snapshot

    def _ask_for(self, work: Callable[[sqlite3.Connection], Any]) -> "asyncio.Future[Any]":
        return self._ask(_Work(self._loop.create_future(), work))

    def _ask(self, job: _Job) -> "asyncio.Future[Any]":
        if self._unanswered >= MAX_WAITING:
            raise store_unavailable()
        self._unanswered += 1
        self._gathered.append(job)
        if self._unanswered == self._together == 1:
            self._hand_over()  # Who was alone before does not wait for others.
        elif len(self._gathered) == 1:
            self._loop.call_soon(self._gather, 1, GATHER_TURNS)
        assert job.answer is not None  # Only the writer itself asks for nobody.
        return job.answer

    def _gather(self, known: int, turns: int) -> None:
        # Each time that the writer wakes, it and the loop take the interpreter from each other, and
        # that costs more than to write an entry. A turn of a loop that has nothing to do takes no
        # more than some microseconds.
        count = len(self._gathered)
        turns = turns - 1 if count == known else GATHER_TURNS
        if turns and count < MAX_GATHER:
            self._loop.call_soon(self._gather, count, turns)
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        for job in self._gathered:
            self._jobs.put(job)
        self._gathered.clear()

    async def forget(self, before: int, most: int) -> Sequence[str]:
        def work(connection: sqlite3.Connection) -> Sequence[str]:
            forgotten = tables.forget(connection, before, most)
            for match_id in forgotten:
                self._heads.pop(match_id, None)
            return forgotten

        forgotten: Sequence[str] = await self._ask_for(work)
        return forgotten

    # Reading

    async def find(self, query: Query, most: int) -> Sequence[Listed]:
        return await self._read(tables.read_listed, query, most)

    async def load(self, match_id: str) -> Stored | None:
        return await self._read(tables.read_match, match_id)

    async def read(self, match_id: str, version: int) -> list[Entry]:
        if self._heads.get(match_id) == version:
            return []
        return await self._read(tables.read_entries, match_id, version)

    async def due(self, until: int, most: int) -> list[Due]:
        return await self._read(tables.read_due, until, most)

    async def wait(self, match_id: str, version: int) -> None:
        await self._changes.wait(match_id, version, self._head)

    async def _head(self, match_id: str) -> int:
        head = self._heads.get(match_id)
        return await self._read(tables.read_head, match_id) if head is None else head

    async def _read(self, query: Callable[..., _T], *arguments: object) -> _T:
        return await self._loop.run_in_executor(self._readers, self._query, query, arguments)

    def _query(self, query: Callable[..., _T], arguments: tuple[object, ...]) -> _T:
        try:
            connection = getattr(self._reading, "connection", None)
            if connection is None:
                connection = self._reading.connection = self._connect()
            answer = query(connection, *arguments)
        except sqlite3.Error as error:
            self._reading.connection = None
            self._faults.failed("read", sqlite_faults.name(error))
            raise sqlite_faults.refusal(error) from None
        self._faults.worked("read")
        return answer

    # The writer

    def _write(self) -> None:
        going = True
        while going:
            jobs = []
            try:
                job = self._jobs.get(
                    timeout=PROBE_SECONDS if self._faults.failing("write") else None
                )
            except queue.Empty:
                # Tried without being asked, so that it is known as soon as it is over.
                self._carry_out([_Work(None, _settle)])
                continue
            while job is not None:
                jobs.append(job)
                if len(jobs) == MAX_BATCH or self._jobs.empty():
                    break
                job = self._jobs.get_nowait()
            going = job is not None
            if jobs:
                answers = self._carry_out(jobs)
                # If the loop is gone, so are those who asked.
                with suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._answer, jobs, answers)
                self._keep_snapshots()
        self._keep_snapshots()
        if self._connection is not None:
            self._connection.close()

    def _answer(self, jobs: list[_Job], answers: list[Any]) -> None:
        self._together = len(jobs)
        self._unanswered -= len(jobs)
        for job, answer in zip(jobs, answers, strict=True):
            if job.answer is None or job.answer.done():
                continue
            if isinstance(answer, Exception):
                job.answer.set_exception(answer)
            else:
                job.answer.set_result(answer)
        # Those who wait go on in a later turn of the loop.
        for job, answer in zip(jobs, answers, strict=True):
            if isinstance(job, _Append) and answer is True:
                if job.added is not None:
                    job.added()
                self._changes.tell(job.match_id, job.version + 1)

    def _carry_out(self, jobs: list[_Job]) -> list[Any]:
        began = time.perf_counter()
        try:
            answers = self._transact(jobs)
        # Whatever it is, those who wait get an answer, and the next ones another try.
        except Exception as error:
            opened = self._connection is not None
            self._reset(jobs)
            if opened and len(jobs) > 1 and sqlite_faults.can_be_of_one(error):
                return self._carry_out_one_by_one(jobs)
            if sqlite_faults.is_of_the_file(error):
                self._faults.failed("write", sqlite_faults.name(error))
            return [sqlite_faults.refusal(error) for _ in jobs]
        self._metrics.store_committed(len(jobs), time.perf_counter() - began)
        self._faults.worked("write")
        return answers

    def _carry_out_one_by_one(self, jobs: list[_Job]) -> list[Any]:
        # One of them is to blame, and must not take the others along. If it is the file after all,
        # which can take its time to fail, two have shown it.
        answers: list[Any] = []
        for job in jobs:
            if len(answers) > 1 and all(isinstance(each, Refusal) for each in answers[-2:]):
                answers.append(store_unavailable())
            else:
                answers += self._carry_out([job])
        return answers

    def _reset(self, jobs: list[_Job]) -> None:
        # Nothing that was known about these is taken for granted: a new connection finds out.
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None
        for job in jobs:
            if not isinstance(job, _Work):
                self._heads.pop(job.match_id, None)

    def _transact(self, jobs: list[_Job]) -> list[Any]:
        if self._connection is None:
            connection = self._connect()
            due = connection.execute("SELECT match_id FROM agenda")
            self._due = {match_id for (match_id,) in due}
            self._connection = connection
        try:
            return self._commit(self._connection, jobs, together=True)
        except sqlite3.IntegrityError:
            # A request_id is used again, which is rare: each on its own, to see whose it is.
            self._connection.rollback()
            return self._commit(self._connection, jobs, together=False)

    def _commit(
        self, connection: sqlite3.Connection, jobs: list[_Job], *, together: bool
    ) -> list[Any]:
        heads: dict[str, int] = {}
        rows: list[Any] = []
        plain = together and all(map(self._is_plain, jobs))
        if not plain:
            connection.execute("BEGIN IMMEDIATE")
        answers: list[Any] = []
        for job in jobs:
            if isinstance(job, _Append):
                answers.append(self._append(connection, job, heads, rows, together))
            elif isinstance(job, _Create):
                answers.append(self._create(connection, job, heads))
            else:
                answers.append(job.work(connection))
        if rows:
            # One statement, and where it is all there is, one call: between two calls the thread
            # would have to wait for the interpreter.
            count = len(rows) // 8
            connection.execute(f"INSERT INTO entries VALUES {', '.join([_ENTRY] * count)}", rows)
        if not plain:
            connection.execute("COMMIT")
        self._committed(heads, jobs, answers)
        return answers

    def _is_plain(self, job: _Job) -> bool:
        # Nothing is to be written but an entry.
        return (
            isinstance(job, _Append)
            and not job.status.over
            and job.status.due is None
            and job.match_id not in self._due
        )

    def _append(
        self,
        connection: sqlite3.Connection,
        job: _Append,
        heads: dict[str, int],
        rows: list[Any],
        together: bool,
    ) -> bool:
        _, match_id, version, entry, status, _ = job
        head = heads.get(match_id, self._heads.get(match_id))
        if head is None:
            head = tables.read_head(connection, match_id)
        if head != version:
            return False
        row = (
            match_id,
            version + 1,
            int(entry.kind),
            entry.seat,
            entry.at,
            entry.action,
            entry.expected_version,
            entry.request_id,
        )
        if together:
            rows.extend(row)
        else:
            try:
                connection.execute(f"INSERT INTO entries VALUES {_ENTRY}", row)
            except sqlite3.IntegrityError:
                return False
        heads[match_id] = version + 1
        self._set_status(connection, match_id, status)
        if status.over:
            connection.execute(
                "UPDATE matches SET ended = ? WHERE match_id = ?", (entry.at, match_id)
            )
        return True

    def _create(self, connection: sqlite3.Connection, job: _Create, heads: dict[str, int]) -> bool:
        header = job.header
        done = connection.execute(
            f"INSERT INTO matches ({tables.HEADER}) VALUES ({_HEADER}) ON CONFLICT DO NOTHING",
            header._replace(bots=bytes(header.bots)),  # type: ignore[arg-type]
        )
        if not done.rowcount:
            return False
        heads[header.match_id] = 0
        self._set_status(connection, header.match_id, job.status)
        return True

    def _set_status(
        self, connection: sqlite3.Connection, match_id: str, status: MatchStatus
    ) -> None:
        if status.due is not None:
            connection.execute(
                "INSERT INTO agenda VALUES (?, ?) ON CONFLICT DO UPDATE SET at = excluded.at",
                (match_id, status.due),
            )
        elif match_id in self._due:
            connection.execute("DELETE FROM agenda WHERE match_id = ?", (match_id,))

    def _committed(self, heads: dict[str, int], jobs: list[_Job], answers: list[Any]) -> None:
        self._heads.update(heads)
        while len(self._heads) > HEADS_KEPT:
            del self._heads[next(iter(self._heads))]
        for job, answer in zip(jobs, answers, strict=True):
            if answer is True and not isinstance(job, _Work):
                if job.status.due is None:
                    self._due.discard(job.match_id)
                else:
                    self._due.add(job.match_id)

    def _keep_snapshots(self) -> None:
        while self._snapshots and self._connection is not None:
            match_id, snapshot = self._snapshots.popitem()
            try:
                self._connection.execute(
                    "INSERT INTO snapshots VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET "
                    "version = excluded.version, data = excluded.data "
                    "WHERE excluded.version > version",
                    (match_id, *snapshot),
                )
            # A snapshot that cannot be written is not missed; the thread that writes would be.
            except Exception as error:
                self._reset([])
                self._faults.failed("write", sqlite_faults.name(error))


def _settle(connection: sqlite3.Connection) -> None:
    # Writes over what a commit has left that failed: nobody will find it after a crash.
    connection.execute(
        "INSERT INTO settings VALUES ('settled', randomblob(8)) "
        "ON CONFLICT DO UPDATE SET value = excluded.value"
    )
