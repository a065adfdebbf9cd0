"""The scheduler: some running server acts in each due match, once, even without any caller."""

import asyncio
import logging
from functools import partial

import pytest

import wire
from croupier.v1.clock_pb2 import EXPIRY_POLICY_DEFAULT_ACTION, TimeControl
from service.common.call import Call, current_call
from service.common.errors import store_unavailable
from service.common.event_loop import BURST_SECONDS, BackgroundQuota
from service.hosting import scheduler
from service.hosting.bots import Bots
from service.hosting.clocks import Clock
from service.hosting.entries import EntryKind
from service.hosting.leases import LEASE_MILLISECONDS, leased_status
from service.hosting.matches import Matches
from service.hosting.offers import PAUSE, MakeOffer, Resume
from service.hosting.seats import Caller
from service.observability.metrics import Metrics
from service.store import DueMatch
from service.store.chain import Damaged
from tests.support.manual_clock import ManualClock
from tests.support.scheduling import FAR, RANDOM, ActingServer, SlowBots, act, create, ended
from tests.support.stores import MemoryPlace, SqlitePlace, execute, opened, wait_past


class FailingBots(Bots):
    """Bots whose first `failures` decisions fail. `tries` has the time of each attempt."""

    def __init__(self, matches, searches):
        super().__init__(matches, searches)
        self.failures = 6
        self.tries = asyncio.Queue()

    async def _choose(self, state, seat):
        self.tries.put_nowait(self._matches._clock.now())
        if self.failures:
            self.failures -= 1
            raise RuntimeError(f"seat {seat} holds this and that")
        return await super()._choose(state, seat)


async def test_a_failing_bot_is_retried_less_and_less_often(store, caplog):
    clock = ManualClock()
    async with ActingServer(store, clock, FailingBots) as server:
        state = await create(server.matches)
        bots = server.scheduler._bots
        began = await bots.tries.get()
        for _ in range(6):
            # Until the log has been told of the next try, the clock stands still.
            await server.rest()
            now = clock.now()
            [due] = await store.list_due(FAR, 9)
            assert due.at - now >= min(
                max(now - began, scheduler.MIN_RETRY_MILLISECONDS),
                scheduler.MAX_RETRY_MILLISECONDS,
            )
            while bots.tries.empty():
                await clock.all_asleep(1)
                clock.advance(250)
                await clock.all_asleep(1)
            await bots.tries.get()
        await ended(store, state.header.match_id)
        failed = server.metrics.registry.get_sample_value("croupier_bot_failures_total")
        assert failed == 6
    assert "RuntimeError" in caplog.text
    assert f"seat {0} holds" not in caplog.text
    assert f"seat {1} holds" not in caplog.text


async def test_a_damaged_match_is_no_failure_of_its_bot(store, caplog, monkeypatch):
    clock, read = ManualClock(), asyncio.Event()
    match_id = (await create(Matches(store, Metrics(), clock))).header.match_id
    clock.advance(LEASE_MILLISECONDS + 1)

    async def load(match_id):
        read.set()
        raise Damaged(match_id, 1, "its second entry is gone")

    monkeypatch.setattr(store, "load", load)
    async with ActingServer(store, clock) as server:
        await read.wait()
        await server.rest()
        shown = server.metrics.registry.get_sample_value
        assert shown("croupier_damaged_matches_total") == 1
        assert shown("croupier_bot_failures_total") == 0
    assert f"match {match_id} is damaged at version 1" in caplog.text
    assert "a bot failed" not in caplog.text


async def test_a_clock_that_is_set_is_told_once(store, caplog, monkeypatch):
    clock, polled, list_due = ManualClock(), asyncio.Queue(), store.list_due

    async def list_and_tell(*asked):
        polled.put_nowait(None)
        return await list_due(*asked)

    monkeypatch.setattr(store, "list_due", list_and_tell)
    async with ActingServer(store, clock) as server:
        for hours, said in ((1, "+3600"), (-1, "-3600")):
            await polled.get()
            clock.set_by(hours * 3600)
            for _ in range(3):
                server.scheduler._wake.set()
                await polled.get()
            (told,) = (each for each in caplog.messages if each.startswith("the clock was set"))
            assert told.startswith(f"the clock was set by {said} seconds, to 2023-")
            caplog.clear()
            server.scheduler._wake.set()


