"""The tables of the SQLite log: how they are created, read and written."""

import sqlite3
from typing import Any

from service.store import queries
from service.store.interface import (
    OLDEST,
    DueMatch,
    Entry,
    Header,
    IdleMatch,
    ListedMatch,
    Query,
    Snapshot,
    StoredMatch,
    Update,
    Updates,
    check_schema,
    read_columns,
)

APPLICATION_ID = 0x43525550  # "CRUP", in the header of the file.
NO_MATCH = -1
HEADER = ", ".join(Header._fields)  # The columns of a match that hold its header.

# The statements that make a log of the schema OLDEST. The table that holds the schedule of due
# matches is called `agenda`, since the name of a table in existing files cannot change.
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
# What leads from each schema to the next one. A released migration is never changed: a new one is
# added at the end.
MIGRATIONS: tuple[tuple[str, ...], ...] = ()


def migrate(connection: sqlite3.Connection, name: object) -> None:
    """Brings a log up to date; raises ValueError if it is no log, too old, or newer than this."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != APPLICATION_ID:
        raise ValueError(f"{name} is not a log of Croupier")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    check_schema(name, version, OLDEST + len(MIGRATIONS))
    for number, statements in enumerate((SCHEMA, *MIGRATIONS), OLDEST):
        if number <= version:
            continue
        connection.execute("BEGIN IMMEDIATE")
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")


def read_match(connection: sqlite3.Connection, match_id: str) -> StoredMatch | None:
    """All that is stored of a match, if there is such a match."""
    row = connection.execute(
        f"SELECT {HEADER} FROM matches WHERE match_id = ?", (match_id,)
    ).fetchone()
    if row is None:
        return None
    # Before the entries, so that it is never ahead of them.
    snapshot = connection.execute(
        "SELECT version, data FROM snapshots WHERE match_id = ?", (match_id,)
    ).fetchone()
    return StoredMatch(
        read_columns(row),
        read_entries(connection, match_id, 0),
        Snapshot(*snapshot) if snapshot else None,
    )


def read_entries(connection: sqlite3.Connection, match_id: str, version: int) -> list[Entry]:
    """The entries after the first `version` ones."""
    rows = connection.execute(
        "SELECT kind, seat, at, action, expected_version, request_id FROM entries "
        "WHERE match_id = ? AND version > ? ORDER BY version",
        (match_id, version),
    )
    return [Entry(*row) for row in rows]


def read_later(
    connection: sqlite3.Connection, match_id: str, version: int, since: int | None
) -> list[Entry] | None:
    """The entries after a version; None if the log has none that was made at `since`."""
    if since is not None:
        made = connection.execute(
            "SELECT created FROM matches WHERE match_id = ?1 AND ?2 = 0 "
            "UNION ALL SELECT at FROM entries WHERE match_id = ?1 AND version = ?2",
            (match_id, version),
        ).fetchone()
        if made != (since,):
            return None
    return read_entries(connection, match_id, version)


def read_head(connection: sqlite3.Connection, match_id: str) -> int:
    """How many entries a match has, or NO_MATCH if there is no such match."""
    (head,) = connection.execute(
        "SELECT CASE WHEN EXISTS (SELECT 1 FROM matches WHERE match_id = ?1) THEN "
        "coalesce((SELECT max(version) FROM entries WHERE match_id = ?1), 0) ELSE ?2 END",
        (match_id, NO_MATCH),
    ).fetchone()
    return int(head)


def _fetch(connection: sqlite3.Connection, sql: str, *values: object) -> list[Any]:
    # A statement of `queries.py`.
    return connection.execute(sql.replace("$", "?"), values).fetchall()


def read_due(connection: sqlite3.Connection, until: int, limit: int) -> list[DueMatch]:
    """At most `limit` of the matches that are due by a time, the most overdue first."""
    return [DueMatch(*row) for row in _fetch(connection, queries.READ_DUE, until, limit)]


def read_all_due(connection: sqlite3.Connection) -> set[str]:
    """The ids of all matches that are due at some time."""
    return {match_id for (match_id,) in connection.execute("SELECT match_id FROM agenda")}


def schedule(connection: sqlite3.Connection, due: DueMatch) -> None:
    """Makes a match due at a time."""
    connection.execute(
        "INSERT INTO agenda VALUES (?, ?) ON CONFLICT DO UPDATE SET at = excluded.at", due
    )


def unschedule(connection: sqlite3.Connection, match_id: str) -> None:
    """Makes a match due at no time."""
    connection.execute("DELETE FROM agenda WHERE match_id = ?", (match_id,))


def reschedule(connection: sqlite3.Connection, due: DueMatch, at: int) -> bool:
    """Makes a match due at another time unless that has changed; returns whether it did."""
    return bool(_fetch(connection, f"{queries.RESCHEDULE} RETURNING at", at, *due))


def count_live(connection: sqlite3.Connection, creator: str) -> int:
    """How many matches of a creator are not over."""
    [(count,)] = _fetch(connection, queries.COUNT_LIVE, creator)
    return int(count)


def read_idle(
    connection: sqlite3.Connection, before: int, after: IdleMatch | None, limit: int
) -> list[IdleMatch]:
    """At most `limit` matches that run, are not due and have no entry since a time."""
    values = queries.idle_after(before, after, limit)
    return [IdleMatch(*row) for row in _fetch(connection, queries.READ_IDLE, *values)]


def read_listed(connection: sqlite3.Connection, query: Query, limit: int) -> list[ListedMatch]:
    """At most `limit` of the matches that fit a query, the newest first."""
    sql, values = queries.list_matches(query, limit)
    return queries.listed(_fetch(connection, sql, *values))


_EPOCH = "SELECT CAST(value AS TEXT) FROM settings WHERE name = 'epoch'"
# The conditions are literal, as the indexes are partial.
_READ_UPDATES = """
    SELECT entries.feed_position, match_id, version, at, created, owner, entries.feed,
        NOT EXISTS (
            SELECT 1 FROM entries AS later
            WHERE later.match_id = entries.match_id AND later.version = entries.version + 1
        )
    FROM entries JOIN matches USING (match_id)
    WHERE entries.feed_position > ?1 AND entries.feed_position > 0
    UNION ALL
    SELECT feed_position, match_id, 0, created, created, owner, feed,
        NOT EXISTS (
            SELECT 1 FROM entries WHERE entries.match_id = matches.match_id AND version = 1
        )
    FROM matches
    WHERE feed_position > ?1 AND feed_position > 0
    ORDER BY 1 LIMIT ?2
