"""A match as its log tells it."""

import hashlib
from collections.abc import Sequence
from typing import Any

from croupier.v1 import clock_pb2, game_pb2, match_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.errors import ActionError
from engine.events import Event
from engine.game import SPECTATOR, Game
from engine.match import Match
from service import wire
from service.errors import Refusal
from service.hosting import snapshots
from service.hosting.clocks import Clocks, read_control
from service.hosting.entropy import CONTRIBUTIONS, Contributions, not_owed
from service.store import Entry, EntryKind, Header, MatchStatus, Snapshot, Stored

_DECISIONS = (EntryKind.ACTION, EntryKind.EXPIRY)
_RUNNING, _OVER = MatchStatus(over=False), MatchStatus(over=True)

_DIGEST_DOMAIN = b"croupier/record/v1\0"


class _History:
    """What has happened in a match. All versions share one, each of them the beginning of it."""

    def __init__(
        self,
        entries: list[Entry],
        # By version, what happened; None: it was skipped, and is computed if someone asks.
        events: list[tuple[Event, ...] | None],
        requests: dict[tuple[int, str], int],
    ) -> None:
        self.entries = entries
        self.events = events
        # Those that were carried out, by seat and request_id, and the version each has made.
        self.requests = requests

    def after(
        self,
        version: int,
        entries: Sequence[Entry],
        events: Sequence[tuple[Event, ...] | None],
    ) -> "_History":
        """The history of a version, and what comes next."""
        history = self
        if len(self.entries) > version:
            # Something else came next, which was not to be or is no more asked for.
            before = {request: made for request, made in self.requests.items() if made <= version}
            history = _History(self.entries[:version], self.events[: version + 1], before)
        history.entries.extend(entries)
        history.events.extend(events)
        for made, entry in enumerate(entries, version + 1):
            if entry.request_id:
                history.requests[entry.seat, entry.request_id] = made
        return history


