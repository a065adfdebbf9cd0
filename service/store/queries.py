"""Statements for SQLite and for PostgreSQL alike, but for the sign before a parameter: `$`."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, TypeAlias

from service.store import chain
from service.store.chain import Entry
from service.store.interface import (
    COLUMNS,
    DueMatch,
    Head,
    Header,
    HeldSeats,
    Later,
    ListedMatch,
    Position,
    Query,
    Seated,
    Snapshot,
    StoredMatch,
    Update,
    read_columns,
    write_columns,
)

READ_DUE = "SELECT match_id, due FROM heads WHERE due <= $1 ORDER BY due LIMIT $2"
RESCHEDULE = "UPDATE heads SET due = $1 WHERE match_id = $2 AND due = $3"
COUNT_LIVE = "SELECT count(*) FROM matches WHERE creator = $1 AND creator <> '' AND ended IS NULL"
# In the order of the index `matches_running`, of which only older matches are read.
READ_IDLE = (
    "SELECT created, match_id FROM matches JOIN heads USING (match_id) WHERE ended IS NULL "
    "AND created < $1 AND (created, match_id) > ($2, $3) AND due IS NULL AND at < $1 "
    "ORDER BY created, match_id LIMIT $4"
)
# What is shown of a match without reading it as a whole, and what tells whether it has changed.
FACTS = "match_id, game, bots, created, rules_version, invited, owner, facts_seal"
# The head of a match, the seal last. The times at which matches are due are without one: a server
# that acts too early sees that nothing is due, and one that reads a match corrects the time.
HEAD = "match_id, heads.version, heads.digest, heads.at, over, seal"
HEAD_COLUMNS = HEAD.replace("heads.", "")


def sealed_ahead(match_id: str, head: Head) -> bytes:
    """What seats have decided ahead, as it is stored; empty if they have not."""
    return chain.sealed(f"{match_id} ahead", head.digest + head.ahead) if head.ahead else b""


REPLACE_AHEAD = (
    "UPDATE heads SET ahead = $1, due = $6 "
    "WHERE match_id = $2 AND version = $3 AND digest = $4 AND ahead = $5"
)


def replaced_ahead(match_id: str, head: Head, ahead: bytes, due: int | None) -> tuple[Any, ...]:
    """The parameters of REPLACE_AHEAD."""
    after = sealed_ahead(match_id, head._replace(ahead=ahead))
    return after, match_id, *head[:2], sealed_ahead(match_id, head), due


def read_head(match_id: str, version: int, digest: bytes, ahead: Any, erased: Any) -> Head:
    """The head of a match from its columns."""
    head = Head(version, digest, b"", read_erased(match_id, erased))
    if ahead == b"":
        return head
    told = chain.unsealed(f"{match_id} ahead", ahead)
    if told is None:
        return head._replace(ahead=DAMAGED)
    of, ahead = told[: chain.DIGEST_BYTES], told[chain.DIGEST_BYTES :]
    # A server from before there were decisions ahead leaves them with the version before.
    return head._replace(ahead=ahead if of == digest else b"")


# What cannot be read, in place of decisions ahead or of what names are left: nobody has written it.
DAMAGED = b"?"


def sealed_erased(match_id: str, erased: bytes) -> bytes:
    """What names of a match are left, as it is stored; empty if none were erased."""
    return chain.sealed(f"{match_id} erased", erased) if erased else b""


def read_erased(match_id: str, stored: Any) -> bytes:
    """What names of a match are left, as in `Header`."""
    if not stored:  # None where there is no head.
        return b""
    erased = chain.unsealed(f"{match_id} erased", stored)
    return erased or DAMAGED


def facts_seal(header: Header) -> bytes:
    """The seal of the facts of a match."""
    return _facts_seal(
        header.match_id,
        header.game,
        bytes(header.bots),
        header.created,
        header.rules_version,
        bytes(header.invited),
        header.owner,
    )


def _facts_seal(match_id: str, *facts: Any) -> bytes:
    return chain.seal(match_id, repr(facts).encode())


def head_row(match_id: str, head: Head, at: int, *, over: bool) -> tuple[Any, ...]:
    """The columns HEAD of a match."""
    return (match_id, *head[:2], at, over, _head_seal(match_id, *head[:2], at, over))


def _head_seal(match_id: str, version: int, digest: bytes, at: int, over: bool) -> bytes:
    try:
        told = b"%d %d %d %s" % (version, at, over, digest)
    except TypeError:
        return b""  # A value that has changed may also be of another type.
    return chain.seal(match_id, told)


def is_whole(facts: Sequence[Any], head: Sequence[Any] | None = None) -> bool:
    """Whether the columns FACTS of a match, and HEAD, are as they were written."""
    *told, seal = facts
    if seal != _facts_seal(*told):
        return False
    return head is None or _is_head(head)


def _is_head(head: Sequence[Any]) -> bool:
    return head[-1] is not None and head[-1] == _head_seal(*head[:-1])


def due_matches(rows: Iterable[Sequence[Any]]) -> list[DueMatch]:
    """The matches in the rows of READ_DUE, whatever has become of their ids."""
    return [DueMatch(_as_text(match_id), due) for match_id, due in rows]


def list_matches(query: Query, limit: int) -> tuple[str, list[Any]]:
    """The statement that lists matches, and its parameters.

    It goes along an index of all matches, of a game, an owner, both, or a player.
    """
    tables, seated, created = "matches", "", "created"
    if query.player:
        # Most of a player's matches are over, so no index tells those that run.
        tables, seated, created = "players JOIN matches USING (match_id)", SEATED, "since"
    asked: list[tuple[str, tuple[Any, ...]]] = [
        ("game = {}", (query.game,) if query.game else ()),
        ("owner = {} AND owner <> ''", (query.owner,) if query.owner else ()),
        ("player = {}", (query.player,) if query.player else ()),
        (f"{created} >= {{}}", () if query.since is None else (query.since,)),
        (f"{created} < {{}}", () if query.until is None else (query.until,)),
        (f"({created}, match_id) < ({{}}, {{}})", query.before or ()),
    ]
    conditions, values = ["TRUE"], [limit]
    for condition, given in asked:
        if given:
            signs = (f"${len(values) + number}" for number in range(1, len(given) + 1))
            conditions.append(condition.format(*signs))
            values += given
    if query.over is not None:
        conditions.append(f"ended IS {'NOT ' if query.over else ''}NULL")
    sql = (
        f"SELECT {FACTS}, ended, {HEAD}, {_END}{seated} FROM {tables} "
        f"LEFT JOIN heads USING (match_id) WHERE {' AND '.join(conditions)} "
        f"ORDER BY {created} DESC, match_id DESC LIMIT $1"
    )
    return sql, values


# What the feed tells of the end of a match, which the deal may have brought.
_END = (
    "CASE WHEN NOT over THEN NULL WHEN heads.version = 0 THEN matches.feed ELSE (SELECT feed "
    "FROM entries WHERE entries.match_id = heads.match_id AND version = heads.version) END"
)
# What tells that a player has a seat of a match, besides the columns of a list.
SEATED = ", since, player_seal, seats"


LIST_PLAYERS = "SELECT player, seats FROM players WHERE match_id = $1 ORDER BY player"
LIST_SEATS = (
    "SELECT since, match_id, seats, player_seal FROM players "
    "WHERE player = $1 AND (since, match_id) > ($2, $3) ORDER BY since, match_id LIMIT $4"
)


def player_seal(match_id: str, seated: Seated) -> bytes:
    """The seal of a row of the table players."""
    # That of a row from before seats were known has none.
    seats = f" {seated.seats}" if seated.seats else ""
    return chain.seal(f"{match_id} player", (seated.player + seats).encode())


def seat_row(match_id: str, seated: Seated) -> tuple[Any, ...]:
    """A player, a seal and the seats; and the seal where the player then has both seats."""
    seal, both = (player_seal(match_id, each) for each in (seated, seated._replace(seats=3)))
    return seated.player, seal, seated.seats, both


def held_seats(player: str, rows: Iterable[Sequence[Any]]) -> list[HeldSeats]:
    """The matches in the rows of the statement LIST_SEATS."""
    return [
        HeldSeats(
            since, _as_text(match_id), seats, seal != player_seal(match_id, Seated(player, seats))
        )
        for since, match_id, seats, seal in rows
    ]


# Erasing names. The salt and what is left must not change meanwhile.
_NAMES = (
    "SELECT {columns}, heads.erased FROM heads JOIN matches USING (match_id) WHERE match_id = $1"
)
_IS_THERE = "SELECT 1 FROM matches WHERE match_id = $1"
_JOINED = "SELECT version, seat FROM entries WHERE match_id = $1 AND length(names) > 0"
_ERASE_JOINED = "UPDATE entries SET names = $1 WHERE match_id = $2 AND version = $3"
_ERASE = "UPDATE matches SET key_names = $1, display_names = $2, salt = $3 WHERE match_id = $4"
_MARK = "UPDATE heads SET erased = $1 WHERE match_id = $2"

# Statements with their parameters; what is sent is what the statement before has found.
Erasing: TypeAlias = Generator[tuple[Any, ...], Any, bytes]


def erasing(match_id: str, seats: int, lock: str = "") -> Erasing:
    """Erases the names of seats in one transaction.

    `lock` ends the statement that reads what must not change meanwhile. Returns what is then
    `Header.erased`, empty if there were no names; raises Damaged.
    """
    rows = yield _NAMES.format(columns=", ".join(COLUMNS)) + lock, match_id
    if not rows:
        if (yield _IS_THERE, match_id):
            raise chain.Damaged(match_id, 0, "the row of its head is missing")
        return b""
    *columns, erased = rows[0]
    header = _header(columns, erased)
    joined = yield _JOINED, match_id
    named = {seat for _, seat in joined}
    for seat, names in enumerate(zip(header.key_names, header.display_names, strict=True)):
        named |= {seat} if any(names) else set()
    seats &= sum(1 << seat for seat in named)
    if not seats:
        return b""
    for version, seat in joined:
        if seats >> seat & 1:
            yield _ERASE_JOINED, b"", match_id, version
    header = header.without_names(seats)
    written = dict(zip(COLUMNS, write_columns(header), strict=True))
    yield _ERASE, written["key_names"], written["display_names"], header.salt, match_id
    yield _MARK, sealed_erased(match_id, header.erased), match_id
    return header.erased


def listed(query: Query, rows: Iterable[Sequence[Any]]) -> list[ListedMatch]:
    """The matches in the rows of that statement."""
    return [_listed(query, row[:8], row[8], row[9:15], row[15], row[16:]) for row in rows]


def _listed(
    query: Query,
    facts: Sequence[Any],
    ended: int | None,
    head: Sequence[Any],
    end: Any,
    seated: Any,
) -> ListedMatch:
    match_id, game, bots, created, rules_version, invited, owner, _ = facts
    told = _unsealed_feed(match_id, head[1], head[3], end) if head[4] else b""
    # What an index says of a match may be another one's, too.
    if (
        not is_whole(facts, head)
        or ended != (head[3] if head[4] else None)
        or query.over not in (None, bool(head[4]))
        or query.owner not in ("", owner)
        or told is None
        or (seated and not _is_seated(match_id, created, query.player, *seated))
    ):
        # Its place in the list stays, lest the next page begin elsewhere.
        return ListedMatch(_as_text(match_id), "", (), created, None, 0, 0, 0, damaged=True)
    return ListedMatch(
        match_id=match_id,
        game=game,
        bots=tuple(bots),
        created=created,
        ended=ended,
        version=head[1],
        rules_version=rules_version,
        updated=head[3],
        invited=tuple(invited),
        told=told,
        seats=seated[2] if seated else 0,
    )


def _is_seated(match_id: str, created: int, player: str, since: int, seal: Any, seats: Any) -> bool:
    return (since, seal) == (created, player_seal(match_id, Seated(player, seats)))


def _as_text(match_id: Any) -> str:
    # An id that has changed may be no text any more.
    return str(match_id).encode(errors="replace").decode()


def read_update(position: int, *row: Any, damaged: bool = False) -> Update:
    """What the feed tells of a version: the columns FACTS, its number, its time and its feed."""
    facts, (version, at, feed) = row[:8], row[8:]
    match_id, _, _, created, _, _, owner, _ = facts
    told = _unsealed_feed(match_id, version, at, feed) if _is_at(position, feed) else None
    if damaged or told is None or not is_whole(facts):
        name = _as_text(match_id)
        return Update(position, name, version, at, created, "", b"", damaged=True)
    return Update(position, match_id, version, at, created, owner, told)


def read_updates(rows: Iterable[Sequence[Any]], *, running: bool = False) -> list[Update]:
    """What the feed tells by rows that have the columns HEAD, too: newest versions alone.

    The rows were found by indexes, which no seal covers: the head says which version is the newest.
    """
    updates = []
    for row in rows:
        told, head, version = row[:12], row[12:], row[9]
        whole = _is_head(head) and not (running and head[4])
        older = whole and isinstance(version, int) and version < head[1]
        if older and _is_at(row[0], row[11]):
            continue
        updates.append(read_update(*told, damaged=not whole or version != head[1]))
    return updates


def sealed_feed(match_id: str, version: int, at: int, feed: bytes) -> bytes:
    """What the feed tells of a version, as it is stored: its position, too, comes after this."""
    return chain.sealed(_of_version(match_id, version, at), feed)


def _unsealed_feed(match_id: str, version: int, at: int, feed: Any) -> bytes | None:
    # What was sealed so, without its position; None if something has changed.
    told = feed[:-POSITION_BYTES] if isinstance(feed, bytes) else None
    return chain.unsealed(_of_version(match_id, version, at), told)


POSITION_BYTES = 8


def write_position(position: int) -> bytes:
    """A position as it is beside what is told there."""
    return position.to_bytes(POSITION_BYTES)


def _is_at(position: int, feed: Any) -> bool:
    return isinstance(feed, bytes) and int.from_bytes(feed[-POSITION_BYTES:]) == position


def _of_version(match_id: str, version: int, at: int) -> str:
    return f"{match_id} {version} {at}"


# The feeds of entries are beside them, that of a match without entries in its own row.
_READ_RUNNING = """
    SELECT coalesce(
            CASE WHEN heads.version = 0 THEN matches.feed_position ELSE entries.feed_position END, 0
        ),
        {facts}, heads.version, heads.at,
        CASE WHEN heads.version = 0 THEN matches.feed ELSE entries.feed END, {head}
    FROM matches LEFT JOIN heads ON heads.match_id = matches.match_id LEFT JOIN entries
        ON entries.match_id = matches.match_id AND entries.version = heads.version
    WHERE ended IS NULL AND (created, matches.match_id) > ($1, $2) {of_owner}
    ORDER BY created, matches.match_id LIMIT $3
