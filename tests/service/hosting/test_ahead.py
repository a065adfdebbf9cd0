"""Decisions ahead: kept beside the log, made when they are due, and told to nobody else."""

from functools import partial

import pytest

from croupier.v1 import game_pb2
from croupier.v1.clock_pb2 import TimeControl
from croupier.v1.error_pb2 import ErrorReason
from engine.game import SPECTATOR
from service.hosting.ahead import NOTHING
from service.hosting.creation import NewMatch
from service.hosting.entries import EntryKind, Resignation, Token
from service.hosting.leases import LEASE_MILLISECONDS
from service.hosting.match_state import Written
from service.hosting.matches import Matches
from service.hosting.seats import Caller
from service.observability.metrics import Metrics
from tests.support.long_form import LONG_FORM
from tests.support.manual_clock import ManualClock
from tests.support.play import note_on_failure, seeded
from tests.support.random_matches import foretold, is_told
from tests.support.scheduling import ActingServer
from tests.support.serving import as_bytes, hosted_cases, ruleset_of, view_of
from tests.support.stores import SqlitePlace, opened, refused, wait_past
from wire.errors import Refusal

MOST = 16
SHOWN, ILLEGAL = game_pb2.THEN_UNLESS_SHOWN, game_pb2.THEN_UNLESS_ILLEGAL
HOUR = TimeControl(per_decision={"seconds": 3600})


def waiting(state, seat):
    """What a seat's own view says of its decisions ahead."""
    return view_of(state, seat).decisions_ahead


async def decide(matches, state, seat, actions, unless=SHOWN, name=""):
    """Lets a seat make the first of some decisions, and the others ahead; returns the response."""
    action, *then = actions
    return await matches.submit(
        Caller(state.header.match_id, seat),
        state.version,
        action,
        name,
        lambda state: as_bytes(view_of(state, seat)),
        then=then,
        then_unless=unless,
    )


CASES = hosted_cases() if LONG_FORM else [case for case in hosted_cases() if "default" in case.id]


@pytest.mark.parametrize("unless", (SHOWN, ILLEGAL))
@pytest.mark.parametrize(("game_id", "name"), CASES)
async def test_decisions_ahead_lead_where_decisions_do(place, game_id, name, unless):
    rng, clock = seeded("ahead", game_id, name, unless), ManualClock()
    async with opened(place) as store:
        # Servers that share the log, one of which has always just started.
        servers = [Matches(store, Metrics(), clock) for _ in range(2)]
        new = NewMatch(ruleset_of(game_id, name), (0, 0), seed=5)
        state = await servers[0].create(new)
        match_id = state.header.match_id
        (decisions, end), made, asked = foretold(state, rng), [0, 0], 0
        # By seat: the version at which it was asked last, and how many it has decided ahead.
        since, ahead = [0, 0], [0, 0]
        while not state.over:
            server = rng.choice([*servers, Matches(store, Metrics(), clock)])
            with note_on_failure(game=game_id, version=state.version, seat=state.deciders):
                due = state.ahead_due
                if due is not None:
                    seat, version = due[0], state.version
                    assert unless == ILLEGAL or not is_told(state, seat, since[seat], state.version)
                    clock.drift(rng.choice((0, 1000)))  # No server was up meanwhile.
                    state = await server.settle(match_id)
                    # Where the next one was due at once, it was made, too.
                    for entry in state.entries[version:]:
                        assert entry[:2] == (EntryKind.ACTION, entry.seat)
                        assert entry.at == clock.now()  # Not before anybody could see it.
                        made[entry.seat] += 1
                        ahead[entry.seat] -= 1
                else:
                    seat = rng.choice(state.deciders)
                    told = waiting(state, seat)
                    if ahead[seat]:  # They have ended.
                        assert told.end_reason == game_pb2.AHEAD_END_SHOWN
                        assert unless == SHOWN
                        assert is_told(state, seat, since[seat], state.version)
                        assert len(told.actions) == ahead[seat]
                    count = rng.randrange(min(MOST + 1, len(decisions[seat]) - made[seat]))
                    some = decisions[seat][made[seat] :][: count + 1]
                    since[seat], ahead[seat] = state.version, count
                    await decide(server, state, seat, some, unless)
                    made[seat] += 1
                    asked += 1
                    state = await server.load(match_id)
                for seat in (0, 1):
                    told = waiting(await rng.choice(servers).load(match_id), seat)
                    if not state.over:
                        assert list(told.actions) == decisions[seat][made[seat] :][: ahead[seat]]
                bare = state._replace(ahead=NOTHING, written=Written())
                for viewer in (SPECTATOR, *[seat for seat in (0, 1) if not state.ahead[seat]]):
                    assert view_of(state, viewer) == view_of(bare, viewer)
        assert bytes(state.match.position) == bytes(end.match.position)
        assert state.result == end.result
        assert state.ahead == NOTHING
        for seat in (0, 1):
            actions = [entry.action for entry in state.entries if entry.seat == seat]
            assert actions == [as_bytes(action) for action in decisions[seat]]
        # Where each decision is followed by a shown one of the other seat, none waits for its turn.
        assert asked < state.version or (unless == SHOWN and game_id != "skystones")
        assert (await store.load(match_id)).head.ahead == b""


