"""The chain of a match: each entry carries a digest over the one before and itself.

So "the same branch" is an equality. A log that lost entries, and went on otherwise, has other
digests, whatever its versions and times are; and a bit that has changed on the disk breaks the
chain at its entry. The first digest covers the header. The row of a match's head keeps the newest
one, since a chain that has lost its end is still a chain.

An entry and a deal also have a digest of their *course*: of all that the rules have made of the
match up to there. A replay that comes to another course runs under other rules. It has two parts:
what was told, and how many choices there were and the scores at the end. Rules that are no longer
the newest may tell more today, so of theirs only the second part is compared.

Names of people enter as a salted hash alone. Name and salt are beside it, and can be erased.

A digest tells what has changed by accident. It is no signature: whoever can write to the log can
make a chain. It never leaves the server as it is, since with it a seat could try out which decision
the other has made in secret (`etag`).
"""

import secrets
import struct
from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from engine.events import Event

DIGEST_BYTES = 16
SEAL_BYTES = 4
ETAG_BYTES = 8
SALT_BYTES = 16

_NOT_COVERED = ("key_names", "display_names", "salt", "erased")  # But `names_hash` is.
# The kind, the seat, the time, the expected version, and how long the two parts are that follow.
_ENTRY = struct.Struct("<BBqqII")


class Entry(NamedTuple):
    """One thing that happened to a match. The n-th entry makes version n of the match."""

    kind: int  # Of `service/hosting/entries.py:EntryKind`.
    seat: int  # Whose decision, clock or contribution it is; 0 where the match ends as idle.
    at: int  # Milliseconds since 1970, UTC; never less than that of the entry before.
    # A croupier.v1.MatchAction, the seat's contribution of entropy, or the hash of its `names`;
    # else empty.
    action: bytes = b""
    expected_version: int = 0
    request_id: str = ""  # Empty unless a caller has chosen one; used once by a seat of a match.
    # Of an entry by which a seat was joined, after a salt: the display name of the API key and,
    # after a zero character, that of the player. Empty if there are none, or if they were erased.
    names: bytes = b""
    # What it was given when it was added to the match. The course is empty where it is not known:
    # in entries that are older than it.
    course: bytes = b""
    digest: bytes = b""


class Damaged(Exception):
    """What a log says of a match is not what was written."""

    def __init__(self, match_id: str, version: int, what: str) -> None:
        """`version` is the first one that cannot be told; `what` says what is wrong with it."""
        super().__init__(f"match {match_id} is damaged at version {version}: {what}")
        self.match_id = match_id
        self.version = version
        self.what = what


def first_digest(header: Any) -> bytes:
    """The digest of a match without entries: that of its header (`interface.py:Header`)."""
    # A field that comes later changes nothing where it has its default.
    covered = [
        (name, value)
        for name, value in zip(header._fields, header, strict=True)
        if name not in _NOT_COVERED and value != header._field_defaults.get(name)
    ]
    return _digest(repr(covered).encode())


def next_digest(before: bytes, entry: Entry, course: bytes) -> bytes:
    """The digest of an entry of this course that comes after the one with the digest `before`."""
    request_id = entry.request_id.encode()
    digest = blake2b(before, digest_size=DIGEST_BYTES)
    digest.update(
        _ENTRY.pack(
            entry.kind,
            entry.seat,
            entry.at,
            entry.expected_version,
            len(entry.action),
            len(request_id),
        )
        + entry.action
        + request_id
        + course
    )
    return digest.digest()


def is_next(before: bytes, entry: Entry) -> bool:
    """Whether an entry comes after that of a digest, and nothing in it has changed."""
    try:
        return next_digest(before, entry, entry.course) == entry.digest
    except (TypeError, ValueError, AttributeError, struct.error):
        return False  # A value that has changed may also be of another type.


def check_next(match_id: str, version: int, before: bytes, entry: Entry) -> None:
    """Raises Damaged unless an entry, which makes a version, comes after that of a digest."""
    if not is_next(before, entry):
        raise Damaged(match_id, version, "its entry was changed, or the one before it is missing")
    if entry.names and not are_names(entry.names, entry.action):
        raise Damaged(match_id, version, "the names in its entry were changed")


def next_course(before: bytes, events: "Iterable[Event]", position: tuple[Any, ...]) -> bytes:
    """The course of an entry: that of the one before, and what the entry led to.

    That is its events, and of the position after it what does not hang on how it is laid out.
    """
    told, reached = int.from_bytes(before[:SEAL_BYTES]), int.from_bytes(before[SEAL_BYTES:])
    for kind, seat, values, audience in events:
        told = crc32(b"%s %d %d %s" % (kind.encode(), seat, audience, bytes(values)), told)
    reached = crc32(repr(position).encode(), reached)
    return told.to_bytes(SEAL_BYTES) + reached.to_bytes(SEAL_BYTES)


def leads_elsewhere(logged: bytes, course: bytes, *, newest_rules: bool) -> bool:
    """Whether a course is another one than the log has, as far as that is known."""
    if len(logged) != len(course):
        return False
    return logged != course if newest_rules else logged[SEAL_BYTES:] != course[SEAL_BYTES:]


def etag(secret: bytes, digest: bytes) -> str:
    """What callers are told of a digest: they can compare it, and guess nothing by it."""
    return blake2b(digest, digest_size=ETAG_BYTES, key=secret).hexdigest()


def salted(names: bytes) -> bytes:
    """Names and, before them, a new salt; empty if there are no names."""
    return names and secrets.token_bytes(SALT_BYTES) + names


def hash_names(names: bytes) -> bytes:
    """The hash of salted names; empty if there are none."""
    return names and _digest(names)


def are_names(names: Any, hashed: bytes) -> bool:
    """Whether salted names are those of a hash."""
    # A value that has changed may also be of another type.
    return isinstance(names, bytes) and hash_names(names) == hashed


def sealed(what: str, data: bytes) -> bytes:
    """Data that a log keeps beside the chain, with what tells whether it has changed."""
    return seal(what, data) + data


def unsealed(what: str, data: Any) -> bytes | None:
    """The data that was sealed as that of `what`; None if either has changed."""
    if not isinstance(data, bytes):  # A value that has changed may also be of another type.
        return None
    found, data = data[:SEAL_BYTES], data[SEAL_BYTES:]
    return data if found == seal(what, data) else None


def seal(what: str, data: bytes) -> bytes:
    """What tells whether data has changed, or is that of something else."""
    # Where that is a part of what has changed, it may be of another type, or no UTF-8.
    return crc32(data, crc32(repr(what).encode())).to_bytes(SEAL_BYTES)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES).digest()
