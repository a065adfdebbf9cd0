"""The door on nghttp2, called by clients of grpcio and others."""

import asyncio
import gc
import random
import resource
import shutil
import socket
import sys
import threading
import time
from contextlib import contextmanager

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from croupier.client import Client as SecureClient
from croupier.client import CroupierError
from croupier.v1 import catalog_pb2, match_pb2
from service import doors, tls
from service.connections import MAX_REQUEST_BYTES, ConnectionLimits
from service.search_server import SearchServer, SearchServerOptions
from service.searching.pools import SearchOptions
from service.sockets import listen_at_all
from tests.support.certificates import Authority
from tests.support.http2 import HEADERS, RawClient, call, changed, message
from tests.support.server_process import refused_start
from tests.support.serving import TIMEOUT, Client, Player, play_on, refused, ruleset_of

pytest.importorskip("service.http2.session")

from service.http2.protocol import write_peer

LIST_GAMES = "/croupier.v1.CatalogService/ListGames"
CALLS = 50_000


@pytest.fixture(scope="module")
def hosted(servers):
    """A server on nghttp2."""
    return servers.start(grpc="nghttp2", allow_seeds=True, search_threads=1)


@pytest.fixture(scope="module")
def address(hosted):
    return hosted[1]


@pytest.fixture(scope="module")
def client(address):
    return Client(address)


@pytest.fixture
def wait_until(servers):
    """Waits for what the server is about to do."""

    def wait(condition):
        until = time.monotonic() + TIMEOUT
        while not condition():
            assert time.monotonic() < until
            servers.run(asyncio.sleep(0))  # A turn of its loop.

    return wait


@contextmanager
def no_garbage_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def raw_call(client, method=LIST_GAMES):
    """A method of bytes."""
    return client.channel.unary_unary(method)


def test_a_match_is_played(client):
    seed = 3
    print(f"seed {seed}")
    table = client.create(ruleset_of("castle_rampage"), seed=seed)
    stream = table.players[0].watch()
    play_on(table, random.Random(seed))
    versions = [response.version for response in stream]
    assert versions == list(range(len(versions)))
    record = table.players[0].record()
    assert len(record.entries) >= len(versions) - 1
    refusal = refused(table.players[0].resign)
    assert refusal[:2] == (grpc.StatusCode.FAILED_PRECONDITION, "MATCH_OVER")


def test_metadata_comes_back(client):
    call = client.catalog.ListGames.with_call
    _, done = call(
        catalog_pb2.ListGamesRequest(), metadata=[("x-request-id", "abc"), ("some-bin", b"\0\xff")]
    )
    assert dict(done.trailing_metadata())["x-request-id"] == "abc"
    stream = client.create(ruleset_of("skystones")).players[0].watch()
    assert len(dict(stream.initial_metadata())["x-request-id"]) == 16
    stream.cancel()


def test_a_text_of_an_error_may_have_any_characters(client):
    with pytest.raises(grpc.RpcError) as caught:
        client.catalog.GetGame(catalog_pb2.GetGameRequest(name="games/ä%\n"), timeout=TIMEOUT)
    assert caught.value.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT)


