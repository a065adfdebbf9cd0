"""Long work leaves the event loop to others between its pieces."""

import asyncio
import time

import pytest

from service.common import event_loop
from service.common.event_loop import FIRST_PIECES, PIECE_SECONDS, LongWork, finish_now

STEP_SECONDS = PIECE_SECONDS / 4


def spin(steps, result=None, done=None):
    """Work that takes some time, and tells how many steps are done."""
    for step in range(steps):
        until = time.perf_counter() + STEP_SECONDS
        while time.perf_counter() < until:
            pass
        if done is not None:
            done.append(step)
        yield
    return result


def run(coroutine):
    async def in_time():
        async with asyncio.timeout(20):
            return await coroutine

    return asyncio.run(in_time())


@pytest.mark.parametrize("steps", [0, 1, 3, 200])
def test_work_returns_its_result(steps):
    assert run(LongWork().finish(spin(steps, "result"))) == "result"
    assert finish_now(spin(steps, "result")) == "result"


def test_an_error_is_raised_and_others_go_on():
    def failing(steps):
        yield from spin(steps)
        raise ValueError("failed")

    async def both():
        work = LongWork()
        for steps in (0, 200):
            with pytest.raises(ValueError, match="failed"):
                await work.finish(failing(steps))
        return await work.finish(spin(200, 1))

    assert run(both()) == 1


def test_a_turn_of_the_loop_comes_after_each_piece():
    async def count_turns():
        turns, done = 0, []
        working = asyncio.create_task(LongWork().finish(spin(400, done=done)))
        most, before = 0, 0
        while not working.done():
            turns += 1
            await asyncio.sleep(0)
            most, before = max(most, len(done) - before), len(done)
        await working
        return turns, most

    turns, most = run(count_turns())
    assert turns > 50
    # A piece may take a step more than its time, and the machine may stop it in the middle.
    assert most <= 2 * PIECE_SECONDS / STEP_SECONDS


def test_work_that_goes_on_takes_its_part_of_the_time_and_no_more():
    slept = []

    async def sleep(seconds):
        slept.append(seconds)
        await real_sleep(0)

    real_sleep = asyncio.sleep

    async def several():
        work = LongWork()
        await asyncio.gather(*(work.finish(spin(400)) for _ in range(5)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_loop.asyncio, "sleep", sleep)
        began = time.perf_counter()
        run(several())
        spent = time.perf_counter() - began
    assert slept.count(0) == 5 * FIRST_PIECES
    # What it sleeps is four times what it works, but for the first pieces.
    first = 5 * FIRST_PIECES * PIECE_SECONDS
    assert sum(slept) >= (1 / event_loop.PART - 1) * 0.5 * (spent - 2 * first)


def test_work_that_is_cancelled_lets_others_have_their_turns():
    async def cancelled():
        work = LongWork()
        endless = [asyncio.create_task(work.finish(spin(10**9))) for _ in range(3)]
        other = asyncio.create_task(work.finish(spin(200, "other")))
        for _ in range(5 * FIRST_PIECES):
            await asyncio.sleep(0)
        for each in endless:
            each.cancel()
        assert await other == "other"
        for each in endless:
            with pytest.raises(asyncio.CancelledError):
                await each

    run(cancelled())
