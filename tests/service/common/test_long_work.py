"""Long work leaves the event loop to others between its pieces."""

import asyncio
import time

import pytest

from service.common import event_loop
from service.common.call import Call, Kind, Principal, current_call
from service.common.event_loop import FIRST_PIECES, PIECE_SECONDS, LongWork, finish_now
from tests.support.own_thread import patch_here

STEP_SECONDS = PIECE_SECONDS / 4


class Loop:
    """An event loop's time, which passes only while there is work or sleep."""

    def __init__(self):
        self.now = 0.0
        self.slept = []
        self._sleep = asyncio.sleep

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await self._sleep(0)


@pytest.fixture(autouse=True)
def loop(monkeypatch):
    loop = Loop()
    patch_here(monkeypatch, time, "perf_counter", lambda: loop.now)
    patch_here(monkeypatch, asyncio, "sleep", loop.sleep)
    return loop


def spin(loop, steps, result=None, done=None):
    """Work that takes some time, and tells how many steps are done."""
    for step in range(steps):
        loop.now += STEP_SECONDS
        if done is not None:
            done.append(step)
        yield
    return result


@pytest.mark.parametrize("steps", [0, 1, 3, 200])
def test_work_returns_its_result(loop, steps):
    assert asyncio.run(LongWork().finish(spin(loop, steps, "result"))) == "result"
    assert finish_now(spin(loop, steps, "result")) == "result"


async def test_an_error_is_raised_and_others_go_on(loop):
    def failing(steps):
        yield from spin(loop, steps)
        raise ValueError("failed")

    work = LongWork()
    for steps in (0, 200):
        with pytest.raises(ValueError, match="failed"):
            await work.finish(failing(steps))
    assert await work.finish(spin(loop, 200, 1)) == 1


async def test_a_turn_of_the_loop_comes_after_each_piece(loop):
    turns, done = 0, []
    working = asyncio.create_task(LongWork().finish(spin(loop, 400, done=done)))
    most, before = 0, 0
    while not working.done():
        turns += 1
        await loop._sleep(0)
        most, before = max(most, len(done) - before), len(done)
    await working
    # A piece may take a step more than its time.
    assert most <= PIECE_SECONDS / STEP_SECONDS + 1
    assert turns >= 400 / most


async def test_work_that_goes_on_takes_its_part_of_the_time_and_no_more(loop):
    work = LongWork()
    await asyncio.gather(*(work.finish(spin(loop, 400)) for _ in range(5)))
    assert loop.slept.count(0) == 5 * FIRST_PIECES
    # What it sleeps is four times what it works, but for the first pieces.
    worked = 5 * 400 * STEP_SECONDS
    first = 5 * FIRST_PIECES * (PIECE_SECONDS + STEP_SECONDS)
    part = 1 / event_loop.PART - 1
    assert part * (worked - 2 * first) <= sum(loop.slept) <= part * worked


async def test_work_that_is_cancelled_lets_others_have_their_turns(loop):
    work = LongWork()
    endless = [asyncio.create_task(work.finish(spin(loop, 10**9))) for _ in range(3)]
    other = asyncio.create_task(work.finish(spin(loop, 200, "other")))
    for _ in range(5 * FIRST_PIECES):
        await loop._sleep(0)
    for each in endless:
        each.cancel()
    assert await other == "other"
    for each in endless:
        with pytest.raises(asyncio.CancelledError):
            await each


async def test_who_pays_takes_turns_with_the_others_who_do(loop):
    """Seats of one address, or players of one key, are no more than another one together."""
    work, ended = LongWork(), []

    async def finish(payer, seat):
        call = Call("", "")
        call.payers = (Principal(Kind.SEAT, seat), Principal(Kind.ADDRESS, payer))
        current_call.set(call)
        await work.finish(spin(loop, 400))
        ended.append(payer)

    many = [asyncio.create_task(finish("many", f"{seat}")) for seat in range(20)]
    await asyncio.gather(*many, asyncio.create_task(finish("one", "0")))
    assert ended[0] == "one"
