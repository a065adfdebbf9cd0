"""The tables of the PostgreSQL log: how they are created, read and written."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import asyncpg

from service.store import chain, chaining, queries
from service.store.chain import Entry
from service.store.interface import (
    COLUMNS,
    ENTRIES_AT_ONCE,
    OLDEST,
    DueMatch,
    Head,
    Header,
    Later,
    MatchStatus,
    Seated,
    Snapshot,
    StoredMatch,
    check_newest,
    check_schema,
    read_columns,
    read_key,
    write_columns,
)
from service.store.jobs import Append
from service.store.postgresql_feed import LAST_TOLD

_log = logging.getLogger(__name__)

# Held so that of several servers that start, one creates the tables.
_LOCK = 0x43525550

# What makes a database of the schema OLDEST. The position of what is written in the feed is its
# transaction.
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
# From schema 9: the chain of each match, and its head, which takes over what the agenda holds. A
# server of schema 9 that goes on meanwhile cannot add anything from then on.
_CHAIN = """
    -- Who adds to a version knows all requests up to it.
    DROP INDEX entries_requests;
    ALTER TABLE matches ADD COLUMN salt bytea NOT NULL DEFAULT '',
        ADD COLUMN names_hash bytea NOT NULL DEFAULT '',
        ADD COLUMN course bytea NOT NULL DEFAULT '',
        ADD COLUMN facts_seal bytea NOT NULL DEFAULT '';
    ALTER TABLE entries ADD COLUMN names bytea NOT NULL DEFAULT '',
        ADD COLUMN course bytea NOT NULL DEFAULT '',
        ADD COLUMN digest bytea NOT NULL DEFAULT '';
    CREATE TABLE heads (
        match_id text COLLATE "C" PRIMARY KEY,
        version integer NOT NULL,
        digest bytea NOT NULL,
        at bigint NOT NULL,
        over boolean NOT NULL,
        seal bytea NOT NULL,
        due bigint
    ) WITH (fillfactor = 50);
    CREATE INDEX heads_due ON heads (due) WHERE due IS NOT NULL;
    -- The starts of servers, in order: what epoch began then, and after which position of the feed.
    CREATE TABLE incarnations (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        epoch text NOT NULL,
        begins bigint
    );
    INSERT INTO incarnations (epoch, begins) VALUES ('', 0);
"""
# What a server of schema 9 writes lacks what has these defaults. It takes the error for a database
# that is away, and says so to its callers, who ask another server; for that its table stays.
_CHAINED = """
    DELETE FROM agenda;
    CREATE OR REPLACE FUNCTION croupier_is_too_old() RETURNS bytea LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'this Croupier is too old for the log, which a newer one has brought to '
            'schema 10: stop it' USING ERRCODE = 'invalid_schema_name';
    END $$;
    ALTER TABLE matches ALTER COLUMN facts_seal SET DEFAULT croupier_is_too_old();
    ALTER TABLE entries ALTER COLUMN digest SET DEFAULT croupier_is_too_old();
