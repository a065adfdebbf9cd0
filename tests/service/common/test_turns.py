"""What comes at once begins a little at a time, and others have their turns between."""

import asyncio
from collections import Counter

import pytest

from service.common.call import current_call
from service.common.event_loop import Turns
from service.gateway.application import AT_ONCE, WebApplication
from service.listening.http import UNREADABLE


class Loop:
    """Counts the turns of the event loop."""

    def __init__(self):
        self.turn = 0
        self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._count)

    def _count(self):
        self.turn += 1
        self._loop.call_soon(self._count)


@pytest.mark.parametrize("at_once", [1, 2, 7])
async def test_few_begin_in_one_turn_in_their_order(at_once):
    loop, turns, begun = Loop(), Turns(at_once), []

    async def work(number):
        await turns.wait()
        begun.append((loop.turn, number))

    for _ in range(3):
        begun.clear()
        await asyncio.gather(*map(work, range(50)))
        assert [number for _, number in begun] == list(range(50))
        assert max(Counter(turn for turn, _ in begun).values()) == at_once


async def test_requests_of_the_web_that_come_at_once_begin_in_turns():
    loop, begun = Loop(), []

    async def admit(call):
        begun.append(loop.turn)

    async def send(message):
        pass

    current_call.set(None)
    answer = WebApplication(None, None, None, admit, lambda status: None)
    scope = {"state": {UNREADABLE: 400}, "headers": [], "client": ("127.0.0.1", 1)}
    await asyncio.gather(*(answer(scope, send, send) for _ in range(50)))
    assert max(Counter(begun).values()) == AT_ONCE


async def test_one_alone_does_not_wait():
    loop, turns = Loop(), Turns(1)
    for _ in range(3):
        before = loop.turn
        await turns.wait()
        assert loop.turn == before
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_who_has_gone_takes_no_turn():
    turns = Turns(1)
    tasks = [asyncio.create_task(turns.wait()) for _ in range(10)]
    await asyncio.sleep(0)
    for task in tasks[1:9]:
        task.cancel()
    await asyncio.wait(tasks)
    assert [task.cancelled() for task in tasks] == [False, *[True] * 8, False]