async def test_a_match_in_which_nothing_is_due_costs_no_task(store):
    # A clock that stands still: no lease expires, and nothing is polled for again.
    async with ActingServer(store, ManualClock()) as server:
        names = []
        for game_id in wire.hosted_games():
            for _ in range(5):
                state = await create(server.matches, game_id, (0, RANDOM))
                names.append(state.header.match_id)
        await server.rest()
        assert await store.list_due(FAR, 9) == []
        assert server.scheduler._known == {}
        for name in names:
            state = await server.matches.load(name)
            # The bot has made all decisions that it can make, and no task waits for the open
            # seat.
            assert state.deciders == (0,)


async def test_a_change_during_a_task_is_not_missed():
    async with opened(MemoryPlace()) as store, ActingServer(store, ManualClock()) as server:
        state = await create(server.matches, bots=(0, RANDOM))
        match_id = state.header.match_id
        await server.rest()
        expire = server.matches.settle
        entered, go_on = asyncio.Event(), asyncio.Event()

        async def slowly(match_id):
            looked = await expire(match_id)
            entered.set()
            await go_on.wait()
            return looked

        server.matches.settle = slowly
        server.scheduler._start(match_id)
        await entered.wait()
        version = (await server.matches.load(match_id)).version + 1
        await act(server.matches, match_id)
        assert (await server.matches.load(match_id)).bot_due is not None
        go_on.set()
        # At once: by this clock, the lease never expires.
        await wait_past(store, match_id, version)


class RecordingBots(SlowBots):
    """Slow bots that tell which calls have set off their decisions."""

    def __init__(self, matches, searches):
        super().__init__(matches, searches)
        self.causes = asyncio.Queue()

    async def _choose(self, state, seat):
        self.causes.put_nowait(current_call.get())
        return await super()._choose(state, seat)


async def test_a_decision_belongs_to_the_call_that_came_while_the_bot_decided():
    # In Skystones both seats pick at the same time.
    async with (
        opened(MemoryPlace()) as store,
        ActingServer(store, ManualClock(), RecordingBots) as server,
    ):
        bots = server.scheduler._bots
        creation = Call("Create", "test")
        current_call.set(creation)
        state = await create(server.matches, bots=(0, RANDOM))
        assert await bots.causes.get() is creation
        submission = Call("Submit", "test")
        current_call.set(submission)
        await act(server.matches, state.header.match_id)
        bots.may_decide.set()
        assert await bots.causes.get() is submission


async def test_a_clock_runs_out_beside_a_bot_though_the_log_cannot_be_read_at_first():
    clock = ManualClock()
    async with (
        opened(MemoryPlace()) as store,
        ActingServer(store, clock, SlowBots) as server,
    ):
        control = TimeControl(per_decision={"seconds": 10})
        state = await create(server.matches, bots=(0, RANDOM), time_control=control)
        await server.scheduler._bots.thinking.wait()
        await clock.all_asleep(2)
        expire, failed = server.matches.settle, asyncio.Event()

        async def fail(match_id):
            server.matches.settle = expire
            failed.set()
            raise store_unavailable()

        server.matches.settle = fail
        clock.advance(10_000)
        await failed.wait()
        ending = asyncio.ensure_future(ended(store, state.header.match_id))
        while not ending.done():
            await clock.all_asleep(1)
            clock.advance(250)
            await asyncio.sleep(0)
        assert ending.result()[-1].kind == EntryKind.EXPIRY


class NotingClock(ManualClock):
    """A clock that notes until when anybody has slept."""

    def __init__(self):
        super().__init__()
        self.slept = []

    async def sleep(self, until, wake):
        self.slept.append(until)
        await super().sleep(until, wake)


