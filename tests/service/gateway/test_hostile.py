"""What a stranger sends to hurt: it gets an answer, counts as a call, and costs little."""

import asyncio
import gzip
import json
import logging
import re
import select
import socket
import zlib
from urllib.parse import unquote_to_bytes

import pytest
from h11 import _readers

from croupier.v1 import match_pb2
from service.admission.budgets import Budget
from service.common.tasks import Tasks
from service.gateway.listener import WebOptions
from service.gateway.rpc import MAX_UNPACKED_BYTES, unpack
from service.gateway.site import Site
from service.listening import http
from service.listening.connections import MAX_REQUEST_BYTES, ConnectionLimits
from service.listening.http import MAX_CHUNKS, MAX_HEADER_BYTES, MAX_HEADERS, Connections
from service.observability.logs import JsonFormatter, TextFormatter
from tests.support.logs import logged
from tests.support.server_process import ServerProcess
from tests.support.serving import ruleset_of
from tests.support.web import (
    Caller,
    connect,
    envelope,
    get,
    path_of,
    post,
    read_all,
    reset,
    say,
    status_of,
)
from wire.errors import Refusal

LIST = path_of("CatalogService.ListGames")
CLOSE = b"connection: close\r\n"


@pytest.fixture
def start(start_web, plain):
    """Returns a server, or starts one with options.

    Where an address has some calls, it has no more when time passes.
    """

    def start(calls=None, **options):
        if calls is None and not options:
            return plain
        if calls is not None:
            options["callers"] = (
                f'trusted_proxies = ["127.0.0.0/8"]\n[budgets.address]\n{Budget.CALLS} = {calls}\n'
            )
        server, _ = start_web(**options)
        server._admission._ledger._now = lambda: 0.0
        return server

    return start


@pytest.fixture(params=[TextFormatter, JsonFormatter])
def log(request):
    """All lines that the server and its libraries log."""
    with logged(request.param(), name="", level=logging.WARNING) as (lines,):
        yield lines


# Names of hosts


@pytest.mark.parametrize(
    "host", ["[", "]", "a]", "[::1", "localhost:x", "[localhost", ":", "\x1b["]
)
def test_what_is_no_host_is_refused_without_a_line(start, log, host):
    assert status_of(say(start().web_url, get(host=host))) == 421
    assert not log


@pytest.mark.parametrize("second", ["localhost", "stranger.example.org"])
def test_two_hosts_are_no_request(start, second):
    said = get().replace(b"\r\n\r\n", f"\r\nhost: {second}\r\n\r\n".encode())
    assert status_of(say(start().web_url, said)) == 400


def test_a_body_with_two_framings_is_no_request(start):
    heads = b"content-length: 4\r\n", b"transfer-encoding: chunked\r\n"
    for first, second in (heads, reversed(heads)):
        said = b"POST / HTTP/1.1\r\nhost: localhost\r\n" + first + second + b"\r\n0\r\n\r\n"
        assert status_of(say(start().web_url, said)) == 400


@pytest.mark.parametrize("path", ["", "/", "/?x=1"])
def test_the_host_of_a_target_counts(start, path):
    url = start().web_url
    for host, status in (("localhost", 200), ("stranger.example.org", 421)):
        said = f"GET http://{host}{path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()
        assert status_of(say(url, said)) == status


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("hosts", [(), ("play.example.org",)])
def test_the_check_of_a_proxy_names_no_host(start, address, hosts):
    server = start(web=WebOptions(host=address, port=0, hosts=hosts))
    assert status_of(say(server.web_url, b"GET / HTTP/1.0\r\n\r\n")) == 200
    assert status_of(say(server.web_url, b"GET / HTTP/1.1\r\n\r\n")) == 400


@pytest.mark.parametrize("host", ["any.example.org", "any.example.org:80", "192.0.2.1", ""])
def test_any_name_will_do_beyond_loopback(start, host):
    server = start(web=WebOptions(host="0.0.0.0", port=0))
    assert status_of(say(server.web_url, get(host=host))) == 200


def test_a_page_without_a_host_is_foreign(start):
    said = post(version="1.0", host=None, origin="null")
    assert status_of(say(start().web_url, said)) == 403


# What is counted, and limited


# Each answer that is made without a call, and what is sent for it.
NO_CALLS = {
    200: get(),
    304: None,
    400: b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
    403: post(origin="https://stranger.example.org", connection="close"),
    404: post(path="/croupier.v1.MatchService/Cheat", connection="close"),
    405: get(path_of("MatchService.CreateMatch")),
    413: post(b"1\r\n \r\n" * 1000, content_length=None, transfer_encoding="chunked"),
    414: get("/croupier.v1.CatalogService/ListGames?" + "a=&" * 1000),
    415: post(content_type="text/plain", connection="close"),
    421: get(host="stranger.example.org"),
    431: b"GET / HTTP/1.1\r\nx: " + b"y" * MAX_HEADER_BYTES,
    500: get("/%0a2026-01-01%2000:00:00,000%20ERROR%20forged"),
    501: post(transfer_encoding="gzip"),
}


