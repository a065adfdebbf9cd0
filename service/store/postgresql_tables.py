"""The tables of the PostgreSQL log: how they are created, read and written."""

from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg

from service.store import queries
from service.store.interface import (
    OLDEST,
    DueMatch,
    Entry,
    Head,
    Header,
    IdleMatch,
    ListedMatch,
    MatchStatus,
    Query,
    Snapshot,
    StoredMatch,
    Update,
    Updates,
    check_schema,
    read_columns,
    write_columns,
)
from service.store.jobs import Append

# Held so that of several servers that start, one creates the tables.
_LOCK = 0x43525550

# What makes a database of the schema OLDEST. The table that holds the schedule of due matches is
# called `agenda`, since the name of a table in existing databases cannot change. The position of
# what is written in the feed is its transaction.
SCHEMA = """
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
        ended bigint,
        entropy_from_seats boolean NOT NULL DEFAULT false,
        time_control bytea NOT NULL DEFAULT '',
        creator text NOT NULL DEFAULT '',
        invited bytea NOT NULL DEFAULT '',
        key_names bytea NOT NULL DEFAULT '',
        model text NOT NULL DEFAULT '',
        display_names bytea NOT NULL DEFAULT '',
        hint_policy integer NOT NULL DEFAULT 0,
        start bytea NOT NULL DEFAULT '',
        owner text NOT NULL DEFAULT '',
        rematch_of text NOT NULL DEFAULT '',
        feed_position bigint DEFAULT pg_current_xact_id()::text::bigint,
        feed bytea
    );
    CREATE INDEX matches_created ON matches (created, match_id);
    CREATE INDEX matches_running ON matches (created, match_id) WHERE ended IS NULL;
    CREATE INDEX matches_ended ON matches (ended) WHERE ended IS NOT NULL;
    CREATE INDEX matches_live ON matches (creator) WHERE ended IS NULL AND creator <> '';
    CREATE INDEX matches_feed ON matches (feed_position) WHERE feed_position IS NOT NULL;
    CREATE INDEX matches_owned ON matches (owner, created, match_id)
        WHERE ended IS NULL AND owner <> '';
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
        feed_position bigint DEFAULT pg_current_xact_id()::text::bigint,
        feed bytea,
        PRIMARY KEY (match_id, version)
    );
    CREATE UNIQUE INDEX entries_requests ON entries (match_id, seat, request_id)
        WHERE request_id <> '';
    CREATE INDEX entries_feed ON entries (feed_position) WHERE feed_position IS NOT NULL;
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
"""
# What leads from each schema to the next one. A released migration is never changed: a new one is
# added at the end. Servers of the version before go on while it is carried out.
MIGRATIONS: tuple[str, ...] = ()

_HEADER = ", ".join(Header._fields)
_VALUES = ", ".join(f"${number}" for number in range(1, len(Header._fields) + 1))
_DUE = f"${len(Header._fields) + 1}::bigint"
_FEED = f"${len(Header._fields) + 2}"

_CREATE = f"""
    WITH created AS (
        INSERT INTO matches ({_HEADER}, feed) VALUES ({_VALUES}, {_FEED})
        ON CONFLICT DO NOTHING
        RETURNING match_id
    ), due AS (
        INSERT INTO agenda SELECT match_id, {_DUE} FROM created WHERE {_DUE} IS NOT NULL
    )
    SELECT match_id FROM created
"""