"""


async def _chain(connection: Any) -> None:
    await connection.execute(_CHAIN)
    key = await connection.fetchval("SELECT value FROM settings WHERE name = 'key'")
    if key is not None:
        value = chain.sealed("key", key)
        await connection.execute("UPDATE settings SET value = $1 WHERE name = 'key'", value)
    ids = [match_id for (match_id,) in await connection.fetch("SELECT match_id FROM matches")]
    for number, match_id in enumerate(ids, 1):
        with chaining.sparing_others(match_id):
            await _chain_match(connection, match_id)
        if number % 10_000 == 0:
            _log.info("the log is brought up to date: %d of %d matches", number, len(ids))
    await connection.execute(_CHAINED)


async def _chain_match(connection: Any, match_id: str) -> None:
    ended, due, *columns = await connection.fetchrow(
        f"SELECT ended, agenda.at, {chaining.earlier(_HEADER)} FROM matches "
        "LEFT JOIN agenda USING (match_id) "
        "WHERE match_id = $1",
        match_id,
    )
    told = await connection.fetch(chaining.TOLD, match_id)
    before = _READ_ENTRIES  # These come later.
    for column in ("newest.ahead", "newest.erased"):
        before = before.replace(column, "''::bytea")
    [(_, entries)] = await _read_entries(connection, [(match_id, 0)], before)
    rows = chaining.chained(read_columns(columns), entries, told, ended, due)
    await connection.execute(chaining.MATCH, *rows.match)
    await connection.executemany(chaining.ENTRY, rows.entries)
    await connection.execute(chaining.HEAD, *rows.head)


# From schema 10: what seats have decided ahead. A server of schema 10 that goes on meanwhile drops
# it with the next version of the match.
_AHEAD = "ALTER TABLE heads ADD COLUMN ahead bytea NOT NULL DEFAULT ''"


# From schema 11: whose matches are whose, so that they are listed without reading others; and how
# long spectators have to wait. Players who join by a server of schema 11 that goes on meanwhile are
# not found, and it takes matches with such a delay for damaged.
_LISTS = """
    ALTER TABLE matches ADD COLUMN spectator_delay bigint NOT NULL DEFAULT 0;
    CREATE INDEX matches_game ON matches (game, created, match_id);
    CREATE INDEX matches_owner ON matches (owner, created, match_id) WHERE owner <> '';
    CREATE INDEX matches_owner_game ON matches (owner, game, created, match_id)
        WHERE owner <> '';
    CREATE TABLE players (
        match_id text COLLATE "C" NOT NULL,
        player text NOT NULL,
        since bigint NOT NULL,
        player_seal bytea NOT NULL,
        PRIMARY KEY (match_id, player)
    );
    CREATE INDEX players_matches ON players (player, since, match_id);
"""


# From schema 12: what names were erased, and which seats a player has. Of those who have one
# already that is not known. A server of schema 12 that goes on meanwhile shows names that were
# erased, where it has them in memory, and takes a match of which some are left for damaged.
_NAMES = """
    ALTER TABLE heads ADD COLUMN erased bytea NOT NULL DEFAULT '';
    ALTER TABLE players ADD COLUMN seats integer NOT NULL DEFAULT 0;
"""


# From schema 13: what seats may not offer each other. A server of schema 13 that goes on meanwhile
# takes a match that forbids something for damaged.
_OFFERS = "ALTER TABLE matches ADD COLUMN forbidden_offers bytea NOT NULL DEFAULT ''"


# What leads from each schema to the next one. A released migration is never changed: a new one is
# added at the end.
MIGRATIONS: tuple[str | Callable[[Any], Awaitable[None]], ...] = (
    *(_chain, _AHEAD, _LISTS, _NAMES, _OFFERS),
)

_HEADER = ", ".join(COLUMNS)
_VALUES = ", ".join(f"${number}" for number in range(1, len(COLUMNS) + 1))
_FACTS_SEAL, _ENDED, _FEED, _DIGEST, _SEAL, _DUE, _ERASED, _PLAYERS, _PLAYER_SEALS, _SEATS = (
    f"${len(COLUMNS) + number}" for number in range(1, 11)
)

# The position of what is written, as `queries.write_position` writes it.
_POSITION = "int8send(pg_current_xact_id()::text::bigint)"
_CREATE = f"""
    WITH created AS (
        INSERT INTO matches ({_HEADER}, facts_seal, ended, feed)
        VALUES ({_VALUES}, {_FACTS_SEAL}, {_ENDED}::bigint, {_FEED}::bytea || {_POSITION})
        ON CONFLICT DO NOTHING
        RETURNING match_id, created, ended
    ), seated AS (
        INSERT INTO players
        SELECT match_id, player, created, player_seal, seats
        FROM created,
            unnest({_PLAYERS}::text[], {_PLAYER_SEALS}::bytea[], {_SEATS}::integer[])
            AS of (player, player_seal, seats)
    )
    INSERT INTO heads ({queries.HEAD_COLUMNS}, due, erased)
    SELECT match_id, 0, {_DIGEST}::bytea, created, ended IS NOT NULL, {_SEAL}::bytea,
        {_DUE}::bigint, {_ERASED}::bytea
    FROM created
    RETURNING match_id