@pytest.fixture
def broken_site(monkeypatch):
    """The site fails for paths that try to forge a line of the log."""
    answer = Site.__call__

    async def fail(self, scope, receive, send):
        if "forged" in scope["path"]:
            raise RuntimeError("the queen\nof hearts")
        await answer(self, scope, receive, send)

    monkeypatch.setattr(Site, "__call__", fail)


@pytest.mark.parametrize("status", NO_CALLS)
def test_whatever_is_no_call_counts_as_one_of_its_address(start, broken_site, status):
    server = start(calls=3)
    said = NO_CALLS[status]
    if said is None:
        tag = re.search(rb'etag: ("\w+")', say(server.web_url, get()))[1]
        said = get().replace(b"\r\n\r\n", b"\r\nif-none-match: " + tag + b"\r\n\r\n")

    def answered(status):
        labels = {"status": str(status)}
        return server.metrics.registry.get_sample_value("croupier_web_responses_total", labels)

    before = {each: answered(each) for each in (status, 429)}
    calls = 2 if status == 304 else 3  # One was for its tag.
    statuses = []
    while 429 not in statuses:
        statuses.append(status_of(say(server.web_url, said)))
    assert set(statuses[:-1]) == {status}
    if status != 413:  # A body that goes wrong late has also begun a call.
        assert len(statuses) == calls + 1
        assert (answered(status), answered(429)) == (before[status] + calls, before[429] + 1)