# Many entries at once, at most one of each match; returns the matches whose entry was added. They
# are added in order of the matches, lest two servers that add to the same matches wait for each
# other for ever. A subquery that yields one value is looked up row by row; EXISTS could be answered
# by reading the whole table once.
_ADDED = """
    INSERT INTO entries (
        match_id, version, kind, seat, at, action, expected_version, request_id, feed
    )
    SELECT match_id, version, kind, seat, at, action, expected_version, request_id, feed
    FROM asked
    WHERE CASE WHEN version = 1
        THEN (
            SELECT since IS NULL OR created = since FROM matches
            WHERE matches.match_id = asked.match_id
        )
        ELSE (
            SELECT since IS NULL OR entries.at = since FROM entries
            WHERE entries.match_id = asked.match_id AND entries.version = asked.version - 1
        )
    END
    ORDER BY match_id
    ON CONFLICT DO NOTHING
    RETURNING match_id
"""
_ENTRY_COLUMNS = "match_id, version, kind, seat, at, action, expected_version, request_id, feed"
_ENTRY_ARRAYS = """
    $1::text[], $2::integer[], $3::smallint[], $4::smallint[], $5::bigint[], $6::bytea[],
    $7::bigint[], $8::bytea[], $9::bytea[], $10::bigint[]
"""
_APPEND_ENTRIES = f"""
    WITH asked AS (
        SELECT * FROM unnest({_ENTRY_ARRAYS}) AS asked ({_ENTRY_COLUMNS}, since)
    )
    {_ADDED}
"""
# The same where the status of a match may change, which takes nearly twice as long.
_APPEND = f"""
    WITH asked AS (
        SELECT * FROM unnest({_ENTRY_ARRAYS}, $11::boolean[], $12::bigint[])
            AS asked ({_ENTRY_COLUMNS}, since, over, due)
    ), added AS (
        {_ADDED}
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

_READ_HEADERS = f"""
    SELECT {_HEADER}, snapshots.version, snapshots.data
    FROM matches LEFT JOIN snapshots USING (match_id) WHERE match_id = ANY($1)
"""

# OFFSET 0 keeps a subquery as it is, so that each match is looked up in the index, and no table is
# read as a whole.
_READ_ENTRIES = """
    SELECT number, after.*
    FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS asked (match_id, known, number),
    LATERAL (
        SELECT version, kind, seat, at, action, expected_version, request_id FROM entries
        WHERE entries.match_id = asked.match_id AND version > known OFFSET 0
    ) AS after
    ORDER BY number, version
"""

_READ_HEADS = """
    SELECT match_id, coalesce(version, 0), coalesce(at, created)
    FROM matches LEFT JOIN LATERAL (
        SELECT version, at FROM entries WHERE entries.match_id = matches.match_id
        ORDER BY version DESC LIMIT 1
    ) AS newest ON TRUE
    WHERE match_id = ANY($1)
"""

# It changes with another database, and when a standby has taken over.
_EPOCH = """
    (SELECT system_identifier FROM pg_control_system())
    || '-' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
"""

# All transactions before this position are over, so that nothing is ever added before it. The
# positions of a database begin anew with another one, and may repeat when a standby has taken over.
_FEED_END = f"SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1, {_EPOCH}"
# A transaction is never split.
_READ_UPDATES = """
    SELECT entries.feed_position, match_id, version, at, created, owner,
        coalesce(entries.feed, ''),
        NOT EXISTS (
            SELECT FROM entries AS later
            WHERE later.match_id = entries.match_id AND later.version = entries.version + 1
        )
    FROM entries JOIN matches USING (match_id)
    WHERE entries.feed_position > $1 AND entries.feed_position <= $2
    UNION ALL
    SELECT feed_position, match_id, 0, created, created, owner, coalesce(feed, ''),
        NOT EXISTS (
            SELECT FROM entries WHERE entries.match_id = matches.match_id AND version = 1
        )
    FROM matches
    WHERE feed_position > $1 AND feed_position <= $2
    ORDER BY 1 FETCH FIRST $3 ROWS WITH TIES
"""
_READ_RUNNING = """
    SELECT 0, match_id, coalesce(version, 0), coalesce(at, created), created, owner,
        coalesce(CASE WHEN version IS NULL THEN running.feed ELSE newest.feed END, '')
    FROM (
        SELECT match_id, created, owner, feed FROM matches
        WHERE ended IS NULL AND (created, match_id) > ($1, $2) {of_owner}
        ORDER BY created, match_id LIMIT $3
    ) AS running LEFT JOIN LATERAL (
        SELECT version, at, feed FROM entries WHERE entries.match_id = running.match_id
        ORDER BY version DESC LIMIT 1
    ) AS newest ON TRUE
    ORDER BY created, match_id
