"""The events of a hosted match, as messages: what a seat, or a spectator, saw happen."""

from croupier.v1 import game_pb2, match_pb2
from engine.events import TO_PUBLIC
from service import wire
from service.hosting.entropy import CONTRIBUTIONS, write_contribution
from service.hosting.match_state import MatchState
from service.store import EntryKind

_DECISIONS = (EntryKind.ACTION, EntryKind.EXPIRY)
# SubmitActionResponse has the field of the same number.
_EVENTS = match_pb2.WatchMatchResponse.EVENTS_FIELD_NUMBER
_KEY = "events"  # In `MatchState.written`.


def serialize_events(state: MatchState, version: int, viewer: int) -> bytes:
    """What a seat, or SPECTATOR, saw happen at a version: the field `events` of a response."""
    if version != state.version:
        return _serialize_events(state, version)[viewer]
    # Once for all who follow the match.
    written = state.written.get(_KEY)
    if written is None:
        written = state.written[_KEY] = _serialize_events(state, version)
    events: bytes = written[viewer]
    return events


def _serialize_events(state: MatchState, version: int) -> tuple[bytes, ...]:
    # By viewer.
    happened = state.events(version)
    game = state.game
    seen: tuple[list[bytes], ...] = ([], [], [])

    def add(event: bytes, audience: int) -> None:
        written = wire.field(_EVENTS, event)
        for viewer, events in enumerate(seen):
            if audience & (1 << viewer):
                events.append(written)

    entry = state.entry(version) if version else None  # The deal has none.
    if entry is not None and entry.kind != EntryKind.ACTION:
        for event in _of_service(state, version):
            add(event, TO_PUBLIC)
    for each in happened:
        add(wire.serialize_event(game, each, version), each.audience)
    # An action without events is held until the other seat has decided too.
    if not happened and entry is not None and entry.action and entry.kind in _DECISIONS:
        decided = game_pb2.SeatDecided(seat=entry.seat)
        add(_serialize(game_pb2.MatchEvent(version=version, seat_decided=decided)), TO_PUBLIC)
    if state.over and version == state.version:
        ended = game_pb2.MatchEnded(result=state.result)
        add(_serialize(game_pb2.MatchEvent(version=version, match_ended=ended)), TO_PUBLIC)
    return tuple([b"".join(events) for events in seen])


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
