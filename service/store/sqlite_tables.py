"""The tables of the SQLite log: how they are created, read and written."""

import logging
import secrets
import sqlite3
from collections.abc import Callable
from functools import cache
from typing import Any

from service.store import chain, chaining, faults, queries
from service.store.chain import Entry
from service.store.interface import (
    COLUMNS,
    ENTRIES_AT_ONCE,
    OLDEST,
    DueMatch,
    Head,
    Later,
    Position,
    Snapshot,
    StoredMatch,
    Updates,
    check_newest,
    check_schema,
    check_settings,
    read_columns,
)

APPLICATION_ID = 0x43525550  # "CRUP", in the header of the file.
HEADER = ", ".join(COLUMNS)  # The columns of a match that hold its header.

_log = logging.getLogger(__name__)

# The statements that make a log of the schema OLDEST.
SCHEMA = (
    """
    CREATE TABLE settings (
        name TEXT NOT NULL PRIMARY KEY,
        value BLOB NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "INSERT INTO settings VALUES ('epoch', CAST(lower(hex(randomblob(4))) AS BLOB))",
    """
    CREATE TABLE matches (
        match_id TEXT NOT NULL PRIMARY KEY,
        game TEXT NOT NULL,
        ruleset BLOB NOT NULL,
        rules_version INTEGER NOT NULL,
        secret BLOB NOT NULL,
        chance_id TEXT NOT NULL,
        bots BLOB NOT NULL,
        created INTEGER NOT NULL,
        ended INTEGER,
        entropy_from_seats INTEGER NOT NULL DEFAULT 0,
        time_control BLOB NOT NULL DEFAULT x'',
        creator TEXT NOT NULL DEFAULT '',
        invited BLOB NOT NULL DEFAULT x'',
        key_names BLOB NOT NULL DEFAULT x'',
        model TEXT NOT NULL DEFAULT '',
        display_names BLOB NOT NULL DEFAULT x'',
        hint_policy INTEGER NOT NULL DEFAULT 0,
        start BLOB NOT NULL DEFAULT x'',
        owner TEXT NOT NULL DEFAULT '',
        rematch_of TEXT NOT NULL DEFAULT '',
        feed_position INTEGER NOT NULL DEFAULT 0,
        feed BLOB NOT NULL DEFAULT x''
    ) STRICT
    """,
    "CREATE INDEX matches_created ON matches (created, match_id)",
    "CREATE INDEX matches_running ON matches (created, match_id) WHERE ended IS NULL",
    "CREATE INDEX matches_ended ON matches (ended) WHERE ended IS NOT NULL",
    "CREATE INDEX matches_live ON matches (creator) WHERE ended IS NULL AND creator <> ''",
    "CREATE INDEX matches_feed ON matches (feed_position) WHERE feed_position > 0",
    "CREATE INDEX matches_owned ON matches (owner, created, match_id) "
    "WHERE ended IS NULL AND owner <> ''",
    # Clustered by match, so that a match is read from neighbouring pages and an entry dirties one
    # of them.
    """
    CREATE TABLE entries (
        match_id TEXT NOT NULL,
        version INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        seat INTEGER NOT NULL,
        at INTEGER NOT NULL,
        action BLOB NOT NULL,
        expected_version INTEGER NOT NULL,
        request_id TEXT NOT NULL,
        feed_position INTEGER NOT NULL DEFAULT 0,
        feed BLOB NOT NULL DEFAULT x'',
        PRIMARY KEY (match_id, version)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE UNIQUE INDEX entries_requests ON entries (match_id, seat, request_id) "
    "WHERE request_id <> ''",
    "CREATE INDEX entries_feed ON entries (feed_position) WHERE feed_position > 0",
    """
    CREATE TABLE snapshots (
        match_id TEXT NOT NULL PRIMARY KEY,
        version INTEGER NOT NULL,
        data BLOB NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE agenda (
        match_id TEXT NOT NULL PRIMARY KEY,
        at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX agenda_at ON agenda (at)",
)


_CHAIN = (
    # Who adds to a version knows all requests up to it.
    "DROP INDEX entries_requests",
    "ALTER TABLE matches ADD COLUMN salt BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE matches ADD COLUMN names_hash BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE matches ADD COLUMN course BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE matches ADD COLUMN facts_seal BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE entries ADD COLUMN names BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE entries ADD COLUMN course BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE entries ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    """
    CREATE TABLE heads (
        match_id TEXT NOT NULL PRIMARY KEY,
        version INTEGER NOT NULL,
        digest BLOB NOT NULL,
        at INTEGER NOT NULL,
        over INTEGER NOT NULL,
        seal BLOB NOT NULL,
        due INTEGER
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX heads_due ON heads (due) WHERE due IS NOT NULL",
    # What is inserted here becomes an entry, and the head of its match: so that one statement does
    # both.
    """
    CREATE VIEW appended AS SELECT entries.*, over, seal, due FROM entries JOIN heads
        USING (match_id)
    """,
    """
    CREATE TRIGGER append INSTEAD OF INSERT ON appended BEGIN
        INSERT INTO entries VALUES (
            new.match_id, new.version, new.kind, new.seat, new.at, new.action,
            new.expected_version, new.request_id, new.feed_position, new.feed, new.names,
            new.course, new.digest
        );
        UPDATE heads SET version = new.version, digest = new.digest, at = new.at, over = new.over,
            seal = new.seal, due = new.due
        WHERE match_id = new.match_id;
        UPDATE matches SET ended = new.at WHERE new.over AND match_id = new.match_id;
    END
    """,
    # The starts of servers, in order: what epoch began then, and after which position of the feed.
    """
    CREATE TABLE incarnations (
        number INTEGER PRIMARY KEY,
        epoch TEXT NOT NULL,
        begins INTEGER NOT NULL
    ) STRICT
    """,
)


def _chain(connection: sqlite3.Connection) -> None:
    # From schema 9: the chain of each match, and its head, which takes over what the agenda holds.
    for statement in _CHAIN:
        connection.execute(statement)
    end = read_feed_end(connection)
    (epoch,) = connection.execute("SELECT value FROM settings WHERE name = 'epoch'").fetchone()
    connection.execute("INSERT INTO incarnations VALUES (1, ?, 0)", (epoch.decode(),))
    connection.execute(
        "INSERT OR REPLACE INTO settings VALUES ('feed_end', ?)", (str(end).encode(),)
    )
    connection.execute("DELETE FROM settings WHERE name = 'epoch'")
    key = connection.execute("SELECT value FROM settings WHERE name = 'key'").fetchone()
    if key is not None:
        connection.execute(
            "UPDATE settings SET value = ? WHERE name = 'key'", (chain.sealed("key", key[0]),)
        )
    ids = [match_id for (match_id,) in connection.execute("SELECT match_id FROM matches")]
    for number, match_id in enumerate(ids, 1):
        with chaining.sparing_others(match_id):
            _chain_match(connection, match_id)
        if number % 10_000 == 0:
            _log.info("the log is brought up to date: %d of %d matches", number, len(ids))
    connection.execute("DROP TABLE agenda")


def _chain_match(connection: sqlite3.Connection, match_id: str) -> None:
    [(ended, due, *columns)] = fetch(
        connection,
        f"SELECT ended, agenda.at, {chaining.earlier(HEADER)} FROM matches "
        "LEFT JOIN agenda USING (match_id) "
        "WHERE match_id = $1",
        match_id,
    )
    entries = read_entries(connection, match_id, 0)
    told = fetch(connection, chaining.TOLD, match_id)
    rows = chaining.chained(read_columns(columns), entries, told, ended, due)
    fetch(connection, chaining.MATCH, *rows.match)
    connection.executemany(_numbered(chaining.ENTRY), rows.entries)
    fetch(connection, chaining.HEAD, *rows.head)


# From schema 10: what seats have decided ahead.
_AHEAD = (
    "ALTER TABLE heads ADD COLUMN ahead BLOB NOT NULL DEFAULT x''",
    "DROP VIEW appended",
    """
    CREATE VIEW appended AS SELECT entries.*, over, seal, due, ahead FROM entries JOIN heads
        USING (match_id)
    """,
    """
    CREATE TRIGGER append INSTEAD OF INSERT ON appended BEGIN
        INSERT INTO entries VALUES (
            new.match_id, new.version, new.kind, new.seat, new.at, new.action,
            new.expected_version, new.request_id, new.feed_position, new.feed, new.names,
            new.course, new.digest
        );
        UPDATE heads SET version = new.version, digest = new.digest, at = new.at, over = new.over,
            seal = new.seal, due = new.due, ahead = new.ahead
        WHERE match_id = new.match_id;
        UPDATE matches SET ended = new.at WHERE new.over AND match_id = new.match_id;
    END
    """,
)


# From schema 11: whose matches are whose, so that they are listed without reading others; and how
# long spectators have to wait.
_LISTS = (
    "ALTER TABLE matches ADD COLUMN spectator_delay INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX matches_game ON matches (game, created, match_id)",
    "CREATE INDEX matches_owner ON matches (owner, created, match_id) WHERE owner <> ''",
    "CREATE INDEX matches_owner_game ON matches (owner, game, created, match_id) WHERE owner <> ''",
    """
    CREATE TABLE players (
        match_id TEXT NOT NULL,
        player TEXT NOT NULL,
        since INTEGER NOT NULL,
        player_seal BLOB NOT NULL,
        PRIMARY KEY (match_id, player)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX players_matches ON players (player, since, match_id)",
)


# From schema 12: what names were erased, and which seats a player has. Of those who have one
# already that is not known.
_NAMES = (
    "ALTER TABLE heads ADD COLUMN erased BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE players ADD COLUMN seats INTEGER NOT NULL DEFAULT 0",
)


# From schema 13: what seats may not offer each other.
_OFFERS = ("ALTER TABLE matches ADD COLUMN forbidden_offers BLOB NOT NULL DEFAULT x''",)


# What leads from each schema to the next one. A released migration is never changed: a new one is
# added at the end.
MIGRATIONS: tuple[tuple[str, ...] | Callable[[sqlite3.Connection], None], ...] = (
    *(_chain, _AHEAD, _LISTS, _NAMES, _OFFERS),
)


def migrate(connection: sqlite3.Connection, name: object) -> None:
    """Brings a log up to date; raises ValueError if it is no log, too old, or newer than this."""
    version = _read_schema(connection, name)
    check_schema(name, version, OLDEST + len(MIGRATIONS))
    for number, change in enumerate((SCHEMA, *MIGRATIONS), OLDEST):
        if number <= version:
            continue
        connection.execute("BEGIN IMMEDIATE")
        if callable(change):
            change(connection)
        else:
            for statement in change:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")


def check_open(connection: sqlite3.Connection, name: object) -> None:
    """Raises ValueError if it is no log, or its schema is not the newest one."""
    check_newest(name, _read_schema(connection, name), OLDEST + len(MIGRATIONS))


def _read_schema(connection: sqlite3.Connection, name: object) -> int:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != APPLICATION_ID:
        raise ValueError(f"{name} is not a log of Croupier")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def check(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the file, and with the settings."""
    found: list[str] = []
    try:
        for (said,) in connection.execute("PRAGMA integrity_check"):
            found += [said] if said != "ok" else []
        begins = [begin for (begin,) in fetch(connection, queries.READ_EPOCHS)]
        settings = fetch(connection, queries.READ_SETTINGS)
        return found + check_settings(settings, begins, read_feed_end(connection))
    except sqlite3.DatabaseError as error:
        if not faults.is_damage(error):
            raise
        return [*found, "a part of the file cannot be read"]


def read_ids(connection: sqlite3.Connection, table: str, after: str, limit: int) -> list[str]:
    """At most `limit` ids after one, in order, of matches of which a table has something."""
    # An id that has changed may be no text.
    told = after.encode(errors="surrogateescape")
    rows = fetch(connection, queries.list_ids(table, "CAST($1 AS TEXT)"), told, limit)
    # What is of another type comes last, and `check` tells of it.
    return [match_id for (match_id,) in rows if isinstance(match_id, str)]


def begin_epoch(connection: sqlite3.Connection) -> None:
    """Begins an epoch of the feed: positions that come later than now were told by another log.

    So a log that was restored from a backup knows which positions it has not told itself.
    """
    connection.execute(
        "INSERT INTO incarnations (epoch, begins) VALUES (?, ?)",
        (secrets.token_hex(8), read_feed_end(connection)),
    )


def read_match(connection: sqlite3.Connection, match_id: str) -> StoredMatch | None:
    """All that is stored of a match, if there is such a match; raises Damaged."""
    rows = fetch(
        connection,
        f"SELECT {HEADER}, ended, {queries.HEAD}, due, ahead, erased FROM matches "
        "LEFT JOIN heads USING (match_id) WHERE match_id = $1",
        match_id,
    )
    # Before the entries, as is the head, so that they are never ahead of them.
    snapshots = fetch(
        connection, "SELECT version, data FROM snapshots WHERE match_id = $1", match_id
    )
    if not rows:
        return None
    entries = read_entries(connection, match_id, 0)
    snapshot = Snapshot(*snapshots[0]) if snapshots else None
    return queries.stored(rows[0], entries, snapshot)


def read_entries(connection: sqlite3.Connection, match_id: str, version: int) -> list[Entry]:
    """The entries after the first `version` ones."""
    return [Entry(*row) for row in fetch(connection, queries.READ_ENTRIES, match_id, version)]


def read_later(connection: sqlite3.Connection, match_id: str, head: Head) -> Later | None:
    """What comes after a version; None if the log does not have it."""
    newest = read_head(connection, match_id)
    if newest == head:
        return Later(head, [])
    return queries.later(head, newest, read_entries(connection, match_id, head.version))


def read_head(connection: sqlite3.Connection, match_id: str) -> Head | None:
    """The newest version of a match, if there is such a match."""
    rows = fetch(
        connection, "SELECT version, digest, ahead, erased FROM heads WHERE match_id = $1", match_id
    )
    return queries.read_head(match_id, *rows[0]) if rows else None


def replace_ahead(
    connection: sqlite3.Connection, match_id: str, head: Head, ahead: bytes, due: int | None
) -> None:
    """Replaces what seats have decided ahead, where a match has this head."""
    fetch(connection, queries.REPLACE_AHEAD, *queries.replaced_ahead(match_id, head, ahead, due))


def fetch(connection: sqlite3.Connection, sql: str, *values: object) -> list[Any]:
    """The rows of a statement with the parameters of PostgreSQL."""
    return connection.execute(_numbered(sql), values).fetchall()


@cache
def _numbered(sql: str) -> str:
    return sql.replace("$", "?")


def reschedule(connection: sqlite3.Connection, due: DueMatch, at: int) -> bool:
    """Makes a match due at another time unless that has changed; returns whether it did."""
    return bool(fetch(connection, f"{queries.RESCHEDULE} RETURNING at", at, *due))


def erase_names(connection: sqlite3.Connection, match_id: str, seats: int) -> bytes:
    """Erases the names of seats, as `queries.erasing` says."""
    erasing, found = queries.erasing(match_id, seats), None
    while True:
        try:
            sql, *values = erasing.send(found)
        except StopIteration as done:
            return bytes(done.value)
        found = fetch(connection, sql, *values)


# When the epoch of a position ended, and which one is the newest.
_READ_EPOCHS = """
    SELECT (
        SELECT begins FROM incarnations AS later WHERE later.number > told.number
        ORDER BY later.number LIMIT 1
    ), newest.epoch
    FROM (SELECT epoch FROM incarnations ORDER BY number DESC LIMIT 1) AS newest
    LEFT JOIN incarnations AS told ON told.epoch = $1
"""
# The conditions are literal, as the indexes are partial. What is told follows from the index alone,
# so that an entry that is not where it leads is missed.
_READ_UPDATES = f"""
    SELECT position, {queries.FACTS}, told.version, entries.at, entries.feed, {queries.HEAD}
    FROM (
        SELECT feed_position AS position, match_id, version FROM entries
        WHERE feed_position > $1 AND feed_position > 0 ORDER BY 1 LIMIT $2
    ) AS told
    LEFT JOIN entries USING (match_id, version)
    LEFT JOIN matches USING (match_id) LEFT JOIN heads USING (match_id)
    UNION ALL
    SELECT feed_position, {queries.FACTS}, 0, created, feed, {queries.HEAD}
    FROM matches LEFT JOIN heads USING (match_id)
    WHERE feed_position > $1 AND feed_position > 0
    ORDER BY 1 LIMIT $2
"""


def read_updates(
    connection: sqlite3.Connection, after: Position | None, limit: int
) -> Updates | None:
    """The feed after a position; without one its end alone; None if another log has told it."""
    epoch_asked = None if after is None else after.epoch
    [(ended, epoch)] = fetch(connection, _READ_EPOCHS, epoch_asked)
    end = read_feed_end(connection)
    if after is None:
        return Updates(epoch, end, [])
    if not queries.is_told(after, ended, epoch, end):
        return None
    rows = fetch(connection, _READ_UPDATES, after.number, limit)
    end = rows[-1][0] if rows else after.number
    return Updates(epoch, end, queries.read_updates(rows), len(rows) == limit)


def read_feed_end(connection: sqlite3.Connection) -> int:
    """The last position of the feed, whether or not the match there was deleted."""
    (end,) = connection.execute(
        "SELECT max(coalesce((SELECT max(feed_position) FROM entries WHERE feed_position > 0), 0), "
        "coalesce((SELECT max(feed_position) FROM matches WHERE feed_position > 0), 0), "
        "coalesce((SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM settings "
        "WHERE name = 'feed_end'), 0))"
    ).fetchone()
    return int(end)


def write_snapshot(connection: sqlite3.Connection, match_id: str, snapshot: Snapshot) -> None:
    """Stores a snapshot in place of an older one."""
    connection.execute(
        "INSERT INTO snapshots VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET "
        "version = excluded.version, data = excluded.data "
        "WHERE excluded.version > version",
        (match_id, *snapshot),
    )


def delete_ended(connection: sqlite3.Connection, before: int, limit: int) -> list[str]:
    """Deletes at most `limit` matches that ended before a time, the oldest first; returns them."""
    rows = connection.execute(
        # Not where one bit has changed in the time.
        "SELECT match_id FROM (SELECT match_id, ended, version + 1 AS size, "
        "sum(version + 1) OVER (ORDER BY ended, match_id) AS total "
        "FROM matches JOIN heads USING (match_id) WHERE ended < ?1 AND at = ended "
        "ORDER BY ended, match_id LIMIT ?2) WHERE total - size < ?3",
        (before, limit, ENTRIES_AT_ONCE),
    ).fetchall()
    if rows:
        # Cursors may be at the end, which must not be lost with the entry there.
        connection.execute(
            "INSERT INTO settings VALUES ('feed_end', ?1) "
            "ON CONFLICT DO UPDATE SET value = excluded.value",
            (str(read_feed_end(connection)).encode(),),
        )
    for table in ("matches", "entries", "snapshots", "heads", "players"):
        connection.executemany(f"DELETE FROM {table} WHERE match_id = ?", rows)
    return [match_id for (match_id,) in rows]
