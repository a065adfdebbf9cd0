"""Idle matches: which ones are ended, how they end, and that every reader finds the same end."""

import asyncio
import logging

import pytest

import wire
from croupier.v1 import clock_pb2, game_pb2, match_pb2
from engine.errors import ActionError
from engine.game import SPECTATOR
from service.common.event_loop import BackgroundQuota, finish_now
from service.hosting.clocks import date
from service.hosting.creation import NewMatch
from service.hosting.entries import EntryKind, Idle, Resignation
from service.hosting.match_cache import MAX_CACHED
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches
from service.hosting.records import verify, write_record
from service.hosting.seats import Caller
from service.hosting.sweeps import IDLE_BATCH, IdleMatches, Retention
from service.observability.metrics import Metrics
from service.store import DueMatch, IdleMatch, MatchStatus
from tests.support.manual_clock import ManualClock
from tests.support.random_matches import check_forgeries
from tests.support.scheduling import act
from tests.support.serving import bot, events_of, refused, ruleset_of, simultaneous_games, view_of
from tests.support.stores import MemoryPlace, action, append, header, opened, resignation

IDLE = game_pb2.EndReason.END_REASON_IDLE
IN_TURN = "powershot_soccer"  # A game that does not begin with a simultaneous decision.
HOUR = 3_600_000


class Hosting:
    """Matches of a log, and a sweep that ends those that are idle for an hour."""

    def __init__(self, store, clock):
        self.clock = clock
        self.metrics = Metrics()
        self.matches = Matches(store, self.metrics, clock)
        self.idle = IdleMatches(self.matches, BackgroundQuota(lambda: 0), HOUR / 1000, clock)

    def create(self, game_id=IN_TURN, bots=(0, 0), **options):
        return self.matches.create(NewMatch(ruleset_of(game_id), bots, **options))

    async def result(self, match_id):
        return (await self.matches.load(match_id)).result


async def test_a_match_is_ended_when_nothing_has_happened_for_long_enough(store):
    clock = ManualClock()
    hosting = Hosting(store, clock)
    left, played = [(await hosting.create()).header.match_id for _ in range(2)]
    clock.advance(HOUR)
    await act(hosting.matches, played)
    await hosting.idle.sweep()
    assert await hosting.result(left) is None
    clock.advance(1)
    await hosting.idle.sweep()
    result = await hosting.result(left)
    assert result.reason == IDLE
    (loser,) = finish_now((await hosting.matches.load(left)).going_back(0)).deciders
    assert list(result.scores) == [float(loser != 0), float(loser != 1)]
    assert await hosting.result(played) is None
    clock.advance(HOUR)
    await hosting.idle.sweep()
    assert (await hosting.result(played)).reason == IDLE
    ended = {"game": IN_TURN, "state": "idle"}
    counted = hosting.metrics.registry.get_sample_value("croupier_matches_total", ended)
    assert counted == 2
    # From now on they fall under retention.
    assert await hosting.matches.delete_ended(clock.now() + 1, 9) == 2


async def test_work_that_ends_without_a_word_does_not_take_the_others_along(store):
    clock = ManualClock()
    hosting = Hosting(store, clock)
    dead, idle = [(await hosting.create()).header.match_id for _ in range(2)]
    end = hosting.matches.end_idle

    async def end_or_die(match_id, before):
        return None if match_id == dead else await end(match_id, before)

    hosting.matches.end_idle = end_or_die
    clock.advance(HOUR + 1)
    await hosting.idle.sweep()
    assert (await hosting.result(idle)).reason == IDLE