"""


def list_running(
    owner: str | None, after: tuple[int, str], limit: int
) -> tuple[str, tuple[Any, ...]]:
    """The statement that lists the matches of an owner that are not over, and its parameters."""
    told = {
        "facts": FACTS.replace("match_id", "matches.match_id"),
        "head": HEAD.replace("match_id", "matches.match_id"),
    }
    if owner is None:
        return _READ_RUNNING.format(**told, of_owner=""), (*after, limit)
    of_owner = "AND owner = $4 AND owner <> ''"
    return _READ_RUNNING.format(**told, of_owner=of_owner), (*after, limit, owner)


def is_told(after: Position, ended: int | None, epoch: str, end: int) -> bool:
    """Whether a log has told a position itself.

    `ended` is where the epoch of the position ended, None if it has not, or is not known; `epoch`
    is the newest one, and `end` where the feed ends.
    """
    if after.epoch == epoch:
        return after.number <= end
    return ended is not None and after.number <= min(ended, end)


def list_ids(table: str, after: str = "$1") -> str:
    """The statement that lists the ids of the matches of which a table has something."""
    columns = f"DISTINCT match_id FROM {table} WHERE match_id > {after}"
    return f"SELECT {columns} ORDER BY match_id LIMIT $2"


# All that the feed has ever told of a match.
READ_TOLD = f"""
    SELECT coalesce(feed_position, 0), {FACTS}, 0 AS version, created, coalesce(feed, '')
    FROM matches WHERE match_id = $1
    UNION ALL
    SELECT coalesce(entries.feed_position, 0), {FACTS}, version, at, coalesce(entries.feed, '')
    FROM entries JOIN matches USING (match_id) WHERE match_id = $1
    ORDER BY version
