"""Connections: those that say nothing, those that stay too long, and those that are too many."""

import asyncio
import contextlib
import resource
import socket
import struct

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from service.listening import connections
from service.listening.connections import ConnectionLimits, channel_options, max_connections
from tests.support.serving import ruleset_of
from tests.support.waiting import FOREVER, wait_until

GOAWAY = 7
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


@pytest.fixture
def serve(start):
    """Starts a server with limits, and returns a client of it."""
    return lambda **limits: start(connections=ConnectionLimits(**limits))[1]


def connect(client):
    host, _, port = client.address.rpartition(":")
    return socket.create_connection((host, int(port)))


def frames(connection):
    """Yield the types of the frames that come until the server closes the connection."""
    data = b""
    while received := connection.recv(65536):
        data += received
        while len(data) >= 9:
            high, low, kind = struct.unpack_from(">BHB", data)
            length = 9 + (high << 16 | low)
            if len(data) < length:
                break
            yield kind
            data = data[length:]


def test_too_many_connections_are_closed_and_those_with_calls_stay(serve):
    client = serve(connections=8)
    table = client.create(ruleset_of("skystones"))
    stream = table.players[0].watch()
    assert next(stream).version == 0
    silent = [connect(client) for _ in range(30)]
    # The new ones, or the oldest ones.
    wait_until(lambda: sum(map(_is_closed, silent)) >= 30 - 8)
    table.players[0].resign()
    assert next(stream).version == 1
    for each in silent:
        each.close()


def _is_closed(connection):
    connection.setblocking(False)
    try:
        while connection.recv(4096):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


def test_a_connection_that_says_nothing_is_closed(serve, monkeypatch):
    monkeypatch.setattr(connections, "HANDSHAKE_SECONDS", 0.2)
    client = serve()
    with connect(client) as silent:
        list(frames(silent))


def test_an_idle_connection_is_closed_with_a_word(serve):
    with connect(serve(idle=0.2)) as idle:
        idle.sendall(PREFACE)
        assert GOAWAY in list(frames(idle))


def test_an_old_connection_is_asked_to_leave_and_its_calls_are_not_lost(serve):
    client = serve(age=0.2, age_grace=FOREVER)
    table = client.create(ruleset_of("skystones"))
    stream = table.players[0].watch()
    assert next(stream).version == 0
    with connect(client) as other:
        other.sendall(PREFACE)
        assert GOAWAY in frames(other)
    # By now the client's own connection is old too; the stream goes on, and so do new calls.
    table.players[0].resign()
    assert next(stream).version == 1
    assert [response.version for response in stream] == []


def test_streams_of_one_connection_are_limited(serve):
    client = serve(streams=2)
    table = client.create(ruleset_of("skystones"))
    streams = [table.spectator.watch() for _ in range(2)]
    for stream in streams:
        assert next(stream).version == 0
    waiting = table.players[0].wait_later(0)
    assert not waiting.done()
    streams[0].cancel()
    assert waiting.result().view.version == 0


def test_metadata_that_is_too_large_is_refused(serve):
    client = serve()
    table = client.create(ruleset_of("skystones"))
    player = table.players[0]
    player.token = "a" * (connections.MAX_METADATA_BYTES + 1)
    with pytest.raises(grpc.RpcError) as caught:
        player.view()
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_flood_of_connections_lets_others_have_their_turns(monkeypatch):
    monkeypatch.setattr(connections, "ACCEPTED_AT_ONCE", 3)
    accepted, in_turn = [], []
    listening = connections.listen("127.0.0.1", 0)
    flood = [socket.create_connection(listening.getsockname()) for _ in range(20)]
    task = asyncio.create_task(
        connections.accept(listening, lambda connected, address: accepted.append(connected))
    )
    while len(accepted) < len(flood):
        before = len(accepted)
        await asyncio.sleep(0)
        in_turn.append(len(accepted) - before)
    assert max(in_turn) == 3
    task.cancel()
    await asyncio.wait([task])
    for each in (*accepted, *flood, listening):
        each.close()


def test_the_number_of_connections_leaves_room_for_other_files(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 4096))
    assert max_connections(ConnectionLimits()) == 1024 - connections.RESERVED_FILES
    assert max_connections(ConnectionLimits(connections=10)) == 10
    assert max_connections(ConnectionLimits(connections=10_000)) == 1024 - 256
    assert all(0 < value < 2**31 for _, value in channel_options(ConnectionLimits(idle=1e9)))
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (200, 200))
    with pytest.raises(ValueError, match="limit of open files is 200"):
        max_connections(ConnectionLimits())


def test_everybody_is_answered_when_thousands_call_in_the_same_moment(replicas):
    """As when another server dies, and the streams of all its players come."""
    server = replicas("--store", "memory")
    server.ready()
    assert set(asyncio.run(_call_at_once(server, 4, 500))) == {grpc.StatusCode.OK}


async def _call_at_once(server, connections, calls):
    async with contextlib.AsyncExitStack() as stack:
        stubs = []
        for _ in range(connections):
            channel = grpc.aio.insecure_channel(
                server.address, (("grpc.use_local_subchannel_pool", 1),)
            )
            await (await stack.enter_async_context(channel)).channel_ready()
            stubs.append(health_pb2_grpc.HealthStub(channel))
        # All calls are there before the server can take any up.
        server.pause()
        begun = [
            stub.Check(health_pb2.HealthCheckRequest()) for stub in stubs for _ in range(calls)
        ]
        ends = asyncio.gather(*(call.code() for call in begun))
        await asyncio.sleep(0)
        server.resume()
        return await ends
