"""The state of a match as its log tells it, and how each kind of entry changes it."""

import hashlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from croupier.v1 import game_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.errors import ActionError
from engine.events import Event
from engine.game import SPECTATOR, Game
from engine.match import Match
from engine.position import Position
from service import wire
from service.common.errors import Refusal, log_failure
from service.common.event_loop import Work, finish_now
from service.hosting.clocks import Clocks, read_control
from service.hosting.entropy import Contributions, not_owed
from service.hosting.history import History, read_snapshot, write_snapshot
from service.hosting.played_on import Start, replaying_start, write_origin, write_start
from service.hosting.seats import Seats
from service.store import Entry, EntryKind, Header, MatchStatus, Snapshot, StoredMatch
from service.wire.fields import Fields

DECISIONS = (EntryKind.ACTION, EntryKind.EXPIRY)  # The kinds of entries that hold actions.
_GAMES_KEPT = 256

_RESIGNATION = game_pb2.EndReason.END_REASON_RESIGNATION
_TIME = game_pb2.EndReason.END_REASON_TIME
_ABANDONED = game_pb2.EndReason.END_REASON_ABANDONED
_IDLE = game_pb2.EndReason.END_REASON_IDLE
_DECLINED = game_pb2.EndReason.END_REASON_DECLINED


class EarlyEnd(NamedTuple):
    """An end of a match that the rules of the game did not bring."""

    reason: game_pb2.EndReason
    losers: tuple[int, ...]  # If both seats lose, or none does, the match is a draw.

    @property
    def scores(self) -> tuple[float, float]:
        """The score of each seat."""
        if len(self.losers) != 1:
            return 0.5, 0.5
        return float(self.losers[0] != 0), float(self.losers[0] != 1)


