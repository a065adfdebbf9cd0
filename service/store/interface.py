"""The log of the matches: what was decided, and in which order. It is the only truth.

A match is its header and its entries; everything else is computed from them. An entry is in the log
or it is not, and an answered action is in it. Nothing here knows a rule: rulesets and actions are
serialized messages of the API, which outlast any change of the engine's own encodings.

What a store adds to that spares work: snapshots, which may be lost, and the agenda, which says what
is due so that it is found without reading every match. It is written with the entries.
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

KEY_BYTES = 32


class EntryKind(IntEnum):
    """What an entry is. The numbers are in every log: they are never used for anything else."""

    ACTION = 0
    RESIGNATION = 1
    EXPIRY = 2
    ENTROPY_HASH = 4
    ENTROPY = 5


class Header(NamedTuple):
    """What a match starts from."""

    match_id: str
    game: str
    ruleset: bytes  # A croupier.v1.Ruleset, as it was given.
    rules_version: int
    secret: bytes  # 32 bytes; all chance is drawn from it.
    chance_id: str  # The id under which it is drawn: the match's own, or none if seeded.
    bots: tuple[int, ...]  # A croupier.v1.BotStrength for each seat; 0: the seat is open.
    created: int  # Milliseconds since 1970, UTC.
    entropy_from_seats: bool = False  # Whether the open seats contribute to its chance.
    time_control: bytes = b""  # A croupier.v1.TimeControl, or nothing.

    @property
    def seeded(self) -> bool:
        """Whether its chance was drawn under no id."""
        return self.chance_id == ""

    @property
    def secret_hash(self) -> bytes:
        """What is published when the match is created."""
        return hashlib.sha256(self.secret).digest()


class Entry(NamedTuple):
    """One thing that a seat or its clock did. The n-th entry makes version n of the match."""

    kind: EntryKind
    seat: int
    at: int  # Milliseconds since 1970, UTC; never less than that of the entry before.
    # A croupier.v1.Action, or what the seat contributes to the chance; nothing where it gives up.
    action: bytes = b""
    expected_version: int = 0
    request_id: str = ""  # Empty unless a caller has chosen one; used once by a seat of a match.


class MatchStatus(NamedTuple):
    """What is to be found about a match without computing it."""

    over: bool = False
    due: int | None = None  # When the server itself must act, in milliseconds since 1970.


class Snapshot(NamedTuple):
    """A match as it was after some entries. It may be missing, old, broken or another engine's."""

    version: int
    data: bytes


class Stored(NamedTuple):
    """All that is stored of a match."""

    header: Header
    entries: list[Entry]
    snapshot: Snapshot | None


class Due(NamedTuple):
    """A match in which the server itself must act."""

    match_id: str
    at: int  # Milliseconds since 1970.


class Query(NamedTuple):
    """Which matches to list."""

    game: str = ""  # Empty: any.
    over: bool | None = None
    before: tuple[int, str] | None = (
        None  # Only those after it in the list, by (created, match_id).
    )


class Listed(NamedTuple):
    """What is found about a match without computing it."""

    match_id: str
    game: str
    bots: tuple[int, ...]
    created: int  # Milliseconds since 1970, as is `ended`.
    ended: int | None  # None: it is not over.
    version: int


class Store(Protocol):
    """An append-only log of matches. Several servers may share one, where it says so.

    Every method but `close` raises Refusal if the log cannot be read or written now; when it was
    `create` or `append`, it may have been done all the same, and reading tells. A store recovers by
    itself: what fails now may be tried again.
    """

    async def open(self) -> None:
        """Makes the log ready, and brings an older one up to date; raises OSError or ValueError."""

    async def close(self) -> None:
        """Lets go of the log. What was answered is in it."""

    async def key(self, offered: bytes) -> bytes:
        """The secret of KEY_BYTES kept with the log: the first that was ever offered."""

    async def create(self, header: Header, status: MatchStatus) -> None:
        """Adds a match; its id is new."""

    async def load(self, match_id: str) -> Stored | None:
        """All that is stored of a match, if there is such a match."""

    async def read(self, match_id: str, version: int) -> list[Entry]:
        """The entries that come after the first `version` ones; none if there is no such match."""

    def append(
        self,
        match_id: str,
        version: int,
        entry: Entry,
        status: MatchStatus,
        added: Callable[[], None] | None = None,
    ) -> Awaitable[bool]:
        """Adds an entry if the match has exactly `version` of them; whether it did.

        Nor is it added if the seat has used its request_id before. When it returns True, the entry
        is as durable as the store can make it, and `added` has been called, which it is also where
        the caller waits no more. It must not fail.
        """

    async def wait(self, match_id: str, version: int) -> None:
        """Returns when the match may have more than `version` entries. It may return early."""

    def keep(self, match_id: str, snapshot: Snapshot) -> None:
        """Stores a snapshot in place of an older one, at some time, or not at all."""

    async def due(self, until: int, most: int) -> list[Due]:
        """Matches in which the server must act by then, at most so many, the most overdue first."""

    async def postpone(self, due: Due, to: int) -> bool:
        """Changes when a match is due, if it has not changed since; whether it did.

        Who succeeds may take it that others leave the match alone until then.
        """

    async def find(self, query: Query, most: int) -> Sequence[Listed]:
        """The matches that are asked for, those that were created last first, at most so many."""

    async def forget(self, before: int, most: int) -> Sequence[str]:
        """Deletes matches that ended before then, at most so many, the oldest first.

        Returns which; there may be more of them if they are as many as asked for.
        """
