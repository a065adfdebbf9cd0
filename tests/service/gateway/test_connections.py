"""Connections of the web gateway that say nothing, too much, or too slowly, also over TLS."""

import shutil
import socket
import ssl
import threading
from contextlib import suppress

import pytest

from croupier.v1 import catalog_pb2, match_pb2
from service.gateway import listener
from service.gateway.rpc import MAX_JSON_BYTES
from service.listening import http
from service.listening.connections import MAX_REQUEST_BYTES, ConnectionLimits
from service.listening.http import MAX_HEADER_BYTES
from service.listening.tls import Files
from tests.support.serving import ruleset_of
from tests.support.web import Caller, Failed, connect, path_of, read_all, reset

LIST = path_of("CatalogService.ListGames")
POST = (
    f"POST {LIST} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    "content-length: 2\r\n"
).encode()
BINARY = (
    f"POST {LIST} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/proto\r\n"
    "content-length: 0\r\n\r\n"
).encode()


@pytest.fixture
def start(start_web, plain):
    def start(tls=None, **limits):
        if tls is None and not limits:
            return plain.web_url
        return start_web(connections=ConnectionLimits(**limits), tls=tls)[0].web_url

    return start


def list_games(url):
    return Caller(url).call("CatalogService.ListGames", catalog_pb2.ListGamesRequest())


def test_hundreds_of_silent_connections_lock_nobody_out(start):
    url = start(connections=100)
    expected = list_games(url)
    silent = []
    for number in range(600):
        silent.append(connect(url))
        if number % 100 == 99:
            assert list_games(url) == expected
        if len(silent) > 300:
            # The oldest has made room; keeping it would cost this process files.
            with silent.pop(0) as oldest:
                assert read_all(oldest) == b""
    for each in silent:
        each.close()


def test_connections_with_calls_make_no_room(start, web_servers):
    url = start(connections=4)
    caller = Caller(url)
    created = caller.call(
        "MatchService.CreateMatch", match_pb2.CreateMatchRequest(ruleset=ruleset_of("skystones"))
    )
    request = match_pb2.WatchMatchRequest(name=created.name)
    streams = [
        caller.start("MatchService.WatchMatch", request, created.spectator_token) for _ in range(4)
    ]
    for stream in streams:
        assert next(stream.messages()).version == 0
    with connect(url) as refused:
        assert read_all(refused) == b""
    streams.pop().__exit__()
    while True:  # Until the server has noticed.
        try:
            assert len(list_games(url).games) == 4
            break
        except OSError:
            pass
    for stream in streams:
        stream.__exit__()


@pytest.mark.parametrize(
    "said", [b"", b"\r\n", POST, POST + b"\r\n", POST + b"\r\n{"], ids=range(5)
)
def test_a_request_that_does_not_end_is_given_up(start, monkeypatch, said):
    monkeypatch.setattr(http, "HANDSHAKE_SECONDS", 0.2)
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.2)
    with connect(start()) as connection, suppress(ConnectionError):
        connection.sendall(said)
        read_all(connection)


def test_a_request_may_come_in_pieces(start):
    with connect(start()) as connection:
        for byte in POST + b"connection: close\r\n\r\n{}":
            connection.send(bytes([byte]))
        assert read_all(connection).startswith(b"HTTP/1.1 200 ")


