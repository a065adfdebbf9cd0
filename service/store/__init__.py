"""The log of the matches, and where it is kept: in memory, in a SQLite file or in PostgreSQL."""

from service.store.interface import (
    KEY_BYTES,
    Due,
    Entry,
    EntryKind,
    Header,
    Snapshot,
    Standing,
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
    "MemoryStore",
    "Snapshot",
    "SqliteStore",
    "Standing",
    "Store",
    "Stored",
]
