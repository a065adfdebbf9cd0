"""Decisions ahead, judged: each is made when it is due, as its seat has sent it, or not at all."""

import wire
from croupier.v1 import game_pb2
from engine.errors import ActionError
from service.hosting.entries import EntryKind
from tests.simulation.course import courses


def is_made_ahead(entry, header):
    """Whether the server has made an entry of a log, as its seat had decided it ahead."""
    return entry.kind == EntryKind.ACTION and not entry.request_id and not header.bots[entry.seat]


def waits(view):
    """Whether the seat of a view has decided ahead what it owes next."""
    return bool(view.decisions_ahead.actions) and not view.decisions_ahead.end_reason


class Noted:
    """What the clients of a match have sent ahead and cancelled, and what they were shown of it."""

    def __init__(self):
        self.sent = {}  # What the view is to say, by seat and request_id.
        # By seat: the versions between which it was cancelled. What was made by the second stays.
        self.cancelled = ([], [])
        self.seen = set()  # Seats, versions and what their views have said.

    def send(self, seat, request):
        """A client sends a request."""
        self.sent[seat, request.request_id] = game_pb2.DecisionsAhead(
            actions=request.then_actions,
            then_unless=request.then_unless or game_pb2.THEN_UNLESS_SHOWN,
        )

    def see(self, view):
        """A seat was shown a view."""
        told = view.decisions_ahead.SerializeToString(deterministic=True)
        self.seen.add((view.seat, view.version, told))

    def due(self, stored):
        """The versions after which a server has something to make, for certain and perhaps."""
        walk = _Walk(self, stored)
        for _ in walk.wrong():
            pass
        return walk.due, walk.perhaps_due

    def wrong(self, stored):
        """What the log, or a view, does otherwise."""
        walk = _Walk(self, stored)
        yield from walk.wrong()
        for seat, version, told in sorted(self.seen):
            if told not in walk.shown.get((seat, version), ()):
                said = game_pb2.DecisionsAhead.FromString(told)
                yield f"version {version} shows seat {seat} decisions ahead that are wrong: {said}"


class _Walk:
    def __init__(self, noted, stored):
        self._noted, self._stored = noted, stored
        self.waiting = [game_pb2.DecisionsAhead(), game_pb2.DecisionsAhead()]
        self.gone = [False, False]  # Whether it may have been cancelled.
        self.shown = {}  # What a view may say, by seat and version.
        self.due, self.perhaps_due = set(), set()

    def wrong(self):
        owing = ()
        for course, entry, happened in courses(self._stored):
            version = course.version
            if entry is not None:
                yield from self._of_entry(version, entry, owing)
            owing = ()  # The seats of which one comes next, for certain.
            certain = False
            # What a clock demands of either seat comes first.
            has_time = all(course.deadline(each) > course.time for each in course.clocked())
            for seat in (0, 1):
                self._stop(course, seat, happened)
                self._cancel(version, seat)
                message = self.waiting[seat]
                if course.over:
                    message.Clear()
                may = {message.SerializeToString(deterministic=True)}
                if self.gone[seat]:
                    may.add(b"")
                self.shown[seat, version] = may
                waits = bool(message.actions) and not message.end_reason
                if waits and seat in course.deciders and has_time:
                    (self.perhaps_due if self.gone[seat] else self.due).add(version)
                    owing = owing if certain else (*owing, seat)
                    certain = certain or not self.gone[seat]
                if self._is_cancelled(version, seat):
                    message.Clear()
                    self.gone[seat] = False
            owing = owing if certain else ()

    def _of_entry(self, version, entry, owing):
        seat, message = entry.seat, self.waiting[entry.seat]
        made = is_made_ahead(entry, self._stored.header)
        if owing and not (made and seat in owing):
            yield f"version {version} comes before what seat {owing[-1]} had decided ahead"
        if made:
            first = message.actions[0] if message.actions and not message.end_reason else None
            if first is None or first.SerializeToString(deterministic=True) != entry.action:
                yield f"version {version} is a decision that seat {seat} has not made ahead"
            else:
                del message.actions[0]
            if not message.actions:
                message.Clear()
        elif entry.kind == EntryKind.ACTION:
            sent = self._noted.sent.get((seat, entry.request_id.partition("\0")[0]))
            message.Clear()
            if sent is not None and sent.actions:
                message.CopyFrom(sent)
            self.gone[seat] = False
        elif entry.kind in (EntryKind.EXPIRY, EntryKind.TOKEN):
            message.Clear()
        elif entry.kind in (EntryKind.OFFER, EntryKind.ANSWER) and tuple(entry.action) == (1, 1):
            for each in self.waiting:  # A decision was taken back.
                each.Clear()
            self.gone = [False, False]

    def _stop(self, course, seat, happened):
        message = self.waiting[seat]
        if not message.actions or message.end_reason:
            return
        # What is shown of a hidden thing is no part of the record.
        told = any(e.seat != seat and e.seen_by(seat) and e.recorded for e in happened)
        if told and message.then_unless != game_pb2.THEN_UNLESS_ILLEGAL:
            message.end_reason = game_pb2.AHEAD_END_SHOWN
        elif seat in course.deciders:
            try:
                number = wire.read_action(course.game, message.actions[0])
                legal = number in course.match.legal(seat)
            except ActionError:
                legal = False
            if not legal:
                message.end_reason = game_pb2.AHEAD_END_ILLEGAL

    def _cancel(self, version, seat):
        for first, last in self._noted.cancelled[seat]:
            if first <= version <= last and self.waiting[seat].actions:
                self.gone[seat] = True

    def _is_cancelled(self, version, seat):
        return any(version == last for _, last in self._noted.cancelled[seat])
