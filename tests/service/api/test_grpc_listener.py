"""The listener of gRPC: what a call costs from its headers on, until its caller has taken all."""

import socket
import threading
import time
from contextlib import contextmanager

import grpc
import pytest

from croupier.v1 import catalog_pb2
from lab.overload.stream_attacks import UNREADING, WATCH, request_on
from service.admission.admission import CALL_BYTES
from service.admission.budgets import Budget
from service.api import grpc_listener
from service.common.call import Kind, Principal
from service.listening.connections import MAX_REQUEST_BYTES
from tests.support.serving import refused
from tests.support.waiting import wait_until

HOME = Principal(Kind.ADDRESS, "127.0.0.1")
LIST = "/croupier.v1.CatalogService/ListGames"
FEW_BYTES = f"bytes = {3 * MAX_REQUEST_BYTES}"


@pytest.fixture
def serve(start):
    """Starts a server at which each address has some budget, which does not refill."""

    def serve(budget=""):
        server, client = start(callers=f"[budgets.address]\n{budget}\n")
        now = time.monotonic()
        server._admission._ledger._now = lambda: now
        return server, client

    return serve


def list_games(client):
    return client.catalog.ListGames(catalog_pb2.ListGamesRequest())


def held(server):
    return server._admission._ledger.held(HOME, Budget.BYTES)


@contextmanager
def said(client, *calls):
    """Calls methods, by their paths, on a connection on which no response is read."""
    host, _, port = client.address.rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(
            UNREADING
            + b"".join(request_on(2 * n + 1, path, client.address) for n, path in enumerate(calls))
        )
        yield


@pytest.fixture
def begin(request):
    """Begins a call whose request does not come before the end of the test; returns its future."""
    ended = threading.Event()
    request.addfinalizer(ended.set)

    def nothing():
        ended.wait()
        yield b""

    return lambda client, path=LIST: client.channel.stream_unary(path).future(nothing())


def test_a_call_is_admitted_before_its_request_is_there(serve, begin):
    _, client = serve("calls_per_second = 0")
    refusal = refused(begin(client).result)
    assert refusal.metadata["budget"] == "calls_per_second"


def test_a_request_that_does_not_come_is_given_up(serve, begin, monkeypatch):
    monkeypatch.setattr(grpc_listener, "REQUEST_SECONDS", 0.01)
    server, client = serve()
    refusal = refused(begin(client).result)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    wait_until(lambda: not held(server))


def test_requests_that_do_not_come_hold_their_bytes(serve, begin):
    server, client = serve(FEW_BYTES)
    coming = [begin(client) for _ in range(3)]
    wait_until(lambda: held(server) == 3 * MAX_REQUEST_BYTES)
    assert refused(begin(client).result).metadata["budget"] == "bytes"
    coming[0].cancel()
    wait_until(lambda: held(server) == 2 * MAX_REQUEST_BYTES)
    list_games(client)


def test_what_is_not_read_holds_its_bytes_until_its_caller_has_gone(serve):
    server, client = serve(FEW_BYTES)
    with said(client, *[LIST] * 100):
        wait_until(lambda: server.metrics.calls == 100)
        # There is no room for one more request.
        assert 2 * MAX_REQUEST_BYTES < held(server) <= 3 * MAX_REQUEST_BYTES
        assert refused(list_games, client).metadata["budget"] == "bytes"
    wait_until(lambda: not held(server))


def test_a_refusal_that_is_not_read_holds_nothing(serve):
    server, client = serve()
    with said(client, *["/croupier.v1.CatalogService/GetGame"] * 10):  # Of no name.
        wait_until(lambda: server.metrics.calls == 10)
        wait_until(lambda: not held(server))


def test_a_stream_that_nobody_reads_loses_its_place(serve, monkeypatch):
    monkeypatch.setattr(grpc_listener, "STALLED_SECONDS", 0.01)
    server, client = serve("streams = 3")
    with said(client, WATCH, WATCH, WATCH):
        wait_until(lambda: server.metrics._counts.ended["grpc", "CANCELLED"] == 3)
        assert not server._admission._ledger.held(HOME, Budget.STREAMS)
        assert held(server) == 3 * CALL_BYTES  # What is not taken is still there.
    wait_until(lambda: not held(server))


@pytest.mark.parametrize("kind", ["unary_unary", "stream_stream"])
def test_a_method_that_is_unknown_counts_as_a_call(serve, kind):
    _, client = serve("calls_per_second = 3")

    def call():
        called = getattr(client.channel, kind)("/croupier.v1.MatchService/Cheat")
        return called(b"") if kind == "unary_unary" else list(called(iter([b""])))

    codes = []
    for _ in range(4):
        with pytest.raises(grpc.RpcError) as caught:
            call()
        codes.append(caught.value.code().name)
    assert codes == [*["UNIMPLEMENTED"] * 3, "RESOURCE_EXHAUSTED"]


def test_the_refusal_of_an_unknown_method_is_paid_for(serve, monkeypatch):
    def slow(path, methods):
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass
        return "there is none"

    monkeypatch.setattr(grpc_listener, "no_method", slow)
    _, client = serve("processor_milliseconds_per_second = 1")
    call = client.channel.unary_unary("/croupier.v1.MatchService/Cheat")
    with pytest.raises(grpc.RpcError):
        call(b"")
    with pytest.raises(grpc.RpcError) as caught:
        call(b"")
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "processor" in caught.value.details()