"""
_READ_RUNNING_OF_ALL = _READ_RUNNING.format(of_owner="")
_READ_RUNNING_OF_ONE = _READ_RUNNING.format(of_owner="AND owner = $4 AND owner <> ''")

LISTENER = "croupier listens"  # The name of connections that wait for notifications.
_COUNT_LISTENERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE application_name = $1 AND datname = current_database() AND pid <> pg_backend_pid()
"""

# Servers that delete at the same time share the work.
_DELETE_ENDED = """
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

_WRITE_SNAPSHOTS = """
    INSERT INTO snapshots SELECT * FROM unnest($1::text[], $2::integer[], $3::bytea[])
    ON CONFLICT (match_id) DO UPDATE SET version = excluded.version, data = excluded.data
    WHERE excluded.version > snapshots.version
"""


async def migrate(connection: Any) -> None:
    """Brings a database up to date; raises ValueError if it is too old, or newer than this."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute("CREATE TABLE IF NOT EXISTS croupier_schema (version integer)")
        version = await connection.fetchval("SELECT version FROM croupier_schema")
        if version is None:
            version = 0
            await connection.execute("INSERT INTO croupier_schema VALUES (0)")
        newest = OLDEST + len(MIGRATIONS)
        check_schema("the database", version, newest)
        for number, statements in enumerate((SCHEMA, *MIGRATIONS), OLDEST):
            if number > version:
                await connection.execute(statements)
        await connection.execute("UPDATE croupier_schema SET version = $1", newest)


async def read_matches(connection: Any, match_ids: list[str]) -> list[StoredMatch | None]:
    """All that is stored of each match, in two statements; None where there is no such match."""
    rows = await connection.fetch(_READ_HEADERS, match_ids)
    headers = {row[0]: row for row in rows}
    # After the snapshots, so that no snapshot is ahead of its entries.
    entries = await read_entries(connection, [(match_id, 0) for match_id in headers])
    found: dict[str, StoredMatch] = {}
    for (match_id, row), its_entries in zip(headers.items(), entries, strict=True):
        *fields, version, data = row
        snapshot = None if version is None else Snapshot(version, data)
        found[match_id] = StoredMatch(read_columns(fields), its_entries, snapshot)
    return [found.get(match_id) for match_id in match_ids]


async def read_entries(connection: Any, asked: Sequence[tuple[str, int]]) -> list[list[Entry]]:
    """For each match and version of it, the entries that come after this version."""
    if not asked:
        return []
    found: list[list[Entry]] = [[] for _ in asked]
    for row in await connection.fetch(_READ_ENTRIES, *zip(*asked, strict=True)):
        number, _, kind, seat, at, action, expected_version, request_id = row
        found[number - 1].append(
            Entry(kind, seat, at, action, expected_version, request_id.decode())
        )
    return found


async def read_heads(connection: Any, match_ids: list[str]) -> dict[str, Head]:
    """The newest version of each match that there is."""
    rows = await connection.fetch(_READ_HEADS, match_ids)
    return {match_id: Head(version, at) for match_id, version, at in rows}


async def count_listeners(connection: Any) -> int:
    """How many other connections of this database wait for notifications of changes."""
    return int(await connection.fetchval(_COUNT_LISTENERS, LISTENER))


async def keep_first(connection: Any, offered: bytes) -> bytes:
    """The key that the database holds: the first that was ever offered."""
    await connection.execute(
        "INSERT INTO settings VALUES ('key', $1) ON CONFLICT DO NOTHING", offered
    )
    return bytes(await connection.fetchval("SELECT value FROM settings WHERE name = 'key'"))


async def create_match(connection: Any, header: Header, status: MatchStatus) -> bool:
    """Adds a match unless there is one of its id; returns whether it did."""
    values = (*write_columns(header), status.due, status.feed)
    return await connection.fetchval(_CREATE, *values) is not None


