"""The database of the front end: accounts, matches with the tokens of their seats, and the feed."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

PATH = Path(os.environ.get("FRONTEND_DATA", "frontend.db"))
SCHEMA = """
CREATE TABLE IF NOT EXISTS accounts (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE, salt BLOB, hash BLOB);
CREATE TABLE IF NOT EXISTS sessions (hash BLOB PRIMARY KEY, account INTEGER, expires REAL);
-- `name` is NULL until the Croupier server has created the match. A rematch has no request_id.
CREATE TABLE IF NOT EXISTS matches (
    id INTEGER PRIMARY KEY, request_id TEXT, name TEXT UNIQUE,
    game TEXT, title TEXT, seconds INTEGER);
-- A seat has an account or a bot. `token` is a secret: whoever has it plays the seat.
CREATE TABLE IF NOT EXISTS seats (
    match INTEGER, seat INTEGER, account INTEGER, bot TEXT, token TEXT, PRIMARY KEY (match, seat));
CREATE INDEX IF NOT EXISTS seats_of ON seats (account);
-- What the feed has told last of each match, of some before CreateMatch has answered.
CREATE TABLE IF NOT EXISTS feed (
    name TEXT PRIMARY KEY, version INTEGER, changed REAL, due TEXT, result TEXT);
CREATE TABLE IF NOT EXISTS cursor (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT);
INSERT OR IGNORE INTO cursor VALUES (1, '');
"""


@contextmanager
def transaction() -> Iterator[sqlite3.Connection]:
    """Runs the block as one transaction, which is on the disk when the block is left."""
    with closing(sqlite3.connect(PATH, timeout=10, isolation_level=None)) as db, db:
        db.row_factory = sqlite3.Row
        db.execute("BEGIN IMMEDIATE")
        yield db


def prepare() -> None:
    """Creates the database, which only the owner may read, unless it is there."""
    PATH.touch(mode=0o600)
    with closing(sqlite3.connect(PATH)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(SCHEMA)