def test_an_idle_connection_is_closed(start):
    with connect(start(idle=1)) as connection:
        connection.sendall(POST + b"\r\n{}")
        assert read_all(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("header", [b"x: %s", b"x", b"%s: x"], ids=["value", "many", "name"])
@pytest.mark.parametrize("end", [b"\r\n\r\n{}", b""], ids=["complete", "endless"])
def test_large_headers_are_refused(start, header, end):
    size = MAX_HEADER_BYTES
    line = header % (b"y" * size) if b"%" in header else b"\r\n".join([b"x: y"] * (size // 4))
    with connect(start()) as connection:
        connection.sendall(POST + line + end)
        assert read_all(connection).startswith(b"HTTP/1.1 431 ")


def test_what_follows_a_body_is_bounded(start):
    with connect(start()) as connection:
        connection.sendall(POST.replace(b"content-length: 2", b"transfer-encoding: chunked"))
        connection.sendall(b"\r\n2\r\n{}\r\n0\r\nx: ")
        with pytest.raises(OSError):
            for _ in range(100 * http.MAX_BYTES // 65536):
                connection.sendall(b"y" * 65536)


def test_what_is_not_http_is_refused(start):
    with connect(start()) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert read_all(connection).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("protocol", ["connect", "grpc-web"])
def test_large_requests_are_refused(start, protocol):
    caller = Caller(start(), protocol)
    request = match_pb2.GetViewRequest(name="x" * MAX_REQUEST_BYTES)
    with pytest.raises(Failed) as caught:
        caller.call("MatchService.GetView", request)
    assert caught.value.failure.code == "RESOURCE_EXHAUSTED"


def test_large_json_is_refused(start):
    with pytest.raises(Failed) as caught:
        Caller(start()).call(
            "MatchService.GetView", match_pb2.GetViewRequest(name="x" * MAX_JSON_BYTES)
        )
    assert caught.value.failure.code == "INVALID_ARGUMENT"
    assert "application/proto" in caught.value.failure.message


def test_a_reader_that_stalls_is_disconnected(start, monkeypatch):
    monkeypatch.setattr(http, "STALLED_SECONDS", 0.2)
    url = start()
    with connect(url) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        # So many answers that they do not fit into the buffers of the system.
        with pytest.raises(ConnectionError):
            while True:
                connection.sendall(BINARY * 100)
    monkeypatch.undo()
    assert list_games(url)


# TLS


def secure_list(url, authority, client=None):
    context = ssl.create_default_context(cafile=authority.cert)
    if client is not None:
        context.load_cert_chain(*client)
    with connect(url) as plain, context.wrap_socket(plain, server_hostname="localhost") as secure:
        # At once, so that it may come together with the end of the handshake.
        secure.sendall(POST + b"connection: close\r\n\r\n{}")
        serial = secure.getpeercert()["serialNumber"]
        return read_all(secure), serial


def test_tls(start, authority):
    url = start(tls=Files(*authority.issue()))
    assert url.startswith("https://")
    assert secure_list(url, authority)[0].startswith(b"HTTP/1.1 200 ")
    with connect(url) as plain:
        plain.sendall(POST + b"\r\n{}")
        assert b"HTTP" not in read_all(plain)


def test_tls_for_clients_with_a_certificate(start, authority):
    url = start(tls=Files(*authority.issue(), authority.cert))
    assert secure_list(url, authority, authority.issue())[0].startswith(b"HTTP/1.1 200 ")
    try:
        answer = secure_list(url, authority)[0]
    except OSError:
        answer = b""
    assert not answer


def test_new_tls_files_serve_both_listeners_without_a_restart(start_web, authority, tmp_path):
    cert, key = tmp_path / "current.crt", tmp_path / "current.key"

    def replace():
        for source, target in zip(authority.issue(), (cert, key), strict=True):
            shutil.copy(source, target.with_suffix(".new"))
            target.with_suffix(".new").rename(target)

    replace()
    server, client = start_web(tls=Files(cert, key))
    port = int(client.address.rpartition(":")[2])
    first = secure_list(server.web_url, authority)[1]
    replace()
    second = secure_list(server.web_url, authority)[1]
    assert second != first
    # The gateway has loaded them; gRPC must notice too.
    context = ssl.create_default_context(cafile=authority.cert)
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection(("localhost", port)) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        assert secure.getpeercert()["serialNumber"] == second


def test_silent_handshakes_lock_nobody_out(start, authority):
    url = start(tls=Files(*authority.issue()), connections=20)
    silent = [connect(url) for _ in range(100)]
    assert secure_list(url, authority)[0].startswith(b"HTTP/1.1 200 ")
    for each in silent:
        each.close()


@pytest.mark.parametrize("secure", [False, True], ids=["clear", "tls"])
def test_the_oldest_connection_closed_while_the_next_comes_ends_no_listener(
    start, web_servers, authority, secure
):
    url = start(tls=Files(*authority.issue()) if secure else None, connections=1)
    for _ in range(20):
        oldest = connect(url)
        if secure:
            context = ssl.create_default_context(cafile=authority.cert)
            oldest = context.wrap_socket(oldest, server_hostname="localhost")
        # Both are ready in one turn of the loop, and the table is full.
        goes_on = threading.Event()
        web_servers.loop.call_soon_threadsafe(goes_on.wait)
        reset(oldest)
        following = connect(url)
        goes_on.set()
        following.close()
    if secure:
        assert secure_list(url, authority)[0].startswith(b"HTTP/1.1 200 ")
    else:
        assert list_games(url)


def test_a_port_that_fails_is_served_again(start_web, monkeypatch):
    accept = listener.accept
    failures = [LookupError(), SystemExit(1)]

    async def fail(*arguments):
        if failures:
            raise failures.pop()
        await accept(*arguments)

    monkeypatch.setattr(listener, "accept", fail)
    server, _ = start_web()
    assert list_games(server.web_url)
    assert server.metrics.tasks.failures()["web port"] == 2
