"""Views of a hosted match: what a seat, or a spectator, knows, as a serialized View.

A view is put together by saying what is shown. Only a caller who wants less has fields removed from
what it may know.
"""

from croupier.v1 import clock_pb2, game_pb2
from engine.game import SPECTATOR
from service import wire
from service.hosting.clocks import Clocks
from service.hosting.match_state import MatchState
from service.wire import field, number_field
from service.wire.fields import ALL, Fields

_NAME = game_pb2.View.NAME_FIELD_NUMBER
_VERSION = game_pb2.View.VERSION_FIELD_NUMBER
_SEAT = game_pb2.View.SEAT_FIELD_NUMBER
_DECIDERS = game_pb2.View.DECIDERS_FIELD_NUMBER
_RULESET = game_pb2.View.RULESET_FIELD_NUMBER
_SEEDED = game_pb2.View.SEEDED_FIELD_NUMBER

MAX_WRITTEN = 64  # Of one state: callers may want any fields.


def serialize_view(state: MatchState, viewer: int, fields: Fields = ALL) -> bytes:
    """What a seat, or SPECTATOR, knows of a match: a View, or some fields of one."""
    key = (viewer, fields)
    view = state.written.get(key)
    if view is None:
        if len(state.written) >= MAX_WRITTEN:
            state.written.clear()
        view = state.written[key] = _serialize_view(state, viewer, fields)
    return view


def _serialize_view(state: MatchState, viewer: int, fields: Fields) -> bytes:
    # In the order of the fields, as protobuf writes them.
    match, deciders, header, version = state.match, state.deciders, state.header, state.version
    whole = fields.all
    parts = []
    if whole or "name" in fields:
        parts.append(field(_NAME, b"matches/" + header.match_id.encode()))
    if version and (whole or "version" in fields):
        parts.append(number_field(_VERSION, version))
    if viewer != SPECTATOR and (whole or "seat" in fields):
        parts.append(number_field(_SEAT, viewer))
    if deciders and (whole or "deciders" in fields):
        parts.append(field(_DECIDERS, bytes(deciders)))
    if match is not None and viewer in deciders and (whole or "legal_actions" in fields):
        parts.append(wire.write_legal_actions(state.game, match.legal(viewer)))
    if state.over and (whole or "result" in fields):
        parts.append(_write(game_pb2.View(result=state.result), fields))
    if whole or "ruleset" in fields:
        ruleset = field(_RULESET, header.ruleset)
        parts.append(ruleset if whole else _prune(ruleset, fields, "ruleset"))
    if state.clocks is not None and (whole or "clocks" in fields):
        clocks = _write_clocks(state, state.clocks)
        parts.append(_write(game_pb2.View(clocks=clocks), fields))
    if state.contributions is not None and (whole or "entropy_owed" in fields):
        owed = state.contributions.owed
        parts.append(_write(game_pb2.View(entropy_owed=owed), fields))
    if match is not None and (whole or state.game.id in fields):
        view = wire.write_view(state.game, match.view(viewer))
        parts.append(view if whole else _prune(view, fields, state.game.id))
    if header.seeded and (whole or "seeded" in fields):
        parts.append(number_field(_SEEDED, 1))
    if whole or "players" in fields:
        parts.append(state.seats.players)
    return b"".join(parts)


def _write(part: game_pb2.View, fields: Fields) -> bytes:
    fields.prune(part)
    return part.SerializeToString()


def _prune(part: bytes, fields: Fields, name: str) -> bytes:
    # Parsing and pruning takes as long as writing a view, so it is done only where it must be.
    return part if fields[name].all else _write(game_pb2.View.FromString(part), fields)


def serialize_position(state: MatchState, seat: int) -> bytes:
    """What a search for a seat needs to know of a dealt match: a View without all the rest."""
    parts = [number_field(_SEAT, seat)]
    if state.version:
        parts.append(number_field(_VERSION, state.version))
    parts.append(field(_DECIDERS, bytes(state.deciders)))
    parts.append(field(_RULESET, state.header.ruleset))
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
