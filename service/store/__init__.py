"""The log of the matches, and where it is kept: in memory, in a SQLite file or in PostgreSQL."""

from service.store.chain import Entry
from service.store.interface import (
    ANOTHER_LOG,
    KEY_BYTES,
    DueMatch,
    Head,
    Header,
    IdleMatch,
    ListedMatch,
    Listener,
    MatchStatus,
    Position,
    Query,
    Snapshot,
    Store,
    StoredMatch,
    Update,
    Updates,
)
from service.store.memory import MemoryStore
from service.store.sqlite import SqliteStore

__all__ = [
    "ANOTHER_LOG",
    "KEY_BYTES",
    "DueMatch",
    "Entry",
    "Head",
    "Header",
    "IdleMatch",
    "ListedMatch",
    "Listener",
    "MatchStatus",
    "MemoryStore",
    "Position",
    "Query",
    "Snapshot",
    "SqliteStore",
    "Store",
    "StoredMatch",
    "Update",
    "Updates",
]
