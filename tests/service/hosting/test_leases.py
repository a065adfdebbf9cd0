"""Leases: a server keeps a match while its bot decides, and leaves it to others when it stops."""

import asyncio

from croupier.v1.clock_pb2 import TimeControl
from service.common.errors import store_unavailable
from service.hosting.bots import Bots
from service.hosting.entries import EntryKind
from service.hosting.leases import LEASE_MILLISECONDS
from service.hosting.matches import Matches
from service.hosting.scheduler import POLL_MILLISECONDS
from service.observability.metrics import Metrics
from service.store import DueMatch, MemoryStore
from tests.support.manual_clock import ManualClock
from tests.support.scheduling import (
    FAR,
    RANDOM,
    ActingServer,
    SlowBots,
    act,
    create,
    note_complaints,
)
from tests.support.stores import MemoryPlace, opened, wait_past


class LateAnswers(MemoryStore):
    """Tells of what it has added when it may."""

    def __init__(self):
        super().__init__()
        self.added, self.may_answer = asyncio.Event(), asyncio.Event()

    async def append(self, match_id, head, entry, status, on_added=None):
        added = await super().append(match_id, head, entry, status)
        self.added.set()
        # Also if nobody waits for it any more.
        return await asyncio.shield(asyncio.create_task(self._tell_later(added, on_added)))

    async def _tell_later(self, added, on_added):
        await self.may_answer.wait()
        if added:
            on_added()
        return added


async def test_what_is_committed_while_a_server_shuts_down_is_released_too():
    clock, store = ManualClock(), LateAnswers()
    async with ActingServer(store, clock, SlowBots) as server:
        state = await create(server.matches, "powershot_soccer")
        clock.drift(1)
        server.scheduler._bots.may_decide.set()
        await store.added.wait()
    match_id = state.header.match_id
    assert await store.list_due(clock.now(), 9) == []
    store.may_answer.set()
    while await store.list_due(clock.now(), 9) != [DueMatch(match_id, clock.now())]:
        await asyncio.sleep(0)


class LateRenewals(MemoryStore):
    """Tells of what it has rescheduled when it may."""

    def __init__(self):
        super().__init__()
        self.renewed, self.may_answer = asyncio.Event(), asyncio.Event()

    async def reschedule(self, due, at):
        done = await super().reschedule(due, at)
        self.renewed.set()
        await self.may_answer.wait()
        return done


async def test_a_lease_is_renewed_a_whole_poll_before_others_can_take_it():
    clock, store = ManualClock(), LateRenewals()
    store.may_answer.set()
    async with ActingServer(store, clock, SlowBots) as server:
        state = await create(server.matches)
        await server.scheduler._bots.thinking.wait()
        clock.advance(LEASE_MILLISECONDS - POLL_MILLISECONDS - 1)
        await store.renewed.wait()
        due = DueMatch(state.header.match_id, clock.now() + LEASE_MILLISECONDS)
        assert await store.list_due(FAR, 9) == [due]


async def test_a_bot_whose_decision_comes_too_late_leaves_the_match_to_who_was_first(store):
    clock = ManualClock()
    other = Matches(store, Metrics(), clock)
    async with ActingServer(store, clock, SlowBots) as server:
        state = await create(server.matches)
        bots = server.scheduler._bots
        await bots.thinking.wait()
        clock.drift(1)  # The lease of the other server ends at another time.
        await act(other, state.header.match_id)
        due = DueMatch(state.header.match_id, clock.now() + LEASE_MILLISECONDS)
        bots.may_decide.set()
        await server.rest()
        assert await store.list_due(FAR, 9) == [due]
        assert bots.times == 1


async def test_a_lease_that_is_renewed_while_its_server_shuts_down_is_released_too():
    clock, store = ManualClock(), LateRenewals()
    async with ActingServer(store, clock, SlowBots) as server:
        state = await create(server.matches)
        await server.scheduler._bots.thinking.wait()
        clock.advance(LEASE_MILLISECONDS - 500)
        await store.renewed.wait()
        closing = asyncio.create_task(server.scheduler.close())
        await asyncio.sleep(0)
        store.may_answer.set()
        await closing
        due = DueMatch(state.header.match_id, clock.now())
        assert await store.list_due(clock.now(), 9) == [due]


async def test_a_renewal_that_is_answered_late_does_not_hide_the_lease_of_a_newer_entry():
    clock, store = ManualClock(), LateRenewals()
    async with ActingServer(store, clock, SlowBots) as server:
        await create(server.matches, "powershot_soccer")
        bots = server.scheduler._bots
        await bots.thinking.wait()
        clock.advance(LEASE_MILLISECONDS - 500)
        await store.renewed.wait()
        clock.drift(1)
        bots.thinking.clear()
        # One decision: the next one waits again.
        bots.may_decide.set()
        bots.may_decide.clear()
        await bots.thinking.wait()
        store.may_answer.set()
        async with server.scheduler._lease_lock:
            assert server.scheduler._leases(FAR) == await store.list_due(FAR, 9)


