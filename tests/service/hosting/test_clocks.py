"""Clocks: their derivation from the log, and their effect on players, also after a restart."""

import collections
import subprocess
import sys

import pytest

import wire
from croupier.v1 import clock_pb2, game_pb2, hint_pb2
from engine.errors import ActionError
from engine.game import SPECTATOR
from service.hosting.entries import EntryKind, Expiry
from service.hosting.match_state import MatchState
from service.hosting.records import verify, write_record
from service.store import Entry
from tests.support.chi_squared import p_of_distribution
from tests.support.long_form import LONG_FORM
from tests.support.manual_clock import ManualClock
from tests.support.play import note_on_failure, seeded
from tests.support.random_matches import BEGAN, begin, check_forgeries, check_state, decide
from tests.support.serving import (
    events_of,
    ruleset_of,
    shown,
    simultaneous_games,
    view_of,
)
from tests.support.stores import stored_match
from tests.support.time_controls import control

IN_TURN = "powershot_soccer"  # A game that does not begin with a simultaneous decision.
TIME = game_pb2.EndReason.END_REASON_TIME


# Match states


class NaiveClocks:
    """A naive computation of the clocks: the deciders spend the time that passes."""

    def __init__(self, time_control):
        self.per_decision = read(time_control, "per_decision")
        self.increment = read(time_control, "increment") or 0
        self.left = [read(time_control, "per_match")] * 2
        self.spent = [0, 0]

    def spend(self, deciders, milliseconds):
        for seat in deciders:
            self.spent[seat] += milliseconds

    def decide(self, seat):
        if self.left[seat] is not None:
            self.left[seat] = max(0, self.left[seat] - self.spent[seat]) + self.increment
        self.spent[seat] = 0

    def until(self, seat):
        """The milliseconds until the clock of a seat expires."""
        limits = [each for each in (self.per_decision, self.left[seat]) if each is not None]
        return min(limits) - self.spent[seat]


def read(time_control, field):
    if not time_control.HasField(field):
        return None
    return getattr(time_control, field).ToMilliseconds()


CONTROLS = [
    control(4000),
    control(4000, default=True),
    control(None, 20_000),
    control(None, 3_000, 500, default=True),
    control(3000, 40_000, 1000),
    control(3000, 10_000, 1000, default=True),
]


def clocked_match(game_id, time_control, rng):
    """Plays a random match with seats that are sometimes late. Yields its states and clocks."""
    state, naive = begin(game_id, time_control), NaiveClocks(time_control)
    yield state, naive
    while not state.over:
        passed = rng.randrange(1500) if rng.random() < 0.8 else rng.randrange(8000)
        left = min(naive.until(seat) for seat in state.deciders)
        first = [seat for seat in state.deciders if naive.until(seat) == left]
        at = state.time + passed
        naive.spend(state.deciders, passed)
        seat = rng.choice(state.deciders)
        action = rng.choice(view_of(state, seat).legal_actions).SerializeToString()
        entry = Entry(EntryKind.ACTION, seat, at, action, state.version)
        expiry = Expiry.due(state, at)
        if left > passed:
            assert expiry is None
        else:
            # No other entry can be added at that time, and the expiry not earlier.
            with pytest.raises(ActionError):
                state.after(entry)
            with pytest.raises(ActionError):
                state.after(expiry._replace(at=state.time + left - 1))
            assert expiry.kind == EntryKind.EXPIRY
            assert expiry.seat == first[0]
            entry, seat = expiry, expiry.seat
        state = state.after(entry)
        if entry.action:
            naive.decide(seat)
        else:
            assert time_control.on_expiry == clock_pb2.EXPIRY_POLICY_FORFEIT
            assert state.early_end.losers == tuple(first)
        check_state(state)
        yield state, naive


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("number", range(len(CONTROLS)))
def test_clocks_agree_with_a_naive_computation(game_id, number):
    time_control = CONTROLS[number]
    expiries = 0
    for seed in range(4 if LONG_FORM else 2):
        with note_on_failure(seed=seed):
            rng = seeded(game_id, number, seed)
            for state, naive in clocked_match(game_id, time_control, rng):
                clocks = view_of(state, SPECTATOR).clocks
                assert clocks.time_control == time_control
                assert clocks.time.ToMilliseconds() == state.time
                due = {
                    clock.seat: clock.deadline.ToMilliseconds()
                    for clock in clocks.seats
                    if clock.HasField("deadline")
                }
                assert due == {seat: state.time + naive.until(seat) for seat in state.deciders}
                assert state.deadline == min(due.values(), default=None)
                for clock in clocks.seats:
                    assert clock.HasField("time_left") == time_control.HasField("per_match")
                    if clock.HasField("time_left") and not state.over:
                        left = naive.left[clock.seat] - naive.spent[clock.seat]
                        assert clock.time_left.ToMilliseconds() == max(0, left)
            kinds = collections.Counter(entry.kind for entry in state.entries)
            expiries += kinds[EntryKind.EXPIRY]
            if state.early_end is not None:
                assert state.result.reason == TIME
                assert not state.deciders
    assert expiries


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("number", range(len(CONTROLS)))
def test_a_clocked_match_loaded_from_a_snapshot_shows_the_same_bytes(game_id, number):
    matches = [each for each, _ in clocked_match(game_id, CONTROLS[number], seeded(game_id))]
    last = matches[-1]
    for match in matches[: -1 : 9 if LONG_FORM else 40]:
        loaded = MatchState.load(stored_match(last, snapshot=match.snapshot()))
        skipped = [None] * match.version
        assert loaded.history.events[1:] == skipped + last.history.events[match.version + 1 :]
        assert loaded.clocks == last.clocks
        assert shown(loaded) == shown(last)