class MatchState:
    """A match after some of its entries. It never changes: `after` makes the next one.

    It is computed from its header and its entries alone, so that two servers that read the same
    log, or one before and after a restart, show the same bytes.
    """

    def __init__(self, header: Header) -> None:
        """The match as it was dealt; raises Refusal if it was dealt under other rules."""
        self.header = header
        self.game = _game(header, game_pb2.Ruleset.FromString(header.ruleset))
        # What is contributed to its chance, as long as it is not dealt.
        self.waiting: Contributions | None = None
        self.version = 0  # The number of entries.
        self.resigned: int | None = None
        self.forfeited: tuple[int, ...] = ()
        control = read_control(header.time_control)
        self.clocks = None if control is None else Clocks.start(control, header.created)
        dealt: tuple[Event, ...] = ()
        if header.entropy_from_seats:
            self.waiting = Contributions([seat for seat in (0, 1) if not header.bots[seat]])
        else:
            self.match = Match(self.game, header.secret, header.chance_id)
            dealt = tuple(self.match.events)
        self._history = _History([], [dealt], {})
        self._views: dict[int, bytes] = {}
        self._see_who_decides()

    @staticmethod
    def load(stored: Stored) -> "MatchState":
        """The match as it is stored; its snapshot, if it fits, spares most of the work."""
        state = MatchState(stored.header)
        entries, snapshot = stored.entries, stored.snapshot
        if snapshot is None or snapshot.version > len(entries):
            return state.after(*entries)
        control = None if state.clocks is None else state.clocks.control
        read = snapshots.read(stored.header, state.game, control, snapshot)
        if read is None:
            return state.after(*entries)
        skipped, rest = entries[: snapshot.version], entries[snapshot.version :]
        match, clocks = read
        return state._next(match, None, clocks, (), skipped, [None] * len(skipped)).after(*rest)

    def after(self, *entries: Entry) -> "MatchState":
        """The match with more entries; raises ActionError if the rules do not allow one.

        Nor do they if it says otherwise than the clocks. Raises Refusal for a contribution to its
        chance that is not owed.
        """
        if not entries:
            return self
        waiting, clocks, forfeited = self.waiting, self.clocks, self.forfeited
        match = None if waiting else self.match.copy()
        happened: list[tuple[Event, ...] | None] = []
        for version, entry in enumerate(entries, self.version + 1):
            events: list[Event] = []
            expired = clocks.expired(self._clocked(match), entry.at) if clocks and match else ()
            expires = entry.kind == EntryKind.EXPIRY
            if expires != bool(expired) or (expires and entry.seat != expired[0]):
                raise ActionError("at", "this is not what the clocks say")
            if expired and clocks and clocks.control.forfeits != (not entry.action):
                raise ActionError("action", "this is not what happens when time is up")
            if expired and not entry.action:
                forfeited = expired
            elif entry.kind in _DECISIONS:
                if match is None:
                    raise ActionError("seat", "the cards are not dealt yet")
                action = wire.parse_action(self.game, entry.action)
                if expired and action != _default_action(match, expired[0]):
                    raise ActionError("action", "this is not what is played by default")
                events = match.apply(entry.seat, action)
                clocks = clocks and clocks.after(entry.seat, entry.at)
            elif entry.kind in CONTRIBUTIONS:
                if waiting is None:
                    raise not_owed("the cards are dealt")
                waiting = waiting.after(entry)
                if waiting.complete:
                    match, waiting = self._deal(waiting, version), None
                    events = match.events
            if clocks and match:
                changed = [seat for seat, since in enumerate(match.since) if since == version]
                clocks = clocks.restarted(changed, entry.at)
            happened.append(tuple(events))
        return self._next(match, waiting, clocks, forfeited, entries, happened)

    def _deal(self, contributed: Contributions, version: int) -> Match:
        secret = contributed.mixed_into(self.header.secret)
        return Match(self.game, secret, self.header.chance_id, version)

    def _next(
        self,
        match: Match | None,
        waiting: Contributions | None,
        clocks: Clocks | None,
        forfeited: tuple[int, ...],
        entries: Sequence[Entry],
        happened: Sequence[tuple[Event, ...] | None],
    ) -> "MatchState":
        state = MatchState.__new__(MatchState)
        state.header, state.game = self.header, self.game
        state.waiting, state.clocks, state.forfeited = waiting, clocks, forfeited
        if match is not None:
            state.match = match
        state.version = self.version + len(entries)
        state.resigned = self.resigned
        for entry in entries:
            if entry.kind == EntryKind.RESIGNATION:
                state.resigned = entry.seat
        state._history = self._history.after(self.version, entries, happened)
        state._views = {}
        state._see_who_decides()
        return state

    def _see_who_decides(self) -> None:
        self._broken_off = self.resigned is not None or bool(self.forfeited)
        # Whether nothing can happen any more.
        self.over = self._broken_off or (not self.waiting and self.match.over)
        # The seats that owe a decision.
        self.deciders: tuple[int, ...] = ()
        if not self.waiting and not self._broken_off:
            self.deciders = self.match.deciders

    def at(self, version: int) -> "MatchState":
        """The match as it was at a version."""
        if version == self.version:
            return self
        return MatchState(self.header).after(*self.entries[:version])

    def snapshot(self) -> Snapshot:
        """What spares computing it again."""
        return snapshots.write(self.header, self.version, self.match, self.clocks)

    @property
    def entries(self) -> list[Entry]:
        """All its entries."""
        return self._history.entries[: self.version]

    def entry(self, version: int) -> Entry:
        """The entry that made a version."""
        return self._history.entries[version - 1]

    @property
    def time(self) -> int:
        """When its last entry was made, or else the match, in milliseconds since 1970."""
        return self.entry(self.version).at if self.version else self.header.created

    @property
    def bot_due(self) -> int | None:
        """The bot that must decide now; the lower seat first, so that a match of bots repeats."""
        for seat in self.deciders:
            if self.header.bots[seat]:
                return seat
        return None

    def _clocked(self, match: Match) -> list[int]:
        # The seats whose clocks run.
        return [seat for seat in match.deciders if not self.header.bots[seat]]

    @property
    def deadline(self) -> int | None:
        """When the time of a seat is up, if a clock runs."""
        if self.clocks is None or self.waiting or self._broken_off:
            return None
        clocked = self._clocked(self.match)
        return min((self.clocks.deadline(seat) for seat in clocked), default=None)

    def expiry(self, at: int) -> Entry | None:
        """What the clocks add at a time, before anything else can be: at a deadline or after it."""
        if self.clocks is None or self.waiting or self._broken_off:
            return None
        expired = self.clocks.expired(self._clocked(self.match), at)
        if not expired:
            return None
        action = b""
        if not self.clocks.control.forfeits:
            action = wire.serialize_action(self.game, _default_action(self.match, expired[0]))
        return Entry(EntryKind.EXPIRY, expired[0], at, action, self.version)

    @property
    def status(self) -> MatchStatus:
        """What is to be found about it without computing it."""
        due = self.deadline if self.bot_due is None else self.time
        if due is None:
            return _OVER if self.over else _RUNNING
        return MatchStatus(over=self.over, due=due)

    @property
    def result(self) -> game_pb2.Result | None:
        """How it ended; None while it runs."""
        if not self.over:
            return None
        if self.resigned is not None:
            scores: tuple[float, float] | None = _scores_without(self.resigned)
            reason = game_pb2.EndReason.END_REASON_RESIGNATION
        elif self.forfeited:
            scores = _scores_without(*self.forfeited)
            reason = game_pb2.EndReason.END_REASON_TIME
        else:
            scores, reason = self.match.scores, game_pb2.EndReason.END_REASON_RULES
        return game_pb2.Result(scores=scores, reason=reason)

    def version_of(self, seat: int, request_id: str) -> int | None:
        """The version that a request of a seat has made, if it was carried out."""
        version = self._history.requests.get((seat, request_id))
        return None if version is None or version > self.version else version

    def is_stale(self, seat: int, version: int) -> bool:
        """Whether what a seat owes has changed since a version, or the version is yet to come."""
        since = 0 if self.waiting else self.match.since[seat]
        return not since <= version <= self.version

    def view(self, viewer: int) -> bytes:
        """What a seat, or SPECTATOR, knows: a View, serialized."""
        if viewer not in self._views:
            self._views[viewer] = self._write_view(viewer)
        return self._views[viewer]

    def _write_view(self, viewer: int) -> bytes:
        # In the order of the fields, as protobuf writes them.
        name = f"matches/{self.header.match_id}".encode()
        parts = [wire.field(game_pb2.View.MATCH_FIELD_NUMBER, name)]
        if self.version:
            parts.append(wire.number_field(game_pb2.View.VERSION_FIELD_NUMBER, self.version))
        if viewer != SPECTATOR:
            parts.append(wire.number_field(game_pb2.View.SEAT_FIELD_NUMBER, viewer))
        if self.deciders:
            parts.append(wire.field(game_pb2.View.DECIDERS_FIELD_NUMBER, bytes(self.deciders)))
        if viewer in self.deciders:
            parts.append(wire.write_legal_actions(self.game, self.match.legal(viewer)))
        if self.over:
            parts.append(game_pb2.View(result=self.result).SerializeToString())
        parts.append(wire.field(game_pb2.View.RULESET_FIELD_NUMBER, self.header.ruleset))
        if self.clocks is not None:
            clocks = self._write_clocks(self.clocks)
            parts.append(game_pb2.View(clocks=clocks).SerializeToString())
        if self.waiting:
            parts.append(game_pb2.View(entropy_owed=self.waiting.owed).SerializeToString())
        else:
            parts.append(wire.write_view(self.game, self.match.view(viewer)))
        return b"".join(parts)

    def _write_clocks(self, clocks: Clocks) -> clock_pb2.Clocks:
        into = clock_pb2.Clocks()
        into.time.FromMilliseconds(self.time)
        into.time_control.MergeFromString(self.header.time_control)
        for seat, bot in enumerate(self.header.bots):
            if bot:
                continue
            owes = not self.waiting and seat in self.match.deciders
            clock = into.seats.add(seat=seat)
            left = clocks.left_at(seat, self.time, owes=owes)
            if left is not None:
                clock.time_left.FromMilliseconds(left)
            if owes and not self._broken_off:
                clock.deadline.FromMilliseconds(clocks.deadline(seat))
        return into

    def happened(self, version: int, viewer: int) -> list[game_pb2.Event]:
        """What a seat, or SPECTATOR, saw happen at a version."""
        happened = self._happened(version)
        entry = self.entry(version) if version else None
        events = []
        if entry is not None and entry.kind in CONTRIBUTIONS:
            events.append(game_pb2.Event(version=version, **_contribution(entry)))
        if entry is not None and entry.kind == EntryKind.EXPIRY:
            expired = game_pb2.TimeExpired(seats=self.forfeited or (entry.seat,))
            events.append(game_pb2.Event(version=version, time_expired=expired))
        events += [
            wire.write_event(self.game, event, version)
            for event in happened
            if event.seen_by(viewer)
        ]
        if entry is not None and entry.kind in _DECISIONS and entry.action and not happened:
            decided = game_pb2.SeatDecided(seat=entry.seat)
            events.append(game_pb2.Event(version=version, seat_decided=decided))
        if self.over and version == self.version:
            ended = game_pb2.MatchEnded(result=self.result)
            events.append(game_pb2.Event(version=version, match_ended=ended))
        return events

    def _happened(self, version: int) -> tuple[Event, ...]:
        if self._history.events[version] is None:
            self._history = MatchState(self.header).after(*self.entries)._history
        return self._history.events[version] or ()

    def record(self) -> match_pb2.Record:
        """Everything that happened, hidden cards and all. Only for a match that is over."""
        header = self.header
        record = match_pb2.Record(
            match=f"matches/{header.match_id}",
            ruleset=wire.write_ruleset(self.game),
            rules_version=header.rules_version,
            secret=header.secret,
            result=self.result,
            secret_hash=header.secret_hash,
            seeded=header.seeded,
            entropy_from_seats=header.entropy_from_seats,
            seats=write_seats(header.bots),
        )
        record.create_time.FromMilliseconds(header.created)
        if self.header.time_control:
            record.time_control.MergeFromString(self.header.time_control)
        for version in range(self.version + 1):
            if version:
                self._record_entry(record.entries.add(version=version), self.entry(version))
            for event in self._happened(version):
                if event.recorded:
                    record.entries.add(
                        version=version, event=wire.write_event(self.game, event, version)
                    )
        record.digest = digest(record)
        return record

    def _record_entry(self, into: match_pb2.RecordEntry, entry: Entry) -> None:
        into.time.FromMilliseconds(entry.at)
        if entry.kind == EntryKind.ACTION:
            into.action.seat = entry.seat
            into.action.action.MergeFromString(entry.action)
        elif entry.kind == EntryKind.EXPIRY:
            into.expiry.seat = entry.seat
            if entry.action:
                into.expiry.action.MergeFromString(entry.action)
        elif entry.kind == EntryKind.RESIGNATION:
            into.resignation.seat = entry.seat
        else:
            into.MergeFrom(match_pb2.RecordEntry(**_contribution(entry)))