def test_a_connection_that_is_reset_at_once_has_an_address(web_servers, monkeypatch):
    # The system forgets it with the reset. A caller without one would count as one of this machine.
    asked = []

    async def answer(scope, receive, send):
        asked.append(scope["client"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def accept(listening, client):
        await asyncio.get_running_loop().sock_sendall(client, get())
        reset(client)
        open_ones = Connections(answer, 10, 10.0, None, Tasks())
        open_ones.admit(*listening.accept())
        while len(open_ones):
            await asyncio.sleep(0)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        client.setblocking(False)
        address = client.getsockname()
        web_servers.run(accept(listening, client))
    assert asked in ([], [address])


def test_who_does_not_take_a_response_makes_room(web_servers):
    # Even where every place has a call: the second of each connection.
    most, large = 3, b"x" * (8 << 20)

    async def answer(scope, receive, send):
        body = large if scope["path"] == "/large" else b"small"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def ask():
        loop = asyncio.get_running_loop()
        open_ones = Connections(answer, most, 60.0, None, Tasks())

        async def open_one(path):
            client = socket.create_connection(listening.getsockname())
            client.setblocking(False)
            request = f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode()
            await loop.sock_sendall(client, 2 * request)
            open_ones.admit(*listening.accept())
            return client

        stalled = [await open_one("/large") for _ in range(most)]
        while open_ones._silent or len(open_ones._stalled) < most:
            await asyncio.sleep(0)
        quick = await open_one("/small")
        assert b"small" in await loop.sock_recv(quick, 1 << 10)
        assert len(open_ones) == most
        for client in (*stalled, quick):
            client.close()
        await open_ones.close(0)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        web_servers.run(ask())


# The log


def test_no_stranger_writes_lines(start, broken_site, log):
    assert status_of(say(start().web_url, NO_CALLS[500])) == 500
    (line,) = [each for each in log if "forged" in each]
    assert line.isprintable()
    assert "RuntimeError" in line and "in fail" in line
    assert "queen" not in line


# Connections and requests


def test_requests_that_come_before_their_responses_wait_unread(start):
    url = start().web_url
    with connect(url) as connection:
        connection.sendall(get().replace(CLOSE, b"") * 50 + get())
        assert read_all(connection).count(b"HTTP/1.1 200 OK") == 51


@pytest.fixture(scope="module")
def process():
    """A server in a process of its own, and its URL."""
    with ServerProcess("--store", "memory", "--web", "127.0.0.1:0") as server:
        assert say(server.web_url, get())
        yield server, server.web_url
        server.stop()


def test_a_flood_of_requests_on_a_connection_takes_no_memory(process):
    server, url = process
    before = server.memory()
    flood = get().replace(CLOSE, b"") * 10_000
    with connect(url) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(1)
        # The server reads on only as long as its responses are taken.
        with pytest.raises(TimeoutError):
            for _ in range(100):
                connection.sendall(flood)
        assert server.memory() - before < 20 << 20
    assert status_of(say(url, get())) == 200


@pytest.mark.parametrize("protocol", ["h2c", "websocket", "h2c, HTTP/9"])
@pytest.mark.parametrize("chunked", [False, True])
def test_an_upgrade_that_is_not_supported_is_ignored(start, protocol, chunked):
    headers = {
        "upgrade": protocol,
        "connection": "Upgrade, HTTP2-Settings",
        "http2_settings": "AAMAAABkAAQAoAAAAAIAAAAA",
    }
    body = b'{"name": "games/skystones"}'
    if chunked:
        headers |= {"content_length": None, "transfer_encoding": "chunked"}
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    with connect(start().web_url) as connection:
        for _ in range(2):  # On the same connection.
            connection.sendall(post(body, path=path_of("CatalogService.GetGame"), **headers))
        connection.sendall(get())
        answers = read_all(connection)
    assert answers.count(b"HTTP/1.1 200 OK") == 3
    assert answers.count(b'"name":"games/skystones"') == 2


@pytest.mark.parametrize("path", [LIST, "/"])
def test_a_client_of_http_1_0_gets_no_chunks(start, path):
    said = post(version="1.0") if path == LIST else get(version="1.0")
    head, _, body = say(start().web_url, said).partition(b"\r\n\r\n")
    assert status_of(head) == 200
    assert b"transfer-encoding" not in head.lower() and b"connection: close" in head.lower()
    if path == LIST:
        assert json.loads(body)["games"]


def test_what_follows_the_last_request_is_left(start):
    for said in (post(version="1.0"), post(connection="close")):
        answer = say(start().web_url, said + b"\r\nGET / HTTP/1.1\r\n")
        assert answer.count(b"HTTP/1.1 200 OK") == 1


def test_a_body_that_goes_wrong_ends_its_call(start, log):
    server = start()
    headers = {
        "content_length": None,
        "transfer_encoding": "chunked",
        "content_type": "application/connect+json",
    }
    said = post(b"3\r\n{}", path=path_of("MatchService.WatchMatch"), **headers)
    with connect(server.web_url) as connection:
        connection.sendall(said)
        connection.sendall(b"xno chunk\r\n")
        assert status_of(read_all(connection)) == 400
    # Also when the answer has begun, or is there.
    for said in (
        post(b"", path="/croupier.v1.X/Y", **headers),
        post(b"", content_type="text/plain", transfer_encoding="chunked", content_length=None),
    ):
        with connect(server.web_url) as connection:
            connection.sendall(said)
            assert connection.recv(65536).startswith(b"HTTP/1.1 4")
            connection.sendall(b"no chunk\r\n")
            read_all(connection)
    assert not [line for line in log if "rror" in line]


def test_a_connection_whose_request_ends_after_its_response_becomes_idle(start):
    server = start(connections=ConnectionLimits(idle=1))
    with connect(server.web_url) as connection:
        connection.sendall(post(b"", content_type="text/plain", content_length=2))
        answer = b""
        while not answer.endswith(b"}"):
            answer += connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 415 ")
        connection.sendall(b"{}")
        assert not read_all(connection)


def test_a_request_behind_a_stream_waits_for_as_long_as_one_may_take(start, monkeypatch):
    caller = Caller(start().web_url, "connect")
    created = caller.call(
        "MatchService.CreateMatch", match_pb2.CreateMatchRequest(ruleset=ruleset_of("skystones"))
    )
    request = match_pb2.WatchMatchRequest(name=created.name)
    with caller.start("MatchService.WatchMatch", request, created.spectator_token) as stream:
        messages = stream.messages()
        assert next(messages).version == 0
        monkeypatch.setattr(http, "REQUEST_SECONDS", 0.2)
        stream._connection.sock.sendall(get())
        with pytest.raises((OSError, AssertionError)):
            next(messages)


def test_many_small_chunks_are_no_request(start):
    few, many = (b"1\r\n \r\n" * count for count in (MAX_CHUNKS - 2, MAX_CHUNKS))
    for body, status in ((few, 200), (many, 413)):
        said = post(
            body + b"2\r\n{}\r\n0\r\n\r\n",
            content_length=None,
            transfer_encoding="chunked",
            connection="close",
        )
        assert status_of(say(start().web_url, said)) == status


def test_uploads_together_are_bounded(start, monkeypatch):
    monkeypatch.setattr(http, "MAX_ARRIVING_BYTES", 150_000)
    url = start().web_url
    part = post(bytes(100_000), content_length=200_000)
    with connect(url) as first, connect(url) as second:
        first.sendall(part)
        second.sendall(part)
        # Whichever brings too much is closed; small requests and the other one go on.
        closed = {read_all(each) for each in select.select([first, second], [], [])[0]}
        assert closed == {b""}
        assert status_of(say(url, get())) == 200
    # What was given up no longer counts.
    body = b"{}".ljust(100_000)
    while status_of(say(url, post(body, connection="close"))) != 200:
        pass


@pytest.mark.parametrize("place", ["headers", "trailers"])
def test_many_headers_are_no_request(start, place):
    for count, status in ((MAX_HEADERS - 10, 200), (MAX_HEADERS + 1, 431)):
        lines = b"x: y\r\n" * count
        said = get().replace(CLOSE, CLOSE + lines)
        if place == "trailers":
            body = b"2\r\n{}\r\n0\r\n" + lines + b"\r\n"
            said = post(body, content_length=None, transfer_encoding="chunked", connection="close")
        assert status_of(say(start().web_url, said)) == status


LONG = 2_000_000


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (_readers.header_field_re, b"a:" + b" " * LONG + b"\0"),
        (_readers.header_field_re, b"a: b" + b" \t" * (LONG // 2) + b"\0"),
        (_readers.chunk_header_re, b"1;" + b" " * LONG + b"\n\r\n"),
        (_readers.chunk_header_re, b"1;" + b"\r" * LONG + b"\n\r\n"),
        (_readers.chunk_header_re, b"1" + b" " * LONG + b"\n\r\n"),
    ],
    ids=range(5),
)
def test_lines_with_errors_are_read_in_one_way_only(pattern, line):
    # Whatever tries every way to divide a run of spaces takes longer than any test may.
    assert pattern.fullmatch(line) is None


# What requests unpack to


def unary(data, path="MatchService.GetView", **headers):
    chosen = {"content_type": "application/proto", "content_encoding": "gzip", **headers}
    return post(data, path=path_of(path), connection="close", **chosen)


def enveloped(data):
    headers = {"connect_content_encoding": "gzip", "connection": "close"}
    path = path_of("MatchService.WatchMatch")
    return post(envelope(1, data), path=path, content_type="application/connect+proto", **headers)


def framed(data):
    headers = {"grpc_encoding": "gzip", "connection": "close"}
    path = path_of("MatchService.GetView")
    return post(envelope(1, data), path=path, content_type="application/grpc-web+proto", **headers)


@pytest.fixture(scope="module")
def bomb():
    """Much, packed into what a request may have."""
    packed = gzip.compress(bytes(1 << 26), 9)
    assert len(packed) < MAX_REQUEST_BYTES
    return packed


@pytest.mark.parametrize("form", [unary, enveloped, framed])
def test_a_bomb_is_not_unpacked(process, bomb, form):
    server, url = process
    before = server.memory("VmHWM")
    answer = say(url, form(bomb))
    assert b"invalid_argument" in answer or b"grpc-status: 3" in answer
    assert server.memory("VmHWM") - before < 20 << 20


@pytest.mark.parametrize("form", [unary, enveloped, framed])
def test_what_is_unpacked_is_one_piece(start, form):
    url = start().web_url
    for packed in (b"\xff", gzip.compress(b"")[:-1], gzip.compress(b"") * 2):
        answer = say(url, form(packed))
        assert b"invalid_argument" in answer or b"grpc-status: 3" in answer
        assert b"decompress" in answer


@pytest.mark.parametrize(
    ("size", "fits"), [(MAX_UNPACKED_BYTES, True), (MAX_UNPACKED_BYTES + 1, False)]
)
def test_what_may_be_unpacked(start, size, fits):
    said = unary(
        gzip.compress(b"{}".ljust(size)),
        content_type="application/json",
        path="CatalogService.ListGames",
    )
    assert status_of(say(start().web_url, said)) == (200 if fits else 400)


def test_many_pieces_are_not_unpacked(monkeypatch):
    piece = gzip.compress(b"")
    decompress, unpacked = zlib.decompressobj, []

    def unpack_and_note(**options):
        unpacked.append(options)
        return decompress(**options)

    monkeypatch.setattr(zlib, "decompressobj", unpack_and_note)
    with pytest.raises(Refusal):
        unpack(piece * (MAX_REQUEST_BYTES // len(piece)))
    assert len(unpacked) == 1


@pytest.mark.parametrize("form", [unary, enveloped, framed])
@pytest.mark.parametrize("body", [b"", b"\xff"], ids=["missing", "broken"])
def test_a_caller_is_admitted_before_its_request_is_read(start, form, body):
    said = form(body)
    if not body:
        said = re.sub(rb"content-length: \d+", b"content-length: 1000", said)
    answer = say(start(calls=0).web_url, said)
    assert b"calls per second" in unquote_to_bytes(answer)
