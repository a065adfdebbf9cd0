"""Views of a hosted match: what a seat, or a spectator, knows, as a serialized View.

A view is put together by saying what is shown. Nothing is removed from a copy that shows more.
"""

from croupier.v1 import clock_pb2, game_pb2
from engine.game import SPECTATOR
from service import wire
from service.hosting.clocks import Clocks
from service.hosting.match_state import MatchState


def serialize_view(state: MatchState, viewer: int) -> bytes:
    """What a seat, or SPECTATOR, knows of a match."""
    view = state.views.get(viewer)
    if view is None:
        view = state.views[viewer] = _serialize_view(state, viewer)
    return view


def _serialize_view(state: MatchState, viewer: int) -> bytes:
    # In the order of the fields, as protobuf writes them.
    match, deciders = state.match, state.deciders
    name = f"matches/{state.header.match_id}".encode()
    parts = [wire.field(game_pb2.View.NAME_FIELD_NUMBER, name)]
    if state.version:
        parts.append(wire.number_field(game_pb2.View.VERSION_FIELD_NUMBER, state.version))
    if viewer != SPECTATOR:
        parts.append(wire.number_field(game_pb2.View.SEAT_FIELD_NUMBER, viewer))
    if deciders:
        parts.append(wire.field(game_pb2.View.DECIDERS_FIELD_NUMBER, bytes(deciders)))
    if match is not None and viewer in deciders:
        parts.append(wire.write_legal_actions(state.game, match.legal(viewer)))
    if state.over:
        parts.append(game_pb2.View(result=state.result).SerializeToString())
    parts.append(wire.field(game_pb2.View.RULESET_FIELD_NUMBER, state.header.ruleset))
    if state.clocks is not None:
        clocks = _write_clocks(state, state.clocks)
        parts.append(game_pb2.View(clocks=clocks).SerializeToString())
    if state.contributions is not None:
        owed = state.contributions.owed
        parts.append(game_pb2.View(entropy_owed=owed).SerializeToString())
    if match is not None:
        parts.append(wire.write_view(state.game, match.view(viewer)))
    if state.header.seeded:
        parts.append(wire.number_field(game_pb2.View.SEEDED_FIELD_NUMBER, 1))
    parts.append(state.seats.players)
    return b"".join(parts)


def serialize_position(state: MatchState, seat: int) -> bytes:
    """What a search for a seat needs to know of a dealt match: a View without all the rest."""
    parts = [wire.number_field(game_pb2.View.SEAT_FIELD_NUMBER, seat)]
    if state.version:
        parts.append(wire.number_field(game_pb2.View.VERSION_FIELD_NUMBER, state.version))
    parts.append(wire.field(game_pb2.View.DECIDERS_FIELD_NUMBER, bytes(state.deciders)))
    parts.append(wire.field(game_pb2.View.RULESET_FIELD_NUMBER, state.header.ruleset))
    parts.append(wire.write_view(state.game, state.dealt().view(seat)))
    return b"".join(parts)


def _write_clocks(state: MatchState, clocks: Clocks) -> clock_pb2.Clocks:
    message = clock_pb2.Clocks()
    message.time.FromMilliseconds(state.time)
    message.time_control.MergeFromString(state.header.time_control)
    for seat, bot in enumerate(state.header.bots):
        if bot:
            continue
        # When a match ends early, the clock of a seat that owed a decision stops.
        owes = state.match is not None and seat in state.match.deciders
        clock = message.seats.add(seat=seat)
        left = clocks.left_at(seat, state.time, owes=owes)
        if left is not None:
            clock.time_left.FromMilliseconds(left)
        if owes and state.early_end is None:
            clock.deadline.FromMilliseconds(clocks.deadline(seat))
        clock.default_actions = state.default_actions[seat]
    return message
