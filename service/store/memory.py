"""A log that ends with the process: that of SQLite, without a file and without threads."""

import secrets
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from service.observability.metrics import Metrics
from service.store import sqlite_tables as tables
from service.store.jobs import JobGatherer
from service.store.sqlite import SqliteStore
from service.store.sqlite_writer import MAX_BATCH, Job

_T = TypeVar("_T")


class MemoryStore(SqliteStore):
    """A log that is open from the beginning. Servers of one event loop may share it."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        super().__init__(Path(), metrics)
        self._uri = f"file:/{secrets.token_hex(8)}?vfs=memdb"
        self._jobs = JobGatherer[Job](self._writer.work)
        self._anchor = self._connect()
        tables.migrate(self._anchor, "the log")
        tables.begin_epoch(self._anchor)

    async def open(self) -> None:
        """There is nothing to open."""

    async def close(self) -> None:
        """There is nothing to close."""

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self._uri,
            uri=True,
            isolation_level=None,
            check_same_thread=False,  # A test may make it, and a server in a thread use it.
            cached_statements=MAX_BATCH * 2,
        )

    def _answer_later(self, jobs: list[Job], answers: list[Any]) -> None:
        self._answer(jobs, answers)

    async def _forget_erased(self) -> bool:
        return True

    async def _read(self, query: Callable[..., _T], *arguments: object) -> _T:
        return self._query(query, arguments)