def digest(record: match_pb2.Record) -> bytes:
    """The digest that belongs into a record."""
    whole = match_pb2.Record()
    whole.CopyFrom(record)
    whole.ClearField("digest")
    return hashlib.sha256(_DIGEST_DOMAIN + whole.SerializeToString(deterministic=True)).digest()


def write_seats(bots: Sequence[int]) -> list[match_pb2.SeatConfig]:
    """Who plays, as a message."""
    return [
        match_pb2.SeatConfig(bot=match_pb2.Bot(strength=match_pb2.BotStrength.Name(bot)))
        if bot
        else match_pb2.SeatConfig(open=match_pb2.OpenSeat())
        for bot in bots
    ]


def _contribution(entry: Entry) -> dict[str, Any]:
    # As the fields of an event, and of an entry of a record, are called.
    if entry.kind == EntryKind.ENTROPY_HASH:
        return {"entropy_hash": game_pb2.SeatEntropyHash(seat=entry.seat, hash=entry.action)}
    return {"entropy": game_pb2.SeatEntropy(seat=entry.seat, entropy=entry.action)}


def _game(header: Header, ruleset: game_pb2.Ruleset) -> Game:
    game = None
    if header.game in wire.hosted_games():
        game = wire.read_ruleset(ruleset, "ruleset")
        if game.rules_version == header.rules_version:
            return game
    versions = {"game": header.game, "rules_version": str(header.rules_version)}
    if game is not None:
        versions["server_rules_version"] = str(game.rules_version)
    raise Refusal(
        ErrorReason.ERROR_REASON_RULES_CHANGED,
        f"the match was begun under version {header.rules_version} of the rules of {header.game}, "
        + ("which is not here" if game is None else f"and here they have {game.rules_version}"),
        metadata=versions,
    )


def _scores_without(*losers: int) -> tuple[float, float]:
    if len(losers) > 1:
        return 0.5, 0.5
    return float(losers[0] != 0), float(losers[0] != 1)


def _default_action(match: Match, seat: int) -> int:
    # A fixed choice, the lowest action say, would tell of the hand that it holds nothing lower.
    # What is drawn with equal chances tells no more than what it is, and only the server can know
    # it before.
    what = f"croupier/default-action/v1\0{match.match_id}\0{match.since[seat]}\0{seat}\0"
    drawn = int.from_bytes(hashlib.shake_256(what.encode() + match.secret).digest(32), "big")
    legal = match.legal(seat)
    return legal[drawn % len(legal)]
