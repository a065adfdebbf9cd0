"""Matches that seats have left: when they end, and that every reader of the log finds that end."""

import grpc
import pytest

import wire
from croupier.v1 import clock_pb2, game_pb2, match_pb2
from engine.errors import ActionError
from service.hosting.entries import EntryKind, Expiry
from service.hosting.records import verify, write_record
from tests.support.manual_clock import ManualClock
from tests.support.play import seeded
from tests.support.random_matches import BEGAN, begin, check_forgeries, decide
from tests.support.serving import OPEN, Client, bot, read_error, refused, ruleset_of, view_of
from tests.support.stores import MemoryPlace, bare

SECOND = 1_000
IN_TURN = "powershot_soccer"  # A game that does not begin with a simultaneous decision.
LIMIT = 3
RULES = game_pb2.EndReason.END_REASON_RULES
ABANDONED = game_pb2.EndReason.END_REASON_ABANDONED


def control(limit=LIMIT, **fields):
    """A time control with default actions, by default of a second for each decision."""
    return clock_pb2.TimeControl(
        on_expiry=clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION,
        max_default_actions=limit,
        **fields or {"per_decision": {"seconds": 1}},
    )


def played_by(game_id, rng, present, limit=LIMIT, bots=(0, 0)):
    """The states of a match in which only some seats act in time."""
    state = begin(game_id, control(limit), bots=bots)
    yield state
    while not state.over:
        acting = [seat for seat in state.deciders if present(seat, state)]
        if acting:
            state = decide(state, acting[0], choose=rng.choice)
        else:
            state = state.after(Expiry.due(state, state.deadline))
        yield state


def rows_of(entries):
    """For each seat, the default actions in a row before each entry, counted naively."""
    rows = [0, 0]
    for entry in entries:
        yield list(rows)
        if entry.kind == EntryKind.EXPIRY and entry.action:
            rows[entry.seat] += 1
        elif entry.kind == EntryKind.ACTION:
            rows[entry.seat] = 0


def one_is_present(game_id):
    return played_by(game_id, seeded(game_id), lambda seat, state: seat == 0)


def nobody_is_present(game_id):
    return played_by(game_id, seeded(game_id), lambda seat, state: False)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_the_seat_that_has_left_loses_though_the_other_one_plays(game_id):
    *_, before, over = one_is_present(game_id)
    assert list(over.result.scores) == [1.0, 0.0]
    assert over.result.reason == ABANDONED
    assert before.default_actions == (0, LIMIT)
    last = over.entries[-1]
    assert (last.kind, last.seat, last.action) == (EntryKind.EXPIRY, 1, b"")
    assert not over.deciders
    assert over.status.over
    assert over.status.due is None
    mine = [entry for entry in over.entries if entry.seat == 1]
    assert [bool(entry.action) for entry in mine] == [True] * LIMIT + [False]


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_the_match_is_a_draw_if_both_have_left(game_id):
    for limit in (1, 2, 5):
        *_, over = played_by(game_id, seeded(game_id), lambda seat, state: False, limit)
        rows = list(rows_of(over.entries))[-1]
        loser = over.entries[-1].seat
        assert rows[loser] == limit
        assert over.result.reason == ABANDONED
        expected = [0.5, 0.5]
        if 2 * rows[1 - loser] < limit:
            expected = [float(loser != 0), float(loser != 1)]
        assert list(over.result.scores) == expected
    if game_id == IN_TURN:
        assert list(over.result.scores) == [0.5, 0.5]


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_an_action_of_the_seat_begins_a_new_row(game_id):
    # Each seat acts once after as many default actions as are allowed: nobody has left.
    def present(seat, state):
        return state.default_actions[seat] == LIMIT

    states = list(played_by(game_id, seeded(game_id), present))
    assert states[-1].result.reason == RULES
    assert max(max(state.default_actions) for state in states) == LIMIT
    rows = list(rows_of(states[-1].entries))
    assert [list(state.default_actions) for state in states[:-1]] == rows


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_decisions_of_a_bot_do_not_hide_that_a_seat_has_left(game_id):
    states = played_by(game_id, seeded(game_id), lambda seat, state: seat == 0, bots=(1, 0))
    *states, over = states
    assert over.result.reason == ABANDONED
    # Nobody waits for the bot while its opponent is away.
    assert {state.attended for state in states if not state.default_actions[1]} == {True}
    assert {state.attended for state in states if state.default_actions[1]} == {False}
    assert list(over.result.scores) == [1.0, 0.0]


def test_without_a_limit_the_match_is_played_to_its_end():
    *_, over = played_by(IN_TURN, seeded(), lambda seat, state: False, limit=0)
    assert over.result.reason == RULES
    assert sum(over.default_actions) == over.version > 2 * LIMIT


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_the_end_is_not_earlier_and_nothing_else_comes_at_that_time(game_id):
    *_, before, over = one_is_present(game_id)
    [last] = bare(over.entries[-1:])
    with pytest.raises(ActionError):
        before.after(last._replace(at=last.at - 1))
    with pytest.raises(ActionError):
        decide(before, 1, last.at)
    # The seat can come back until then.
    assert not decide(before, 1, last.at - 1).default_actions[1]
    # One default action fewer does not end the match.
    for state in [*one_is_present(game_id)][:-2]:
        if Expiry.due(state, 10**13):
            with pytest.raises(ActionError):
                state.after(Expiry.due(state, 10**13)._replace(action=b""))


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("played", [one_is_present, nobody_is_present])
def test_the_end_is_verified(game_id, played):
    *_, over = played(game_id)
    record = write_record(over)
    assert verify(record).result == over.result

    def other_loser(record):
        record.result.scores[:] = record.result.scores[::-1] if played == one_is_present else [1, 0]

    def other_reason(record):
        record.result.reason = game_pb2.EndReason.END_REASON_TIME

    def other_limit(record):
        record.time_control.max_default_actions += 1

    def no_limit(record):
        record.time_control.max_default_actions = 0

    def no_end(record):
        del record.entries[-1]

    check_forgeries(record, other_loser, other_reason, other_limit, no_limit, no_end)