"""
_READ_RUNNING = """
    SELECT 0, match_id, coalesce(version, 0), coalesce(at, created), created, owner,
        CASE WHEN version IS NULL THEN matches.feed ELSE entries.feed END
    FROM (
        SELECT * FROM matches
        WHERE ended IS NULL AND (created, match_id) > (?1, ?2) {of_owner}
        ORDER BY created, match_id LIMIT ?3
    ) AS matches LEFT JOIN entries USING (match_id)
    WHERE version IS NULL OR version = (
        SELECT max(version) FROM entries WHERE entries.match_id = matches.match_id
    )
    ORDER BY created, match_id
"""
_READ_RUNNING_OF_ALL = _READ_RUNNING.format(of_owner="")
_READ_RUNNING_OF_ONE = _READ_RUNNING.format(of_owner="AND owner = ?4 AND owner <> ''")


def read_updates(connection: sqlite3.Connection, after: int | None, limit: int) -> Updates:
    """The feed after a position; without one its end alone."""
    (epoch,) = connection.execute(_EPOCH).fetchone()
    if after is None:
        return Updates(epoch, read_feed_end(connection), [])
    rows = connection.execute(_READ_UPDATES, (after, limit)).fetchall()
    updates = [Update(*update) for *update, newest in rows if newest]
    return Updates(epoch, rows[-1][0] if rows else after, updates, len(rows) == limit)


def read_feed_end(connection: sqlite3.Connection) -> int:
    """The last position of the feed, whether or not the match there was deleted."""
    (end,) = connection.execute(
        "SELECT max(coalesce((SELECT max(feed_position) FROM entries WHERE feed_position > 0), 0), "
        "coalesce((SELECT max(feed_position) FROM matches WHERE feed_position > 0), 0), "
        "coalesce((SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM settings "
        "WHERE name = 'feed_end'), 0))"
    ).fetchone()
    return int(end)


def read_running(
    connection: sqlite3.Connection, owner: str | None, after: tuple[int, str], limit: int
) -> list[Update]:
    """At most `limit` of the matches of an owner that are not over, the oldest first."""
    if owner is None:
        rows = connection.execute(_READ_RUNNING_OF_ALL, (*after, limit))
    else:
        rows = connection.execute(_READ_RUNNING_OF_ONE, (*after, limit, owner))
    return [Update(*row) for row in rows]


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
        "SELECT match_id FROM matches WHERE ended < ? ORDER BY ended LIMIT ?", (before, limit)
    ).fetchall()
    if rows:
        # Cursors may be at the end, which must not be lost with the entry there.
        connection.execute(
            "INSERT INTO settings VALUES ('feed_end', ?1) "
            "ON CONFLICT DO UPDATE SET value = excluded.value",
            (str(read_feed_end(connection)).encode(),),
        )
    for table in ("matches", "entries", "snapshots", "agenda"):
        connection.executemany(f"DELETE FROM {table} WHERE match_id = ?", rows)
    return [match_id for (match_id,) in rows]