class Written:
    """What was written of one state. All of it follows from the state, so it is written once."""

    events: tuple[bytes, ...] | None = None  # Those of its version, by viewer.
    result: game_pb2.MatchResult | None = None

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
    written: Written  # Kept for speed alone: it grows, and whether it has something shows nowhere.

    @staticmethod
    def begin(header: Header) -> "MatchState":
        """The match without entries; as `beginning`, at once."""
        return finish_now(MatchState.beginning(header))

    @staticmethod
    def beginning(header: Header) -> Work["MatchState"]:
        """The match without entries.

        Raises Refusal if it was dealt under other rules, and StartError for a start that is none.
        """
        game = _read_game(header)
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
        return MatchState(
            header=header,
            game=game,
            history=History.begin(() if match is None else tuple(match.events)),
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
            written=Written(),
        )

    @staticmethod
    def load(stored: StoredMatch) -> "MatchState":
        """The match as it is stored; as `loading`, at once."""
        return finish_now(MatchState.loading(stored))

    @staticmethod
    def loading(stored: StoredMatch) -> Work["MatchState"]:
        """The match as it is stored; its snapshot, if it fits, spares most of the work."""
        state = yield from MatchState.beginning(stored.header)
        entries, snapshot = stored.entries, stored.snapshot
        if snapshot is None or not 0 < snapshot.version <= len(entries):
            return (yield from state.replaying(entries))
        control = None if state.clocks is None else state.clocks.control
        made = entries[snapshot.version - 1].at
        read = read_snapshot(stored.header, state.game, control, snapshot, made)
        if read is None:
            return (yield from state.replaying(entries))
        match, clocks = read
        skipped, rest = entries[: snapshot.version], entries[snapshot.version :]
        if skipped and _ends_early(skipped[-1]):
            # Such an entry does not change what a snapshot holds.
            rest.insert(0, skipped.pop())
        history, seats, default_actions = state.history, state.seats, (0, 0)
        for version, entry in enumerate(skipped):
            history = history.after(version, entry, None)
            seats = seats.after(version + 1, entry)
            default_actions = _count_default_actions(default_actions, entry)
            yield
        state = state._replace(
            history=history,
            seats=seats,
            match=match,
            contributions=None,
            clocks=clocks,
            version=len(skipped),
            deciders=match.deciders,
            over=match.over,
            default_actions=default_actions,
        )
        return (yield from state.replaying(rest))

    def snapshot(self) -> Snapshot:
        """A snapshot of the match, which must be dealt."""
        return write_snapshot(self.header, self.version, self.time, self.dealt(), self.clocks)

    # The next states

    def after(self, *entries: Entry) -> "MatchState":
        """The match with more entries.

        Raises ActionError if the rules do not allow an entry, or the clocks say otherwise, and
        Refusal for a contribution of entropy that is not owed.
        """
        state = self
        for entry in entries:
            _check_clocks(state, entry)
            state = _AFTER[entry.kind](state, entry)
        return state

    def replaying(self, entries: Iterable[Entry]) -> Work["MatchState"]:
        """As `after`."""
        state = self
        for entry in entries:
            state = state.after(entry)
            yield
        return state

    def after_action(self, entry: Entry, action: int) -> "MatchState":
        """As `after`, for one entry that holds an action, and which action that is."""
        _check_clocks(self, entry)
        return _played(self, entry, action)

    def going_back(self, version: int) -> Work["MatchState"]:
        """The match as it was at a version."""
        if version == self.version:
            return self
        begun = yield from MatchState.beginning(self.header)
        return (yield from begun.replaying(self.entries[:version]))

    def start_here(self, *, logged: bool = False) -> Start:
        """The start of a match that is played on from this one, as `write_start` says."""
        actions = [entry for entry in self.entries if entry.action and entry.kind in DECISIONS]
        return write_start(self.header, self.version, self.dealt(), actions, logged=logged)

    # What the match is

    def dealt(self) -> Match:
        """The engine's match, for a caller that knows that the cards are dealt."""
        assert self.match is not None, "the cards are not dealt yet"
        return self.match

    @property
    def resigned(self) -> int | None:
        """The seat that has resigned, if one has."""
        return next(iter(self._losers_by(_RESIGNATION)), None)

    @property
    def forfeited(self) -> tuple[int, ...]:
        """The seats that have forfeited because their time was up, which can be both at once."""
        return self._losers_by(_TIME)

    def _losers_by(self, reason: game_pb2.EndReason) -> tuple[int, ...]:
        end = self.early_end
        return end.losers if end is not None and end.reason == reason else ()

    @property
    def declined(self) -> bool:
        """Whether a seat declined it before it was dealt."""
        return self.early_end is not None and self.early_end.reason == _DECLINED

    @property
    def allows_hints(self) -> bool:
        """Whether its seats may ask for hints while it runs."""
        return self.header.hint_policy != game_pb2.HintPolicy.HINT_POLICY_AFTER_END

    @property
    def bot_due(self) -> int | None:
        """The bot that must decide now; the lower seat first, so that a match of bots repeats."""
        for seat in self.deciders:
            if self.header.bots[seat]:
                return seat
        return None

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
                ending=self._ending(),
            )
        return self.written.result

    def _ending(self) -> game_pb2.Ending | None:
        try:
            return wire.write_ending(self.dealt().view(SPECTATOR), self.events(self.version))
        # A sentence is not worth a match, and the code may be that of a package.
        except Exception as error:
            log_failure(f"telling the ending of a match of {self.game.id}", error)
            return None

    @property
    def status(self) -> MatchStatus:
        """The status of the match, which the log tells without a replay.

        It is due at its deadline, or at once where a bot must decide.
        """
        due = self.deadline if self.bot_due is None else self.time
        if due is None:
            if self.over:
                return _OVER
            return _RUNNING if self.header.time_control or any(self.header.bots) else _NEVER_DUE
        return MatchStatus(over=self.over, due=due)

    # Its entries

    @property
    def entries(self) -> list[Entry]:
        """All its entries."""
        return self.history.entries[: self.version]

    def entry(self, version: int) -> Entry:
        """The entry that made a version."""
        return self.history.entries[version - 1]

    def events(self, version: int) -> tuple[Event, ...]:
        """The events of a version; those of version 0 are the deal."""
        if not self.knows_events(version):
            finish_now(self.recalling_events())
        return self.history.events[version] or ()

    def knows_events(self, version: int) -> bool:
        """Whether the events of a version need no replay."""
        return self.history.events[version] is not None

    def recalling_events(self) -> Work[None]:
        """Finds the events of all versions that a snapshot has skipped."""
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
        return not since <= version <= self.version

    # Its clocks

    @property
    def time(self) -> int:
        """When its last entry was made, or else the match, in milliseconds since 1970."""
        return self.time_of(self.version)

    def time_of(self, version: int) -> int:
        """When a version was made, in milliseconds since 1970."""
        return self.entry(version).at if version else self.header.created

    def is_same(self, other: "MatchState") -> bool:
        """Whether another state is of the same version, not only of its number."""
        return self.version == other.version and self.time == other.time

    @property
    def deadline(self) -> int | None:
        """When the time of a seat is up, if a clock runs."""
        if self.clocks is None:
            return None
        return min((self.clocks.deadline(seat) for seat in self._clocked()), default=None)

    def expired(self, at: int) -> tuple[int, ...]:
        """The seats whose time is up at a time, if any is."""
        return () if self.clocks is None else self.clocks.expired(self._clocked(), at)

    def expiry(self, at: int) -> Entry | None:
        """The entry that must come before any other at a time, if the time of a seat is up."""
        expired = self.expired(at)
        if not expired or self.clocks is None:
            return None
        seat, action = expired[0], b""
        if not (self.clocks.control.forfeits or self.may_abandon(seat)):
            action = wire.serialize_action(self.game, _default_action(self.dealt(), seat))
        return Entry(EntryKind.EXPIRY, seat, at, action, self.version)

    def may_abandon(self, seat: int) -> bool:
        """Whether the match ends as abandoned when the time of a seat is up once more."""
        limit = 0 if self.clocks is None else self.clocks.control.max_default_actions
        return 0 < limit <= self.default_actions[seat]

    def idle_end(self, at: int) -> Entry:
        """The entry that ends the match at a time because nothing has happened for too long."""
        return Entry(EntryKind.IDLE, 0, at, expected_version=self.version)

    @property
    def can_be_idle(self) -> bool:
        """Whether the match waits for a seat without a clock, so that it may wait for ever."""
        return not self.over and self.status.due is None

    @property
    def attended(self) -> bool:
        """Whether somebody may wait for what happens: an open seat whose time is not up."""
        return any(
            not bot and not played
            for bot, played in zip(self.header.bots, self.default_actions, strict=True)
        )

    def _clocked(self) -> list[int]:
        # The seats whose clocks run: a bot has none.
        return [seat for seat in self.deciders if not self.header.bots[seat]]