async def test_a_clock_that_begins_to_run_while_a_bot_thinks_runs_out():
    clock = NotingClock()
    async with (
        opened(MemoryPlace()) as store,
        ActingServer(store, clock, SlowBots) as server,
    ):
        control, matches = TimeControl(per_decision={"seconds": 10}), server.matches
        state = await create(matches, "champion_chess", (0, RANDOM), control)
        await server.scheduler._bots.thinking.wait()
        await clock.all_asleep(2)
        seat = Caller(state.header.match_id, 0)
        await matches.carry_out(seat, partial(MakeOffer.ask, offered=PAUSE))
        # The clock that ran at first would have run out: nothing is due for a week.
        clock.advance(60_000)
        await clock.all_asleep(2)
        await matches.carry_out(seat, Resume.ask)
        deadline = (await matches.load(seat.match_id)).deadline
        assert deadline == clock.now() + 10_000
        for _ in range(99):  # Turns, in which no thread takes part.
            await asyncio.sleep(0)
        assert deadline in clock.slept
        clock.advance(10_000)
        assert (await ended(store, seat.match_id))[-1].kind == EntryKind.EXPIRY


async def test_overdue_time_is_measured(store):
    clock = ManualClock()
    await create(Matches(store, Metrics(), clock))
    clock.advance(LEASE_MILLISECONDS + 3000)
    async with ActingServer(store, clock, SlowBots) as server:
        await server.scheduler._bots.thinking.wait()
        value = server.metrics.registry.get_sample_value("croupier_overdue_seconds")
        assert value == 3.0


class Pauses:
    """The quota of a busy loop: each task costs a burst, and each pause lasts until `go_on`."""

    def __init__(self):
        self._now = 0.0
        self.pausing = asyncio.Event()
        self.go_on = asyncio.Event()
        self.share = BackgroundQuota(lambda: 0, self._timer, self._pause)

    def _timer(self):
        self._now += BURST_SECONDS
        return self._now

    async def _pause(self, seconds):
        self.pausing.set()
        await self.go_on.wait()


async def test_an_opponent_of_a_bot_does_not_wait_for_other_tasks(store):
    pauses, clock = Pauses(), ManualClock()
    async with (
        ActingServer(store, clock, share=pauses.share) as server,
    ):
        of_bots = (await create(server.matches)).header.match_id
        await pauses.pausing.wait()
        versions = len((await store.load(of_bots)).entries)
        for game_id in wire.hosted_games():
            match_id = (await create(server.matches, game_id, (0, RANDOM))).header.match_id
            for _ in range(3):
                state = await server.matches.load(match_id)
                while state.bot_due is not None:
                    await wait_past(store, match_id, state.version)
                    state = await server.matches.load(match_id)
                if state.over:
                    break
                await act(server.matches, match_id)
        assert len((await store.load(of_bots)).entries) <= versions + 1
        pauses.go_on.set()
        await ended(store, of_bots)


async def test_many_due_matches_wait_in_the_log_and_not_in_memory(store, monkeypatch):
    monkeypatch.setattr(scheduler, "MAX_WAITING", 16)
    control = TimeControl(on_expiry=EXPIRY_POLICY_DEFAULT_ACTION, per_decision={"seconds": 1})
    count = 5 * scheduler.MAX_WAITING
    clock = ManualClock()
    dead = Matches(store, Metrics(), clock)
    names = []
    for _ in range(count):
        state = await create(dead, "powershot_soccer", (0, 0), control)
        names.append(state.header.match_id)
        clock.advance(1)
    clock.advance(1_000)
    waiting, taken = [], []
    reschedule = store.reschedule

    async def note_and_reschedule(due, to):
        taken.append(due.match_id)
        return await reschedule(due, to)

    store.reschedule = note_and_reschedule
    async with ActingServer(store, clock) as server:
        expire = server.matches.settle

        async def note_and_expire(match_id):
            waiting.append(server.scheduler._waiting)
            return await expire(match_id)

        server.matches.settle = note_and_expire
        for name in names:
            await wait_past(store, name, 0)
        await server.rest()
        for name in names:
            (entry,) = (await store.load(name)).entries
            assert entry.kind == EntryKind.EXPIRY
    # The most overdue first, each once, and at most so many in memory.
    assert taken == names
    assert 0 < max(waiting) <= scheduler.MAX_WAITING