def test_a_view_says_how_many_default_actions_were_played():
    *_, before, over = one_is_present(IN_TURN)
    for state in (before, over):
        shown = [clock.default_actions for clock in view_of(state, 0).clocks.seats]
        assert shown == [0, LIMIT]


# Servers


@pytest.fixture
def clock():
    return ManualClock(BEGAN)


def time_control_of(table):
    return table.spectator.view().clocks.time_control


def left_alone(servers, clock, table):
    """Advances the clock until a match that nobody plays is over, and returns its stream."""
    stream = table.spectator.watch()
    for response in stream:
        if response.HasField("view") and not response.view.HasField("result"):
            servers.loop.call_soon_threadsafe(clock.advance, SECOND)
        yield response


def test_the_limit_of_the_server_is_kept_with_the_match(servers, clock):
    store = MemoryPlace().store()
    _, address = servers.start(store, clock, max_default_actions=2, allow_seeds=True)
    # In some deals a seat decides twice in a row.
    table = Client(address).create(ruleset_of(IN_TURN), seed=1, time_control=control(0))
    assert time_control_of(table) == control(2)
    # A server with another limit goes on.
    other, address = servers.start(store, clock, max_default_actions=7)
    table.spectator.move_to(Client(address))
    responses = list(left_alone(servers, clock, table))
    assert responses[-1].view.result.reason == ABANDONED
    # Both seats have played two actions by default.
    assert responses[-1].version == 5
    ended = {"game": IN_TURN, "state": "abandoned"}
    counted = other.metrics.registry.get_sample_value("croupier_matches_total", ended)
    assert counted in (0, 1)
    record = table.spectator.record()
    assert record.time_control == control(2)
    assert verify(record)


FORFEITS = clock_pb2.TimeControl(per_decision={"seconds": 9})


@pytest.mark.parametrize(
    ("limit", "asked"),
    [(4, control(3)), (0, control(0)), (0, control(1000)), (4, FORFEITS)],
    ids=["smaller", "none", "of the match alone", "forfeits"],
)
def test_a_limit_that_the_server_allows_is_that_of_the_match(start, clock, limit, asked):
    _, client = start(None, clock, max_default_actions=limit)
    table = client.create(ruleset_of(IN_TURN), time_control=asked)
    assert time_control_of(table) == asked


def test_a_limit_above_that_of_the_server_is_refused(start, clock):
    _, client = start(None, clock, max_default_actions=4)
    refusal = refused(client.create, ruleset_of(IN_TURN), (), None, control(5))
    assert refusal.reason == "INVALID_FIELD"
    assert refusal.fields == ["time_control.max_default_actions"]


def test_a_repeated_creation_is_answered_alike_under_another_limit(servers, clock):
    store = MemoryPlace().store()
    request_id = "11111111-2222-4333-8444-555555555555"

    def creation(limit):
        return match_pb2.CreateMatchRequest(
            ruleset=ruleset_of(IN_TURN), time_control=control(limit), request_id=request_id
        )

    clients = [
        Client(servers.start(store, clock, max_default_actions=limit)[1]) for limit in (4, 2)
    ]
    first = clients[0].matches.CreateMatch(creation(0))
    for client in clients:
        for limit in (0, 4):
            assert client.matches.CreateMatch(creation(limit)) == first
        refusal = refused(client.matches.CreateMatch, creation(1))
        assert refusal.reason == "REQUEST_ID_REUSED"


def test_a_rematch_keeps_the_limit_but_not_above_that_of_the_server(servers, start, clock):
    store = MemoryPlace().store()
    _, client = start(store, clock, max_default_actions=9)
    tables = [
        client.create(ruleset_of(IN_TURN), [OPEN, bot("RANDOM")], None, control(limit))
        for limit in (0, 1)
    ]
    other = Client(servers.start(store, clock, max_default_actions=2)[1])
    limits = []
    for table in tables:
        player = table.players[0]
        player.resign()
        request = match_pb2.RematchRequest(name=table.name)
        again = other.matches.Rematch(request, metadata=player.metadata)
        player.match, player.token = again.name, again.seat_token.token
        player.move_to(other)
        limits.append(player.view().clocks.time_control.max_default_actions)
    assert limits == [2, 1]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"per_decision": {"nanos": 999_000_000}}, "per_decision"),
        ({"per_match": {"nanos": 999_000_000}}, "per_match"),
        ({"per_match": {"seconds": 1}, "increment": {"nanos": 1_000_000}}, "increment"),
    ],
)
def test_default_actions_are_not_played_faster_than_once_a_second(client, fields, named):
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset_of(IN_TURN), time_control=control(0, **fields)
    )
    with pytest.raises(grpc.RpcError) as caught:
        client.matches.CreateMatch(request)
    refusal = read_error(caught.value)
    assert (refusal.reason, refusal.fields) == ("INVALID_FIELD", ["time_control"])
    assert f"time_control: {named} must be" in caught.value.details()
    for time in fields.values():
        time.update(seconds=1, nanos=0)
    request.time_control.CopyFrom(control(0, **fields))
    assert client.matches.CreateMatch(request).name
