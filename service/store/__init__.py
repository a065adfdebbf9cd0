"""The log of the matches, and where it is kept: in memory, in a SQLite file or in PostgreSQL."""

from service.store.interface import (
    KEY_BYTES,
    Due,
    Entry,
    EntryKind,
    Header,
    Listed,
    MatchStatus,
    Query,
    Snapshot,
    Store,
    Stored,
)
from service.store.memory import MemoryStore
from service.store.sqlite import SqliteStore

__all__ = [
    "KEY_BYTES",
    "Due",
    "Entry",
    "EntryKind",
    "Header",
    "Listed",
    "MatchStatus",
    "MemoryStore",
    "Query",
    "Snapshot",
    "SqliteStore",
    "Store",
    "Stored",
]