"""
READ_SETTINGS = "SELECT name, value FROM settings"
# Where epochs of the feed begin, in the order of their numbers.
READ_EPOCHS = "SELECT begins FROM incarnations WHERE begins IS NOT NULL ORDER BY number"


# Matches and their entries

READ_ENTRIES = (
    f"SELECT {', '.join(Entry._fields)} FROM entries "
    "WHERE match_id = $1 AND version > $2 ORDER BY version"
)


def stored(row: Sequence[Any], entries: list[Entry], snapshot: Snapshot | None) -> StoredMatch:
    """A match from its header, `ended`, HEAD, `due`, `ahead` and `erased`; raises Damaged."""
    count = len(COLUMNS)
    ended, head, (due, ahead, erased) = row[count], row[count + 1 : -3], row[-3:]
    if snapshot is not None and [*map(type, snapshot)] != [int, bytes]:
        snapshot = None  # It has changed, and is not missed.
    header = _header(row[:count], erased)
    if not _is_head(head) or ended != (head[3] if head[4] else None):
        raise chain.Damaged(header.match_id, len(entries), "the row of its head was changed")
    newest = read_head(header.match_id, head[1], head[2], ahead, erased)
    # Others may have come since: what was decided ahead of them is not in this head.
    return StoredMatch(header, entries[: newest.version], snapshot, newest, bool(head[4]), due)


def _header(columns: Sequence[Any], erased: Any) -> Header:
    # Raises Damaged.
    try:
        header = read_columns(columns)._replace(erased=read_erased(columns[0], erased))
        header.check()
    except (TypeError, ValueError, AttributeError):
        raise chain.Damaged(columns[0], 0, "its header was changed") from None
    return header


def later(head: Head, newest: Head | None, entries: list[Entry]) -> Later | None:
    """Entries after a version, if they go on up to the newest one, on the branch of both.

    None also if names were erased meanwhile, which are in what is known.
    """
    if newest is None or len(entries) < newest.version - head.version:
        return None
    if newest.erased != head.erased:
        return None
    entries = entries[: newest.version - head.version]  # Others may have come since.
    goes_on = chain.is_next(head.digest, entries[0]) if entries else newest[:2] == head[:2]
    return Later(newest, entries) if goes_on else None