def test_an_unknown_method_and_a_message_that_is_too_large(client):
    for method, data, code in (
        ("/nobody/Nothing", b"", grpc.StatusCode.UNIMPLEMENTED),
        (LIST_GAMES, b"\xff", grpc.StatusCode.INVALID_ARGUMENT),
        (LIST_GAMES, bytes(MAX_REQUEST_BYTES + 1), grpc.StatusCode.RESOURCE_EXHAUSTED),
        # The largest that is taken is not a message of the schema.
        (LIST_GAMES, bytes(MAX_REQUEST_BYTES), grpc.StatusCode.INVALID_ARGUMENT),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            raw_call(client, method)(data, timeout=TIMEOUT)
        assert caught.value.code() is code


def test_a_deadline_ends_a_call(client, hosted, wait_until):
    player = client.create(ruleset_of("skystones")).players[0]
    with pytest.raises(grpc.RpcError) as caught:
        request = match_pb2.WatchMatchRequest(name=player.match)
        list(client.matches.WatchMatch(request, metadata=player.metadata, timeout=0.2))
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    wait_until(lambda: hosted[0]._door.calls == 0)
    metrics = hosted[0].metrics.registry
    name = {"protocol": "grpc", "code": "DEADLINE_EXCEEDED"}
    assert metrics.get_sample_value("croupier_rpcs_total", name) == 1


def test_a_call_that_is_cancelled_ends_here(client, hosted, wait_until):
    player = client.create(ruleset_of("skystones")).players[0]
    streams = [player.watch() for _ in range(3)]
    for stream in streams:
        next(stream)
    assert hosted[0]._door.calls == 3
    for stream in streams:
        stream.cancel()
    wait_until(lambda: hosted[0]._door.calls == 0)


def test_a_client_that_goes_away_leaves_nothing(hosted, address, client, wait_until):
    player = client.create(ruleset_of("skystones")).players[0]
    before = hosted[0]._door.connections
    other = Client(address, [("grpc.use_local_subchannel_pool", 1)])
    stream = Player(other, player.match, player.token).watch()
    next(stream)
    assert hosted[0]._door.connections == before + 1
    other.close()
    wait_until(lambda: hosted[0]._door.connections == before and hosted[0]._door.calls == 0)


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_requests_may_be_compressed(client, compression):
    request = catalog_pb2.GetGameRequest(name="games/" + "x" * 3000)
    with pytest.raises(grpc.RpcError) as caught:
        client.catalog.GetGame(request, timeout=TIMEOUT, compression=compression)
    assert caught.value.code() is not grpc.StatusCode.UNIMPLEMENTED
    assert "schema" not in caught.value.details()


def test_health_and_reflection_are_those_of_grpcio(client, hosted, servers):
    stub = health_pb2_grpc.HealthStub(client.channel)
    serving = health_pb2.HealthCheckResponse.SERVING
    for name in ("", "croupier.v1.MatchService"):
        assert stub.Check(health_pb2.HealthCheckRequest(service=name)).status == serving
    with pytest.raises(grpc.RpcError) as caught:
        stub.Check(health_pb2.HealthCheckRequest(service="nobody"))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    database = ProtoReflectionDescriptorDatabase(client.channel)
    assert "croupier.v1.MatchService" in database.get_services()
    file = database.FindFileContainingSymbol("croupier.v1.MatchService")
    assert file.name == "croupier/v1/match.proto"


def test_a_stop_is_told_and_answered(servers):
    server, address = servers.start(grpc="nghttp2")
    client = Client(address)
    player = client.create(ruleset_of("skystones")).players[0]
    stub = health_pb2_grpc.HealthStub(client.channel)
    health = stub.Watch(health_pb2.HealthCheckRequest())
    assert next(health).status == health_pb2.HealthCheckResponse.SERVING
    stream = player.watch()
    next(stream)
    stopped = threading.Thread(target=servers.stop, args=(server, 1.0))
    stopped.start()
    assert next(health).status == health_pb2.HealthCheckResponse.NOT_SERVING
    with pytest.raises(grpc.RpcError) as caught:
        next(stream)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    # Nothing else ends this stream than the grace.
    with pytest.raises(grpc.RpcError) as caught:
        next(health)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    stopped.join(TIMEOUT)
    assert (server._door.connections, server._door.calls) == (0, 0)
    with pytest.raises(OSError, match="refused"):
        RawClient(address)


def test_a_socket_in_the_file_system(tmp_path):
    async def serve():
        target = f"unix:{tmp_path / 'socket'}"
        (tmp_path / "socket").touch()  # Of a server that was killed.
        server = SearchServer(SearchServerOptions(target, SearchOptions(1), grpc="nghttp2"))
        assert await server.start() == target
        async with grpc.aio.insecure_channel(target) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            answer = await stub.Check(health_pb2.HealthCheckRequest())
        await server.stop()
        return answer.status

    assert asyncio.run(serve()) == health_pb2.HealthCheckResponse.SERVING
    assert not (tmp_path / "socket").exists()


def test_tls_with_certificates_of_clients_and_new_files(servers, tmp_path, wait_until):
    authority, clients = Authority(tmp_path, "authority"), Authority(tmp_path, "clients")
    files = tls.Files(tmp_path / "tls.crt", tmp_path / "tls.key", clients.cert)
    for source, target in zip(authority.issue(), files, strict=False):
        shutil.copy(source, target)
    server, address = servers.start(grpc="nghttp2", tls=files)
    address = f"localhost:{address.rpartition(':')[2]}"

    def games(ca, pair):
        cert, key = pair
        with SecureClient(
            address, ca=ca, cert=cert, key=key, timeout=TIMEOUT, patience=0
        ) as client:
            return len(client.games())

    known = clients.issue("DNS:me")
    assert games(authority.cert, known)
    for ca, pair in ((authority.cert, authority.issue()), (clients.cert, known)):
        with pytest.raises(CroupierError) as caught:
            games(ca, pair)
        assert caught.value.code is grpc.StatusCode.UNAVAILABLE
    # Whoever speaks no TLS is hung up on.
    with RawClient(address) as client:
        client.send(call(1))
        assert not [each for each in client.frames() if each.kind == HEADERS]
    other = Authority(tmp_path, "other")
    for source, target in zip(other.issue(), files, strict=False):
        shutil.copy(source, target)
    assert games(other.cert, known)
    wait_until(lambda: server._door.connections == 0)
    servers.stop(server)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        (("127.0.0.1", 80), "ipv4:127.0.0.1:80"),
        (("::1", 80, 0, 0), "ipv6:[::1]:80"),
        (("::ffff:192.0.2.1", 80, 0, 0), "ipv4:192.0.2.1:80"),
        (("fe80::1%eth0", 80, 0, 2), "ipv6:[fe80::1%eth0]:80"),
        ("", "unix:"),
    ],
)
def test_peers_are_written_as_grpc_does(name, written):
    assert write_peer(name) == written


