"""The quota of the event loop that tasks get, with a clock and pauses that the tests control."""

import asyncio
import itertools

import pytest

from service.common import event_loop
from service.common.event_loop import BURST_SECONDS, BUSY_QUOTA, IDLE_QUOTA, BackgroundQuota


class Loop:
    """A quota whose time passes only while tasks work. It notes its pauses."""

    def __init__(self):
        self.now = 0.0
        self.calls = 0
        self.calls_in_a_pause = 0
        self.pauses = []
        self.order = []
        self.under_way = 0
        self.most_under_way = 0
        self.quota = BackgroundQuota(lambda: self.calls, lambda: self.now, self._pause)

    async def _pause(self, seconds):
        self.pauses.append(seconds)
        self.calls += self.calls_in_a_pause
        await asyncio.sleep(0)

    def work(self, seconds):
        self.now += seconds

    async def task(self, name, seconds=0.0, waits=0):
        self.order.append(name)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        for _ in range(waits):
            self.work(seconds)
            await asyncio.sleep(0)
        self.work(seconds)
        self.under_way -= 1
        return name


@pytest.fixture
def loop():
    return Loop()


@pytest.mark.parametrize("calls", [0, 1])
async def test_tasks_get_their_quota_of_the_time(loop, calls):
    loop.calls_in_a_pause = calls
    for number in range(100):
        assert await loop.quota.run(loop.task, number, BURST_SECONDS / 2) == number
    # The first pause cannot know yet whether calls come in during pauses.
    worked = loop.now - BURST_SECONDS
    quota = worked / (worked + sum(loop.pauses[1:]))
    assert quota == pytest.approx(BUSY_QUOTA if calls else IDLE_QUOTA, abs=0.03)
    assert len(loop.pauses) == 49


async def test_time_between_waits_counts(loop):
    await loop.quota.run(loop.task, "first", BURST_SECONDS / 10, 9)
    assert not loop.pauses
    await loop.quota.run(loop.task, "second")
    assert loop.pauses == [pytest.approx(BURST_SECONDS * (1 / IDLE_QUOTA - 1))]


async def test_a_pause_is_bounded(loop):
    for number in range(3):
        await loop.quota.run(loop.task, number, 100.0)
    assert loop.pauses == [event_loop.MAX_PAUSE_SECONDS] * 2


async def test_tasks_begin_in_order_and_few_are_under_way(loop):
    tasks = [loop.quota.run(loop.task, number, BURST_SECONDS, 3) for number in range(50)]
    await asyncio.gather(*tasks)
    assert loop.order == list(range(50))
    assert loop.most_under_way <= event_loop.MAX_AT_ONCE
    assert len(loop.pauses) >= 40


async def test_a_long_task_holds_up_no_other(loop):
    end = asyncio.Event()
    slow = [
        asyncio.create_task(loop.quota.begin(end.wait)) for _ in range(2 * event_loop.MAX_AT_ONCE)
    ]
    await loop.quota.run(loop.task, "short")
    end.set()
    await asyncio.gather(*slow)


async def test_an_urgent_task_waits_for_no_turn_but_its_time_counts(loop):
    for number in range(3):
        await loop.quota.run_now(loop.task, number, BURST_SECONDS)
    assert not loop.pauses
    await loop.quota.run(loop.task, "other")
    assert len(loop.pauses) == 1


async def test_errors_and_cancellations_pass_through(loop):
    caught = []

    async def fail():
        await asyncio.sleep(0)
        raise KeyError("planted")

    async def wait():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            caught.append("cancelled")
            raise

    async def recover():
        with pytest.raises(ZeroDivisionError):
            await divide(asyncio.get_running_loop().create_future())
        return "recovered"

    async def divide(future):
        future.get_loop().call_soon(future.set_exception, ZeroDivisionError())
        await future

    with pytest.raises(KeyError):
        await loop.quota.run(fail)
    waiting = [asyncio.create_task(loop.quota.run(wait)) for _ in range(20)]
    for _ in range(5):
        await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    assert all(task.cancelled() for task in waiting)
    assert caught == ["cancelled"] * event_loop.MAX_AT_ONCE
    # The slots are free again.
    assert await loop.quota.run(recover) == "recovered"


def test_the_time_of_a_real_task_is_measured():
    async def busy():
        end = event_loop.time.perf_counter() + BURST_SECONDS
        for _ in itertools.count():
            if event_loop.time.perf_counter() > end:
                return

    async def run():
        pauses = []

        async def pause(seconds):
            pauses.append(seconds)

        quota = BackgroundQuota(lambda: 0, sleep=pause)
        await quota.run(busy)
        await quota.run(busy)
        return pauses

    (pause,) = asyncio.run(run())
    assert pause > 0