async def append_entries(connection: Any, appends: Sequence[Append]) -> set[str]:
    """Adds at most one entry to each match; returns the ids of those that took theirs."""
    rows = [
        (match_id, version + 1, *entry[:-1], entry.request_id.encode(), status.feed, since)
        for _, match_id, version, entry, status, _, since in appends
    ]
    statuses = [append.status for append in appends]
    if any(status.over or status.was_due or status.due is not None for status in statuses):
        over, due, *_ = zip(*statuses, strict=True)
        added = await connection.fetch(_APPEND, *zip(*rows, strict=True), over, due)
    else:
        added = await connection.fetch(_APPEND_ENTRIES, *zip(*rows, strict=True))
    return {match_id for (match_id,) in added}


async def write_snapshots(connection: Any, snapshots: Mapping[str, Snapshot]) -> None:
    """Stores the snapshots of matches, by their ids, in place of older ones."""
    # In order, lest two servers that store the same wait for each other for ever.
    rows = [(match_id, *snapshot) for match_id, snapshot in sorted(snapshots.items())]
    await connection.execute(_WRITE_SNAPSHOTS, *zip(*rows, strict=True))


async def reschedule(connection: Any, due: DueMatch, at: int) -> bool:
    """Makes a match due at another time unless that has changed; returns whether it did."""
    return bool(await connection.execute(queries.RESCHEDULE, at, *due) == "UPDATE 1")


async def delete_ended(connection: Any, before: int, limit: int) -> list[str]:
    """Deletes at most `limit` matches that ended before a time, the oldest first; returns them."""
    return [match_id for (match_id,) in await connection.fetch(_DELETE_ENDED, before, limit)]


async def read_due(connection: Any, until: int, limit: int) -> list[DueMatch]:
    """At most `limit` of the matches that are due by a time, the most overdue first."""
    return [DueMatch(*row) for row in await connection.fetch(queries.READ_DUE, until, limit)]


async def count_live(connection: Any, creator: str) -> int:
    """How many matches of a creator are not over."""
    return int(await connection.fetchval(queries.COUNT_LIVE, creator))


async def read_idle(
    connection: Any, before: int, after: IdleMatch | None, limit: int
) -> list[IdleMatch]:
    """At most `limit` matches that run, are not due and have no entry since a time."""
    values = queries.idle_after(before, after, limit)
    return [IdleMatch(*row) for row in await connection.fetch(queries.READ_IDLE, *values)]


async def read_listed(connection: Any, query: Query, limit: int) -> list[ListedMatch]:
    """At most `limit` of the matches that fit a query, the newest first."""
    sql, values = queries.list_matches(query, limit)
    return queries.listed(await connection.fetch(sql, *values))


async def read_updates(connection: Any, after: int | None, limit: int) -> Updates:
    """The feed after a position; without one its end alone."""
    ((end, epoch),) = await connection.fetch(_FEED_END)
    if after is None or end <= after:
        return Updates(epoch, end if after is None else after, [])
    rows = await connection.fetch(_READ_UPDATES, after, end, limit)
    updates = [Update(*update) for *update, newest in rows if newest]
    more = len(rows) >= limit
    return Updates(epoch, rows[-1][0] if more else end, updates, more)


async def read_running(
    connection: Any, owner: str | None, after: tuple[int, str], limit: int
) -> list[Update]:
    """At most `limit` of the matches of an owner that are not over, the oldest first."""
    if owner is None:
        rows = await connection.fetch(_READ_RUNNING_OF_ALL, *after, limit)
    else:
        rows = await connection.fetch(_READ_RUNNING_OF_ONE, *after, limit, owner)
    return [Update(*row) for row in rows]


def is_fault_of_ours(error: Exception) -> bool:
    """Whether a statement itself was wrong, rather than the database away or overloaded."""
    return isinstance(
        error,
        asyncpg.SyntaxOrAccessError | asyncpg.DataError | asyncpg.IntegrityConstraintViolationError,
    )
