"""Decisions ahead: what seats have decided before they owe it.

They lie beside the log (`Head.ahead`), and are written with each entry. `Ahead.after` says what an
entry leaves of them, and `MatchState.ahead_due` which one is due: that is made before anything
else, as what the clocks demand is (`Matches.settle`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import wire
from croupier.v1 import game_pb2
from engine.errors import ActionError, RulesFault
from engine.events import Event
from engine.match import Match
from service.store import Entry, chain

_LENGTH_BYTES = 4


class Ahead(NamedTuple):
    """By seat: a serialized DecisionsAhead, or empty if it has decided nothing ahead."""

    first: bytes = b""
    second: bytes = b""

    @staticmethod
    def read(match_id: str, version: int, data: bytes) -> "Ahead":
        """What `write` has written of a version of a match; raises Damaged."""
        if not data:
            return NOTHING
        if len(data) < _LENGTH_BYTES:
            raise chain.Damaged(match_id, version, "what its seats have decided ahead was changed")
        end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES])
        return Ahead(data[_LENGTH_BYTES:end], data[end:])

    def write(self) -> bytes:
        """As the log keeps it; empty if no seat has decided anything ahead."""
        if self == NOTHING:
            return b""
        return len(self.first).to_bytes(_LENGTH_BYTES) + self.first + self.second

    def changed(self, seat: int, ahead: bytes) -> "Ahead":
        """The same with what a seat has decided ahead."""
        return Ahead(ahead, self.second) if seat == 0 else Ahead(self.first, ahead)

    def after(self, entry: Entry, events: Sequence[Event], match: Match) -> "Ahead":
        """What a decision leaves of it that has led to these events and this match."""
        if self == NOTHING or match.over:  # As nearly always.
            return NOTHING
        left = list(self)
        left[entry.seat] = _without_first(left[entry.seat], entry.action)
        return Ahead(*(stopped(each, seat, events, match) for seat, each in enumerate(left)))


NOTHING = Ahead()


def decided_ahead(actions: Sequence[bytes], unless: game_pb2.ThenUnless) -> bytes:
    """What a seat has decided ahead by a request, from serialized actions in canonical form."""
    if not actions:
        return b""
    message = game_pb2.DecisionsAhead(then_unless=unless or game_pb2.THEN_UNLESS_SHOWN)
    for action in actions:
        message.actions.add().MergeFromString(action)
    return _write(message)


def next_ahead(ahead: bytes) -> bytes:
    """The next of the decisions of a seat, serialized; empty if none waits."""
    if not ahead:
        return b""
    message = game_pb2.DecisionsAhead.FromString(ahead)
    return b"" if message.end_reason else _first(message)


def stopped(ahead: bytes, seat: int, events: Sequence[Event], match: Match | None) -> bytes:
    """What a seat has decided ahead once some events have led to a match; it may end there."""
    if not next_ahead(ahead):
        return ahead
    message = game_pb2.DecisionsAhead.FromString(ahead)
    sees_first = message.then_unless == game_pb2.THEN_UNLESS_SHOWN
    if sees_first and any(event.tells(seat) for event in events):
        message.end_reason = game_pb2.AHEAD_END_SHOWN
    elif match is not None and seat in match.deciders and not _is_legal(match, seat, message):
        message.end_reason = game_pb2.AHEAD_END_ILLEGAL
    return _write(message) if message.end_reason else ahead


def _without_first(ahead: bytes, made: bytes) -> bytes:
    # What a decision of the seat leaves: nothing if it is another one.
    if next_ahead(ahead) != made:
        return b""
    message = game_pb2.DecisionsAhead.FromString(ahead)
    del message.actions[0]
    return _write(message) if message.actions else b""


def _is_legal(match: Match, seat: int, message: game_pb2.DecisionsAhead) -> bool:
    try:
        match.position.check(seat, wire.parse_action(match.game, _first(message)))
    except (ActionError, RulesFault):
        return False
    return True


def _first(message: game_pb2.DecisionsAhead) -> bytes:
    return message.actions[0].SerializeToString(deterministic=True)


def _write(message: game_pb2.DecisionsAhead) -> bytes:
    return message.SerializeToString(deterministic=True)
