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


def name(error: Exception) -> str:
    """What to call it in the log of the server."""
    return getattr(error, "sqlite_errorname", type(error).__name__)


def _code(error: Exception) -> int:
    # The low byte is what went wrong, the rest where.
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
