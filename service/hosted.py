"""A match as its log tells it."""

from typing import NamedTuple

from croupier.v1 import game_pb2, match_pb2
from engine import game as engine
from service import wire
from service.store import Entry, Header

RESULT_REASONS = {
    False: game_pb2.EndReason.END_REASON_RULES,
    True: game_pb2.EndReason.END_REASON_RESIGNATION,
}


class Request(NamedTuple):
    """A request that was carried out."""

    seat: int
    request_id: str


class Hosted:
    """A match after some of its entries. It never changes: `after` makes the next one.

    It is computed from its header and its entries alone, so that two servers that read the same
    log, or one before and after a restart, show the same bytes.
    """

    def __init__(self, header: Header) -> None:
        """The match as it was dealt."""
        self.header = header
        self.ruleset = game_pb2.Ruleset.FromString(header.ruleset)
        self.game = wire.read_ruleset(self.ruleset, "ruleset")
        self.match = engine.Match(self.game, header.secret, header.chance_id)
        self.entries: tuple[Entry, ...] = ()
        self.resigned: int | None = None
        # By version, what happened.
        self._events: tuple[tuple[engine.Event, ...], ...] = (tuple(self.match.events),)
        self._requests: dict[Request, int] = {}
        self._views: dict[int, game_pb2.View] = {}

    def after(self, entry: Entry) -> "Hosted":
        """The match with one more entry; raises ActionError if the rules do not allow it."""
        match = self.match.copy()
        events = []
        if entry.action:
            action = game_pb2.Action.FromString(entry.action)
            events = match.apply(entry.seat, wire.read_action(self.game, action))
        hosted = Hosted.__new__(Hosted)
        hosted.header, hosted.ruleset, hosted.game = self.header, self.ruleset, self.game
        hosted.match = match
        hosted.entries = (*self.entries, entry)
        hosted.resigned = self.resigned if entry.action else entry.seat
        hosted._events = (*self._events, tuple(events))
        hosted._requests = dict(self._requests)
        if entry.request_id:
            hosted._requests[Request(entry.seat, entry.request_id)] = hosted.version
        hosted._views = {}
        return hosted

    def at(self, version: int) -> "Hosted":
        """The match as it was at a version."""
        if version == self.version:
            return self
        hosted = Hosted(self.header)
        for entry in self.entries[:version]:
            hosted = hosted.after(entry)
        return hosted

    @property
    def version(self) -> int:
        """The number of entries."""
        return len(self.entries)

    @property
    def over(self) -> bool:
        """Whether nothing can happen any more."""
        return self.resigned is not None or self.match.over

    @property
    def deciders(self) -> tuple[int, ...]:
        """The seats that owe a decision."""
        return () if self.resigned is not None else self.match.deciders

    @property
    def result(self) -> game_pb2.Result | None:
        """How it ended; None while it runs."""
        if not self.over:
            return None
        scores = self.match.scores
        if self.resigned is not None:
            scores = (float(self.resigned != 0), float(self.resigned != 1))
        return game_pb2.Result(scores=scores, reason=RESULT_REASONS[self.resigned is not None])

    def version_of(self, seat: int, request_id: str) -> int | None:
        """The version that a request of a seat has made, if it was carried out."""
        return self._requests.get(Request(seat, request_id))

    def is_stale(self, seat: int, version: int) -> bool:
        """Whether what a seat owes has changed since a version, or the version is yet to come."""
        return not self.match.since[seat] <= version <= self.version

    def view(self, viewer: int) -> game_pb2.View:
        """What a seat, or SPECTATOR, knows. Not to be changed."""
        if viewer not in self._views:
            self._views[viewer] = self._write_view(viewer)
        return self._views[viewer]

    def _write_view(self, viewer: int) -> game_pb2.View:
        view = game_pb2.View(
            match=f"matches/{self.header.match_id}",
            version=self.version,
            deciders=self.deciders,
            result=self.result,
            ruleset=self.ruleset,
        )
        if viewer in (0, 1):
            view.seat = viewer
        if viewer in self.deciders:
            view.legal_actions.extend(
                wire.write_action(self.game, action) for action in self.match.legal(viewer)
            )
        wire.write_view(self.game, self.match.view(viewer), view)
        return view

    def happened(self, version: int, viewer: int) -> list[game_pb2.Event]:
        """What a seat, or SPECTATOR, saw happen at a version."""
        events = [
            wire.write_event(self.game, event, version)
            for event in self._events[version]
            if event.seen_by(viewer)
        ]
        held = version > 0 and self.entries[version - 1].action and not self._events[version]
        if held:
            decided = game_pb2.SeatDecided(seat=self.entries[version - 1].seat)
            events.append(game_pb2.Event(version=version, seat_decided=decided))
        if self.over and version == self.version:
            ended = game_pb2.MatchEnded(result=self.result)
            events.append(game_pb2.Event(version=version, match_ended=ended))
        return events

    def record(self) -> match_pb2.Record:
        """Everything that happened, hidden cards and all. Only for a match that is over."""
        record = match_pb2.Record(
            match=f"matches/{self.header.match_id}",
            ruleset=wire.write_ruleset(self.game),
            rules_version=self.header.rules_version,
            secret=self.header.secret,
            result=self.result,
        )
        for version, events in enumerate(self._events):
            if version:
                self._record_entry(record.entries.add(version=version), self.entries[version - 1])
            for event in events:
                if event.recorded:
                    record.entries.add(
                        version=version, event=wire.write_event(self.game, event, version)
                    )
        return record

    def _record_entry(self, into: match_pb2.RecordEntry, entry: Entry) -> None:
        if entry.action:
            into.action.seat = entry.seat
            into.action.action.MergeFromString(entry.action)
        else:
            into.resignation.seat = entry.seat
