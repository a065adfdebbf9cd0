"""Matches through real proxies with TLS, whose servers are killed and stopped all the time."""

import contextlib
import os
import random
import socket
import ssl
import urllib.error
import urllib.request
from concurrent import futures
from ipaddress import ip_address

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from croupier.transport import Security, open_channel
from croupier.v1 import catalog_pb2, catalog_pb2_grpc
from lab.overload.stream_attacks import UNREADING, WATCH, request_on
from service.listening.connections import ConnectionLimits
from tests.support.certificates import Authority
from tests.support.proxies import PROXIES, TlsProxy, missing
from tests.support.road import Road
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

MATCHES = int(os.environ.get("TEST_PROXY_MATCHES", "2"))
SEED = os.environ.get("TEST_SEED", "1")
AT_ONCE = min(MATCHES, 8)


@pytest.fixture(params=PROXIES)
def proxy_name(request):
    how = missing(request.param)
    if how:
        pytest.skip(f"{request.param} is not installed: {how}")
    return request.param


class Backend(catalog_pb2_grpc.CatalogServiceServicer):
    """A server that keeps the metadata of its last call."""

    def __init__(self):
        self.metadata = {}
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        catalog_pb2_grpc.add_CatalogServiceServicer_to_server(self, self._server)
        status = health.HealthServicer()
        status.set("", health_pb2.HealthCheckResponse.SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(status, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def ListGames(self, request, context):
        self.metadata = dict(context.invocation_metadata())
        return catalog_pb2.ListGamesResponse()

    def stop(self):
        self._server.stop(None).wait()


def test_a_proxy_tells_the_address_of_its_client(proxy_name, tmp_path):
    authority = Authority(tmp_path, "authority")
    backend = Backend()
    servers = [backend.address] * 2
    request = catalog_pb2.ListGamesRequest()
    forged = "198.51.100.7"
    metadata = (("x-forwarded-for", forged), ("x-api-key", "kept"))
    with (
        TlsProxy(proxy_name, tmp_path, servers, *authority.issue()) as proxy,
        open_channel(proxy.address, Security(ca=authority.cert)) as channel,
    ):
        stub = catalog_pb2_grpc.CatalogServiceStub(channel)
        stub.ListGames(request, metadata=metadata)
    backend.stop()
    last = ip_address(backend.metadata["x-forwarded-for"].split(",")[-1].strip())
    # Of a client on its own machine, Envoy tells an address of the machine that is not loopback.
    assert str(last) != forged if proxy_name == "envoy" else last.is_loopback
    assert backend.metadata["x-api-key"] == "kept"


def test_browsers_and_native_clients_come_in_by_one_port_of_envoy(tmp_path):
    if missing("envoy"):
        pytest.skip(f"envoy is not installed: {missing('envoy')}")
    authority = Authority(tmp_path, "authority")
    with ServerProcess("--store", "memory", "--web", "127.0.0.1:0") as server:
        pair, web = [server.address] * 2, [server.web_url.rstrip("/")] * 2
        with TlsProxy("envoy", tmp_path, pair, *authority.issue(), web=web) as proxy:
            context = ssl.create_default_context(cafile=authority.cert)
            url = f"https://{proxy.address}/"
            call = urllib.request.Request(
                f"{url}croupier.v1.CatalogService/ListGames",
                b"{}",
                {"content-type": "application/json", "origin": url.rstrip("/")},
            )

            def answer(request):
                with contextlib.suppress(urllib.error.HTTPError):  # Until Envoy knows the servers.
                    return urllib.request.urlopen(request, context=context).read()

            assert b"<html" in wait_until(lambda: answer(url))
            assert b"skystones" in answer(call)
            with open_channel(proxy.address, Security(ca=authority.cert)) as channel:
                stub = catalog_pb2_grpc.CatalogServiceStub(channel)
                assert stub.ListGames(catalog_pb2.ListGamesRequest()).games


def end_one(number, pair, road):
    """Kills a server, or shuts it down, and starts it again."""
    victim = pair[number // 2 % 2]
    if number % 2:
        assert victim.end() == 0
        road.count("servers stopped")
    else:
        victim.kill()
        road.count("servers killed")
    victim.start()
    victim.ready()


def test_no_match_fails_for_its_player_while_servers_die(proxy_name, replicas, postgres, tmp_path):
    store = ("--store", postgres.url(postgres.new_schema()))
    pair = [replicas(*store), replicas(*store)]
    for replica in pair:
        replica.ready()
    authority = Authority(tmp_path, "authority")
    addresses = [replica.address for replica in pair]
    rng = random.Random(SEED)
    with TlsProxy(proxy_name, tmp_path, addresses, *authority.issue()) as proxy:
        road = Road(SEED, proxy.address, authority.cert, None, AT_ONCE)
        number = 0
        # Goes on until a player has met the end of a server.
        while not road.over and (road.figures["matches"] < MATCHES or not road.repeated):
            road.wait_actions(rng.randint(40, 160))
            end_one(number, pair, road)
            number += 1
        road.close()
        road.finish()
    figures = ", ".join(f"{count} {what}" for what, count in sorted(road.figures.items()))
    repeated = ", ".join(f"{count} {status}" for status, count in road.repeated.most_common())
    print(f"{proxy_name}: {figures}")
    print(f"{proxy_name}, repeated calls and resumed streams by status: {repeated}")


LIMITED = ("haproxy", "nginx")  # Those that count the connections, or the calls, of an address.
MAX_CONNECTIONS = 20
LIMIT = 5  # Of an address.


def watch(proxy, address):
    """Opens a TLS connection from an address, and watches health; whether it was accepted."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    host, port = proxy.address.split(":")
    with contextlib.suppress(OSError):
        raw = socket.create_connection((host, int(port)), source_address=(address, 0))
        connection = context.wrap_socket(raw)
        connection.sendall(UNREADING + request_on(1, WATCH, proxy.address))
        return connection


@pytest.mark.parametrize("name", LIMITED)
def test_an_address_cannot_lock_out_others_by_its_connections(name, start, tmp_path):
    how = missing(name)
    if how:
        pytest.skip(f"{name} is not installed: {how}")
    authority = Authority(tmp_path, "authority")
    limits = ConnectionLimits(connections=MAX_CONNECTIONS)
    _, client = start(connections=limits)
    with TlsProxy(name, tmp_path, [client.address] * 2, *authority.issue(), LIMIT) as proxy:
        taken = [watch(proxy, "127.0.0.2") for _ in range(3 * MAX_CONNECTIONS)]
        if name == "haproxy":
            assert sum(each is not None for each in taken) <= LIMIT
        with open_channel(proxy.address, Security(ca=authority.cert)) as channel:
            stub = catalog_pb2_grpc.CatalogServiceStub(channel)
            stub.ListGames(catalog_pb2.ListGamesRequest())
        for each in filter(None, taken):
            each.close()


@pytest.mark.parametrize("name", LIMITED)
def test_an_address_cannot_begin_many_calls_at_once(name, start, tmp_path):
    how = missing(name)
    if how:
        pytest.skip(f"{name} is not installed: {how}")
    authority = Authority(tmp_path, "authority")
    _, client = start()
    with (
        TlsProxy(name, tmp_path, [client.address] * 2, *authority.issue(), LIMIT) as proxy,
        open_channel(proxy.address, Security(ca=authority.cert)) as channel,
    ):
        watch_health = health_pb2_grpc.HealthStub(channel).Watch
        # Calls that run until they are cancelled.
        calls = [watch_health(health_pb2.HealthCheckRequest()) for _ in range(20 * LIMIT)]
        refused = [call for call in calls if refusal(call) is not None]
        assert refused
        assert {refusal(call) for call in refused} == {grpc.StatusCode.UNAVAILABLE}
        for call in calls:
            call.cancel()


def refusal(call):
    """Returns the status of a stream that has no response, None if it has one."""
    if not call.done():
        with contextlib.suppress(grpc.RpcError):
            next(call)
            return None
    return call.code()