async def begun(matches, game_id="skystones", **fields):
    """A new match, and the decisions of each seat in a random match that goes on from it."""
    state = await matches.create(NewMatch(ruleset_of(game_id), (0, 0), seed=5, **fields))
    return state, foretold(state, seeded("begun", game_id))[0]


def left(state, decisions, seat):
    """What a seat has yet to decide."""
    return decisions[seat][sum(entry.seat == seat for entry in state.entries) :]


HAND = 5  # Cards that each seat of Skystones picks in secret before it places one.


async def test_a_hand_is_taken_by_one_request_of_each_seat(store):
    async with ActingServer(store) as server:
        state, decisions = await begun(server.matches)
        match_id = state.header.match_id
        for seat in (0, 1):
            state = await server.matches.load(match_id)
            await decide(server.matches, state, seat, decisions[seat][:HAND])
        await server.rest()
        state = await server.matches.load(match_id)
        assert state.version == 2 * HAND
        assert state.ahead == NOTHING


async def with_hands(matches, place_too=0, **fields):
    """A match in which both seats have picked one card and the rest ahead, and their decisions."""
    state, decisions = await begun(matches, **fields)
    for seat in (0, 1):
        state = await matches.load(state.header.match_id)
        await decide(matches, state, seat, decisions[seat][: HAND + place_too])
    return await matches.load(state.header.match_id), decisions


async def test_a_server_makes_what_was_due_when_another_died(place):
    async with opened(place) as store:
        state, _ = await with_hands(Matches(store, Metrics()))
        assert state.version == 2
    async with opened(place) as store:
        far = ManualClock(state.time + LEASE_MILLISECONDS)
        async with ActingServer(store, far):
            await wait_past(store, state.header.match_id, 2 * HAND - 1)


@pytest.mark.parametrize("away", [60_000, 7_200_000])
async def test_decisions_ahead_are_made_before_their_time_is_up_and_not_before_they_are_seen(
    store, away
):
    clock = ManualClock()
    matches = Matches(store, Metrics(), clock)
    state, _ = await with_hands(matches, time_control=HOUR)
    began = clock.now()
    clock.advance(away)
    state = await matches.settle(state.header.match_id)
    # Each decision of a seat has an hour of its own, which begins with the decisions before it.
    assert [entry[:3] for entry in state.entries[2:]] == [
        (EntryKind.ACTION, seat, began + min(away, (n + 1) * (3_600_000 - 1)))
        for n in range(HAND - 1)
        for seat in (0, 1)
    ]


async def test_what_is_cancelled_is_not_made_by_a_server_that_has_not_heard_of_it(place):
    async with opened(place) as store:
        one, other = (Matches(store, Metrics()) for _ in range(2))
        state, decisions = await with_hands(one)
        match_id = state.header.match_id
        assert (await other.load(match_id)).ahead == state.ahead != NOTHING

        def write(state):
            return as_bytes(view_of(state, 0))

        caller = Caller(match_id, 0)
        view = game_pb2.View.FromString(await one.cancel_ahead(caller, write))
        assert view.version == 2
        assert not view.HasField("decisions_ahead")
        assert as_bytes(view) == await one.cancel_ahead(caller, write)
        # It goes by what it knows until the log refuses it.
        assert other._known(match_id).ahead == state.ahead
        assert [entry.seat for entry in (await other.settle(match_id)).entries[2:]] == [1]
        await decide(other, state, 0, decisions[0][1:2])
        state = await one.settle(match_id)
        assert [entry.seat for entry in state.entries[2:]] == [1, 0, 1]
        assert not waiting(state, 0).actions
        assert list(waiting(state, 1).actions) == decisions[1][3:HAND]