_RUNNING, _OVER = MatchStatus(over=False), MatchStatus(over=True)
_NEVER_DUE = MatchStatus(over=False, was_due=False)  # It has neither clocks nor bots.


# The next state after each kind of entry


def _after_action(state: MatchState, entry: Entry) -> MatchState:
    return _played(state, entry, wire.parse_action(state.game, entry.action))


def _after_expiry(state: MatchState, entry: Entry) -> MatchState:
    # The time of a seat is up, as was checked: the seat forfeits or has abandoned the match, or an
    # action is played for it.
    assert state.clocks is not None
    forfeits = state.clocks.control.forfeits
    if bool(entry.action) == (forfeits or state.may_abandon(entry.seat)):
        raise ActionError("action", "this is not what happens when time is up")
    if forfeits:
        return _ended_early(state, entry, _TIME, state.expired(entry.at))
    if not entry.action:
        return _ended_early(state, entry, _ABANDONED, _absent(state, entry.seat))
    action = wire.parse_action(state.game, entry.action)
    if action != _default_action(state.dealt(), entry.seat):
        raise ActionError("action", "this is not what is played by default")
    return _played(state, entry, action)


def _absent(state: MatchState, seat: int) -> tuple[int, ...]:
    # The seats that have left, given that one has. Half as many default actions are enough for the
    # other seat, since the seats take turns of different lengths.
    other = 1 - seat
    if 2 * state.default_actions[other] >= state.default_actions[seat]:
        return 0, 1
    return (seat,)


