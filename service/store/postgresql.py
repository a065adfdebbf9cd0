"""The log in a PostgreSQL database, which any number of servers share.

Entries that arrive while a statement is under way become the next statement, so that under load one
commit serves many (see also `jobs.py`), and so do reads (`postgresql_reads.py`). Other servers are
notified after the commit (`postgresql_listener.py`).
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from contextvars import Context
from typing import Any, TypeVar

from service.common.tasks import told
from service.observability.metrics import Metrics
from service.store import postgresql_checking, postgresql_feed, queries
from service.store import postgresql_tables as tables
from service.store.base import BaseStore
from service.store.chain import Damaged
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
)
from service.store.jobs import Append, JobGatherer
from service.store.postgresql_connections import (
    CONNECTIONS,
    FAILURES,
    Connection,
    Connections,
    is_of_the_database,
    refusal,
)
from service.store.postgresql_listener import CHANNEL, NotificationListener, write_notices
from service.store.postgresql_reads import ReadGatherer
from service.store.presence import Place
from wire.errors import Refusal

MAX_BATCH = 256  # Entries, or reads of what is new.
MAX_LOADS = 32  # Matches that are read as a whole, at once.
NOTIFY_SECONDS = 0.005  # Between notifications, each of which wakes every server.

_T = TypeVar("_T")


class PostgresStore(BaseStore):
    """A log in a database, by its URL. Servers that share it host the same matches."""

    def __init__(self, url: str, metrics: Metrics | None = None) -> None:
        super().__init__(metrics)
        self._tasks = self._metrics.tasks
        self._connections = pool = Connections(url)
        self._metrics.add_database(
            CONNECTIONS, lambda: pool.open_connections, lambda: pool.idle, lambda: pool.waiting
        )
        # Reads do not wait for a commit, which syncs the disk.
        self._writer, self._reader = pool.keep_one(), pool.keep_one()
        self._notifier = notifier = pool.keep_one()
        self.presence.listen(self._tell_arrival)
        self._listener = NotificationListener(
            url, self._changes, self.presence, self._metrics, lambda: notifier.process
        )
        self._reads = ReadGatherer[tuple[str, Head], Later | None](
            self._read_entries, MAX_BATCH, self._tasks
        )
        self._loads = ReadGatherer[str, StoredMatch | Damaged | None](
            self._read_matches, MAX_LOADS, self._tasks
        )
        self._jobs = JobGatherer[Append](self._hand_over)
        self._appends: deque[Append] = deque()
        self._in_hand: list[Append] = []  # What is being committed.
        # One at a time: two would each have half of the entries, and cost the database more.
        self._committing: asyncio.Task[None] | None = None
        # What to write when there is time for it: versions and arrivals to notify others of, and
        # snapshots.
        self._changed: dict[str, int] = {}
        self._arrived: set[Place] = set()
        self._snapshots: dict[str, Snapshot] = {}
        self._notifying: asyncio.Task[None] | None = None

    async def open(self) -> None:
        await self._connections.open()
        self._listener.start()

    async def open_to_check(self) -> None:
        await self._connections.open_to_check()

    async def close(self) -> None:
        self._listener.close()
        self._jobs.flush()
        if self._committing is not None:
            await asyncio.wait([self._committing])
        if self._notifying is not None:
            await asyncio.wait([self._notifying])
        await self._reads.close()
        await self._loads.close()
        await self._connections.close()

    # Single statements

    async def key(self, offered: bytes) -> bytes:
        return await self._use("write", "other", lambda file: tables.keep_first(file, offered))

    async def check(self) -> list[str]:
        return await self._use("read", "other", postgresql_checking.check)

    async def list_ids(self, table: str, after: str, limit: int) -> list[str]:
        sql = queries.list_ids(table)
        return await self._list("other", lambda rows: [row[0] for row in rows], sql, after, limit)

    async def create_all(self, matches: Sequence[tuple[Header, MatchStatus]]) -> None:
        began = time.perf_counter()
        created = await self._use(
            "write", "create", lambda file: tables.create_matches(file, matches)
        )
        self._metrics.store_committed(len(matches), time.perf_counter() - began)
        if not created:
            raise ValueError("there is a match of this id already")
        for header, _ in matches:
            if header.rematch_of:
                self._tell(header.match_id, 0)

    async def replace_ahead(self, match_id: str, head: Head, ahead: bytes, due: int | None) -> bool:
        replaced = await self._use(
            "write", "other", lambda file: tables.replace_ahead(file, match_id, head, ahead, due)
        )
        if replaced:
            self._tell(match_id, ANOTHER_LOG)
        return replaced

    async def reschedule(self, due: DueMatch, at: int) -> bool:
        return await self._use("write", "due", lambda file: tables.reschedule(file, due, at))

    async def erase_names(self, match_id: str, seats: int) -> bool:
        erased = await self._use(
            "write", "other", lambda file: tables.erase_names(file, match_id, seats)
        )
        if erased:
            self._tell(match_id, ANOTHER_LOG)
        return erased

    async def list_updates(self, after: Position | None, limit: int) -> Updates | None:
        return await self._use(
            "read", "feed", lambda file: postgresql_feed.read_updates(file, after, limit)
        )

    async def delete_ended(self, before: int, limit: int) -> Sequence[str]:
        return await self._use(
            "write", "other", lambda file: tables.delete_ended(file, before, limit)
        )

    async def _list(
        self, purpose: str, read: Callable[[list[Any]], _T], sql: str, *values: object
    ) -> _T:
        async def read_rows(connection: Any) -> _T:
            return read(await connection.fetch(sql, *values))

        return await self._use("read", purpose, read_rows)

    async def _use(
        self,
        kind: str,
        purpose: str,
        statement: Callable[[Any], Awaitable[_T]],
        kept: Connection | None = None,
    ) -> _T:
        try:
            async with self._connections.one() if kept is None else kept.use() as connection:
                self._metrics.store_statements.labels(purpose).inc()
                answer = await statement(connection)
        except FAILURES as error:
            self._faults.failed(kind, type(error).__name__)
            raise refusal(error) from None
        self._faults.worked(kind)
        return answer

    # Reading matches

    @property
    def reads(self) -> bool:
        return self._listener.hears and not self._faults.failing("read")

    async def load(self, match_id: str) -> StoredMatch | None:
        found = await self._loads.ask(match_id)
        if isinstance(found, Damaged):
            raise found
        return found

    async def _read_matches(self, match_ids: list[str]) -> list[StoredMatch | Damaged | None]:
        found = await self._use("read", "load", lambda file: tables.read_matches(file, match_ids))
        if any(found):
            self._metrics.store_statements.labels("load").inc()  # That of the entries.
        return found

    async def read(self, match_id: str, head: Head) -> Later | None:
        return await self._reads.ask((match_id, head))

    async def _read_entries(self, asked: list[tuple[str, Head]]) -> list[Later | None]:
        return await self._use(
            "read", "read", lambda file: tables.read_later(file, asked), self._reader
        )

    # Adding entries

    def _hand_over(self, appends: list[Append]) -> None:
        self._appends.extend(appends)
        if self._committing is None or self._committing.done():
            # For many calls, so it belongs to none.
            self._committing = self._tasks.finish("commit", self._commit_all, context=Context())

    async def _commit_all(self) -> bool:
        while self._appends or self._in_hand:
            # If it was begun again, these have no answer yet. What was added all the same, the log
            # now refuses, and whoever asked finds its own entry there.
            self._in_hand = self._in_hand or self._next_batch()
            await self._commit_or_refuse(list(self._in_hand))
        return True

    def _next_batch(self) -> list[Append]:
        batch: dict[str, Append] = {}
        others: list[Append] = []
        while self._appends and len(batch) < MAX_BATCH:
            each = self._appends.popleft()
            # Of two for the same match, only the log can say which one was added.
            if each.match_id in batch:
                others.append(each)
            else:
                batch[each.match_id] = each
        self._appends.extendleft(reversed(others))
        return list(batch.values())

    async def _commit_or_refuse(self, batch: list[Append]) -> None:
        try:
            added = await self._commit(batch)
        # Whatever the failure is, those who wait are told, and the next ones get their try.
        except BaseException as caught:
            error = told(caught)
            if len(batch) > 1 and not is_of_the_database(error):
                # One of them is to blame, and must not take the others along.
                for each in batch:
                    await self._commit_or_refuse([each])
                return
            answer = refusal(error)
            if isinstance(answer, Refusal):
                self._faults.failed("write", type(error).__name__)
            self._answer(batch, [answer] * len(batch))
        else:
            self._committed(batch, added)

    async def _commit(self, batch: list[Append]) -> Collection[str]:
        # Returns the matches whose entries were added.
        began = time.perf_counter()
        async with self._writer.use() as connection:
            self._metrics.store_statements.labels("append").inc()
            added = await tables.append_entries(connection, batch)
        self._metrics.store_committed(len(batch), time.perf_counter() - began)
        self._faults.worked("write")
        return added

    def _answer(self, batch: list[Append], answers: list[Any]) -> None:
        del self._in_hand[: len(batch)]
        self._jobs.answer(batch, answers)

    def _committed(self, batch: list[Append], added: Collection[str]) -> None:
        self._answer(batch, [each.match_id in added for each in batch])
        # Those who wait for an answer go on in a later turn of the loop.
        for each in batch:
            if each.match_id in added:
                self._tell(each.match_id, each.head.version + 1, each.on_added)

    # Changes

    def _tell(
        self, match_id: str, version: int, on_added: Callable[[], None] | None = None
    ) -> None:
        if self._listener.others:
            self._changed[match_id] = version
            self._notify_later()
        self._changes.added(match_id, version, on_added)

    def _tell_arrival(self, place: Place) -> None:
        # Those that another server has told of are among them for a moment only.
        if self._listener.others and place in self.presence.attended():
            self._arrived.add(place)
            self._notify_later()

    # Notifications and snapshots: nobody waits for them

    def save_snapshot(self, match_id: str, snapshot: Snapshot) -> None:
        saved = self._snapshots.get(match_id)
        if saved is None or saved.version < snapshot.version:
            self._snapshots[match_id] = snapshot
        self._notify_later()

    def _notify_later(self) -> None:
        if self._notifying is None or self._notifying.done():
            self._notifying = self._tasks.finish("notify", self._notify, context=Context())

    async def _notify(self) -> bool:
        # A change that is not notified of is found by polling, and a snapshot is not missed.
        with suppress(*FAILURES, Refusal):
            while self._changed or self._arrived or self._snapshots:
                changed, self._changed = self._changed, {}
                arrived, self._arrived = self._arrived, set()
                snapshots, self._snapshots = self._snapshots, {}
                async with self._notifier.use() as connection:
                    for notice in write_notices(changed, arrived):
                        self._metrics.store_statements.labels("notify").inc()
                        await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, notice)
                    if snapshots:
                        self._metrics.store_statements.labels("snapshot").inc()
                        await tables.write_snapshots(connection, snapshots)
                await asyncio.sleep(NOTIFY_SECONDS)
        return True