async def test_due_matches_are_not_kept_out_by_the_bots_of_others(store, monkeypatch):
    """People whose clocks run out do not wait for as many slow bots as a server polls for."""
    monkeypatch.setattr(scheduler, "MAX_TASKS", 2)
    control = TimeControl(on_expiry=EXPIRY_POLICY_DEFAULT_ACTION, per_decision={"seconds": 1})
    clock = ManualClock()
    async with ActingServer(store, clock, SlowBots) as server:
        for _ in range(2):
            await create(server.matches)
        state = await create(server.matches, "powershot_soccer", (0, 0), control)
        clock.advance(1_000)
        await wait_past(store, state.header.match_id, 0)


@pytest.mark.parametrize("error", [store_unavailable(), RuntimeError("planted")])
async def test_a_lease_that_fails_does_not_keep_others_from_their_matches(store, error):
    clock = ManualClock()
    dead = Matches(store, Metrics(), clock)
    refused, *names = [(await create(dead)).header.match_id for _ in range(3)]
    clock.advance(LEASE_MILLISECONDS)
    reschedule = store.reschedule

    async def refuse_one(due, to):
        if due.match_id == refused:
            raise error
        return await reschedule(due, to)

    store.reschedule = refuse_one
    async with ActingServer(store, clock):
        for name in names:
            await wait_past(store, name, 0)


async def test_an_id_that_has_changed_keeps_no_other_match_from_its_bots(tmp_path):
    async with opened(SqlitePlace(tmp_path / "log")) as store:
        matches = Matches(store, Metrics())
        changed, other = [(await create(matches)).header.match_id for _ in range(2)]
        await execute(store, "UPDATE heads SET due = 1")
        await execute(
            store,
            "UPDATE heads SET match_id = CAST($1 AS TEXT) WHERE match_id = $2",
            b"\xff" + changed[1:].encode(),
            changed,
        )
        async with ActingServer(store) as server:
            await ended(store, other)
            assert not any(server.metrics.tasks.failures().values())


async def test_a_match_of_another_rules_version_is_left_to_other_servers(store, caplog):
    caplog.set_level(logging.INFO)
    clock = ManualClock()
    dead = Matches(store, Metrics(), clock)
    state = await create(dead)
    header = state.header._replace(match_id="other", rules_version=99)
    await store.create(header, leased_status(state))
    clock.advance(LEASE_MILLISECONDS)
    async with ActingServer(store, clock) as server:
        await ended(store, state.header.match_id)
        await server.rest()
        due = DueMatch("other", clock.now())
        assert await store.list_due(FAR, 9) == [due]
        # It does not take that one again, and acts in what is due later.
        state = await create(dead)
        clock.advance(LEASE_MILLISECONDS)
        await ended(store, state.header.match_id)
        await server.rest()
        assert await store.list_due(FAR, 9) == [due]
    [told] = [line for line in caplog.messages if "left to other servers" in line]
    assert told.startswith("match other ")


def test_a_sleep_that_is_woken_and_then_cancelled_is_cancelled():
    async def run(pauses):
        wake = asyncio.Event()
        sleeping = asyncio.create_task(Clock().sleep(FAR, wake))
        for _ in range(3):
            await asyncio.sleep(0)
        wake.set()
        for _ in range(pauses):
            await asyncio.sleep(0)
        if not sleeping.cancel():
            return False
        await asyncio.wait([sleeping])
        assert sleeping.cancelled(), f"cancelled {pauses} turns after it was woken"
        return True

    were_cancelled = [asyncio.run(run(pauses)) for pauses in range(6)]
    assert any(were_cancelled)
