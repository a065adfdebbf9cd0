"""The events of a hosted match, as messages: what a seat, or a spectator, saw happen."""

from croupier.v1 import game_pb2, match_pb2
from service import wire
from service.hosting.entropy import CONTRIBUTIONS, write_contribution
from service.hosting.match_state import MatchState
from service.store import EntryKind

_DECISIONS = (EntryKind.ACTION, EntryKind.EXPIRY)
# SubmitActionResponse has the field of the same number.
_EVENTS = match_pb2.WatchMatchResponse.EVENTS_FIELD_NUMBER


def serialize_events(state: MatchState, version: int, viewer: int) -> bytes:
    """What a seat, or SPECTATOR, saw happen at a version: the field `events` of a response."""
    if version != state.version:
        return _serialize_events(state, version, viewer)
    events = state.written.get(viewer)
    if events is None:
        events = state.written[viewer] = _serialize_events(state, version, viewer)
    return events


def _serialize_events(state: MatchState, version: int, viewer: int) -> bytes:
    happened = state.events(version)
    game = state.game
    events = [
        wire.serialize_event(game, event, version) for event in happened if event.seen_by(viewer)
    ]
    # The deal has no entry.
    if version:
        entry = state.entry(version)
        if entry.kind != EntryKind.ACTION:
            events[:0] = _of_service(state, version)
        # An action without events is held until the other seat has decided too.
        if not happened and entry.action and entry.kind in _DECISIONS:
            decided = game_pb2.SeatDecided(seat=entry.seat)
            events.append(_serialize(game_pb2.MatchEvent(version=version, seat_decided=decided)))
    if state.over and version == state.version:
        ended = game_pb2.MatchEnded(result=state.result)
        events.append(_serialize(game_pb2.MatchEvent(version=version, match_ended=ended)))
    return b"".join([wire.field(_EVENTS, event) for event in events])


def _of_service(state: MatchState, version: int) -> list[bytes]:
    # What an entry that is no action tells before the events of the game.
    entry = state.entry(version)
    told = []
    if entry.kind in CONTRIBUTIONS:
        told.append(game_pb2.MatchEvent(version=version, **write_contribution(entry)))
    if entry.kind == EntryKind.JOIN:
        joined = game_pb2.SeatJoined(seat=entry.seat)
        told.append(game_pb2.MatchEvent(version=version, seat_joined=joined))
    if entry.kind == EntryKind.TOKEN:
        replaced = game_pb2.SeatTokenReplaced(seat=entry.seat)
        told.append(game_pb2.MatchEvent(version=version, seat_token_replaced=replaced))
    if entry.kind == EntryKind.EXPIRY:
        expired = game_pb2.TimeExpired(seats=state.forfeited or (entry.seat,))
        told.append(game_pb2.MatchEvent(version=version, time_expired=expired))
    return [_serialize(event) for event in told]


def _serialize(event: game_pb2.MatchEvent) -> bytes:
    return event.SerializeToString()
