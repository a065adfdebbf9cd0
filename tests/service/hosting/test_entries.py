"""The kinds of entries, and what holds of the states that follow from them."""

import pytest

import wire
from croupier.v1.match_pb2 import RecordEntry
from service.hosting.entries import Decline, EntryKind, Idle
from service.hosting.match_state import KINDS, MatchState
from service.hosting.offers import BY_FIELD
from service.store import Entry
from tests.support.play import seeded
from tests.support.random_matches import check_state, random_match


def test_every_number_and_every_field_of_a_record_is_of_one_kind():
    # As in every log.
    numbers = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14]
    assert sorted(KINDS) == sorted(EntryKind) == numbers
    fields = RecordEntry.DESCRIPTOR.oneofs_by_name["entry"].fields
    assert {field.name for field in fields} == {*BY_FIELD, "event"}


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("kind", [{"invited": (1,)}, {"entropy": True, "played_on": 1}], ids=str)
def test_a_state_never_changes_and_its_fields_fit_together(game_id, kind):
    last = random_match(game_id, "default", seeded(game_id), **kind)
    states, said = [MatchState.begin(last.header)], []
    for entry in last.entries:
        said.append(check_state(states[-1]))
        states.append(states[-1].after(entry))
    for state in states:
        if state.can_be_idle:
            check_state(state.after(Idle.end(state, state.time)))
        if state.seats.missing:
            check_state(state.after(Entry(Decline.number, 0, state.time)))
    assert [check_state(state) for state in states] == [*said, check_state(last)]
