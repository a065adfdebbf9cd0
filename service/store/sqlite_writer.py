"""The one thread that writes to the SQLite log.

The jobs that are handed over together become one transaction, so that under load one sync of the
disk serves many. A job is answered after the commit that holds it.
"""

import asyncio
import queue
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from service.common.errors import store_unavailable
from service.common.tasks import KeptThread
from service.observability.metrics import Metrics
from service.store import chain, faults, queries
from service.store import sqlite_tables as tables
from service.store.faults import Faults
from service.store.interface import (
    COLUMNS,
    Head,
    Header,
    MatchStatus,
    Snapshot,
    write_columns,
)
from service.store.jobs import Append
from wire.errors import Refusal

MAX_BATCH = 256
MAX_HEADS = 65536
PROBE_SECONDS = 1.0

# Where a conflict ends the transaction, SQLite keeps no journal of the statement, which takes as
# long as the rest.
_APPEND = "INSERT OR ROLLBACK INTO appended VALUES "
_COLUMNS = 17
_APPENDED = f"({', '.join('?' * _COLUMNS)})"
_HEAD = f"INSERT INTO heads ({queries.HEAD_COLUMNS}, due, erased) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_MATCH = (
    f"INSERT INTO matches ({tables.HEADER}, facts_seal, ended, feed_position, feed) "
    f"VALUES ({', '.join('?' * len(COLUMNS))}, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
# Who has a seat already has both.
_SEAT = (
    "INSERT INTO players SELECT ?1, ?2, created, ?3, ?4 FROM matches WHERE match_id = ?1 "
    "ON CONFLICT DO UPDATE SET seats = 3, player_seal = ?5"
)


class Create(NamedTuple):
    """Add matches, all or none."""

    future: "asyncio.Future[Any]"
    matches: Sequence[tuple[Header, MatchStatus]]


class Replace(NamedTuple):
    """Replace what seats have decided ahead."""

    future: "asyncio.Future[Any]"
    match_id: str
    head: Head
    ahead: bytes
    due: int | None


class Erase(NamedTuple):
    """Erase the names of seats."""

    future: "asyncio.Future[Any]"
    match_id: str
    seats: int  # As in `Store.erase_names`.


class Work(NamedTuple):
    """Call a function with the connection that writes."""

    future: "asyncio.Future[Any] | None"
    work: Callable[[sqlite3.Connection], Any]


Job: TypeAlias = Append | Create | Erase | Replace | Work


