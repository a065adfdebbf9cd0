"""The feed in the PostgreSQL log: its positions, which are transactions, and its epochs."""

import secrets
from typing import Any

from service.store import queries
from service.store.interface import Position, Updates

# A position of another database means nothing, nor does one from before a standby took over.
_DATABASE = """
    (SELECT system_identifier FROM pg_control_system())
    || '-' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
"""
# The last position at which something was told, whether or not the match there was deleted.
LAST_TOLD = """
    greatest(
        (SELECT max(feed_position) FROM entries),
        (SELECT max(feed_position) FROM matches),
        (SELECT convert_from(value, 'UTF8')::bigint FROM settings WHERE name = 'feed_end'),
        0
    )
"""
_BEGIN_EPOCH = "INSERT INTO incarnations (epoch) VALUES ($1)"
# Only when all who read the feed see the new epoch, so that no position comes after the end of the
# epoch in which it was told.
_END_EPOCH = f"UPDATE incarnations SET begins = {LAST_TOLD} WHERE epoch = $1"
# All transactions before `settled` are over, so that nothing is ever added before it. `ended` is
# where the epoch ended that is asked for.
_READ_EPOCHS = f"""
    SELECT {_DATABASE}, newest.epoch, {LAST_TOLD},
        pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1,
        CASE WHEN told.number IS NOT NULL THEN (
            SELECT coalesce(min(begins), 9223372036854775807) FROM incarnations AS later
            WHERE later.number > told.number
        ) END
    FROM (SELECT epoch FROM incarnations ORDER BY number DESC LIMIT 1) AS newest
    LEFT JOIN incarnations AS told ON {_DATABASE} || told.epoch = $1
"""
# A transaction is never split.
_READ_UPDATES = f"""
    SELECT entries.feed_position, {queries.FACTS}, entries.version, entries.at,
        coalesce(entries.feed, ''), {queries.HEAD}
    FROM entries LEFT JOIN matches USING (match_id) LEFT JOIN heads USING (match_id)
    WHERE entries.feed_position > $1 AND entries.feed_position <= $2
    UNION ALL
    SELECT feed_position, {queries.FACTS}, 0, created, coalesce(feed, ''), {queries.HEAD}
    FROM matches LEFT JOIN heads USING (match_id)
    WHERE feed_position > $1 AND feed_position <= $2
    ORDER BY 1 FETCH FIRST $3 ROWS WITH TIES
"""


async def begin_epoch(connection: Any) -> None:
    """Begins an epoch of the feed: positions that come later than now were told by another log.

    So a log that was restored from a backup knows which positions it has not told itself.
    """
    epoch = f"-{secrets.token_hex(8)}"
    await connection.execute(_BEGIN_EPOCH, epoch)
    await connection.execute(_END_EPOCH, epoch)


async def read_updates(connection: Any, after: Position | None, limit: int) -> Updates | None:
    """The feed after a position; without one its end alone; None if another log has told it."""
    [row] = await connection.fetch(_READ_EPOCHS, "" if after is None else after.epoch)
    database, newest, last_told, settled, ended = row
    epoch = database + newest
    end = min(last_told, settled)
    if after is None:
        return Updates(epoch, end, [])
    if not queries.is_told(after, ended, epoch, end):
        return None
    if end <= after.number:
        return Updates(epoch, after.number, [])
    rows = await connection.fetch(_READ_UPDATES, after.number, end, limit)
    more = len(rows) >= limit
    return Updates(epoch, rows[-1][0] if more else end, queries.read_updates(rows), more)
