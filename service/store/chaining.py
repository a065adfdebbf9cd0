"""How the matches of a log of schema 9, in which nothing is chained, get their chains.

What the log says when it is brought up to date is taken for what was written. Its entries have no
course: nothing is said of the rules under which they were made.
"""

import logging
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from service.store import chain, queries
from service.store.chain import Entry
from service.store.interface import Head, Header

_log = logging.getLogger(__name__)

_JOIN = 7  # The kind of the entries that hold names.


def earlier(columns: str) -> str:
    """The columns of a header as that schema has them, with nothing for those that came later."""
    # Nobody has a salt yet.
    for column, nothing in (("spectator_delay", "0"), ("forbidden_offers", "salt")):
        columns = columns.replace(column, f"{nothing} AS {column}")
    return columns


@contextmanager
def sparing_others(match_id: str) -> Iterator[None]:
    """Leaves a match without a head, so that it is refused as damaged, if it cannot be read."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, OverflowError, struct.error) as error:
        _log.error("match %a is damaged, and is refused from now on: %s", match_id, error)


class Rows(NamedTuple):
    """What to write for one match, in the order of the statements below."""

    match: tuple[Any, ...]
    entries: list[tuple[Any, ...]]
    head: tuple[Any, ...]


# The columns that change; the parameters that say where come last.
MATCH = (
    "UPDATE matches SET salt = $1, names_hash = $2, facts_seal = $3, feed = $4 WHERE match_id = $5"
)
ENTRY = (
    "UPDATE entries SET action = $1, names = $2, digest = $3, feed = $4 "
    "WHERE match_id = $5 AND version = $6"
)
HEAD = f"INSERT INTO heads ({queries.HEAD_COLUMNS}, due) VALUES ($1, $2, $3, $4, $5, $6, $7)"


# What the feed tells of a match, by version.
TOLD = (
    "SELECT 0 AS version, feed_position, feed FROM matches WHERE match_id = $1 UNION ALL "
    "SELECT version, feed_position, feed FROM entries WHERE match_id = $1 ORDER BY version"
)


def chained(
    header: Header,
    entries: Iterable[Entry],
    told: Iterable[tuple[int, int | None, bytes | None]],
    ended: int | None,
    due: int | None,
) -> Rows:
    """The rows of a match, where `told` has the rows of the statement TOLD."""
    header = header.salted()
    match_id, at = header.match_id, header.created
    head = Head(0, chain.first_digest(header))
    rows = []
    sealed = _sealed(match_id, at, *next(told := iter(told)))
    match = (header.salt, header.names_hash, queries.facts_seal(header), sealed, match_id)
    for entry, row in zip(entries, told, strict=True):
        version = row[0]
        if entry.kind == _JOIN:
            names = chain.salted(entry.action)
            entry = entry._replace(action=chain.hash_names(names), names=names)
        head, at = Head(version, chain.next_digest(head.digest, entry, b"")), entry.at
        sealed = _sealed(match_id, at, *row)
        rows.append((entry.action, entry.names, head.digest, sealed, match_id, version))
    over = ended is not None
    return Rows(match, rows, (*queries.head_row(match_id, head, at, over=over), due))


def _sealed(
    match_id: str, at: int, version: int, position: int | None, feed: bytes | None
) -> bytes:
    sealed = queries.sealed_feed(match_id, version, at, feed or b"")
    return sealed + queries.write_position(position or 0)
