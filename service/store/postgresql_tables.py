"""The tables of the PostgreSQL log: how they came to be, and how they are read and written."""

from typing import Any

import asyncpg

from service.store.interface import Due, Entry, EntryKind, Header, Listed, Query, Snapshot, Stored

# So that of several servers that start, one makes the tables.
_LOCK = 0x43525550

# A database remembers how many of them it has seen. Those that have been released are never
# changed: a new one is added at the end. Servers of the version before go on while it is made.
MIGRATIONS = (
    """
    CREATE TABLE settings (
        name text PRIMARY KEY,
        value bytea NOT NULL
    );
    CREATE TABLE matches (
        match_id text COLLATE "C" PRIMARY KEY,
        game text NOT NULL,
        ruleset bytea NOT NULL,
        rules_version integer NOT NULL,
        secret bytea NOT NULL,
        chance_id text NOT NULL,
        bots bytea NOT NULL,
        created bigint NOT NULL,
        ended bigint
    );
    -- A request_id may hold any character, and a text of PostgreSQL may not.
    CREATE TABLE entries (
        match_id text COLLATE "C" NOT NULL,
        version integer NOT NULL,
        kind smallint NOT NULL,
        seat smallint NOT NULL,
        at bigint NOT NULL,
        action bytea NOT NULL,
        expected_version bigint NOT NULL,
        request_id bytea NOT NULL,
        PRIMARY KEY (match_id, version)
    );
    CREATE UNIQUE INDEX entries_requests ON entries (match_id, seat, request_id)
        WHERE request_id <> '';
    CREATE TABLE snapshots (
        match_id text COLLATE "C" PRIMARY KEY,
        version integer NOT NULL,
        data bytea NOT NULL
    );
    CREATE TABLE agenda (
        match_id text COLLATE "C" PRIMARY KEY,
        at bigint NOT NULL
    );
    CREATE INDEX agenda_at ON agenda (at);
    """,
    """
    ALTER TABLE matches ADD COLUMN entropy_from_seats boolean NOT NULL DEFAULT false;
    CREATE INDEX matches_created ON matches (created, match_id);
    CREATE INDEX matches_running ON matches (created, match_id) WHERE ended IS NULL;
    CREATE INDEX matches_ended ON matches (ended) WHERE ended IS NOT NULL;
    """,
    "ALTER TABLE matches ADD COLUMN time_control bytea NOT NULL DEFAULT ''",
)

_HEADER = ", ".join(Header._fields)
_VALUES = ", ".join(f"${number}" for number in range(1, len(Header._fields) + 1))
_DUE = f"${len(Header._fields) + 1}::bigint"

CREATE = f"""
    WITH created AS (
        INSERT INTO matches ({_HEADER}) VALUES ({_VALUES})
        ON CONFLICT DO NOTHING
        RETURNING match_id
    ), due AS (
        INSERT INTO agenda SELECT match_id, {_DUE} FROM created WHERE {_DUE} IS NOT NULL
    )
    SELECT match_id FROM created
"""

# Many entries at once, at most one of each match, and of each whether it was added. They are added
# in order of the matches, lest two servers that add to the same ones wait for each other for ever.
APPEND = """
    WITH asked AS (
        SELECT * FROM unnest(
            $1::text[], $2::integer[], $3::smallint[], $4::smallint[], $5::bigint[], $6::bytea[],
            $7::bigint[], $8::bytea[], $9::boolean[], $10::bigint[]
        ) AS asked
            (match_id, version, kind, seat, at, action, expected_version, request_id, over, due)
    ), added AS (
        INSERT INTO entries
        SELECT match_id, version, kind, seat, at, action, expected_version, request_id
        FROM asked
        WHERE CASE WHEN version = 1
            THEN EXISTS (SELECT 1 FROM matches WHERE matches.match_id = asked.match_id)
            ELSE EXISTS (
                SELECT 1 FROM entries
                WHERE entries.match_id = asked.match_id AND entries.version = asked.version - 1
            )
        END
        ORDER BY match_id
        ON CONFLICT DO NOTHING
        RETURNING match_id
    ), ended AS (
        UPDATE matches SET ended = asked.at
        FROM asked JOIN added USING (match_id)
        WHERE asked.over AND matches.match_id = asked.match_id
    ), done AS (
        DELETE FROM agenda
        USING asked JOIN added USING (match_id)
        WHERE asked.due IS NULL AND agenda.match_id = asked.match_id
    ), due AS (
        INSERT INTO agenda
        SELECT match_id, due FROM asked JOIN added USING (match_id) WHERE due IS NOT NULL
        ON CONFLICT (match_id) DO UPDATE SET at = excluded.at
    )
    SELECT match_id FROM added
"""

