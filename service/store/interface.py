"""The log of the matches: what was decided, and in which order. It is the only truth.

A match is its header and its entries; everything else is computed from them. An entry is in the log
or it is not, and an answered action is in it. Nothing here knows a rule: rulesets and actions are
serialized messages of the API, which outlast any change of the engine's own encodings.

A store also holds snapshots, which may be lost, and a schedule, which says when a server must act
in a match (`service/hosting/leases.py`), so that it is found without reading every match. The
schedule is written with the entries. Servers hear of matches that have changed (`Changes`).
"""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from service.common.tasks import Tasks
from service.store import chain
from service.store.chain import Entry
from service.store.presence import Presence

# More entries than any match has.
ANOTHER_LOG = 2**31
ENTRIES_AT_ONCE = 500  # That are deleted by one statement.
KEY_BYTES = 32
# A log remembers its schema by a number. This is that of the oldest one that is opened.
OLDEST = 9
WITH_IDS = ("matches", "heads", "entries")  # Tables: one of them at least has each match.


class Head(NamedTuple):
    """A version of a match, and the digest that tells it from any other of the same number."""

    version: int
    digest: bytes
    # What its seats have decided ahead, as `service/hosting/ahead.py` writes it. It lies beside the
    # log and may change without a version.
    ahead: bytes = b""
    erased: bytes = b""  # As in `Header`.


class Later(NamedTuple):
    """What a log has of a match after a version that the reader knows."""

    head: Head  # The newest version.
    entries: list[Entry]


class Listener(NamedTuple):
    """A part of the server that wants to hear of changed matches."""

    # Called with the id of a match and a number of entries that it has, or ANOTHER_LOG where the
    # log has lost some, or the match, or something besides its entries has changed. It may come
    # again, or late; it does not wait, nor raise.
    hear: Callable[[str, int], None]
    # The ids of the matches of which it must hear.
    watched: Callable[[], Collection[str]]
    # What it takes for the head of a match; None if it knows nothing of it.
    known: Callable[[str], Head | None] = lambda match_id: None


