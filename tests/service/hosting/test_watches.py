"""Watches: what is handed to those who follow a match."""

import asyncio
import contextlib
from types import SimpleNamespace

import pytest

from service.common.event_loop import LongWork
from service.hosting.delayed import Delayed, DelayedWatch
from service.hosting.match_cache import FEW, SetBack, Watch, Watches
from tests.support.manual_clock import ManualClock


def state(version, match_id="one", branch=""):
    return SimpleNamespace(
        header=SimpleNamespace(match_id=match_id),
        version=version,
        branch=branch,
        follows=lambda other: other.version <= version and other.branch in ("", branch),
    )


def test_every_watch_of_a_match_gets_its_newest_state():
    watches = Watches()
    with watches.watch("one") as first, watches.watch("one") as second, watches.watch("two") as two:
        assert set(watches.watched()) == {"one", "two"}
        known, old, new = state(1), state(1), state(3)
        watches.publish(new)
        watches.publish(old)  # Late.
        for watch in (first, second):
            assert watch.newest(known) is new
            assert watch.newest(new) is new
        assert two.newest(known) is known
        assert (watches.known("one"), watches.known("two")) == (new, None)
        watches.forget("one")
        assert watches.known("one") is None
    assert not watches.watched()
    assert watches.known("one") is None


def test_to_read_what_all_know_costs_no_more_the_more_are_waiting(monkeypatch):
    handed = []
    hand = Watch.hand
    monkeypatch.setattr(Watch, "hand", lambda *args: (handed.append(args[0]), hand(*args)))
    watches = Watches()
    known = state(1)
    with watches.watch("one") as first, watches.watch("one") as second:
        watches.publish(known)
        with watches.watch("one") as late:
            for _ in range(3):
                watches.publish(known)
            assert handed.count(first) == handed.count(second) == handed.count(late) == 1
            assert late.handed is known
        watches.forget("one")
        watches.publish(known)
        assert first.handed is second.handed is known
        watches.publish(state(2))
        assert handed.count(first) == handed.count(second) == 3


async def test_a_watch_waits_for_a_newer_state_only():
    watches = Watches()
    with watches.watch("one") as watch:
        known = state(2)
        waiting = asyncio.ensure_future(watch.newer(known))
        for old in (1, 2):
            await asyncio.sleep(0)
            watches.publish(state(old))
        await asyncio.sleep(0)
        assert not waiting.done()
        new = state(3)
        watches.publish(new)
        assert await waiting is new
        assert await watch.newer(known) is new


@pytest.mark.parametrize("crowd", [FEW, FEW + 12])
@pytest.mark.parametrize("delay", [None, 10])
async def test_a_crowd_goes_on_one_after_another(crowd, delay):
    watches, clock, known = Watches(), ManualClock(), state(0)
    known.header.spectator_delay = delay or 0
    known.time_of, known.entries = lambda version: 1000 * version, []
    went_on = []

    async def follow(watch):
        if delay:
            watch = DelayedWatch(Delayed(clock, LongWork()), watch)
        await watch.any()
        went_on.append(watch)

    with contextlib.ExitStack() as stack:
        waiting = [
            asyncio.create_task(follow(stack.enter_context(watches.watch("one"))))
            for _ in range(crowd)
        ]
        await asyncio.sleep(0)
        watches.publish(known)
        in_turn = []
        while len(went_on) < crowd:
            before = len(went_on)
            await asyncio.sleep(0)
            in_turn.append(len(went_on) - before)
            clock.advance(delay or 0)
        assert max(in_turn) == (1 if crowd > FEW else crowd)
        await asyncio.gather(*waiting)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("version", [1, 2, 3])
async def test_a_slow_reader_is_not_led_to_another_branch(version, told):
    watches = Watches()
    with watches.watch("one") as slow, watches.watch("one") as waiting:
        known = state(2, branch="lost")
        watches.publish(known)
        waits = asyncio.ensure_future(waiting.newer(known))
        await asyncio.sleep(0)
        # The slow reader does not ask before others have gone on.
        if told:
            watches.forget("one")
        watches.publish(state(version, branch="anew"))
        for call in (waits, slow.newer(known)):
            with pytest.raises(SetBack):
                await call
        with pytest.raises(SetBack):
            slow.next(known)


async def test_waiting_ends_when_the_server_shuts_down():
    watches = Watches()
    known = state(0)
    with watches.watch("one") as watch:
        waiting = asyncio.ensure_future(watch.newer(known))
        await asyncio.sleep(0)
        watches.close()
        assert await waiting is known
        with watches.watch("one") as late:
            assert await late.newer(known) is known


async def test_a_clock_that_is_set_back_does_not_keep_a_spectator_waiting():
    clock, watches = ManualClock(), Watches()
    with watches.watch("one") as watch:
        waiting = asyncio.ensure_future(DelayedWatch(Delayed(clock, LongWork()), watch).any(10))
        await clock.all_asleep(1)
        clock.set_by(-3600)
        clock.advance(10_000)
        watch.nudge()
        assert await waiting is None