def expiries_of(record):
    return [entry for entry in record.entries if entry.HasField("expiry")]


def contradictions():
    """Changes of a record, each of which contradicts its clocks."""

    def too_early(record):
        entry = expiries_of(record)[-1]
        entry.time.FromMilliseconds(entry.time.ToMilliseconds() - 10**5)

    def other_seat(record):
        expiries_of(record)[0].expiry.seat ^= 1

    def as_an_action(record):
        entry = expiries_of(record)[0]
        action, seat = entry.expiry.action, entry.expiry.seat
        entry.action.action.CopyFrom(action)
        entry.action.seat = seat

    def other_policy(record):
        record.time_control.on_expiry ^= 3

    def no_clock(record):
        record.ClearField("time_control")

    def more_time(record):
        record.time_control.per_decision.FromSeconds(1000)
        record.time_control.per_match.FromSeconds(1000)

    return too_early, other_seat, as_an_action, other_policy, no_clock, more_time


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("number", range(len(CONTROLS)))
def test_the_clocks_of_a_record_are_verified(game_id, number):
    for seed in range(20):
        *_, (state, _) = clocked_match(game_id, CONTROLS[number], seeded(game_id, seed))
        record = write_record(state)
        assert write_record(verify(record)) == record
        if expiries_of(record):
            break
    check_forgeries(record, *contradictions())


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_default_action_is_any_legal_action(game_id):
    time_control = control(1000, default=True)
    drawn = collections.defaultdict(collections.Counter)
    for number in range(400):
        state = begin(game_id, time_control, secret=number.to_bytes(32, "big"))
        entry = Expiry.due(state, BEGAN + 1000)
        actions = [
            action.SerializeToString(deterministic=True)
            for action in view_of(state, entry.seat).legal_actions
        ]
        drawn[len(actions)][actions.index(entry.action)] += 1
        # The secret determines the action, so any other one is refused.
        for other in actions if number < 40 or LONG_FORM else ():
            if other != entry.action:
                with pytest.raises(ActionError):
                    state.after(entry._replace(action=other))
    count, counted = max(drawn.items(), key=lambda item: item[1].total())
    assert count > 1
    assert p_of_distribution(counted, dict.fromkeys(range(count), 1 / count)) > 1e-6


@pytest.mark.parametrize("game_id", simultaneous_games())
def test_two_seats_late_at_the_same_moment_draw(game_id):
    state = begin(game_id, control(1000))
    over = state.after(Expiry.due(state, BEGAN + 5000))
    assert over.early_end.losers == (0, 1)
    assert list(over.result.scores) == [0.5, 0.5]
    (expired, ended) = events_of(over, 1, 0)
    assert list(expired.time_expired.seats) == [0, 1]
    assert ended.match_ended.result == over.result


@pytest.mark.parametrize("game_id", simultaneous_games())
def test_the_first_of_two_late_seats_forfeits(game_id):
    # Before, seat 0 has used more of its time for the match.
    state = begin(game_id, control(None, 10_000))
    for seat, at in ((1, BEGAN + 1000), (0, BEGAN + 2000)):
        state = decide(state, seat, at)
    while state.deciders != (0, 1):
        (seat,) = state.deciders
        state = decide(state, seat)
    over = state.after(Expiry.due(state, BEGAN + 20_000))
    assert over.early_end.losers == (0,)
    assert list(over.result.scores) == [0.0, 1.0]


def test_a_bot_has_no_clock():
    state = begin("champion_chess", control(1000), bots=(1, 0))
    assert [clock.seat for clock in view_of(state, 1).clocks.seats] == [1]
    over = state.after(Expiry.due(state, BEGAN + 1000))
    assert over.early_end.losers == (1,)
    bots = begin("champion_chess", control(1000), bots=(1, 1))
    assert not view_of(bots, 1).clocks.seats
    assert Expiry.due(bots, BEGAN + 10**9) is None


# Servers


def test_an_answer_has_the_time_of_the_server(servers, start):
    clock = ManualClock(BEGAN)
    _, client = start(clock=clock)
    table = client.create(ruleset_of("skystones"))
    servers.loop.call_soon_threadsafe(clock.advance, 1_234)
    response = table.spectator.wait_later(0).result()
    assert response.server_time.ToMilliseconds() == BEGAN + 1_234
    assert not response.view.HasField("clocks")


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_hint_does_not_depend_on_the_clocks(client, game_id):
    table = client.create(ruleset_of(game_id), seed=1, time_control=control(10**6, 10**7))
    view = table.players[table.spectator.view().deciders[0]].view()
    assert view.HasField("clocks")
    limits = hint_pb2.SearchLimits(iterations=100)
    hints = []
    for _ in range(2):
        hints.append(client.hint(view, limits, seed=3).hint)
        view.ClearField("clocks")
    assert hints[0] == hints[1]


def test_the_terminal_client_reports_a_late_decision(servers, start):
    clock = ManualClock(BEGAN)
    _, client = start(clock=clock)
    command = [sys.executable, "-m", "cli", "play", IN_TURN, "--clock", "30"]
    with subprocess.Popen(
        [*command, "--server", client.address, "--opponent", "random"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as session:
        for line in session.stdout:
            if "You have 30 seconds." in line:
                break
        servers.loop.call_soon_threadsafe(clock.advance, 30_000)
        said, _ = session.communicate("1\n")
    assert session.returncode == 0
    assert "Too late: your time was up." in said
    assert "You ran out of time.\nThe bot wins, 1 to 0." in said
