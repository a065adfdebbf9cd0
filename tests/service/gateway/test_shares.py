"""What one address may hold of the gateway: connections and bytes; and when a request is paid."""

import gzip
import socket
import ssl
from collections import Counter
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

import pytest

from croupier.v1 import match_pb2
from service.admission.budgets import Budget
from service.common.call import Kind, Principal
from service.gateway import rpc
from service.listening.connections import ConnectionLimits
from service.listening.http import PARTS, PIECE_BYTES
from service.listening.tls import Files
from tests.support.certificates import Authority
from tests.support.server_process import ServerProcess
from tests.support.serving import ruleset_of
from tests.support.waiting import wait_until
from tests.support.web import Caller, connect, get, post, read_all, status_of

HOME = Principal(Kind.ADDRESS, "127.0.0.1")


@pytest.fixture
def start(start_web):
    """Starts a server at which each address has some budget, which does not refill."""

    def start(budget="", more="", **options):
        server, client = start_web(callers=f"{more}\n[budgets.address]\n{budget}\n", **options)
        server._admission._ledger._now = lambda: 0.0
        return server, client

    return start


def held(server, budget=Budget.BYTES):
    return server._admission._ledger.held(HOME, budget)


def test_requests_that_end_together_are_paid_one_after_the_other(start, monkeypatch):
    unpacked = []
    monkeypatch.setattr(rpc, "unpack", lambda data: unpacked.append(data) or b"{}")
    server, _ = start(f"{Budget.PROCESSOR} = 0.001\n{Budget.CALLS} = 100")
    account = server._admission._ledger._accounts[HOME]
    said = post(gzip.compress(b"{}"), content_encoding="gzip", connection="close")
    with ExitStack() as stack:
        opened = [stack.enter_context(connect(server.web_url)) for _ in range(10)]
        for each in opened:
            each.sendall(said[:-1])
        # All are admitted by their headers, as nothing is used yet.
        wait_until(lambda: account.full_at[Budget.CALLS] > 0.099)
        for each in opened:
            each.sendall(said[-1:])
        statuses = Counter(status_of(read_all(each)) for each in opened)
    assert statuses == {200: 1, 429: 9} and len(unpacked) == 1


def test_an_address_holds_so_many_bytes_at_most(start):
    server, _ = start("bytes = 200_000")
    part = post(bytes(150_000), content_length=300_000)
    with connect(server.web_url) as first, connect(server.web_url) as second:
        first.sendall(part)
        wait_until(lambda: held(server) >= 150_000)
        second.sendall(part)
        assert read_all(second) == b""
    wait_until(lambda: not held(server))


def test_what_is_not_read_holds_its_bytes(start):
    server, _ = start(f'{Budget.CALLS} = "unlimited"\n{Budget.PROCESSOR} = "unlimited"')
    flood = get().replace(b"connection: close\r\n", b"") * 10_000
    with connect(server.web_url) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)

        def unsent():
            with suppress(BlockingIOError):
                connection.send(flood)
            return sum(each._unsent for each in server._web._connections._open)

        assert PIECE_BYTES < wait_until(unsent) <= held(server)
    wait_until(lambda: not held(server))


@pytest.mark.parametrize("through_proxy", [False, True])
def test_one_address_has_a_part_of_all_connections(start, through_proxy):
    most = 2 * PARTS
    more = 'trusted_proxies = ["127.0.0.1"]' if through_proxy else ""
    server, _ = start(more=more, connections=ConnectionLimits(connections=most))
    caller = Caller(server.web_url)
    created = caller.call(
        "MatchService.CreateMatch", match_pb2.CreateMatchRequest(ruleset=ruleset_of("skystones"))
    )
    request = match_pb2.WatchMatchRequest(name=created.name)

    def watch():
        stream = caller.start("MatchService.WatchMatch", request, created.spectator_token)
        return stream, next(stream.messages()).version

    with ExitStack() as stack:
        for _ in range(most if through_proxy else most // PARTS):
            stream, version = watch()
            stack.enter_context(stream)
            assert version == 0
        if through_proxy:
            assert held(server, Budget.WEB_CONNECTIONS) == 0
            return
        with pytest.raises(OSError):
            watch()
        parts = urlsplit(server.web_url)
        other = socket.create_connection(
            (parts.hostname, parts.port), source_address=("127.0.0.2", 0)
        )
        with other:
            other.sendall(get())
            assert status_of(read_all(other)) == 200
    wait_until(lambda: not held(server, Budget.WEB_CONNECTIONS))


def test_a_connection_too_many_leaves_no_error(tmp_path):
    callers = tmp_path / "callers.toml"
    callers.write_text("")
    options = ("--max-connections", str(PARTS), "--callers-file", str(callers))
    with ServerProcess("--store", "memory", "--web", "127.0.0.1:0", *options) as server:
        table = server.client.create(ruleset_of("skystones"))
        caller = Caller(server.web_url)
        request = match_pb2.WatchMatchRequest(name=table.name)
        with caller.start("MatchService.WatchMatch", request, table.spectator.token) as stream:
            next(stream.messages())
            for _ in range(10):
                # It is closed before it has said anything.
                with connect(server.web_url) as another:
                    assert read_all(another) == b""
        server.stop()
        assert "ERROR" not in server.log


def test_a_handshake_is_paid_before_it_begins(start, tmp_path):
    """As a call is: with what is left then, which is nothing for the second one."""
    authority = Authority(tmp_path, "authority")
    tls = Files(*authority.issue())
    server, _ = start(f"{Budget.PROCESSOR} = 0.001", tls=tls)
    context = ssl.create_default_context(cafile=authority.cert)
    port = urlsplit(server.web_url).port
    for served in (True, False):
        with socket.create_connection(("127.0.0.1", port)) as plain:
            try:
                context.wrap_socket(plain, server_hostname="localhost").close()
            except OSError:
                assert not served
            else:
                assert served