def test_silent_connections_make_room_and_those_with_calls_do_not(servers, wait_until):
    server, address = servers.start(grpc="nghttp2", connections=ConnectionLimits(connections=2))
    watch = call(1, changed(path="/grpc.health.v1.Health/Watch"), message())
    with RawClient(address) as early, RawClient(address) as first, RawClient(address) as second:
        wait_until(lambda: server._door.connections == 2)
        list(early.frames())  # Until it is closed.
        for each in (first, second):
            each.send(watch)
            assert each.wait(HEADERS, 1)
        refused = RawClient(address)
        assert list(refused.frames()) == []
        refused.socket.close()
    wait_until(lambda: server._door.connections == 0)
    with RawClient(address) as again:
        again.send(call(1))
        assert again.status(1) == 0
    servers.stop(server)


def test_calls_leave_nothing(address, hosted, wait_until):
    headers = changed(path="/grpc.health.v1.Health/Check")
    streams = 250
    sizes = []
    with RawClient(address) as client, no_garbage_collection():
        first = 1
        for _ in range(CALLS // streams):
            numbers = range(first, first + 2 * streams, 2)
            first += 2 * streams
            body = message(Empty().SerializeToString())
            client.send(b"".join(call(number, headers, body) for number in numbers))
            left = streams
            for found in client.frames():
                left -= found.kind == HEADERS and found.flags & 1
                if not left:
                    break
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    wait_until(lambda: hosted[0]._door.calls == 0)
    # In KiB: after the first tenth, nothing grows.
    assert sizes[-1] - sizes[len(sizes) // 10] < 2048


def test_a_build_without_nghttp2_says_what_to_install(monkeypatch):
    for name in list(sys.modules):
        if name.startswith("service.http2"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "service.http2.session", None)
    assert not doors.has_nghttp2()
    with pytest.raises(ValueError, match="libnghttp2-dev"):
        doors.make_door("nghttp2", None, ConnectionLimits(), None)


def test_all_addresses_of_a_name_are_served(servers, monkeypatch):
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 0))
        for each in ("192.0.2.1", "127.0.0.2", "127.0.0.3")  # The first is nobody's.
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    listening = listen_at_all("three.test", 0)
    assert [each.getsockname()[0] for each in listening] == ["127.0.0.2", "127.0.0.3"]
    assert len({each.getsockname()[1] for each in listening}) == 1
    # A port that is taken at one of them is taken.
    port = listening.pop().getsockname()[1]
    with pytest.raises(OSError, match="in use"):
        listen_at_all("three.test", port)
    for each in listening:
        each.close()
    monkeypatch.undo()
    _, address = servers.start(grpc="nghttp2", host="localhost")
    port = address.rpartition(":")[2]
    for name in {each[4][0] for each in socket.getaddrinfo("localhost", port)}:
        with RawClient(f"{name}:{port}") as raw:
            raw.send(call(1))
            assert raw.status(1) == 0


def test_an_address_that_is_taken_is_refused(address):
    line = refused_start("--grpc", "nghttp2", "--store", "memory", "--listen", address)
    assert f"cannot listen on {address}" in line
