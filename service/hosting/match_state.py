"""The state of a match as its log tells it, and what a kind of entry is."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from croupier.v1 import feed_pb2, game_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.errors import ActionError, RulesFault
from engine.events import Event
from engine.game import Game
from engine.match import Match
from engine.position import Position
from service.common.errors import log_failure
from service.common.event_loop import Work, finish_now
from service.hosting.ahead import NOTHING, Ahead, next_ahead, stopped
from service.hosting.clocks import Clocks, read_control
from service.hosting.consent import NO_CONSENT, NO_UNDO, Consent, Undo, Undos, undo_after
from service.hosting.ends import EarlyEnd, tell_ending
from service.hosting.entropy import Contributions
from service.hosting.history import (
    History,
    course_of,
    read_game,
    read_snapshot,
    rules_changed,
    write_snapshot,
)
from service.hosting.played_on import Start, StartError, replaying_start, write_origin, write_start
from service.hosting.seats import Seats
from service.store import Entry, Head, Header, MatchStatus, Snapshot, StoredMatch, chain
from wire.errors import Refusal
from wire.fields import Fields


class Written:
    """What was written of one state. All of it follows from the state, so it is written once."""

    events: tuple[bytes, ...] | None = None  # Those of its version, by viewer.
    result: game_pb2.MatchResult | None = None
    etag: str | None = None

    def __init__(self) -> None:
        self.views: dict[tuple[int, Fields], bytes] = {}  # By viewer and what was asked for.


class MatchState(NamedTuple):
    """A match after some of its entries. It never changes: `after` returns the next state.

    It is derived from its header and its entries alone, so that two servers that read the same
    log, or one server before and after a restart, show the same bytes.
    """

    header: Header
    game: Game  # Under the rules with which the match was dealt.
    history: History  # Shared with later states: its first `version` entries are those of this one.
    seats: Seats
    start: Position | None  # From which it is played on; None if it begins with a deal.
    origin: bytes  # A serialized View with only where it began; empty if it begins with a deal.
    # The engine's, which no one changes. None as long as an invited seat is missing or entropy is
    # owed; it may end before that.
    match: Match | None
    contributions: Contributions | None  # None once it is dealt, and without entropy from seats.
    clocks: Clocks | None  # None without a time control.
    version: int  # The number of entries.
    deciders: tuple[int, ...]  # Who owe a decision, ascending. Empty if it is over or not dealt.
    over: bool  # Whether nothing can happen any more: `early_end` or the rules have ended it.
    early_end: EarlyEnd | None  # None while the match runs, and where the rules have ended it.
    # By seat: played for it since it last submitted an action. (0, 0) without clocks.
    default_actions: tuple[int, int]
    consent: Consent  # What the seats agree on.
    undo: Undos  # What the takeback of each seat would take the match back to.
    # Of the newest version alone: no entry tells it.
    ahead: Ahead
    written: Written  # Kept for speed alone: it grows, and whether it has something shows nowhere.

    @staticmethod
    def begin(header: Header, *, new: bool = False) -> "MatchState":
        """The match without entries; as `beginning`, at once."""
        return finish_now(MatchState.beginning(header, new=new))

    @staticmethod
    def beginning(header: Header, *, new: bool = False) -> Work["MatchState"]:
        """The match without entries; of a new one, the header tells what the deal led to.

        Raises Refusal if it was dealt under other rules, and StartError for a start that is none.
        """
        game = read_game(header)
        start = None
        if header.start:
            start = (yield from replaying_start(game, header.start)).position
        control = read_control(header.time_control)
        seats = Seats.begin(header)
        match = contributions = None
        if header.entropy_from_seats:
            contributions = Contributions([seat for seat in (0, 1) if not header.bots[seat]])
        elif not seats.missing:
            match = Match(game, header.secret, header.chance_id, 0, start)
        dealt = () if match is None else tuple(match.events)
        course = b"" if match is None else course_of(b"", dealt, match)
        if new:
            header = header._replace(course=course)
        return MatchState(
            header=header,
            game=game,
            history=History.begin(header, dealt, course),
            seats=seats,
            start=start,
            origin=write_origin(header),
            match=match,
            contributions=contributions,
            clocks=None if control is None else Clocks.start(control, header.created),
            version=0,
            deciders=() if match is None else match.deciders,
            over=match is not None and match.over,
            early_end=None,
            default_actions=(0, 0),
            consent=NO_CONSENT,
            undo=NO_UNDO,
            ahead=NOTHING,
            written=Written(),
        )

    @staticmethod
    def load(stored: StoredMatch) -> "MatchState":
        """The match as it is stored; as `loading`, at once."""
        return finish_now(MatchState.loading(stored))

    @staticmethod
    def loading(stored: StoredMatch) -> Work["MatchState"]:
        """The match as it is stored; its snapshot, if it fits, spares most of the work.

        Raises Damaged if the log is not as it was written, and Refusal if the rules have changed.
        """
        header, head = stored.header, stored.head
        header.check()
        stored.check_header()  # Before anything is read in it.
        try:
            state = yield from MatchState.beginning(header)
        except (RulesFault, StartError, Refusal) as error:
            raise _changed(0, error) from None
        state = yield from state._restored(stored)
        if state.version != head.version or state.history.digest(head.version) != head.digest:
            version = min(state.version, head.version)
            raise chain.Damaged(header.match_id, version, "entries are missing")
        if state.over != stored.over:
            raise rules_changed(state.version)
        return state.with_head(head)

    def _restored(self, stored: StoredMatch) -> Work["MatchState"]:
        # From the beginning, or from the snapshot.
        state, entries, snapshot = self, stored.entries, stored.snapshot
        if snapshot is None or not 0 < snapshot.version <= len(entries):
            return (yield from state.replaying(entries))
        control = None if state.clocks is None else state.clocks.control
        digest = entries[snapshot.version - 1].digest
        read = read_snapshot(state.game, control, snapshot, digest)
        if read is None:
            return (yield from state.replaying(entries))
        match, clocks, undo = read
        skipped, rest = entries[: snapshot.version], entries[snapshot.version :]
        if skipped and KINDS[skipped[-1].kind].ends and not skipped[-1].action:
            # Such an entry does not change what a snapshot holds.
            rest.insert(0, skipped.pop())
        history, seats, default_actions, consent = state.history, state.seats, (0, 0), NO_CONSENT
        for version, entry in enumerate(skipped):
            before = history.digest(version)
            chain.check_next(stored.header.match_id, version + 1, before, entry)
            kind = KINDS[entry.kind]
            history = history.after(version, entry, None)
            seats = kind.seats_after(seats, version + 1, entry)
            default_actions = kind.default_actions_after(default_actions, entry)
            consent = kind.consent_after(consent, version + 1, entry)
            yield
        state = state._replace(
            history=history,
            seats=seats,
            match=match,
            contributions=None,
            clocks=clocks,
            version=len(skipped),
            deciders=() if consent.paused else match.deciders,
            over=match.over,
            default_actions=default_actions,
            consent=consent,
            undo=undo,
        )
        state = yield from state.replaying(rest)
        if state.over and not state.knows_events(state.version):  # They tell how it ended.
            yield from state.recalling_events()
        return state

    def snapshot(self) -> Snapshot:
        """A snapshot of the match, which must be dealt."""
        return write_snapshot(self.game, self.head, self.dealt(), self.clocks, self.undo)

    # The next states

    def after(self, *entries: Entry) -> "MatchState":
        """The match with more entries.

        Raises ActionError if the rules do not allow an entry, or the clocks say otherwise, and
        Refusal for a contribution of entropy that is not owed. Of an entry that the log has, it
        raises Damaged if it was changed, and else Refusal, since the rules once allowed it.
        """
        state = self
        for entry in entries:
            logged = entry.digest != b""
            if logged:
                version = state.version + 1
                chain.check_next(state.header.match_id, version, state.head.digest, entry)
                if entry.kind not in KINDS:  # It is of a newer server.
                    raise rules_changed(version)
            try:
                state.check_clocks(entry)
                state = KINDS[entry.kind].after(state, entry)
            except (ActionError, RulesFault, Refusal) as error:
                if logged:
                    raise _changed(version, error) from None
                raise
        return state

    def replaying(self, entries: Iterable[Entry]) -> Work["MatchState"]:
        """As `after`."""
        state = self
        for entry in entries:
            state = state.after(entry)
            yield
        return state

    def check_clocks(self, entry: Entry) -> None:
        """Raises ActionError if the clocks say that another entry comes next.

        At a deadline or later, nothing comes before the entry that says that the time is up, but a
        resignation: a match must end also where the rules fail at what the clock demands.
        """
        kind, expired = KINDS[entry.kind], self.expired(entry.at)
        if kind.ends and not kind.by_clock:
            return
        if kind.by_clock != bool(expired) or (expired and entry.seat != expired[0]):
            raise ActionError("at", "this is not what the clocks say")

    def with_action(self, entry: Entry, action: int) -> "MatchState":
        """The match after an entry with an action, which is parsed already; as `Kind.after`."""
        if self.match is None:
            raise ActionError("seat", "the cards are not dealt yet")
        match = self.match.copy()
        events = tuple(match.apply(entry.seat, action))
        clocks = self.clocks
        if clocks is not None:
            clocks = _restarted(clocks.after(entry.seat, entry.at), match, entry)
        here = Undo(self.version, self.match, (0, 0) if self.clocks is None else self.clocks.since)
        # Field by field, since nearly all entries are actions, and `_replace` takes four times as
        # long.
        return MatchState(
            self.header,
            self.game,
            self.history.after(self.version, entry, events, match),
            self.seats,
            self.start,
            self.origin,
            match,
            self.contributions,
            clocks,
            self.version + 1,
            match.deciders,
            match.over,
            self.early_end,
            KINDS[entry.kind].default_actions_after(self.default_actions, entry),
            self.consent.after_decision(),
            undo_after(self.undo, entry.seat, here, match, by_clock=KINDS[entry.kind].by_clock),
            self.ahead.after(entry, events, match),
            Written(),
        )

    def with_deal(self, entry: Entry, secret: bytes) -> "MatchState":
        """The match after an entry with which it is dealt, from a secret of 32 bytes."""
        version = self.seats.engine_version(self.version + 1)
        match = Match(self.game, secret, self.header.chance_id, version, self.start)
        return self.with_entry(
            entry,
            tuple(match.events),
            match=match,
            contributions=None,
            clocks=_restarted(self.clocks, match, entry),
            deciders=match.deciders,
            over=match.over,
        )

    def with_end(self, entry: Entry, end: EarlyEnd) -> "MatchState":
        """The match after an entry that ends it early."""
        return self.with_entry(
            entry, early_end=end, over=True, deciders=(), undo=NO_UNDO, ahead=NOTHING
        )

    def with_head(self, head: Head) -> "MatchState":
        """The match, whose head this is, with what its seats have decided ahead; raises Damaged."""
        return self._with_ahead(Ahead.read(self.header.match_id, self.version, head.ahead))

    def with_ahead(self, seat: int, ahead: bytes) -> "MatchState":
        """The match with what a seat has decided ahead; the events of its version are known."""
        if ahead:
            events = self.events(self.version)
            ahead = b"" if self.over else stopped(ahead, seat, events, self.match)
        return self._with_ahead(self.ahead.changed(seat, ahead))

    def _with_ahead(self, ahead: Ahead) -> "MatchState":
        return self if ahead == self.ahead else self._replace(ahead=ahead, written=Written())

    def with_entry(
        self, entry: Entry, events: tuple[Event, ...] = (), **changed: Any
    ) -> "MatchState":
        """The match after any other entry, with its events and the fields that it changes."""
        return self._replace(
            history=self.history.after(self.version, entry, events, changed.get("match")),
            version=self.version + 1,
            written=Written(),
            **changed,
        )

    def going_back(self, version: int) -> Work["MatchState"]:
        """The match as it was at a version."""
        if version == self.version:
            return self
        begun = yield from MatchState.beginning(self.header)
        return (yield from begun.replaying(self.entries[:version]))

    def start_here(self, *, logged: bool = False) -> Start:
        """The start of a match that is played on from this one, as `write_start` says."""
        decisions = list(self.decisions())
        return write_start(self.header, self.version, self.dealt(), decisions, logged=logged)

    # What the match is

    def dealt(self) -> Match:
        """The engine's match, for a caller that knows that the cards are dealt."""
        assert self.match is not None, "the cards are not dealt yet"
        return self.match

    def check_running(self) -> None:
        """Raises Refusal if it is over."""
        if self.over:
            raise Refusal(ErrorReason.ERROR_REASON_MATCH_OVER, "the match is over")

    def check_decides(self, seat: int) -> None:
        """Raises Refusal unless a seat owes a decision."""
        self.consent.check_running()
        if seat not in self.deciders:
            raise Refusal(
                ErrorReason.ERROR_REASON_NOT_TO_DECIDE, f"seat {seat} owes no decision now"
            )

    @property
    def allows_hints(self) -> bool:
        """Whether its seats may ask for hints while it runs."""
        return self.header.hint_policy != game_pb2.HintPolicy.HINT_POLICY_AFTER_END

    @property
    def bot_due(self) -> int | None:
        """The bot that must decide now; the lower seat first, so that a match of bots repeats."""
        return next((seat for seat in self.deciders if self.header.bots[seat]), None)

    @property
    def result(self) -> game_pb2.MatchResult | None:
        """How it ended; None while it runs."""
        if not self.over:
            return None
        if self.early_end is not None:
            return game_pb2.MatchResult(scores=self.early_end.scores, reason=self.early_end.reason)
        if self.written.result is None:
            self.written.result = game_pb2.MatchResult(
                scores=self.dealt().scores,
                reason=game_pb2.EndReason.END_REASON_RULES,
                ending=tell_ending(self.dealt(), self.events(self.version)),
            )
        return self.written.result

    @property
    def ahead_due(self) -> tuple[int, bytes] | None:
        """The seat, the lower first, that owes a decision it has made ahead; and its action."""
        if self.ahead == NOTHING:  # As nearly always.
            return None
        for seat in self.deciders:
            # The time of a seat can be up at once; of either, that comes first.
            if (action := next_ahead(self.ahead[seat])) and not self.expired(self.time):
                return seat, action
        return None

    @property
    def server_due(self) -> bool:
        """Whether the server must decide now: for a bot, or as a seat has decided ahead."""
        return self.bot_due is not None or self.ahead_due is not None

    @property
    def status(self) -> MatchStatus:
        """The status of the match, which the log tells without a replay.

        It is due at its deadline, or at once where the server must decide.
        """
        due = self.time if self.server_due else self.deadline
        if due is None:
            return _OVER if self.over else _RUNNING
        return MatchStatus(over=self.over, due=due)

    # Its entries

    @property
    def entries(self) -> list[Entry]:
        """All its entries."""
        return self.history.entries[: self.version]

    def entry(self, version: int) -> Entry:
        """The entry that made a version."""
        return self.history.entries[version - 1]

    def decisions(self) -> Iterator[Entry]:
        """The decisions that stand: those by the clock too, and none that was taken back."""
        for version, each in enumerate(self.entries, 1):
            if KINDS[each.kind].is_decision(each) and version not in self.seats.aside:
                yield each

    def events(self, version: int) -> tuple[Event, ...]:
        """The events of a version, which must be known; those of version 0 are the deal."""
        events = self.history.events[version]
        assert events is not None, "a snapshot has skipped them"
        return events

    def knows_events(self, version: int) -> bool:
        """Whether the events of a version need no replay."""
        return self.history.events[version] is not None

    def recalling_events(self) -> Work[None]:
        """Finds the events of all versions, if a snapshot has skipped some."""
        if all(self.knows_events(version) for version in (min(1, self.version), self.version)):
            return
        begun = yield from MatchState.beginning(self.header)
        replayed = yield from begun.replaying(self.entries)
        self.history.events[: self.version + 1] = replayed.history.events

    def version_of(self, seat: int, request_id: str) -> int | None:
        """The version that a request of a seat has made, if it was carried out."""
        version = self.history.requests.get((seat, request_id))
        return None if version is None or version > self.version else version

    def is_stale(self, seat: int, version: int) -> bool:
        """Whether the seat's decision has changed since a version, or the version is to come."""
        since = 0 if self.match is None else self.seats.match_version(self.match.since[seat])
        return not max((since, *self.consent.takebacks[-1:])) <= version <= self.version

    # Its clocks

    @property
    def time(self) -> int:
        """When its last entry was made, or else the match, in milliseconds since 1970."""
        return self.time_of(self.version)

    def time_of(self, version: int) -> int:
        """When a version was made, in milliseconds since 1970."""
        return self.entry(version).at if version else self.header.created

    @property
    def head(self) -> Head:
        """The version of the match, as the log names it, and what lies beside it."""
        digest, ahead = self.history.digest(self.version), self.ahead.write()
        return Head(self.version, digest, ahead, self.header.erased)

    def etag(self, version: int) -> str:
        """What callers are told of a version, to tell it from others of the same number."""
        if version != self.version:
            return chain.etag(self.header.secret, self.history.digest(version))
        # Once for all who follow the match.
        if self.written.etag is None:
            self.written.etag = chain.etag(self.header.secret, self.history.digest(version))
        return self.written.etag

    def follows(self, other: "MatchState") -> bool:
        """Whether this is another state of the match, or one that has come of it."""
        version = other.version
        if version > self.version:
            return False
        # Most share their history.
        same = self.history is other.history
        return same or self.history.digest(version) == other.history.digest(version)

    def lacks_names_of(self, other: "MatchState") -> bool:
        """Whether names were erased of which the other state, of the same match, has some."""
        return self.header.erased_seats > other.header.erased_seats

    @property
    def deadline(self) -> int | None:
        """When the time of a seat is up, if a clock runs, or that of a pause."""
        if self.clocks is None:
            return None
        if self.consent.paused and not self.over:
            return self.consent.pause_end
        return min((self.clocks.deadline(seat) for seat in self._clocked()), default=None)

    def expired(self, at: int) -> tuple[int, ...]:
        """The seats whose time is up at a time, if any is."""
        return () if self.clocks is None else self.clocks.expired(self._clocked(), at)

    @property
    def can_be_idle(self) -> bool:
        """Whether the match waits for a seat without a clock, so that it may wait for ever."""
        return not self.over and self.status.due is None

    @property
    def attended(self) -> bool:
        """Whether somebody may wait for what happens: an open seat whose time is not up."""
        return not all(map(any, zip(self.header.bots, self.default_actions, strict=True)))

    def _clocked(self) -> list[int]:
        # The seats whose clocks run: a bot has none.
        return [seat for seat in self.deciders if not self.header.bots[seat]]


