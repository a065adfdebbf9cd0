"""The decisions and the steps of a match, read from its record."""

from typing import NamedTuple

import wire
from croupier.v1 import match_pb2
from engine.game import SeatView
from engine.position import Position
from service.common.event_loop import Work
from service.hosting.match_state import MatchState
from service.hosting.records import after_entry, beginning_record, check_end, checking_sent
from service.hosting.views import serialize_position


class Decision(NamedTuple):
    """A decision that a seat made by itself."""

    version: int  # In which it was made.
    seat: int
    action: int
    position: Position  # With all cards.
    view: SeatView  # What the seat knew.
    message: bytes  # The same, as a serialized View.


class Step(NamedTuple):
    """All that happened between two positions: decisions, and the chance that followed."""

    version: int  # That it led to.
    before: Position | None  # None: the deal.
    joint: dict[int, int]  # The actions by seat.
    after: Position


class Steps(NamedTuple):
    """A match that is over."""

    state: MatchState  # At its end.
    decisions: list[Decision]
    steps: list[Step]


def reading_steps(record: match_pb2.MatchRecord) -> Work[Steps]:
    """Replays a record; raises RecordError unless it is that of a match that is over."""
    yield from checking_sent(record)
    state = yield from beginning_record(record)
    decisions: list[Decision] = []
    steps = _dealt(None, state)
    for number, entry in enumerate(record.entries):
        if entry.HasField("event"):
            continue
        before = state
        state = after_entry(before, entry, f"entries[{number}]")
        steps += _dealt(before, state)
        if before.match is not None and state.match is not None:
            if len(state.consent.takebacks) > len(before.consent.takebacks):
                # What was taken back decided nothing.
                back = entry.offer_answered.takeback_version or entry.offer_made.takeback_version
                decisions = [each for each in decisions if each.version < back]
                steps = [each for each in steps if each.version <= back]
                continue
            seat, action = _action(before, entry)
            if entry.HasField("action"):
                position = before.match.position
                decisions.append(
                    Decision(
                        before.version,
                        seat,
                        action,
                        position,
                        before.match.view(seat),
                        serialize_position(before, seat),
                    )
                )
            if state.match.position is not before.match.position:
                joint = {**before.match.held, seat: action}
                steps.append(
                    Step(state.version, before.match.position, joint, state.match.position)
                )
        yield
    check_end(record, state)
    return Steps(state, decisions, steps)


def _dealt(before: MatchState | None, state: MatchState) -> list[Step]:
    # The deal, if it has just come.
    if state.match is None or (before is not None and before.match is not None):
        return []
    return [Step(state.version, None, {}, state.match.position)]


def _action(state: MatchState, entry: match_pb2.RecordEntry) -> tuple[int, int]:
    # The seat and the action of an entry, also if the server played it; 0 for no action.
    made = entry.expiry if entry.HasField("expiry") else entry.action
    if not made.HasField("action"):
        return int(made.seat), 0
    return int(made.seat), wire.read_action(state.game, made.action)
