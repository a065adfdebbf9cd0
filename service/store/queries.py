"""Statements for SQLite and for PostgreSQL alike, but for the sign before a parameter: `$`."""

from collections.abc import Iterable, Sequence
from typing import Any

from service.store.interface import IdleMatch, ListedMatch, Query

READ_DUE = "SELECT match_id, at FROM agenda WHERE at <= $1 ORDER BY at LIMIT $2"
RESCHEDULE = "UPDATE agenda SET at = $1 WHERE match_id = $2 AND at = $3"
COUNT_LIVE = "SELECT count(*) FROM matches WHERE creator = $1 AND creator <> '' AND ended IS NULL"

_LAST_AT = (
    "(SELECT at FROM entries WHERE entries.match_id = matches.match_id "
    "ORDER BY version DESC LIMIT 1)"
)
# In the order of the index `matches_running`, of which only older matches are read.
READ_IDLE = (
    "SELECT created, match_id FROM matches WHERE ended IS NULL AND created < $1 "
    "AND (created, match_id) > ($2, $3) "
    "AND NOT EXISTS (SELECT 1 FROM agenda WHERE agenda.match_id = matches.match_id) "
    f"AND coalesce({_LAST_AT}, 0) < $1 ORDER BY created, match_id LIMIT $4"
)


def idle_after(before: int, after: IdleMatch | None, limit: int) -> tuple[Any, ...]:
    """The parameters of READ_IDLE."""
    return (before, *(after or (0, "")), limit)


def list_matches(query: Query, limit: int) -> tuple[str, list[Any]]:
    """The statement that lists matches, and its parameters."""
    conditions = ["TRUE"]
    values: list[Any] = [limit]
    if query.game:
        values.append(query.game)
        conditions.append(f"game = ${len(values)}")
    if query.over is not None:
        conditions.append(f"ended IS {'NOT ' if query.over else ''}NULL")
    if query.before is not None:
        values.extend(query.before)
        conditions.append(f"(created, match_id) < (${len(values) - 1}, ${len(values)})")
    sql = (
        "SELECT match_id, game, bots, created, ended, coalesce((SELECT max(version) FROM entries "
        "WHERE entries.match_id = matches.match_id), 0), rules_version, "
        f"coalesce({_LAST_AT}, created), invited FROM matches WHERE {' AND '.join(conditions)} "
        "ORDER BY created DESC, match_id DESC LIMIT $1"
    )
    return sql, values


def listed(rows: Iterable[Sequence[Any]]) -> list[ListedMatch]:
    """The matches in the rows of that statement."""
    return [ListedMatch(*row)._replace(bots=tuple(row[2]), invited=tuple(row[8])) for row in rows]