"""

# Many entries at once, at most one of each match; returns the matches whose entry was added. They
# are added in order of the matches, lest two servers that add to the same matches wait for each
# other for ever.
_ENTRY = (
    "match_id, version, kind, seat, at, action, expected_version, request_id, names, course, digest"
)
_APPEND = f"""
    WITH asked AS (
        SELECT * FROM unnest(
            $1::text[], $2::integer[], $3::smallint[], $4::smallint[], $5::bigint[], $6::bytea[],
            $7::bigint[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[],
            $13::bytea[], $14::boolean[], $15::bytea[], $16::bigint[], $17::bytea[], $18::bytea[],
            $19::bytea[], $20::text[], $21::bytea[], $22::integer[], $23::bytea[]
        ) AS asked (
            {_ENTRY}, told, before, over, seal, due, ahead_before, ahead, erased, player,
            player_seal, seats, seal_of_both
        )
    ), unchanged AS (
        -- What was decided ahead can be taken back without a version, and is not made after that.
        SELECT match_id FROM heads JOIN asked USING (match_id)
        WHERE ahead_before <> '' AND heads.ahead = ahead_before
        ORDER BY match_id FOR UPDATE OF heads
    ), added AS (
        INSERT INTO entries ({_ENTRY}, feed)
        SELECT {_ENTRY}, told || {_POSITION} FROM asked
        WHERE (
            SELECT heads.version = asked.version - 1 AND heads.digest = asked.before
                AND heads.erased = asked.erased
            FROM heads
            WHERE heads.match_id = asked.match_id
        ) AND (ahead_before = '' OR match_id IN (SELECT match_id FROM unchanged))
        ORDER BY match_id
        ON CONFLICT DO NOTHING
        RETURNING match_id
    ), ended AS (
        UPDATE matches SET ended = asked.at
        FROM asked JOIN added USING (match_id)
        WHERE asked.over AND matches.match_id = asked.match_id
    ), seated AS (
        -- Who has a seat already has both.
        INSERT INTO players
        SELECT match_id, player, created,
            CASE WHEN had.player_seal IS NULL THEN asked.player_seal ELSE seal_of_both END,
            CASE WHEN had.player_seal IS NULL THEN asked.seats ELSE 3 END
        FROM asked JOIN added USING (match_id) JOIN matches USING (match_id)
            LEFT JOIN players AS had USING (match_id, player)
        WHERE player <> ''
        ORDER BY match_id
        ON CONFLICT (match_id, player) DO UPDATE
            SET seats = excluded.seats, player_seal = excluded.player_seal
    )
    UPDATE heads SET version = asked.version, digest = asked.digest, at = asked.at,
        over = asked.over, seal = asked.seal, due = asked.due, ahead = asked.ahead
    FROM asked JOIN added USING (match_id)
    WHERE heads.match_id = asked.match_id
    RETURNING heads.match_id
"""

_READ_HEADERS = f"""
    SELECT {_HEADER}, ended, {queries.HEAD}, due, ahead, erased, snapshots.version, snapshots.data
    FROM matches LEFT JOIN heads USING (match_id) LEFT JOIN snapshots USING (match_id)
    WHERE match_id = ANY($1)
"""

# OFFSET 0 keeps a subquery as it is, so that each match is looked up in the index, and no table is
# read as a whole.
_READ_ENTRIES = """
    SELECT number, newest.version, newest.digest, newest.ahead, newest.erased, after.*
    FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS asked (match_id, known, number)
    LEFT JOIN heads AS newest USING (match_id)
    LEFT JOIN LATERAL (
        SELECT version, kind, seat, at, action, expected_version, request_id, names, course, digest
        FROM entries
        WHERE entries.match_id = asked.match_id AND version > known OFFSET 0
    ) AS after ON TRUE
    ORDER BY number, after.version
"""

_READ_HEADS = "SELECT match_id, version, digest, ahead, erased FROM heads WHERE match_id = ANY($1)"

CLOCK = "SELECT extract(epoch FROM clock_timestamp())"
LISTENER = "croupier listens"  # The name of connections that wait for notifications.
_COUNT_LISTENERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE application_name = $1 AND datname = current_database() AND pid <> pg_backend_pid()
"""

# Servers that delete at the same time share the work. The heads are locked first, as by whoever
# erases names meanwhile.
_DELETE_ENDED = f"""
    WITH oldest AS (
        -- Not where one bit has changed in the time.
        SELECT match_id, ended, version::bigint + 1 AS size FROM matches JOIN heads USING (match_id)
        WHERE ended < $1 AND at = ended
        ORDER BY ended, match_id LIMIT $2 FOR UPDATE OF heads SKIP LOCKED
    ), sized AS (
        SELECT match_id, sum(size) OVER (ORDER BY ended, match_id) - size AS earlier FROM oldest
    ), old AS (
        SELECT match_id FROM sized WHERE earlier < {ENTRIES_AT_ONCE}
    ), no_entries AS (
        DELETE FROM entries USING old WHERE entries.match_id = old.match_id
    ), no_snapshots AS (
        DELETE FROM snapshots USING old WHERE snapshots.match_id = old.match_id
    ), no_heads AS (
        DELETE FROM heads USING old WHERE heads.match_id = old.match_id
    ), no_players AS (
        DELETE FROM players USING old WHERE players.match_id = old.match_id
    ), told AS (
        -- Cursors may be there, which must not be lost with the entry.
        INSERT INTO settings SELECT 'feed_end', convert_to(({LAST_TOLD})::text, 'UTF8')
        WHERE EXISTS (SELECT FROM old)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
    )
    DELETE FROM matches USING old WHERE matches.match_id = old.match_id RETURNING old.match_id
"""

_WRITE_SNAPSHOTS = """
    INSERT INTO snapshots SELECT * FROM unnest($1::text[], $2::integer[], $3::bytea[])
    ON CONFLICT (match_id) DO UPDATE SET version = excluded.version, data = excluded.data
    WHERE excluded.version > snapshots.version
"""


# The head first, as an entry does.
_LOCK_HEAD = " FOR UPDATE OF heads"


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
        for number, change in enumerate((SCHEMA, *MIGRATIONS), OLDEST):
            if number > version:
                await (
                    connection.execute(change) if isinstance(change, str) else change(connection)
                )
        await connection.execute("UPDATE croupier_schema SET version = $1", newest)


async def check_open(connection: Any) -> None:
    """Raises ValueError if a database has no log, or its schema is not the newest one."""
    there = await connection.fetchval("SELECT to_regclass('croupier_schema') IS NOT NULL")
    version = await connection.fetchval("SELECT version FROM croupier_schema") if there else 0
    check_newest("the database", version, OLDEST + len(MIGRATIONS))


async def read_matches(
    connection: Any, match_ids: list[str]
) -> list[StoredMatch | chain.Damaged | None]:
    """All that is stored of each match, in two statements; None where there is no such match."""
    rows = {row[0]: row for row in await connection.fetch(_READ_HEADERS, match_ids)}
    # After the snapshots and the heads, so that they are never ahead of the entries.
    entries = await _read_entries(connection, [(match_id, 0) for match_id in rows])
    found: dict[str, StoredMatch | chain.Damaged] = {}
    for (match_id, row), (_, its_entries) in zip(rows.items(), entries, strict=True):
        *columns, version, data = row
        snapshot = None if version is None else Snapshot(version, data)
        try:
            found[match_id] = queries.stored(columns, its_entries, snapshot)
        except chain.Damaged as damage:
            found[match_id] = damage
    return [found.get(match_id) for match_id in match_ids]


class _Found(NamedTuple):
    # What is read of a match after a version: its newest version, and the entries.
    newest: Head | None
    entries: list[Entry]


async def _read_entries(
    connection: Any, asked: Sequence[tuple[str, int]], sql: str = _READ_ENTRIES
) -> list[_Found]:
    if not asked:
        return []
    found = [_Found(None, []) for _ in asked]
    rows = await connection.fetch(sql, *zip(*asked, strict=True))
    for number, newest, digest, ahead, erased, version, *columns in rows:
        if newest is not None:
            head = queries.read_head(asked[number - 1][0], newest, digest, ahead, erased)
            found[number - 1] = found[number - 1]._replace(newest=head)
        if version is not None:
            # A text that has changed must not keep the rows beside it from being read.
            columns[5] = columns[5].decode(errors="surrogateescape")
            found[number - 1].entries.append(Entry(*columns))
    return found


async def read_later(connection: Any, asked: Sequence[tuple[str, Head]]) -> list[Later | None]:
    """What comes after a version of each match; None where the log does not have the version."""
    found = await _read_entries(connection, [(match_id, head.version) for match_id, head in asked])
    return [
        queries.later(head, newest, entries)
        for (_, head), (newest, entries) in zip(asked, found, strict=True)
    ]


async def read_heads(connection: Any, match_ids: list[str]) -> dict[str, Head]:
    """The newest version of each match that there is."""
    rows = await connection.fetch(_READ_HEADS, match_ids)
    return {match_id: queries.read_head(match_id, *head) for match_id, *head in rows}


async def count_listeners(connection: Any) -> int:
    """How many other connections of this database wait for notifications of changes."""
    return int(await connection.fetchval(_COUNT_LISTENERS, LISTENER))


async def keep_first(connection: Any, offered: bytes) -> bytes:
    """The key that the database holds: the first that was ever offered."""
    await connection.execute(
        "INSERT INTO settings VALUES ('key', $1) ON CONFLICT DO NOTHING",
        chain.sealed("key", offered),
    )
    return read_key(await connection.fetchval("SELECT value FROM settings WHERE name = 'key'"))


async def create_matches(connection: Any, matches: Sequence[tuple[Header, MatchStatus]]) -> bool:
    """Adds matches unless there is one of the id of any; returns whether it did."""
    if len(matches) == 1:
        return await _create_match(connection, *matches[0])
    with suppress(_Taken):
        async with connection.transaction():
            # In order, lest two servers that create the same wait for each other for ever.
            for header, status in sorted(matches):
                if not await _create_match(connection, header, status):
                    raise _Taken
        return True
    return False


class _Taken(Exception):
    # There is a match of this id.
    pass


async def _create_match(connection: Any, header: Header, status: MatchStatus) -> bool:
    match_id, at = header.match_id, header.created
    head = queries.head_row(match_id, Head(0, chain.first_digest(header)), at, over=status.over)
    values = (
        *write_columns(header),
        queries.facts_seal(header),
        at if status.over else None,
        queries.sealed_feed(match_id, 0, at, status.feed),
        head[2],
        head[-1],
        status.due,
        queries.sealed_erased(match_id, header.erased),
        [each.player for each in status.players],
        [queries.player_seal(match_id, each) for each in status.players],
        [each.seats for each in status.players],
    )
    # Of a match that is not in its table there may be the rest.
    with suppress(asyncpg.UniqueViolationError):
        return await connection.fetchval(_CREATE, *values) is not None
    return False


async def append_entries(connection: Any, appends: Sequence[Append]) -> set[str]:
    """Adds at most one entry to each match; returns the ids of those that took theirs."""
    rows = zip(*map(_appended, appends), strict=True)
    return {match_id for (match_id,) in await connection.fetch(_APPEND, *rows)}


def _appended(append: Append) -> tuple[Any, ...]:
    _, match_id, before, entry, status, _ = append
    kind, seat, at, action, expected_version, request_id, *chained = entry
    version = before.version + 1
    feed = queries.sealed_feed(match_id, version, at, status.feed)
    head = queries.head_row(match_id, Head(version, entry.digest), at, over=status.over)
    row = (match_id, version, kind, seat, at, action, expected_version, request_id.encode())
    ahead = queries.sealed_ahead(match_id, Head(version, entry.digest, status.ahead))
    held = queries.sealed_ahead(match_id, before)
    row = (*row, *chained, feed, before.digest, status.over, head[-1], status.due, held, ahead)
    [seated] = status.players or [Seated("", 0)]  # One at most.
    erased = queries.sealed_erased(match_id, before.erased)
    return (*row, erased, *queries.seat_row(match_id, seated))


async def replace_ahead(
    connection: Any, match_id: str, head: Head, ahead: bytes, due: int | None
) -> bool:
    """Replaces what seats have decided ahead if this is the head; returns whether it did."""
    values = queries.replaced_ahead(match_id, head, ahead, due)
    done = await connection.execute(queries.REPLACE_AHEAD, *values)
    return bool(done == "UPDATE 1")


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


async def erase_names(connection: Any, match_id: str, seats: int) -> bool:
    """Erases the names of seats, as `queries.erasing` says; returns whether there were any."""
    async with connection.transaction():
        erasing, found = queries.erasing(match_id, seats, _LOCK_HEAD), None
        while True:
            try:
                sql, *values = erasing.send(found)
            except StopIteration as done:
                return bool(done.value)
            found = await connection.fetch(sql, *values)


def is_fault_of_ours(error: Exception) -> bool:
    """Whether a statement itself was wrong, rather than the database away or overloaded."""
    return isinstance(
        error,
        asyncpg.SyntaxOrAccessError | asyncpg.DataError | asyncpg.IntegrityConstraintViolationError,
    )