def _after_resignation(state: MatchState, entry: Entry) -> MatchState:
    return _ended_early(state, entry, _RESIGNATION, (entry.seat,))


def _after_idle(state: MatchState, entry: Entry) -> MatchState:
    if not state.can_be_idle:
        raise ActionError("at", "only a match that waits without a clock is idle")
    # A bot never owes a decision here. That the match waits for an invited seat, or for entropy,
    # cannot be held against a seat.
    return _ended_early(state, entry, _IDLE, state.deciders)


def _after_decline(state: MatchState, entry: Entry) -> MatchState:
    if not state.seats.missing or state.header.bots[entry.seat]:
        raise ActionError("seat", "only a match that waits for a player can be declined, by a seat")
    return _ended_early(state, entry, _DECLINED, ())


def _ends_early(entry: Entry) -> bool:
    # Where the cards may be dealt: no snapshot is older than that.
    return entry.kind in (EntryKind.RESIGNATION, EntryKind.IDLE) or (
        entry.kind == EntryKind.EXPIRY and not entry.action
    )


def _ended_early(
    state: MatchState, entry: Entry, reason: game_pb2.EndReason, losers: tuple[int, ...]
) -> MatchState:
    return _next(state, entry, early_end=EarlyEnd(reason, losers), over=True, deciders=())


def _after_entropy_hash(state: MatchState, entry: Entry) -> MatchState:
    if state.contributions is None:
        raise not_owed("the cards are dealt")
    if entry.seat in state.seats.missing:
        raise not_owed(f"seat {entry.seat} was not joined yet")
    return _next(state, entry, contributions=state.contributions.after_hash(entry))


def _after_entropy(state: MatchState, entry: Entry) -> MatchState:
    # The last one deals the match.
    if state.contributions is None:
        raise not_owed("the cards are dealt")
    contributions = state.contributions.after_entropy(entry)
    if not contributions.complete:
        return _next(state, entry, contributions=contributions)
    secret = contributions.mixed_into(state.header.secret)
    return _dealt(state._replace(contributions=None), entry, secret)


def _after_join(state: MatchState, entry: Entry) -> MatchState:
    # The last one deals the match, unless it waits for entropy, for which all have joined before.
    seats = state.seats.after(state.version + 1, entry)
    if state.header.entropy_from_seats or seats.missing:
        return _next(state, entry, seats=seats)
    return _dealt(state._replace(seats=seats), entry, state.header.secret)


def _after_replacement(state: MatchState, entry: Entry) -> MatchState:
    return _next(state, entry, seats=state.seats.after(state.version + 1, entry))


def _dealt(state: MatchState, entry: Entry, secret: bytes) -> MatchState:
    version = state.seats.engine_version(state.version + 1)
    match = Match(state.game, secret, state.header.chance_id, version, state.start)
    return _next(
        state,
        entry,
        tuple(match.events),
        match=match,
        clocks=_restarted(state.clocks, match, entry),
        deciders=match.deciders,
        over=match.over,
    )


_AFTER: dict[EntryKind, Callable[[MatchState, Entry], MatchState]] = {
    EntryKind.ACTION: _after_action,
    EntryKind.EXPIRY: _after_expiry,
    EntryKind.RESIGNATION: _after_resignation,
    EntryKind.ENTROPY_HASH: _after_entropy_hash,
    EntryKind.ENTROPY: _after_entropy,
    EntryKind.IDLE: _after_idle,
    EntryKind.JOIN: _after_join,
    EntryKind.TOKEN: _after_replacement,
    EntryKind.DECLINE: _after_decline,
}