# Servers that forget at the same time share the work.
FORGET = """
    WITH old AS (
        SELECT match_id FROM matches WHERE ended < $1
        ORDER BY ended LIMIT $2 FOR UPDATE SKIP LOCKED
    ), no_entries AS (
        DELETE FROM entries USING old WHERE entries.match_id = old.match_id
    ), no_snapshots AS (
        DELETE FROM snapshots USING old WHERE snapshots.match_id = old.match_id
    ), not_due AS (
        DELETE FROM agenda USING old WHERE agenda.match_id = old.match_id
    )
    DELETE FROM matches USING old WHERE matches.match_id = old.match_id RETURNING old.match_id
"""

KEEP = """
    INSERT INTO snapshots VALUES ($1, $2, $3)
    ON CONFLICT (match_id) DO UPDATE SET version = excluded.version, data = excluded.data
    WHERE excluded.version > snapshots.version
"""


async def migrate(connection: Any) -> None:
    """Brings a database up to date; raises ValueError if it is newer than this program."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute("CREATE TABLE IF NOT EXISTS croupier_schema (version integer)")
        version = await connection.fetchval("SELECT version FROM croupier_schema")
        if version is None:
            version = 0
            await connection.execute("INSERT INTO croupier_schema VALUES (0)")
        if version > len(MIGRATIONS):
            raise ValueError(
                f"the database was written by a newer Croupier: its schema is {version}, and this "
                f"one knows {len(MIGRATIONS)}"
            )
        for statements in MIGRATIONS[version:]:
            await connection.execute(statements)
        await connection.execute("UPDATE croupier_schema SET version = $1", len(MIGRATIONS))


async def read_match(connection: Any, match_id: str) -> Stored | None:
    """All that is stored of a match, if there is such a match."""
    row = await connection.fetchrow(
        f"SELECT {_HEADER}, snapshots.version, snapshots.data "
        "FROM matches LEFT JOIN snapshots USING (match_id) WHERE match_id = $1",
        match_id,
    )
    if row is None:
        return None
    *fields, version, data = row
    header = Header(*fields)
    return Stored(
        header._replace(bots=tuple(header.bots)),
        # After the snapshot, so that it is never ahead of them.
        await read_entries(connection, match_id, 0),
        None if version is None else Snapshot(version, data),
    )


async def read_entries(connection: Any, match_id: str, version: int) -> list[Entry]:
    """The entries after the first `version` ones."""
    rows = await connection.fetch(
        "SELECT kind, seat, at, action, expected_version, request_id FROM entries "
        "WHERE match_id = $1 AND version > $2 ORDER BY version",
        match_id,
        version,
    )
    return [
        Entry(EntryKind(kind), seat, at, action, expected_version, request_id.decode())
        for kind, seat, at, action, expected_version, request_id in rows
    ]


async def read_heads(connection: Any, match_ids: list[str]) -> dict[str, int]:
    """How many entries each match has; only of those that have some."""
    rows = await connection.fetch(
        "SELECT match_id, max(version) FROM entries WHERE match_id = ANY($1) GROUP BY match_id",
        match_ids,
    )
    return {row[0]: row[1] for row in rows}


async def read_due(connection: Any, until: int, most: int) -> list[Due]:
    """The matches that are due by then, the most overdue first."""
    rows = await connection.fetch(
        "SELECT match_id, at FROM agenda WHERE at <= $1 ORDER BY at LIMIT $2", until, most
    )
    return [Due(*row) for row in rows]


async def read_listed(connection: Any, query: Query, most: int) -> list[Listed]:
    """The matches that are asked for, the newest first, at most so many."""
    conditions: list[str] = ["TRUE"]
    values: list[Any] = [most]
    if query.game:
        values.append(query.game)
        conditions.append(f"game = ${len(values)}")
    if query.over is not None:
        conditions.append(f"ended IS {'NOT ' if query.over else ''}NULL")
    if query.before is not None:
        values.extend(query.before)
        conditions.append(f"(created, match_id) < (${len(values) - 1}, ${len(values)})")
    rows = await connection.fetch(
        "SELECT match_id, game, bots, created, ended, coalesce((SELECT max(version) FROM entries "
        "WHERE entries.match_id = matches.match_id), 0) "
        f"FROM matches WHERE {' AND '.join(conditions)} "
        "ORDER BY created DESC, match_id DESC LIMIT $1",
        *values,
    )
    return [Listed(*row)._replace(bots=tuple(row[2])) for row in rows]


def is_fault_of_ours(error: Exception) -> bool:
    """Whether a statement itself was wrong, rather than the database away or overloaded."""
    return isinstance(
        error,
        asyncpg.SyntaxOrAccessError | asyncpg.DataError | asyncpg.IntegrityConstraintViolationError,
    )