async def test_a_request_is_repeated_with_what_it_decides_ahead(store):
    matches = Matches(store, Metrics())
    state, decisions = await begun(matches)
    match_id = state.header.match_id
    for name in ("a name", "another\0name"):
        state = await matches.settle(match_id)
        some = left(state, decisions, 0)[:3]
        response = await decide(matches, state, 0, some, name=name)
        for _ in range(2):
            assert await decide(matches, state, 0, some, name=name) == response
            for wrong in (some[:2], some[:1], [*some, some[0]]):
                reused = ErrorReason.ERROR_REASON_REQUEST_ID_REUSED
                assert await refused(decide(matches, state, 0, wrong, name=name)) == reused
            # Then when the match has gone on.
            now = await matches.load(match_id)
            if 1 in now.deciders:
                await decide(matches, now, 1, left(now, decisions, 1)[:3])
                await matches.settle(match_id)
        await matches.cancel_ahead(Caller(match_id, 0), lambda state: b"")
        await matches.cancel_ahead(Caller(match_id, 1), lambda state: b"")


async def test_decisions_that_a_game_does_not_have_are_refused_at_once(store):
    matches = Matches(store, Metrics())
    state, decisions = await begun(matches)
    wrong = (
        game_pb2.MatchAction(skystones={"pick_card": {"card": 200}}),
        game_pb2.MatchAction(castle_rampage={"end_turn": {}}),
    )
    for action in wrong:
        with pytest.raises(Refusal) as caught:
            await decide(matches, state, 0, [*decisions[0][:2], action])
        assert str(caught.value).startswith("then_actions[1]")
    assert (await matches.load(state.header.match_id)).version == 0


async def test_they_end_with_what_is_shown_and_with_what_is_illegal(store):
    matches = Matches(store, Metrics())
    for unless, end in (
        (SHOWN, game_pb2.AHEAD_END_SHOWN),
        (ILLEGAL, game_pb2.AHEAD_END_ILLEGAL),
    ):
        state, decisions = await begun(matches)
        match_id = state.header.match_id
        # Another hand is no more to be had when the cards are placed.
        for seat in (0, 1):
            state = await matches.load(match_id)
            some = [*decisions[seat][:HAND], decisions[seat][HAND], decisions[seat][0]]
            await decide(matches, state, seat, some, unless)
        state = await matches.settle(match_id)
        ends = [waiting(state, seat).end_reason for seat in (0, 1)]
        assert ends.count(end) >= 1, (unless, ends)


async def test_a_new_token_and_the_end_of_a_match_drop_them(store):
    matches = Matches(store, Metrics())
    for ask in (partial(Token.ask, request_id="new"), Resignation.ask):
        state, _ = await with_hands(matches)
        # What is due comes first: here nothing is, as the other seat has yet to decide.
        await matches.cancel_ahead(Caller(state.header.match_id, 1), lambda state: b"")
        state = await matches.settle(state.header.match_id)
        assert waiting(state, 0).actions
        await matches.carry_out(Caller(state.header.match_id, 0), ask)
        state = await matches.load(state.header.match_id)
        assert state.ahead == NOTHING


async def test_what_was_changed_in_the_log_is_noticed(tmp_path):
    place = SqlitePlace(tmp_path / "log")
    async with opened(place) as store:
        state, _ = await with_hands(Matches(store, Metrics()))
        match_id = state.header.match_id
        [ahead] = store._anchor.execute("SELECT ahead FROM heads").fetchone()
        for at in range(len(ahead)):
            broken = ahead[:at] + bytes([ahead[at] ^ 1]) + ahead[at + 1 :]
            await store._run_in_writer(
                lambda file, to=broken: file.execute("UPDATE heads SET ahead = ?", (to,))
            )
            damaged = ErrorReason.ERROR_REASON_MATCH_DAMAGED
            assert await refused(Matches(store, Metrics()).load(match_id)) == damaged