_RUNNING, _OVER = MatchStatus(over=False), MatchStatus(over=True)


def _restarted(clocks: Clocks | None, match: Match, entry: Entry) -> Clocks | None:
    # The clocks of the seats whose decision is a new one since this entry.
    if clocks is None:
        return None
    changed = [seat for seat, since in enumerate(match.since) if since == match.version]
    return clocks.restarted(changed, entry.at)


class Kind:
    """A kind of entry: what its entries say, and what follows from them.

    A subclass with a number is a kind, whose one object is in `KINDS`;
    they stand in `service/hosting/entries.py` and `offers.py`.
    """

    number: ClassVar[int]  # In the log.
    field: ClassVar[str]  # Of RecordEntry.
    change: ClassVar[feed_pb2.MatchChange] = feed_pb2.MATCH_CHANGE_ENDED  # If the match goes on.
    decides: ClassVar[bool] = False  # Whether it may hold an action of the game.
    by_clock: ClassVar[bool] = False  # Whether the clocks demand it.
    ends: ClassVar[bool] = False  # Whether it ends the match early, unless it holds an action.
    # The field of MatchEvent that tells all of it, before what it led to in the game; empty: none.
    event: ClassVar[str] = ""

    def __init_subclass__(cls, *, number: int | None = None) -> None:
        if number is not None:
            cls.number = number
            assert number not in KINDS, number
            KINDS[number] = cls()

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        """The match after an entry, which the clocks allow.

        Raises ActionError if the rules do not allow it, and Refusal for a contribution of entropy
        that is not owed.
        """
        raise NotImplementedError

    def seats_after(self, seats: Seats, version: int, entry: Entry) -> Seats:
        """The seats after the entry that makes a version."""
        return seats

    def default_actions_after(self, counts: tuple[int, int], entry: Entry) -> tuple[int, int]:
        """`MatchState.default_actions` after an entry."""
        return counts

    def consent_after(self, consent: Consent, version: int, entry: Entry) -> Consent:
        """What the seats agree on after the entry that makes a version."""
        return consent.after_decision() if self.is_decision(entry) else consent

    def is_decision(self, entry: Entry) -> bool:
        """Whether an entry of this kind is a decision of its seat, as it may hold none."""
        return self.decides and entry.action != b""

    def write(self, entry: Entry, message: Any) -> None:
        """Fills in what a record says of an entry: the message of `field`."""
        message.seat = entry.seat

    def read(self, state: MatchState, at: int, message: Any) -> Entry:
        """The entry of which a record says so, made at a time; raises Refusal."""
        return Entry(self.number, message.seat, at)

    def wrong_seat(self, state: MatchState, seat: int) -> str:
        """Why no caller can have made such an entry for a seat; empty if it can."""
        return ""

    def tell(self, state: MatchState, entry: Entry, message: Any) -> None:
        """Fills in what everybody is told of an entry: the message of `event`."""
        self.write(entry, message)


KINDS: dict[int, Kind] = {}  # By number. A kind is here once its module was imported.


def _changed(version: int, error: Exception) -> Refusal:
    # The rules refuse today what they once allowed, or fail.
    if isinstance(error, RulesFault):
        log_failure("a replay", error)
    elif isinstance(error, Refusal) and error.reason == ErrorReason.ERROR_REASON_RULES_CHANGED:
        return error
    return rules_changed(version)
