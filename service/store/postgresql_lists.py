"""What the PostgreSQL log lists of its matches, and a look at all that it has."""

from typing import Any

import asyncpg

from service.store import faults, queries
from service.store.interface import (
    WITH_IDS,
    DueMatch,
    HeldSeats,
    IdleMatch,
    ListedMatch,
    Query,
    Seated,
    Update,
    check_settings,
)
from service.store.postgresql_feed import LAST_TOLD

_TABLES = (*WITH_IDS, "players", "snapshots", "settings", "incarnations")
_READ_SECONDS = 86_400.0  # That one of them may take.


async def check(connection: Any) -> list[str]:
    """What is wrong with the files, and with the settings."""
    try:
        for table in _TABLES:
            # Each row as a whole, so that no index is read in its place.
            sql = f"SELECT count({table}) FROM {table}"
            await connection.fetchval(sql, timeout=_READ_SECONDS)
        begins = [begin for (begin,) in await connection.fetch(queries.READ_EPOCHS)]
        end = await connection.fetchval(f"SELECT {LAST_TOLD}")
        return check_settings(await connection.fetch(queries.READ_SETTINGS), begins, end)
    except asyncpg.PostgresError as error:
        if not faults.is_damage(error):
            raise
        return [f"a part of the database cannot be read: {error}"]


async def read_ids(connection: Any, table: str, after: str, limit: int) -> list[str]:
    """At most `limit` ids after one, in order, of matches of which a table has something."""
    rows = await connection.fetch(queries.list_ids(table), after, limit)
    return [match_id for (match_id,) in rows]


async def read_told(connection: Any, match_id: str) -> list[Update]:
    """What the feed has told of a match, by version."""
    rows = await connection.fetch(queries.READ_TOLD, match_id)
    return [queries.read_update(*row) for row in rows]


async def read_due(connection: Any, until: int, limit: int) -> list[DueMatch]:
    """At most `limit` of the matches that are due by a time, the most overdue first."""
    return queries.due_matches(await connection.fetch(queries.READ_DUE, until, limit))


async def count_live(connection: Any, creator: str) -> int:
    """How many matches of a creator are not over."""
    return int(await connection.fetchval(queries.COUNT_LIVE, creator))


async def read_players(connection: Any, match_id: str) -> list[Seated]:
    """Who has a seat of a match."""
    return [Seated(*row) for row in await connection.fetch(queries.LIST_PLAYERS, match_id)]


async def read_seats(
    connection: Any, player: str, after: tuple[int, str], limit: int
) -> list[HeldSeats]:
    """At most `limit` of the matches in which a player has a seat, the oldest first."""
    rows = await connection.fetch(queries.LIST_SEATS, player, *after, limit)
    return queries.held_seats(player, rows)


async def read_idle(
    connection: Any, before: int, after: IdleMatch | None, limit: int
) -> list[IdleMatch]:
    """At most `limit` matches that run, are not due and have no entry since a time."""
    values = queries.idle_after(before, after, limit)
    return [IdleMatch(*row) for row in await connection.fetch(queries.READ_IDLE, *values)]


async def read_listed(connection: Any, query: Query, limit: int) -> list[ListedMatch]:
    """At most `limit` of the matches that fit a query, the newest first."""
    sql, values = queries.list_matches(query, limit)
    return queries.listed(query, await connection.fetch(sql, *values))
