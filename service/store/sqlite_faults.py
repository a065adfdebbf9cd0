"""What the errors of SQLite mean: whose fault they are, and what the caller is told."""

import sqlite3

from service.errors import store_full, store_unavailable


def refusal(error: Exception) -> Exception:
    """What a caller is answered; a new one for each, as each is raised elsewhere."""
    if not is_of_the_file(error):
        return error
    return store_full() if _code(error) == sqlite3.SQLITE_FULL else store_unavailable()


def is_of_the_file(error: Exception) -> bool:
    """Whether the file failed, rather than something asked of it was wrong."""
    return isinstance(error, sqlite3.Error | MemoryError)


def can_be_of_one(error: Exception) -> bool:
    """Whether it may come from one of those that are committed together, and not from the file.

    Of what cannot be read, one page may be to blame, which the others do not need.
    """
    if not isinstance(error, sqlite3.OperationalError | MemoryError):
        return True
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_READ


def name(error: Exception) -> str:
    """What to call it in the log of the server."""
    return getattr(error, "sqlite_errorname", type(error).__name__)


def _code(error: Exception) -> int:
    # The low byte is what went wrong, the rest where.
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