async def test_a_lease_that_is_renewed_too_late_does_not_stop_the_clock_of_the_other_seat():
    clock, store = ManualClock(), LateAnswers()
    control = TimeControl()
    control.per_decision.FromMilliseconds(2_000)
    async with ActingServer(store, clock, SlowBots) as server:
        # Both decide at the same time.
        state = await create(server.matches, "champion_chess", (0, RANDOM), control)
        bots = server.scheduler._bots
        await bots.thinking.wait()
        bots.may_decide.set()
        await store.added.wait()
        # The bot has decided, but its server does not know it yet, and renews the lease.
        clock.advance(1_000)
        await clock.all_asleep(2)
        store.may_answer.set()
        await server.rest()
        clock.advance(1_000)
        await wait_past(store, state.header.match_id, 1)
        entries = (await store.load(state.header.match_id)).entries
        assert [each.kind for each in entries[:2]] == [EntryKind.ACTION, EntryKind.EXPIRY]


async def test_a_server_that_cannot_release_its_leases_shuts_down_without_a_word():
    complaints = note_complaints()
    async with (
        opened(MemoryPlace()) as store,
        ActingServer(store, ManualClock(), SlowBots) as server,
    ):
        await create(server.matches)
        await server.scheduler._bots.thinking.wait()

        async def fail(due, at):
            raise store_unavailable()

        store.reschedule = fail
        await server.scheduler.close()
    assert complaints() == []


class LateFailingBots(Bots):
    """Bots whose decisions fail when `may_fail` is set."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.tries = asyncio.Queue()
        self.may_fail = asyncio.Event()

    async def _choose(self, state, seat):
        self.tries.put_nowait(seat)
        await self.may_fail.wait()
        raise RuntimeError("planted")


async def fail_while_it_is_renewed(server, clock, renewing):
    """Lets the bot of a `LateFailingBots` fail after the renewal of its lease has begun."""
    bots = server.scheduler._bots
    await bots.tries.get()
    while not renewing.is_set():
        clock.advance(250)
        waits = [asyncio.ensure_future(w) for w in (renewing.wait(), clock.all_asleep(1))]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
    bots.may_fail.set()
    while not server.metrics.registry.get_sample_value("croupier_bot_failures_total"):
        await asyncio.sleep(0)


async def test_a_bot_that_fails_while_its_lease_is_renewed_is_not_retried_at_once(store):
    clock = ManualClock()
    async with ActingServer(store, clock, LateFailingBots) as server:
        extended, answer, postpone = asyncio.Event(), asyncio.Event(), store.reschedule

        async def postpone_slowly(due, to):
            done = await postpone(due, to)
            if not extended.is_set():
                extended.set()
                await answer.wait()
            return done

        store.reschedule = postpone_slowly
        state = await create(server.matches)
        await fail_while_it_is_renewed(server, clock, extended)
        answer.set()
        await server.rest()
        await clock.all_asleep(1)
        assert server.scheduler._bots.tries.empty()
        # The match waits as long again as it has waited.
        (due,) = await store.list_due(FAR, 9)
        now = clock.now()
        assert due == DueMatch(state.header.match_id, now + now - state.time)


async def test_a_bot_that_fails_while_another_server_takes_its_lease_leaves_it_alone(store):
    complaints = note_complaints()
    clock = ManualClock()
    async with ActingServer(store, clock, LateFailingBots) as server:
        renewing, answer, reschedule = asyncio.Event(), asyncio.Event(), store.reschedule
        taken = []

        async def renew_too_late(due, to):
            if not taken:
                taken.append(due._replace(at=due.at + LEASE_MILLISECONDS))
                assert await reschedule(due, taken[0].at)  # The other server.
                renewing.set()
                await answer.wait()
            return await reschedule(due, to)

        store.reschedule = renew_too_late
        await create(server.matches)
        await fail_while_it_is_renewed(server, clock, renewing)
        answer.set()
        await server.rest()
        assert await store.list_due(FAR, 9) == taken
    assert complaints() == []


async def test_a_time_to_act_that_has_changed_is_corrected_where_the_match_is_read(
    store, caplog, monkeypatch
):
    clock = ManualClock()
    control = TimeControl(per_decision={"seconds": 60})
    matches = Matches(store, Metrics(), clock)
    state = await create(matches, bots=(0, 0), time_control=control)
    due = DueMatch(state.header.match_id, state.deadline)
    assert await store.list_due(FAR, 9) == [due]
    assert await store.reschedule(due, due.at + 2**33)  # As one bit that has changed.
    reader, reschedule = Matches(store, Metrics(), clock), store.reschedule

    async def die(*_):
        monkeypatch.setattr(store, "reschedule", reschedule)
        raise SystemExit

    monkeypatch.setattr(store, "reschedule", die)
    await reader.load(due.match_id)
    while await store.list_due(FAR, 9) != [due]:
        await asyncio.sleep(0)
    assert "is due at" in caplog.text
    assert reader.tasks.failures()["due time"] == 1