class Changes:
    """What follows a commit, and who listens to a store, in one event loop.

    Whatever goes wrong with one match or listener, the others are told.
    """

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Adds a listener; returns what removes it."""
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    def added(self, match_id: str, version: int, on_added: Callable[[], None] | None) -> None:
        """An entry of this server was committed, after which its match has so many."""
        if on_added is not None:
            self._tasks.attempt("committed", on_added, about=match_id)
        self.tell(match_id, version)

    def tell(self, match_id: str, version: int) -> None:
        """Tells that a match has so many entries."""
        for listener in self._listeners:
            self._tell(listener, match_id, version)

    def look(self, match_id: str, head: Head | None) -> None:
        """Tells those whose match is not as it was found in the log, where it may be no more."""
        for listener in self._listeners:
            known = listener.known(match_id)
            if head is not None and (known is None or known.version < head.version):
                self._tell(listener, match_id, head.version)
            elif known is not None and known != head:
                self._tell(listener, match_id, ANOTHER_LOG)

    def _tell(self, listener: Listener, match_id: str, version: int) -> None:
        self._tasks.attempt("change", listener.hear, match_id, version, about=match_id)

    def watched(self) -> set[str]:
        """The matches of which somebody must hear."""
        return {match_id for listener in self._listeners for match_id in listener.watched()}


def read_key(stored: bytes) -> bytes:
    """The key that a log holds, from how it is stored; raises ValueError if it was changed."""
    key = chain.unsealed("key", stored)
    if key is None:
        raise ValueError(
            "the key of the tokens in the log is damaged: restore a backup, or, so that all tokens "
            "that were issued become void, delete it from the table settings"
        )
    return key


def check_settings(rows: Iterable[Sequence[Any]], begins: Sequence[Any], end: int) -> list[str]:
    """What is wrong with a log's settings, and with where epochs of the feed begin.

    `end` is where the feed ends.
    """
    wrong = []
    if list(begins) != sorted(begins) or (begins and not 0 <= begins[0] <= begins[-1] <= end):
        wrong.append("the table incarnations has an epoch that begins where the feed was not")
    for name, value in rows:
        if name not in ("key", "feed_end", "settled"):
            # With its name, a server would not find the key, and make another one.
            wrong.append(f"the table settings has an unknown name: {name!a}")
        elif name == "feed_end" and not value.isdigit():
            wrong.append("feed_end in the table settings is no number")
        elif name == "key":
            try:
                read_key(value)
            except ValueError as error:
                wrong.append(str(error))
    return wrong


def check_schema(log: object, schema: int, newest: int) -> None:
    """Raises ValueError if a log has a schema that is neither known nor can be brought up to date.

    0 is that of a new log.
    """
    has = f"{log} was written by {{}} Croupier: its schema is {schema}, and this one knows"
    if schema > newest:
        raise ValueError(f"{has.format('a newer')} {newest}")
    if 0 < schema < OLDEST:
        raise ValueError(
            f"{has.format('an older')} none before {OLDEST}; open it once with the Croupier of "
            "commit 9ce42e4, which brings it up to that"
        )


def check_newest(log: object, schema: int, newest: int) -> None:
    """Raises ValueError if a log has another schema than the newest one."""
    check_schema(log, schema, newest)
    if schema < newest:
        raise ValueError(
            f"{log} has the schema {schema}, and only {newest} can be checked: start a server on "
            "it once, which brings it up to that"
        )


class Header(NamedTuple):
    """The facts with which a match starts."""

    match_id: str
    game: str
    ruleset: bytes  # A croupier.v1.Ruleset, as it was given.
    rules_version: int
    secret: bytes  # 32 bytes; all chance is drawn from it.
    chance_id: str  # The id under which chance is drawn: the match's own, or empty if seeded.
    # A croupier.v1.BotStrength for each seat; 0: the seat is open or invited.
    bots: tuple[int, ...]
    created: int  # Milliseconds since 1970, UTC.
    entropy_from_seats: bool = False  # Whether the open seats contribute to its chance.
    time_control: bytes = b""  # A croupier.v1.TimeControl, or empty for none.
    creator: str = ""  # A pseudonym of the principal that created it; empty for one without limits.
    invited: tuple[int, ...] = ()  # The invited seats, ascending.
    # The display name of the API key of each open seat, or empty; no name holds a zero character.
    key_names: tuple[str, ...] = ("", "")
    # The name of the model by which its bots decided when it was created; empty for none.
    model: str = ""
    # The name that the player of each open seat has given, or empty; none holds a zero character.
    display_names: tuple[str, ...] = ("", "")
    hint_policy: int = 0  # A croupier.v1.HintPolicy.
    start: bytes = (
        b""  # A croupier.v1.MatchStart if it was played on; empty: it begins with a deal.
    )
    # A pseudonym of the API key or subject whose feed tells of it; empty for none.
    owner: str = ""
    rematch_of: str = ""  # The id of the match of which it is the rematch, or empty.
    salt: bytes = b""  # Of its names; empty if it has none, or if they were erased.
    names_hash: bytes = b""  # Of its salted names; empty if it has none.
    # What the deal led to, as in `Entry.course`; empty if it was not dealt when it was created.
    course: bytes = b""
    spectator_delay: int = 0  # How old what spectators are told is at least, in milliseconds.
    forbidden_offers: bytes = b""  # Those of croupier.v1.OfferKind that no seat makes, ascending.
    # Empty unless names of the match were erased, here or in its entries: of which seats, as the
    # bits of a byte, and a seal of the names that are left here. It lies with the head.
    erased: bytes = b""

    def salted(self) -> "Header":
        """The header with a hash of its names."""
        names = chain.salted(self._names())
        salt = names[: chain.SALT_BYTES]
        header = self._replace(salt=salt, names_hash=chain.hash_names(names))
        return header._marked(self.erased_seats) if self.erased else header

    def check(self) -> None:
        """Raises Damaged if its names are neither those of the hash nor what was left of them."""
        names = self._names()
        whole = not names or chain.hash_names(self.salt + names) == self.names_hash
        if self.erased:
            whole = self._marked(self.erased_seats) == self
        if not whole:
            raise chain.Damaged(self.match_id, 0, "the names of its players were changed")

    @property
    def erased_seats(self) -> int:
        """The seats whose names were erased, as the bits of a number."""
        return self.erased[0] if self.erased else 0

    def without_names(self, seats: int) -> "Header":
        """The header after the names of seats were erased, here and in entries."""
        left = self._replace(salt=b"")  # With it, the hash would tell whether a name is right.
        for seat in (0, 1):
            if seats >> seat & 1:
                left = left._replace(
                    key_names=_emptied(left.key_names, seat),
                    display_names=_emptied(left.display_names, seat),
                )
        return left._marked(self.erased_seats | seats)

    def _marked(self, seats: int) -> "Header":
        return self._replace(
            erased=bytes([seats]) + chain.seal(f"{self.match_id} names", self._names())
        )

    def _names(self) -> bytes:
        return _write_names((*self.key_names, *self.display_names))

    @property
    def seeded(self) -> bool:
        """Whether its chance was drawn from a seed, under no id."""
        return self.chance_id == ""

    @property
    def secret_hash(self) -> bytes:
        """The hash of the secret, which is published when the match is created."""
        return hashlib.sha256(self.secret).digest()


# What the row of a header has.
COLUMNS = tuple(name for name in Header._fields if name != "erased")


def _emptied(names: tuple[str, ...], seat: int) -> tuple[str, ...]:
    return tuple("" if place == seat else name for place, name in enumerate(names))


def write_columns(header: Header) -> tuple[object, ...]:
    """The fields of a header as a database stores them, in their order."""
    columns: dict[str, Any] = {
        "bots": bytes(header.bots),
        "invited": bytes(header.invited),
        "key_names": _write_names(header.key_names),
        "display_names": _write_names(header.display_names),
    }
    return tuple(header._replace(**columns))[: len(COLUMNS)]


def read_columns(columns: Iterable[Any]) -> Header:
    """The header that `write_columns` has turned into columns."""
    header = Header(*columns)
    return header._replace(
        bots=tuple(header.bots),
        entropy_from_seats=bool(header.entropy_from_seats),
        invited=tuple(header.invited),
        key_names=_read_names(header.key_names),
        display_names=_read_names(header.display_names),
    )


def _write_names(names: tuple[str, ...]) -> bytes:
    return "\0".join(names).encode() if any(names) else b""


def _read_names(column: Any) -> tuple[str, ...]:
    return tuple(column.decode().split("\0")) if column else ("", "")


class Seated(NamedTuple):
    """A player or subject, by a pseudonym, and the seats of a match that are theirs."""

    player: str
    seats: int  # The bits of a number. 0 where the log is too old to know.

    def exchanged(self) -> "Seated":
        """The same player, where the two seats are exchanged."""
        return self._replace(seats=self.seats >> 1 | (self.seats & 1) << 1)


class MatchStatus(NamedTuple):
    """The status of a match, which the log tells without a replay."""

    over: bool = False
    due: int | None = None  # When a server must act, in milliseconds since 1970; None: never.
    feed: bytes = b""  # A croupier.v1.MatchUpdate without what an `Update` has besides.
    ahead: bytes = b""  # As in `Head`.
    # Who has got a seat, so that lists find it. This is beside the log.
    players: tuple[Seated, ...] = ()


class Snapshot(NamedTuple):
    """A match as it was after some entries. It may be missing, old, broken or of another branch."""

    version: int
    data: bytes


class StoredMatch(NamedTuple):
    """All that is stored of a match."""

    header: Header
    entries: list[Entry]
    snapshot: Snapshot | None
    head: Head  # What its row says; the chain of its entries is to end there.
    over: bool = False
    due: int | None = None  # As in MatchStatus, or later: a lease.

    def check_header(self) -> None:
        """Raises Damaged unless the chain begins with the header."""
        first = chain.first_digest(self.header)
        if self.entries:
            chain.check_next(self.header.match_id, 1, first, self.entries[0])
        elif self.head.version == 0 and self.head.digest != first:
            raise chain.Damaged(self.header.match_id, 0, "the header was changed")


class DueMatch(NamedTuple):
    """A match in which a server must act, and since when or from when on."""

    match_id: str
    at: int  # Milliseconds since 1970.


class IdleMatch(NamedTuple):
    """A match that runs, in which no server must act and nothing has happened for long."""

    created: int  # Milliseconds since 1970.
    match_id: str


class Query(NamedTuple):
    """Which matches to list."""

    game: str = ""  # Empty: any.
    over: bool | None = None  # None: any.
    # Only matches that come after this (created, match_id) in the list.
    before: tuple[int, str] | None = None
    owner: str = ""  # As in `Header`; empty: any.
    player: str = ""  # Who has a seat, as in `MatchStatus`; empty: anybody.
    since: int | None = None  # When they were created at the earliest, in milliseconds since 1970,
    until: int | None = None  # and before when.


class ListedMatch(NamedTuple):
    """A match in a list, which is not replayed for it."""

    match_id: str
    game: str
    bots: tuple[int, ...]
    created: int  # Milliseconds since 1970, as is `ended`.
    ended: int | None  # None: it is not over.
    version: int
    rules_version: int
    updated: int  # When its last entry was made, or else the match; in milliseconds since 1970.
    invited: tuple[int, ...] = ()
    damaged: bool = False  # Whether some of this is not what was written.
    told: bytes = b""  # Of a match that is over, as `MatchStatus.feed`; empty if it was not told.
    seats: int = 0  # Those of the player whose matches are asked for, as in `Seated`.


class HeldSeats(NamedTuple):
    """The seats of a player in a match."""

    created: int  # When the match was, in milliseconds since 1970.
    match_id: str
    seats: int  # As in `Seated`.
    damaged: bool = False  # Whether this is not what was written.


class Update(NamedTuple):
    """What the feed tells of a match at its newest version."""

    position: int  # In the feed.
    match_id: str
    version: int
    at: int  # When this version was made, as in `Entry.at`.
    created: int  # When the match was created.
    owner: str  # As in its header.
    feed: bytes  # As in `MatchStatus`.
    damaged: bool = False  # Whether some of this is not what was written.


class Position(NamedTuple):
    """A position in the feed, and the epoch in which it was told."""

    epoch: str
    number: int


class Updates(NamedTuple):
    """A part of the feed."""

    epoch: str  # In which its positions were told.
    end: int  # The position up to which this part goes.
    updates: list[Update]  # In order of their positions.
    more: bool = False  # Whether the feed may go on after this part.


class Store(Protocol):
    """An append-only log of matches. Several servers may share one, where it says so.

    Every method but `close` and `save_snapshot` raises Refusal if the log cannot be read or written
    now. A `create` or `append` that raises may have been carried out all the same, and reading
    tells. A store recovers by itself: a call that fails now may be tried again.
    """

    presence: Presence  # As its servers tell each other; the log has nothing of it.

    async def open(self) -> None:
        """Opens the log, and migrates an older one; raises OSError or ValueError."""

    async def open_to_check(self) -> None:
        """Opens the log and changes nothing in it; only what reads works then.

        Raises OSError, and ValueError if its schema is not the newest one.
        """

    @property
    def reads(self) -> bool:
        """Whether the log can be read, and other servers heard of, as far as is known."""

    async def check(self) -> list[str]:
        """What is wrong with the log as a whole, apart from its matches, a line for each thing."""

    async def list_ids(self, table: str, after: str, limit: int) -> list[str]:
        """At most `limit` ids after one, in order, of matches of which a table has something."""

    async def list_told(self, match_id: str) -> list[Update]:
        """What the feed has told of a match, by version."""

    async def close(self) -> None:
        """Closes the log. Every entry that was answered is in it."""

    async def key(self, offered: bytes) -> bytes:
        """The secret of KEY_BYTES that the log holds: the first that was ever offered."""

    async def create(self, header: Header, status: MatchStatus) -> None:
        """Adds a match; raises ValueError if there is one of its id."""

    async def create_all(self, matches: Sequence[tuple[Header, MatchStatus]]) -> None:
        """Adds matches, all or none; raises ValueError if there is one of the id of any."""

    async def load(self, match_id: str) -> StoredMatch | None:
        """All that is stored of a match, if there is such a match."""

    async def read(self, match_id: str, head: Head) -> Later | None:
        """What comes after a version that the caller knows, and has from the log.

        It is None where the log does not have that version any more: the match was deleted, or a
        standby that lacked it took the place of the database, and another may have been made since.
        """

    def append(
        self,
        match_id: str,
        head: Head,
        entry: Entry,
        status: MatchStatus,
        on_added: Callable[[], None] | None = None,
    ) -> Awaitable[bool]:
        """Adds an entry, with its digest, if this is the head; returns whether it did.

        When `append` returns True, the entry is as durable as the store can make it, and `on_added`
        has been called. It is called also where the caller has ceased to wait.
        """

    async def replace_ahead(self, match_id: str, head: Head, ahead: bytes, due: int | None) -> bool:
        """Replaces what seats have decided ahead if this is the head; returns whether it did.

        `due` is when a server must act then, as in `MatchStatus`. Listeners hear of it.
        """

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tells a listener of entries and rematches that any server adds; returns what ends this.

        Of other matches nobody can know before they are there.

        A listener hears of every change of a match that it watches, sooner or later, and may hear
        of others.
        """

    def save_snapshot(self, match_id: str, snapshot: Snapshot) -> None:
        """Stores a snapshot in place of an older one, at some time, or not at all."""

    async def list_due(self, until: int, limit: int) -> list[DueMatch]:
        """At most `limit` of the matches that are due by a time, the most overdue first."""

    async def reschedule(self, due: DueMatch, at: int) -> bool:
        """Makes a match due at another time unless that has changed; returns whether it did.

        A server that succeeds holds the lease of the match until then.
        """

    async def list_players(self, match_id: str) -> list[Seated]:
        """Who has a seat of a match."""

    async def list_seats(self, player: str, after: tuple[int, str], limit: int) -> list[HeldSeats]:
        """At most `limit` of the matches in which a player has a seat, the oldest first.

        They are in order of (created, match_id), and come after this one.
        """

    async def erase_names(self, match_id: str, seats: int) -> bool:
        """Erases the names of some seats of a match, as `Header.without_names` says.

        Returns whether there were any; of a match that is not there, there are none. Listeners hear
        of it. What the log has shown of them before is gone from its files, as far as the store can
        see to that. Raises Damaged if the names that are there are not those that were written.
        """

    async def count_live(self, creator: str) -> int:
        """How many matches of a creator are not over."""

    async def list_idle(
        self, before: int, after: IdleMatch | None, limit: int
    ) -> Sequence[IdleMatch]:
        """At most `limit` matches that run, are not due and have no entry since a time.

        They are in order of their creation. With `after`, the list begins after that match.
        """

    async def list_matches(self, query: Query, limit: int) -> Sequence[ListedMatch]:
        """At most `limit` of the matches that fit a query, the newest first."""

    async def list_updates(self, after: Position | None, limit: int) -> Updates | None:
        """The part of the feed after a position that about `limit` entries of the log make.

        It has only the newest version of each match, so it may be empty though there is more. No
        update is ever added before its end. Without `after` it is the end of the feed alone. It is
        None where the log is not the one that has told the position, or was set back before it.
        """

    async def list_running(
        self, owner: str | None, after: tuple[int, str], limit: int
    ) -> list[Update]:
        """At most `limit` of the matches of an owner that are not over; None is any owner.

        They are in order of (created, match_id), and come after this one.
        """

    async def delete_ended(self, before: int, limit: int) -> Sequence[str]:
        """Deletes at most `limit` matches that ended before a time, the oldest first.

        It stops after about ENTRIES_AT_ONCE entries, so that others can commit. Returns the ids; if
        there are any, there may be more.
        """
