"""The events of a hosted match, as messages: what a seat, or a spectator, saw happen."""

from croupier.v1 import game_pb2, match_pb2
from service import wire
from service.hosting.entropy import CONTRIBUTIONS, write_contribution
from service.hosting.match_state import MatchState
from service.store import EntryKind

_DECISIONS = (EntryKind.ACTION, EntryKind.EXPIRY)


def serialize_events(state: MatchState, version: int, viewer: int) -> bytes:
    """What a seat, or SPECTATOR, saw happen at a version: the field `events` of a response."""
    if version != state.version:
        return _serialize(write_events(state, version, viewer))
    events = state.written.get(viewer)
    if events is None:
        events = state.written[viewer] = _serialize(write_events(state, version, viewer))
    return events


def _serialize(events: list[game_pb2.MatchEvent]) -> bytes:
    # SubmitActionResponse has the field of the same number.
    return match_pb2.WatchMatchResponse(events=events).SerializeToString()


def write_events(state: MatchState, version: int, viewer: int) -> list[game_pb2.MatchEvent]:
    """What a seat, or SPECTATOR, saw happen at a version."""
    happened = state.events(version)
    entry = state.entry(version) if version else None
    messages = []
    if entry is not None and entry.kind in CONTRIBUTIONS:
        messages.append(game_pb2.MatchEvent(version=version, **write_contribution(entry)))
    if entry is not None and entry.kind == EntryKind.JOIN:
        joined = game_pb2.SeatJoined(seat=entry.seat)
        messages.append(game_pb2.MatchEvent(version=version, seat_joined=joined))
    if entry is not None and entry.kind == EntryKind.TOKEN:
        replaced = game_pb2.SeatTokenReplaced(seat=entry.seat)
        messages.append(game_pb2.MatchEvent(version=version, seat_token_replaced=replaced))
    if entry is not None and entry.kind == EntryKind.EXPIRY:
        expired = game_pb2.TimeExpired(seats=state.forfeited or (entry.seat,))
        messages.append(game_pb2.MatchEvent(version=version, time_expired=expired))
    messages += [
        wire.write_event(state.game, event, version) for event in happened if event.seen_by(viewer)
    ]
    # An action without events is held until the other seat has decided too.
    if entry is not None and entry.kind in _DECISIONS and entry.action and not happened:
        decided = game_pb2.SeatDecided(seat=entry.seat)
        messages.append(game_pb2.MatchEvent(version=version, seat_decided=decided))
    if state.over and version == state.version:
        ended = game_pb2.MatchEnded(result=state.result)
        messages.append(game_pb2.MatchEvent(version=version, match_ended=ended))
    return messages
