"""The errors of SQLite: what each one means, and what the caller is told."""

import sqlite3

from service.errors import store_full, store_unavailable


def refusal(error: Exception) -> Exception:
    """What to answer a caller with. Each caller gets a new one, since each raises it elsewhere."""
    if not is_of_the_file(error):
        return error
    return store_full() if _code(error) == sqlite3.SQLITE_FULL else store_unavailable()


def is_of_the_file(error: Exception) -> bool:
    """Whether the file failed, rather than a job that it was asked to do."""
    return isinstance(error, sqlite3.Error | MemoryError)


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
