"""What comes at once begins a little at a time, and others have their turns between."""

import asyncio
import socket
from itertools import pairwise

from service.common.event_loop import PIECE_TURNS, Turns
from service.common.tasks import Tasks
from service.listening.http import Connections, respond_text


class Loop:
    """Counts the turns of the event loop."""

    def __init__(self):
        self.turn = 0
        self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._count)

    def _count(self):
        self.turn += 1
        self._loop.call_soon(self._count)


async def turns_of(loop, count):
    until = loop.turn + count
    while loop.turn < until:
        await asyncio.sleep(0)


async def test_one_begins_in_some_turns_in_the_order_of_its_owner():
    loop, turns, begun = Loop(), Turns(), []
    for _ in range(3):
        begun.clear()
        for number in range(50):
            turns.begin("one", lambda number=number: begun.append((loop.turn, number)))
        await turns_of(loop, 60 * PIECE_TURNS)
        assert [number for _, number in begun] == list(range(50))
        at = [turn for turn, _ in begun]
        assert {after - before for before, after in pairwise(at)} == {PIECE_TURNS}


async def test_owners_take_turns():
    loop, turns, begun = Loop(), Turns(), []
    for owner in "aaaaaaaaaabbc":
        turns.begin(owner, lambda owner=owner: begun.append(owner))
    await turns_of(loop, 20 * PIECE_TURNS)
    assert "".join(begun) == "aabcabaaaaaaa"


async def test_one_alone_does_not_wait():
    loop, turns, begun = Loop(), Turns(), []
    for _ in range(3):
        turns.begin("one", lambda: begun.append(loop.turn))
        assert begun.pop() == loop.turn
        await turns_of(loop, 3)


async def test_work_that_fails_stops_nobody():
    loop, turns, begun = Loop(), Turns(), []
    failed = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, told: failed.append(told))
    for number in range(5):
        turns.begin("one", lambda number=number: begun.append(1 // (number % 2 - 1) + number) or 0)
    await turns_of(loop, 10 * PIECE_TURNS)
    assert len(begun) + len(failed) == 5


async def test_what_many_connections_send_at_once_is_read_in_turns():
    loop, begun = Loop(), []

    async def answer(scope, receive, send):
        begun.append(loop.turn)
        await respond_text(send, 200, "here")

    connections = Connections(answer, 50, 10.0, None, Tasks())
    clients = []
    for _ in range(20):
        client, accepted = socket.socketpair()
        client.setblocking(False)
        connections.admit(accepted, ("127.0.0.1", 1))
        clients.append(client)
    await turns_of(loop, 50)
    request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    for client in clients:
        client.send(request * 2)  # The second one in a turn of its own as well.
    while len(begun) < 2 * len(clients):
        await asyncio.sleep(0)
    # In other turns, of which this counts those between two requests.
    assert min(after - before for before, after in pairwise(begun)) >= PIECE_TURNS - 1, begun
    await connections.close(0)
    for client in clients:
        client.close()
