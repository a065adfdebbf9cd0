"""What is wrong with one match of the log: it is told, it ends, and no other match is hit."""

import pytest

from croupier.v1.error_pb2 import ErrorReason
from service.hosting.creation import NewMatch
from service.hosting.entries import Resignation
from service.hosting.matches import Matches
from service.hosting.offers import PAUSE, MakeOffer
from service.hosting.seats import Caller
from service.observability.metrics import Metrics
from service.store import ANOTHER_LOG, Entry, MemoryStore
from tests.support.manual_clock import ManualClock
from tests.support.scheduling import FAR, act
from tests.support.serving import ruleset_of
from tests.support.stores import action, append, execute
from tests.support.time_controls import control
from wire.errors import Refusal

GAME = "powershot_soccer"
DAMAGED = ErrorReason.ERROR_REASON_MATCH_DAMAGED
COLUMNS = ", ".join(("version", "feed_position", "feed", *Entry._fields))


async def reason(awaited):
    with pytest.raises(Refusal) as caught:
        await awaited
    return caught.value.reason


@pytest.mark.parametrize("asked", ["an action", "an offer", "what is due"])
async def test_a_match_that_takes_no_entry_is_damaged_and_asked_once(store, asked):
    clock = ManualClock()
    server = Matches(store, Metrics(), clock)
    new = NewMatch(ruleset_of(GAME), time_control=control(per_decision=60_000))
    one, other = [(await server.create(new)).header.match_id for _ in range(2)]
    for match_id in (one, other, other):
        await act(server, match_id)
    # Somebody has copied a row of the other match.
    await execute(
        store,
        f"INSERT INTO entries (match_id, {COLUMNS}) SELECT CAST($1 AS TEXT), {COLUMNS} "
        "FROM entries WHERE match_id = $2 AND version = 2",
        one,
        other,
    )
    if asked == "an action":
        assert await reason(act(server, one)) == DAMAGED
    elif asked == "an offer":
        offer = server.carry_out(Caller(one, 0), lambda *to: MakeOffer.ask(*to, offered=PAUSE))
        assert await reason(offer) == DAMAGED
    else:
        clock.advance(60_000)
        assert await reason(server.settle(one)) == DAMAGED
    assert (await server.settle(other)).version >= 2


async def test_a_match_of_which_a_part_is_left_is_not_created_again(store):
    asked = NewMatch(ruleset_of(GAME), id_source=bytes(range(16)))
    match_id = (await Matches(store, Metrics()).create(asked)).header.match_id
    await execute(store, "DELETE FROM matches WHERE match_id = $1", match_id)
    server = Matches(store, Metrics())
    assert await reason(server.create(asked)) == DAMAGED
    with pytest.raises(Refusal):
        await server.load(match_id)
    await server.create(NewMatch(ruleset_of(GAME)))


@pytest.mark.parametrize("wrong", [DAMAGED, ErrorReason.ERROR_REASON_RULES_CHANGED])
async def test_who_follows_a_match_is_told_that_it_cannot_be_shown_any_more(store, wrong):
    server = Matches(store, Metrics())
    state = await server.create(NewMatch(ruleset_of(GAME)))
    match_id = state.header.match_id
    with server.watch(match_id) as watch:
        known = await server.load(match_id)
        if wrong == DAMAGED:
            changed = "UPDATE heads SET digest = $1 WHERE match_id = $2"
            await execute(store, changed, bytes(16), match_id)
            server._hear(match_id, ANOTHER_LOG)
        else:
            # A server of a release to come has a kind of entry that this one does not know.
            unknown = action(0, at=known.time)._replace(kind=99)
            assert await append(store, match_id, 0, unknown)
        assert await reason(watch.newer(known)) == wrong


async def test_a_match_that_is_deleted_while_it_is_read_is_not_damaged():
    store, metrics = MemoryStore(), Metrics()
    server = Matches(store, Metrics())
    match_id = (await server.create(NewMatch(ruleset_of(GAME)))).header.match_id
    await server.carry_out(Caller(match_id, 0), Resignation.ask)
    load = store.load

    async def load_in_parts(match_id):
        found = await load(match_id)
        await store.delete_ended(FAR, 9)
        return found and found._replace(entries=[])

    store.load = load_in_parts
    reader = Matches(store, metrics)
    assert await reason(reader.load(match_id)) == ErrorReason.ERROR_REASON_MATCH_NOT_FOUND
    assert metrics.registry.get_sample_value("croupier_damaged_matches_total") == 0


async def test_what_follows_the_creation_of_matches_fails_for_its_own_match_alone(store):
    server, told = Matches(store, Metrics()), []

    def tell(state, status):
        told.append(state.header.match_id)
        if len(told) == 2:
            raise RuntimeError("planted")

    server.commit_listener = tell
    states = await server.create_all([NewMatch(ruleset_of(GAME))] * 3)
    assert told == [each.header.match_id for each in states]
    assert server.tasks.failures()["committed"] == 1


async def test_an_error_in_making_a_match_is_raised_and_not_tried_again(monkeypatch):
    def fail(state):
        raise ValueError("planted")

    monkeypatch.setattr("service.hosting.matches.show_all", fail)
    server = Matches(MemoryStore(), Metrics())
    with pytest.raises(ValueError, match="planted"):
        await server.create(NewMatch(ruleset_of(GAME)))
