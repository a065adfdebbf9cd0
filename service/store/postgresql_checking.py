"""A look at all that the PostgreSQL log has."""

from typing import Any

import asyncpg

from service.store import faults, queries
from service.store.interface import WITH_IDS, check_settings
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
