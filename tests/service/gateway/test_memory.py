"""Connections that are closed leave nothing behind, also before anybody collects garbage."""

import asyncio
import gc
import socket
import ssl
from collections import Counter

import pytest
import uvloop

from service.common.errors import shutting_down
from service.common.tasks import Tasks
from service.gateway.listener import WebOptions
from service.listening.http import Connections
from service.listening.tls import Files
from tests.support.long_form import LONG_FORM
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until, waiting_for
from tests.support.web import connect, get, path_of, post, reset

CONNECTIONS = 5
# The library leaves some small garbage behind when it answers what is no call of ours.
KINDS = (
    "HttpConnection",
    "Parser",
    "RequestResponseCycle",
    "TCPTransport",
    "Call",
    "ConnectError",
)


WATCH = {"path": path_of("MatchService.WatchMatch"), "content_type": "application/connect+json"}
SAID = {
    "nothing": b"",
    "part of a request": get()[:20],
    "page": get(),
    "page and more": get().replace(b"close", b"keep-alive"),
    "call": post(),
    "refused": post(path=path_of("CatalogService.GetGame")),
    "not admitted": post(x_api_key="guessed"),
    "refused gRPC-Web": post(
        bytes(5), content_type="application/grpc-web+proto", path=path_of("MatchService.GetView")
    ),
    "refused stream": post(b"\0\0\0\0\2{}", **WATCH),
    "no method": post(path="/croupier.v1.X/Y"),
    "no codec": post(content_type="text/plain"),
    "no compression": post(content_encoding="br"),
    "too large": post(bytes(1 << 20)),
    "part of a body": post()[:-1],
    "part of a large body": post(bytes(100_000), content_length=200_000),
    "no request": b"\x16\x03\x01 hello\r\n\r\n",
    "no chunk": post(b"x\r\n", content_length=None, transfer_encoding="chunked"),
    "two requests": post() * 2,
    "upgrade": post(upgrade="h2c", connection="upgrade"),
}
WITHOUT_ANSWER = {"nothing", "part of a request", "part of a body", "part of a large body"}


@pytest.fixture(scope="module")
def target(web_servers, authority, request):
    """A server, and how to connect to it."""
    tls = Files(*authority.issue()) if request.param else None
    server, _ = web_servers.start(web=WebOptions(port=0), tls=tls)
    context = ssl.create_default_context(cafile=authority.cert)

    def open_one():
        plain = connect(server.web_url)
        return plain if tls is None else context.wrap_socket(plain, server_hostname="localhost")

    yield server, open_one
    web_servers.stop(server)


def living():
    """How many objects of each kind there are."""
    return Counter(type(each).__name__ for each in gc.get_objects())


# What is said in the clear is said over TLS, too, but for how connections end.
CLOSED = [(False, what) for what in SAID]
CLOSED += [(True, what) for what in (SAID if LONG_FORM else ("nothing", "call", "part of a body"))]


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize(("target", "what"), CLOSED, indirect=["target"])
def test_nothing_of_a_closed_connection_stays(web_servers, target, what, end):
    server, open_one = target

    def use_and_close():
        connection = open_one()
        connection.sendall(SAID[what])
        if what not in WITHOUT_ANSWER:
            connection.recv(65536)
        if end == "reset":
            reset(connection)
        else:
            connection.close()

    async def turn():
        """A turn of the event loop."""

    gc.freeze()  # What the process has of other tests is not counted, which would take long.
    use_and_close()  # Whatever is made once is there now.
    gc.collect()
    gc.disable()
    try:
        before = living()
        for _ in range(CONNECTIONS):
            use_and_close()
        with waiting_for(lambda: f"the end of {living() - before}"):
            while server._web.connections or any((living() - before)[kind] for kind in KINDS):
                web_servers.run(turn())
    finally:
        gc.enable()
        gc.unfreeze()


def test_a_connection_that_is_aborted_while_it_opens_is_forgotten():
    # Its request has come before it is accepted, and its address has no place left.
    class Full:
        def set(self, amount):
            if amount:
                raise shutting_down()

    async def answer(scope, receive, send):
        raise AssertionError

    async def open_one():
        full = Full()
        open_ones = Connections(answer, 9, 10.0, None, Tasks(), lambda peer, most: (full, full))
        with (
            socket.create_server(("127.0.0.1", 0)) as listening,
            socket.create_connection(listening.getsockname()) as client,
        ):
            client.sendall(get())
            open_ones.admit(*listening.accept())
            while len(open_ones):
                await asyncio.sleep(0)
        for _ in range(10):
            await asyncio.sleep(0)
        return open_ones.state.connections

    assert not uvloop.run(open_one())


AT_ONCE, WAVES = (500, 6) if LONG_FORM else (200, 1)
# Where nothing is given back, TLS leaves most: 50 kB of a call, and 290 kB of a large body.
GIVEN_BACK = [("part of a large body", True)]
if LONG_FORM:
    GIVEN_BACK += [("part of a large body", False)]
    GIVEN_BACK += [(what, tls) for what in ("call", "refused") for tls in (False, True)]


@pytest.mark.parametrize(("what", "tls"), GIVEN_BACK)
def test_the_memory_of_many_connections_is_given_back(authority, what, tls):
    options = ["--store", "memory", "--web", "127.0.0.1:0"]
    if tls:
        cert, key = authority.issue()
        options += ["--tls-cert", str(cert), "--tls-key", str(key)]
    context = ssl.create_default_context(cafile=authority.cert)

    def use():
        connection = connect(server.web_url)
        if tls:
            connection = context.wrap_socket(connection, server_hostname="localhost")
        connection.sendall(SAID[what])
        if what not in WITHOUT_ANSWER:
            connection.recv(65536)
        return connection

    def use_and_close(number):
        for connection in [use() for _ in range(number)]:
            reset(connection)

    with ServerProcess(*options) as server:
        use_and_close(20)
        before = server.memory()
        for _ in range(WAVES):
            use_and_close(AT_ONCE)
        wait_until(
            lambda: server.memory() - before <= 20 << 20,
            lambda: f"{server.memory() - before} bytes to be given back",
        )
        server.stop()