async def test_nothing_is_ended_or_deleted_at_once_after_a_clock_was_set_forward(store, caplog):
    clock = ManualClock()
    hosting = Hosting(store, clock)
    retention = Retention(hosting.matches, HOUR / 1000, clock)
    idle, over = [(await hosting.create()).header.match_id for _ in range(2)]
    await hosting.matches.carry_out(Caller(over, 0), Resignation.ask)

    async def sweep():
        for each in (hosting.idle, retention):
            await each.sweep()
        return await hosting.matches.find(over) is not None, await hosting.result(idle)

    clock.set_by(2 * HOUR // 1000)
    assert await sweep() == (True, None)
    assert caplog.text.count("held off for 3600 seconds") == 2
    clock.advance(HOUR // 2)
    clock.set_by(HOUR // 1000)  # Once more, which must not go on for ever.
    assert await sweep() == (True, None)
    clock.advance(HOUR // 2 - 1)
    assert await sweep() == (True, None)
    clock.advance(1)
    kept, result = await sweep()
    assert (kept, result.reason) == (False, IDLE)


async def test_what_sweeps_end_and_delete_is_counted_in_the_log_of_the_server(store, caplog):
    caplog.set_level(logging.INFO)
    clock = ManualClock()
    hosting = Hosting(store, clock)
    retention = Retention(hosting.matches, HOUR / 1000, clock)
    for _ in range(IDLE_BATCH + 2):
        await hosting.create()
    for sweep, told in ((hosting.idle, "ended idle matches"), (retention, "deleted matches")):
        await sweep.sweep()
        assert not caplog.messages
        clock.advance(HOUR + 1)
        await sweep.sweep()
        (line,) = caplog.messages
        assert line.startswith(told)
        assert line.endswith(f" before {date(clock.now() - HOUR)}: {IDLE_BATCH + 2}")
        caplog.clear()


async def test_only_a_match_that_waits_without_a_clock_is_idle(store):
    control = clock_pb2.TimeControl(per_decision={"seconds": 30 * 24 * 3600})
    clock = ManualClock()
    hosting = Hosting(store, clock)
    clocked = await hosting.create(time_control=control)
    of_bots = await hosting.create(bots=(1, 1))
    over = await hosting.create()
    await hosting.matches.carry_out(Caller(over.header.match_id, 0), Resignation.ask)
    entropy = await hosting.create(entropy_from_seats=True, time_control=control)
    clock.advance(HOUR + 1)
    await hosting.idle.sweep()
    ended = [
        (await hosting.matches.load(each.header.match_id)).early_end
        for each in (clocked, of_bots, over, entropy)
    ]
    assert [each and each.reason for each in ended] == [
        None,
        None,
        game_pb2.EndReason.END_REASON_RESIGNATION,
        IDLE,
    ]
    # Missing entropy is held against no seat.
    assert ended[-1].scores == (0.5, 0.5)
    # Not even if it is asked for.
    for each in (clocked, of_bots):
        await hosting.matches.end_idle(each.header.match_id, clock.now())
        assert await hosting.result(each.header.match_id) is None


def test_an_idle_match_of_two_that_decide_at_the_same_time_is_a_draw():
    for game_id in simultaneous_games():
        state = idle_states(game_id)[0]
        assert list(state.result.scores) == [0.5, 0.5]


def idle_states(game_id):
    """A match that was idle at its beginning, and one that was after an action."""

    async def run():
        clock = ManualClock()
        async with opened(MemoryPlace()) as store:
            hosting = Hosting(store, clock)
            names = [(await hosting.create(game_id)).header.match_id for _ in range(2)]
            await act(hosting.matches, names[1])
            clock.advance(HOUR + 1)
            await hosting.idle.sweep()
            return [MatchState.load(await store.load(name)) for name in names]

    return asyncio.run(run())


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_every_reader_finds_the_same_end_and_it_is_verified(game_id):
    for state in idle_states(game_id):
        assert state.entries[-1].kind == EntryKind.IDLE
        assert state.status == MatchStatus(over=True)
        assert not view_of(state, 0).legal_actions
        (ended,) = events_of(state, state.version, SPECTATOR)
        assert ended.match_ended.result == state.result
        record = write_record(state)
        assert record.entries[-1].HasField("idle_end")
        assert write_record(verify(record)) == record

        def other_loser(record):
            record.result.scores[:] = [1.0, 0.0] if record.result.scores[0] < 1 else [0.0, 1.0]

        def other_reason(record):
            record.result.reason = game_pb2.EndReason.END_REASON_TIME

        def earlier(record):
            record.entries[-1].time.FromMilliseconds(0)

        def twice(record):
            record.entries.add().CopyFrom(record.entries[-1])

        def with_a_clock(record):
            record.time_control.per_decision.FromSeconds(100_000)

        check_forgeries(record, other_loser, other_reason, earlier, twice, with_a_clock)


def test_a_match_that_is_over_or_owes_a_bot_cannot_end_as_idle():
    over = idle_states(IN_TURN)[0]
    with pytest.raises(ActionError):
        over.after(Idle.end(over, over.time))
    bots = MatchState.begin(over.header._replace(bots=(1, 1)))
    with pytest.raises(ActionError):
        bots.after(Idle.end(bots, bots.time))


async def test_all_idle_matches_are_ended_whatever_their_number_and_one_that_fails(store, caplog):
    count = IDLE_BATCH + 20
    clock = ManualClock()
    hosting = Hosting(store, clock)
    states = [await hosting.create() for _ in range(count)]
    other_rules = states[0].header._replace(match_id="a0", rules_version=99)
    broken = states[0].header._replace(match_id="a1", ruleset=b"broken")
    for each in (other_rules, broken):
        await store.create(each, MatchStatus())
    clock.advance(HOUR + 1)
    fresh = Hosting(store, clock)
    await fresh.idle.sweep()
    for state in states:
        assert (await hosting.result(state.header.match_id)).reason == IDLE
    left = await store.list_idle(clock.now(), None, count)
    assert [each.match_id for each in left] == ["a0", "a1"]
    # They have taken no place in memory.
    assert len(fresh.matches._cache) == 0
    assert caplog.text.count("idle match of ") == 1


@pytest.mark.parametrize("here", [True, False], ids=["at this server", "at another"])
async def test_a_match_that_changes_during_the_sweep_goes_on(store, here):
    clock = ManualClock()
    hosting = Hosting(store, clock)
    match_id = (await hosting.create()).header.match_id
    clock.advance(HOUR + 1)
    list_idle = store.list_idle

    async def list_and_act(*arguments):
        listed = await list_idle(*arguments)
        if listed:
            await act((hosting if here else Hosting(store, clock)).matches, match_id)
        return listed

    store.list_idle = list_and_act
    await hosting.idle.sweep()
    assert await hosting.result(match_id) is None


async def test_the_store_lists_idle_matches_in_order(store):
    statuses = {"due": MatchStatus(due=9)}
    created_at = {"d": 5, "b": 5, "a": 7, "due": 1, "over": 1, "new": 9}
    for name, created in created_at.items():
        await store.create(header(name, created=created), statuses.get(name, MatchStatus()))
    await append(store, "over", 0, resignation(0, at=2), MatchStatus(over=True))
    await append(store, "a", 0, action(0, at=8), MatchStatus())
    everything = [IdleMatch(5, "b"), IdleMatch(5, "d"), IdleMatch(7, "a")]
    assert list(await store.list_idle(9, None, 10)) == everything
    assert list(await store.list_idle(9, None, 2)) == everything[:2]
    assert list(await store.list_idle(9, everything[0], 10)) == everything[1:]
    assert list(await store.list_idle(9, everything[-1], 10)) == []
    # An action is younger than the match.
    assert list(await store.list_idle(8, None, 10)) == everything[:2]
    assert await store.list_due(9, 9) == [DueMatch("due", 9)]


async def test_a_match_in_which_only_the_server_acts_takes_no_place_in_memory():
    clock = ManualClock()
    control = clock_pb2.TimeControl(per_decision={"seconds": 1}, on_expiry=2)
    async with opened(MemoryPlace()) as store:
        hosting = Hosting(store, clock)
        left = await hosting.create(time_control=control)
        played = [await hosting.create() for _ in range(MAX_CACHED)]
        first = played[0].header.match_id
        assert hosting.matches._cache.get(left.header.match_id) is None
        clock.advance(1_000)
        assert (await hosting.matches.settle(left.header.match_id)).version == 1
        assert hosting.matches._cache.get(left.header.match_id) is None
        assert hosting.matches._cache.get(first) is not None
        # Where there is room, it is remembered, and it is the first to go.
        hosting.matches._cache.drop(first)
        clock.advance(1_000)
        assert (await hosting.matches.settle(left.header.match_id)).version == 2
        assert hosting.matches._cache.get(left.header.match_id) is not None
        await hosting.matches.load(first)
        assert hosting.matches._cache.get(left.header.match_id) is None
        assert hosting.matches._cache.get(first) is not None


# Servers


def test_a_server_ends_idle_matches_and_wakes_their_watchers(servers, start):
    clock = ManualClock()
    server, client = start(None, clock, end_idle=3600.0)
    table = client.create(ruleset_of(IN_TURN), [bot("RANDOM"), match_pb2.SeatConfig(open={})])
    player = table.players[1]
    stream = player.watch()
    while (response := next(stream)).view.deciders != [1]:
        pass
    servers.loop.call_soon_threadsafe(clock.advance, HOUR + 1)
    servers.run(server._idle_matches.sweep())
    last = list(stream)[-1]
    assert last.view.result.reason == IDLE
    assert list(last.view.result.scores) == [1.0, 0.0]
    action = response.view.legal_actions[0]
    assert refused(player.submit, action, response.version).reason == "MATCH_OVER"
    assert verify(player.record()).result == last.view.result


def test_a_server_may_let_matches_be_idle(start):
    server, _ = start(end_idle=None)
    assert server._idle_matches is None


async def test_a_match_is_ended_though_another_server_was_the_last_that_acted_in_it(store):
    clock = ManualClock()
    hosting, other = Hosting(store, clock), Hosting(store, clock)
    match_id = (await hosting.create()).header.match_id
    clock.advance(1)
    await act(other.matches, match_id)
    clock.advance(HOUR + 1)
    await hosting.idle.sweep()
    assert (await hosting.result(match_id)).reason == IDLE