class SqliteWriter:
    """Carries out jobs, many in one transaction, and stores snapshots."""

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        check_files: Callable[[], None],
        answer: Callable[[list[Job], list[Any]], None],
        metrics: Metrics,
        faults: Faults,
    ) -> None:
        """`answer` is called in the writer's thread with the jobs of a commit and their answers.

        An answer is an exception where a job has failed. `check_files` is that of `Files`.
        """
        self._connect = connect
        self._check_files = check_files
        self._answer = answer
        self._metrics = metrics
        self._faults = faults
        self._queue: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._snapshots: dict[str, Snapshot] = {}
        # The newest versions of some matches. As no other process writes, they are known without
        # reading the log. Only the writer changes this, after a commit.
        self.heads: dict[str, Head] = {}
        self._feed_end = 0  # The last position of the feed.
        self._connection: sqlite3.Connection | None = None
        self._thread: KeptThread | None = None

    def start(self) -> None:
        """Carries out jobs from now on."""
        self._thread = self._metrics.tasks.keep_thread("writer", self._run, needed=True)

    def stop(self) -> None:
        """Carries out the jobs that were handed over, and ends."""
        if self._thread is not None:
            self._thread.close(lambda: self._queue.put(None))

    def hand_over(self, jobs: list[Job]) -> None:
        """Takes jobs, which it carries out in this order."""
        # At once: the thread wakes for the first and then contends for the interpreter. In batches,
        # so that what ends the thread does so for one of them.
        for first in range(0, len(jobs), MAX_BATCH):
            self._queue.put(jobs[first : first + MAX_BATCH])

    def save_snapshot(self, match_id: str, snapshot: Snapshot) -> None:
        """Stores a snapshot after the next commit: nobody waits for it."""
        saved = self._snapshots.get(match_id)
        if saved is None or saved.version < snapshot.version:
            self._snapshots[match_id] = snapshot

    # The thread

    def _run(self) -> None:
        while (jobs := self._next_jobs()) is not None:
            self.work(jobs)
        self._write_snapshots()
        if self._connection is not None:
            self._connection.close()

    def work(self, jobs: list[Job]) -> None:
        """Carries out jobs in this thread, and answers them."""
        for first in range(0, len(jobs), MAX_BATCH):
            batch = jobs[first : first + MAX_BATCH]
            answers: list[Any] = [store_unavailable() for _ in batch]
            try:
                answers = self._carry_out(batch)
            finally:  # Whatever goes wrong, those who wait get an answer.
                self._answer(batch, answers)
            self._write_snapshots()

    def _next_jobs(self) -> list[Job] | None:
        # What was handed over next; None when the writer is stopped.
        while True:
            try:
                return self._queue.get(
                    timeout=PROBE_SECONDS if self._faults.failing("write") else None
                )
            except queue.Empty:
                # Probed without a job, so that it is known as soon as the disk works again.
                self._carry_out([Work(None, _overwrite_failed_commit)])

    def _carry_out(self, jobs: list[Job]) -> list[Any]:
        began = time.perf_counter()
        try:
            self._check_files()
            answers = self._transact(jobs)
        # Whatever the failure is, those who wait get an answer, and the next ones another try.
        except Exception as error:
            opened = self._connection is not None
            self._reset(jobs)
            if opened and len(jobs) > 1 and faults.can_be_of_one(error):
                return self._carry_out_one_by_one(jobs)
            if isinstance(error, sqlite3.IntegrityError):
                return [False]  # The head of this match is damaged: whoever reads it will see it.
            if faults.is_of_the_file(error):
                self._faults.failed("write", faults.name(error))
            return [faults.refusal(error) for _ in jobs]
        except BaseException:
            self._reset(jobs)  # What comes next must not join a transaction that nobody commits.
            raise
        self._metrics.store_committed(len(jobs), time.perf_counter() - began)
        self._faults.worked("write")
        return answers

    def _carry_out_one_by_one(self, jobs: list[Job]) -> list[Any]:
        # One of them is to blame, and must not take the others along. If it is the file after all,
        # which can take its time to fail, two failures in a row show it.
        answers: list[Any] = []
        for job in jobs:
            if len(answers) > 1 and all(isinstance(each, Refusal) for each in answers[-2:]):
                answers.append(store_unavailable())
            else:
                answers += self._carry_out([job])
        return answers

    def _reset(self, jobs: list[Job]) -> None:
        # Nothing that was known about these jobs is taken for granted: a new connection finds out.
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None
        for job in jobs:
            if isinstance(job, Append | Erase | Replace):
                self.heads.pop(job.match_id, None)

    # One transaction

    def _transact(self, jobs: list[Job]) -> list[Any]:
        if self._connection is None:
            connection = self._connect()
            self._feed_end = max(self._feed_end, tables.read_feed_end(connection))
            self._connection = connection
        return self._commit(self._connection, jobs)

    def _commit(self, connection: sqlite3.Connection, jobs: list[Job]) -> list[Any]:
        heads: dict[str, Head] = {}
        entries: list[Any] = []
        answers: list[Any] = []
        # Entries alone are one statement, which is a transaction of its own: between two calls the
        # thread would have to wait for the interpreter.
        only_entries = all(isinstance(job, Append) and not job.status.players for job in jobs)
        if not only_entries:
            connection.execute("BEGIN IMMEDIATE")
        for job in jobs:
            if isinstance(job, Append):
                answers.append(self._append(connection, job, heads, entries))
            elif isinstance(job, Create):
                answers.append(self._create(connection, job, heads))
            else:
                self._add(connection, entries)  # Which came before.
                if isinstance(job, Replace):
                    answers.append(self._replace(connection, job, heads))
                elif isinstance(job, Erase):
                    answers.append(self._erase(connection, job, heads))
                else:
                    answers.append(job.work(connection))
        self._add(connection, entries)
        if not only_entries:
            connection.execute("COMMIT")
        self.heads.update(heads)
        while len(self.heads) > MAX_HEADS:
            del self.heads[next(iter(self.heads))]
        return answers

    def _append(
        self,
        connection: sqlite3.Connection,
        job: Append,
        heads: dict[str, Head],
        entries: list[Any],
    ) -> bool:
        # Whether the entry is the next one of its match. It is added to the `entries` of one
        # statement.
        _, match_id, head, entry, status, _ = job
        if self._newest(connection, match_id, heads) != head:
            return False
        kind, seat, at, action, expected_version, request_id, *chained = entry
        head = Head(head.version + 1, entry.digest, status.ahead, head.erased)
        position = self._next_position()
        feed = queries.sealed_feed(match_id, head.version, at, status.feed)
        feed += queries.write_position(position)
        *_, over, seal = queries.head_row(match_id, head, at, over=status.over)
        entries += (match_id, head.version, kind, seat, at, action, expected_version, request_id)
        ahead = queries.sealed_ahead(match_id, head)
        entries += (position, feed, *chained, over, seal, status.due, ahead)
        heads[match_id] = head
        self._seat(connection, match_id, status)
        return True

    def _seat(self, connection: sqlite3.Connection, match_id: str, status: MatchStatus) -> None:
        for seated in status.players:
            connection.execute(_SEAT, (match_id, *queries.seat_row(match_id, seated)))

    def _newest(
        self, connection: sqlite3.Connection, match_id: str, heads: dict[str, Head]
    ) -> Head | None:
        newest = heads.get(match_id) or self.heads.get(match_id)
        return newest or tables.read_head(connection, match_id)

    def _add(self, connection: sqlite3.Connection, entries: list[Any]) -> None:
        if entries:
            connection.execute(_times(len(entries) // _COLUMNS), entries)
            entries.clear()

    def _replace(
        self, connection: sqlite3.Connection, job: Replace, heads: dict[str, Head]
    ) -> bool:
        if self._newest(connection, job.match_id, heads) != job.head:
            return False
        tables.replace_ahead(connection, job.match_id, job.head, job.ahead, job.due)
        heads[job.match_id] = job.head._replace(ahead=job.ahead)
        return True

    def _erase(
        self, connection: sqlite3.Connection, job: Erase, heads: dict[str, Head]
    ) -> bool | chain.Damaged:
        try:
            erased = tables.erase_names(connection, job.match_id, job.seats)
        except chain.Damaged as damage:
            return damage
        newest = self._newest(connection, job.match_id, heads) if erased else None
        if newest is not None:
            heads[job.match_id] = newest._replace(erased=erased)
        return newest is not None

    def _create(self, connection: sqlite3.Connection, job: Create, heads: dict[str, Head]) -> bool:
        # Whether there was no match of these ids.
        alone = len(job.matches) == 1
        if not alone and any(
            self._newest(connection, header.match_id, heads) for header, _ in job.matches
        ):
            return False
        return all(self._create_one(connection, *each, heads) for each in job.matches)

    def _create_one(
        self,
        connection: sqlite3.Connection,
        header: Header,
        status: MatchStatus,
        heads: dict[str, Head],
    ) -> bool:
        match_id, at = header.match_id, header.created
        position = self._next_position()
        values = (
            *write_columns(header),
            queries.facts_seal(header),
            at if status.over else None,
            position,
            queries.sealed_feed(match_id, 0, at, status.feed) + queries.write_position(position),
        )
        if not connection.execute(_MATCH, values).rowcount:
            return False
        heads[match_id] = head = Head(0, chain.first_digest(header), erased=header.erased)
        row = queries.head_row(match_id, head, at, over=status.over)
        erased = queries.sealed_erased(match_id, header.erased)
        connection.execute(_HEAD, (*row, status.due, erased))
        self._seat(connection, match_id, status)
        return True

    def _next_position(self) -> int:
        self._feed_end += 1
        return self._feed_end

    def _write_snapshots(self) -> None:
        while self._snapshots and self._connection is not None:
            match_id, snapshot = self._snapshots.popitem()
            try:
                tables.write_snapshot(self._connection, match_id, snapshot)
            # A snapshot that cannot be written is not missed; the writer's thread would be.
            except Exception as error:
                self._reset([])
                self._faults.failed("write", faults.name(error))


def _overwrite_failed_commit(connection: sqlite3.Connection) -> None:
    # Writes over what a failed commit has left in the write-ahead log, so that nothing finds it
    # after a crash.
    connection.execute(
        "INSERT INTO settings VALUES ('settled', randomblob(8)) "
        "ON CONFLICT DO UPDATE SET value = excluded.value"
    )


@cache
def _times(count: int) -> str:
    return _APPEND + ", ".join([_APPENDED] * count)
