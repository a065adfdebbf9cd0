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


@contextmanager
def sparing_others(match_id: str) -> Iterator[None]:
    """Leaves a match without a head, so that it is refused as damaged, if it cannot be read."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, struct.error) as error:
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


def chained(
    header: Header,
    feed: bytes | None,
    entries: Iterable[tuple[Entry, bytes | None]],
    ended: int | None,
    due: int | None,
) -> Rows:
    """The rows of a match, where `feed` and what comes with each entry is what the feed tells."""
    header = header.salted()
    match_id, at = header.match_id, header.created
    head = Head(0, chain.first_digest(header))
    rows = []
    told = queries.sealed_feed(match_id, 0, at, feed or b"")
    match = (header.salt, header.names_hash, queries.facts_seal(header), told, match_id)
    for version, (entry, feed) in enumerate(entries, 1):
        if entry.kind == _JOIN:
            names = chain.salted(entry.action)
            entry = entry._replace(action=chain.hash_names(names), names=names)
        head, at = Head(version, chain.next_digest(head.digest, entry, b"")), entry.at
        told = queries.sealed_feed(match_id, version, at, feed or b"")
        rows.append((entry.action, entry.names, head.digest, told, match_id, version))
    over = ended is not None
    return Rows(match, rows, (*queries.head_row(match_id, head, at, over=over), due))