def _check_clocks(state: MatchState, entry: Entry) -> None:
    # At a deadline or later nothing comes before the entry that says that the time is up.
    expired = state.expired(entry.at)
    expires = entry.kind == EntryKind.EXPIRY
    if expires != bool(expired) or (expires and entry.seat != expired[0]):
        raise ActionError("at", "this is not what the clocks say")


def _played(state: MatchState, entry: Entry, action: int) -> MatchState:
    if state.match is None:
        raise ActionError("seat", "the cards are not dealt yet")
    match = state.match.copy()
    events = tuple(match.apply(entry.seat, action))
    clocks = state.clocks
    if clocks is not None:
        clocks = _restarted(clocks.after(entry.seat, entry.at), match, entry)
    # Field by field, since nearly all entries are actions, and `_replace` takes four times as long.
    return MatchState(
        state.header,
        state.game,
        state.history.after(state.version, entry, events),
        state.seats,
        state.start,
        state.origin,
        match,
        state.contributions,
        clocks,
        state.version + 1,
        match.deciders,
        match.over,
        state.early_end,
        _count_default_actions(state.default_actions, entry),
        Written(),
    )


def _restarted(clocks: Clocks | None, match: Match, entry: Entry) -> Clocks | None:
    # The clocks of the seats whose decision is a new one since this entry.
    if clocks is None:
        return None
    changed = [seat for seat, since in enumerate(match.since) if since == match.version]
    return clocks.restarted(changed, entry.at)


def _next(
    state: MatchState, entry: Entry, events: tuple[Event, ...] = (), **changed: Any
) -> MatchState:
    # The state with an entry, its events and the fields that they change.
    return state._replace(
        history=state.history.after(state.version, entry, events),
        version=state.version + 1,
        default_actions=_count_default_actions(state.default_actions, entry),
        written=Written(),
        **changed,
    )


def _count_default_actions(counts: tuple[int, int], entry: Entry) -> tuple[int, int]:
    # The default actions in a row for each seat, after an entry.
    if entry.kind == EntryKind.EXPIRY and entry.action:
        count = counts[entry.seat] + 1
    elif entry.kind == EntryKind.ACTION and counts[entry.seat]:
        count = 0
    else:
        return counts
    return (count, counts[1]) if entry.seat == 0 else (counts[0], count)


def _default_action(match: Match, seat: int) -> int:
    # A fixed choice, such as the lowest action, would tell of the hand that it holds nothing lower.
    # One drawn with equal chances (but for 1 in 2**240: it is 256 bits modulo a few actions) tells
    # no more than what it is, and only the server can know it in advance.
    what = f"croupier/default-action/v1\0{match.match_id}\0{match.since[seat]}\0{seat}\0"
    drawn = int.from_bytes(hashlib.shake_256(what.encode() + match.secret).digest(32), "big")
    legal = match.legal(seat)
    return legal[drawn % len(legal)]


@lru_cache(maxsize=_GAMES_KEPT)
def _under(game: Game, rules_version: int) -> Game | None:
    return game.under(rules_version)


def _read_game(header: Header) -> Game:
    game = None
    if header.game in wire.hosted_games():
        game = wire.read_ruleset(game_pb2.Ruleset.FromString(header.ruleset), "ruleset")
        under = _under(game, header.rules_version)
        if under is not None:
            return under
    versions = {"game": header.game, "rules_version": str(header.rules_version)}
    if game is not None:
        versions["server_rules_version"] = str(game.rules_version)
    raise Refusal(
        ErrorReason.ERROR_REASON_RULES_CHANGED,
        f"the match began under version {header.rules_version} of the rules of {header.game}; this "
        + ("server has no such game" if game is None else f"server has {game.rules_version}"),
        metadata=versions,
    )
