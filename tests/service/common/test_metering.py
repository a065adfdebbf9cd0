"""Metering: each step of a coroutine is charged, and nothing that happens between the steps."""

import asyncio
import threading
import time

import pytest

from service.common.event_loop import metered, paid, paying
from service.common.tasks import Threads


class Timer:
    """Time that passes only where a test says so."""

    now = 0.0

    def __call__(self):
        return self.now

    def work(self, seconds):
        self.now += seconds


@pytest.fixture
def timer():
    return Timer()


@pytest.fixture
def charged():
    return []


async def in_steps(timer, gates, end=None):
    """Works for 1 second, 2 seconds and so on, and waits in between."""
    for number, gate in enumerate(gates, 1):
        timer.work(number)
        await gate
    timer.work(len(gates) + 1)
    if end is not None:
        raise end
    return "done"


def run(timer, charged, meanwhile=100, end=None):
    async def main():
        loop = asyncio.get_running_loop()
        gates = [loop.create_future() for _ in range(2)]

        def open_gates():
            timer.work(meanwhile)
            waiting = next((each for each in gates if not each.done()), None)
            if waiting is not None:
                waiting.set_result(None)
                loop.call_soon(open_gates)

        loop.call_soon(open_gates)
        return await metered(in_steps(timer, gates, end), charged.append, timer)

    return asyncio.run(main())


def test_steps_are_charged_and_waiting_is_not(timer, charged):
    assert run(timer, charged) == "done"
    assert charged == [1, 2, 3]


def test_the_step_that_fails_is_charged(timer, charged):
    with pytest.raises(ValueError):
        run(timer, charged, end=ValueError())
    assert charged == [1, 2, 3]


async def test_what_a_cancelled_call_does_is_charged(timer, charged):
    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            timer.work(7)

    task = asyncio.ensure_future(metered(work(), charged.append, timer))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert charged == [0, 7]


async def test_items_of_a_generator_are_charged_as_they_are_made(timer, charged):
    async def numbers():
        for number in (1, 2):
            timer.work(number)
            yield number

    items = numbers()
    assert [await metered(anext(items), charged.append, timer) for _ in range(2)] == [1, 2]
    assert charged == [1, 2]


def test_a_call_pays_for_what_is_done_for_it_in_a_thread_also_when_it_has_gone(charged):
    def work(begun=None, end=None):
        began = time.thread_time()
        while time.thread_time() == began:
            pass
        if begun is not None:
            begun.set()
            end.wait()
        return "done"

    async def main(threads):
        paying.set(charged.append)
        assert await threads.do(paid(work)) == "done"
        begun, end = threading.Event(), threading.Event()
        leaving = threads.do(paid(work), begun, end)
        await asyncio.to_thread(begun.wait)
        leaving.cancel()
        await asyncio.wait([leaving])
        assert len(charged) == 1
        end.set()
        while len(charged) < 2:
            await asyncio.sleep(0)

    threads = Threads("reading", 1)
    asyncio.run(main(threads))
    threads.close()
    assert min(charged) > 0
