"""`croupier` with small caches: memory that goes on growing is then a leak.

    python -m tests.fuzz.small_caches serve ...

A server keeps what was asked for lately: matches, tokens, actions and events as messages, pages of
the log. With the usual sizes it takes a million requests or more until all of that is full.
"""

import functools
import sqlite3
import sys

MOST = 128  # Entries of a cache.
PAGES = "PRAGMA cache_size = -512"


class Connection(sqlite3.Connection):
    """A connection to SQLite that keeps few pages."""

    def execute(self, sql, *arguments):
        return super().execute(PAGES if sql.startswith("PRAGMA cache_size") else sql, *arguments)


def shrink():
    """Make all caches of modules that are imported from now on small."""
    cache, connect = functools.lru_cache, sqlite3.connect

    def small_cache(maxsize=128, typed=False):
        bounded = not callable(maxsize) and maxsize is not None
        return cache(min(maxsize, MOST) if bounded else maxsize, typed)

    functools.lru_cache = small_cache
    sqlite3.connect = lambda *arguments, **named: connect(*arguments, factory=Connection, **named)
    from service.hosting import match_cache

    match_cache.MAX_CACHED = MOST


if __name__ == "__main__":
    shrink()
    from cli.main import main

    sys.exit(main())
