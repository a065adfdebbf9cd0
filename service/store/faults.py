"""Faults of the log: what the operator is told, and what SQLite's errors mean to the caller."""

import logging
import sqlite3

from service.common.errors import Unreadable, store_full, store_unavailable
from service.observability.metrics import Metrics

_DONE = {"read": "read", "write": "written"}
# What SQLite and PostgreSQL answer where a part of the log is not what was written.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, "XX001", "XX002"}

_log = logging.getLogger(__name__)


class Faults:
    """The faults of one log, of kind "read" and "write". Several threads may report them."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._failing: set[str] = set()

    def failed(self, kind: str, why: str) -> None:
        """The log could not be read or written."""
        self._metrics.store_failures.labels(kind).inc()
        # Logged once, or a failing disk would be filled with it.
        if kind not in self._failing:
            self._failing.add(kind)
            self._metrics.store_failing(kind, True)
            _log.error("the log cannot be %s: %s", _DONE[kind], why)

    def worked(self, kind: str) -> None:
        """The log could be read or written."""
        if kind in self._failing:
            self._failing.discard(kind)
            self._metrics.store_failing(kind, False)
            _log.warning("the log is %s again", _DONE[kind])

    def failing(self, kind: str) -> bool:
        """Whether the last try has failed."""
        return kind in self._failing


def refusal(error: Exception) -> Exception:
    """The error for one caller. Each caller gets a new one, since each raises it elsewhere."""
    if not is_of_the_file(error):
        return error
    if is_damage(error):
        return store_unavailable(Unreadable)
    return store_full() if _code(error) == sqlite3.SQLITE_FULL else store_unavailable()


def is_of_the_file(error: Exception) -> bool:
    """Whether the file failed, rather than a job that it was asked to do."""
    return isinstance(error, sqlite3.Error | MemoryError)


def is_damage(error: Exception) -> bool:
    """Whether a part of the log was found not to be what was written."""
    if isinstance(error, Unreadable):
        return True
    return not _DAMAGE.isdisjoint((_code(error), getattr(error, "sqlstate", None)))


def can_be_of_one(error: Exception) -> bool:
    """Whether one of the jobs that are committed together may be to blame, and not the file.

    Of an error in reading, one page may be the cause, which the other jobs do not need.
    """
    if not isinstance(error, sqlite3.OperationalError | MemoryError):
        return True
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_READ


def name(error: Exception) -> str:
    """The name of an error in the log of the server."""
    return getattr(error, "sqlite_errorname", type(error).__name__)


def _code(error: Exception) -> int:
    # The low byte is the primary result code; the rest says where it came from.
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
