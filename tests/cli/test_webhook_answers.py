"""`croupier webhooks` at an endpoint that answers anything: what is not taken is a dead letter."""

import asyncio
import base64
import gzip
import json
import re
import socket
import ssl
import struct
import threading
import time
from email.utils import formatdate

import pytest
from standardwebhooks import Webhook

from cli import posting, webhooks
from croupier.v1 import feed_pb2
from service.common import asking
from tests.support.certificates import Authority
from tests.support.own_thread import patch_here

OLD, NEW = ("whsec_" + base64.b64encode(bytes([n] * 32)).decode() for n in (1, 2))
LIMIT = "no answer within 15 seconds"
DISCONNECTED = "Server disconnected without sending a response"
RESET = "Connection reset|Broken pipe"
MEBIBYTE = bytes(1 << 20)


def http(status, *headers, body=b""):
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode() + body


class Peer:
    """An endpoint on a raw socket, in a thread; it answers as the test says and keeps requests."""

    def __init__(self):
        self.requests = []
        self.lets_pass = None  # Lets the time of the attempt pass.
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def listen(self, answer, security=None):
        """Starts an endpoint; returns its URL, and the future of the end of its connection."""

        async def start():
            over = asyncio.Event()

            async def serve(reader, writer):
                try:
                    await self._serve(reader, writer, answer)
                except OSError:
                    pass  # The client has closed.
                finally:
                    over.set()

            server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=security)
            return server.sockets[0].getsockname()[1], over

        port, over = asyncio.run_coroutine_threadsafe(start(), self.loop).result()
        url = f"http{'s' if security else ''}://127.0.0.1:{port}/hook"
        return url, lambda: asyncio.run_coroutine_threadsafe(over.wait(), self.loop).result()

    async def _serve(self, reader, writer, answer):
        if getattr(answer, "early", False):
            return await answer(self, reader, writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
        except asyncio.IncompleteReadError:
            return
        headers = {n.lower(): v for n, v in (line.split(": ", 1) for line in head[1:-2])}
        body = await reader.readexactly(int(headers["content-length"]))
        self.requests.append((head[0], headers, body))
        if callable(answer):
            await answer(self, reader, writer)
        else:
            writer.write(answer)
            await writer.drain()
        writer.close()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()


def early(script):
    script.early = True
    return script


def then_waits(start):
    """A script that sends a text; then the time of the attempt passes, and the client leaves."""

    async def script(peer, reader, writer):
        writer.write(start)
        await writer.drain()
        peer.lets_pass()
        await reader.read()

    return script


def on_and_on(start, part, passes):
    """A script that sends parts until the client leaves, some of them before the time is over."""

    async def script(peer, reader, writer):
        writer.write(start)
        for number in range(1 << 30):
            if number == 20 and passes:
                peer.lets_pass()
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)

    return script


def reset_after(text):
    async def script(peer, reader, writer):
        writer.write(text)
        await writer.drain()
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    return script


@early
async def answers_unasked(peer, reader, writer):
    writer.write(http("413 Too Large", "content-length: 0"))
    await writer.drain()
    await reader.read()


@early
async def closes_unasked(peer, reader, writer):
    writer.transport.abort()


@early
async def reads_nothing(peer, reader, writer):
    peer.lets_pass()
    await reader.read()


REFUSALS = [300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 408, 413, 425, 429, 431, 451]
REFUSALS += [500, 501, 502, 503, 504, 511, 599, 600, 999]
TAKEN = {
    **{str(status): http(f"{status} Fine") for status in (200, 201, 202, 204, 299)},
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\nfine",
    "no reason": b"HTTP/1.1 204\r\n\r\n",
    "lines end in LF": b"HTTP/1.1 204 No Content\n\n",
    "early hints": http("103 Early Hints", "link: </x>", body=http("204 No Content")),
    "100, asked or not": 3 * http("100 Continue") + http("204 No Content"),
    "a body that is shorter than told": http("200 OK", "content-length: 9", body=b"a"),
    "a body that is longer than told": http("200 OK", "content-length: 1", body=b"abcdef"),
    "a chunk without a size": http("200 OK", "transfer-encoding: chunked", body=b"zz\r\n"),
    "a bomb": http("200 OK", "content-encoding: gzip", body=gzip.compress(20 * MEBIBYTE)),
    "no gzip": http("200 OK", "content-encoding: gzip", body=b"rubbish"),
    "a cookie that is none": http("200 OK", "set-cookie: ;;=\x01;expires=x"),
    "a body without end": on_and_on(http("200 OK"), MEBIBYTE, False),
    "chunks without end": on_and_on(
        http("200 OK", "transfer-encoding: chunked"), b"1\r\nx\r\n", False
    ),
}
FAILED = {
    **{str(status): (f"^status {status}$", http(f"{status} So")) for status in REFUSALS},
    "a redirect": ("^status 302$", http("302 Found", "location: http://127.0.0.1:1/")),
    "a redirect to nowhere": ("^status 302$", http("302 Found", "location: http://[")),
    "another protocol": ("UPGRADE", http("101 Switching Protocols", "upgrade: x")),
    "an answer before the request": ("^status 413$", answers_unasked),
    "nothing": (DISCONNECTED, b""),
    "mail": ("illegal status line", b"220 mail.example.org ESMTP\r\n\r\n"),
    "SSH": ("illegal status line", b"SSH-2.0-OpenSSH_9.9\r\n\r\n"),
    "HTTP/2": ("illegal status|disconnected", b"\0\0\0\4\0\0\0\0\0" + b"\r\n\r\n"),
    "a record of TLS": ("illegal|disconnected", b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n"),
    "rubbish": ("illegal|too long|disconnected|Receive buffer", 200_000 * b"\xff"),
    "terminal codes": ("illegal", b"\x1b[2J\x1b]0;x\x07\r\n\r\n"),
    "lines": ("illegal|no response line", 500 * b"\r\n"),
    "half a status line": (DISCONNECTED, b"HTTP/1.1 20"),
    "a status of letters": ("illegal status line", b"HTTP/1.1 2OO OK\r\n\r\n"),
    "a status too low": ("[Ss]tatus|illegal", b"HTTP/1.1 099 OK\r\n\r\n"),
    "half a header": (DISCONNECTED, b"HTTP/1.1 200 OK\r\nx: "),
    "a header without a colon": ("illegal header line", http("200 OK", "x")),
    "a space in a name": ("illegal header line", http("200 OK", "a b: c")),
    "NUL in a header": ("illegal header line", http("200 OK", "a: b\0c")),
    "two lengths": ("conflicting", http("200 OK", "content-length: 1", "content-length: 2")),
    "a length below none": ("bad Content-Length", http("200 OK", "content-length: -1")),
    "a length of letters": ("bad Content-Length", http("200 OK", "content-length: many")),
    "an unknown coding": ("Transfer-Encoding", http("200 OK", "transfer-encoding: x")),
    "a long header": ("too long|Receive buffer", http("200 OK", "x: " + 200_000 * "y")),
    "headers without end": (
        "too long|Receive buffer",
        on_and_on(b"HTTP/1.1 200 OK\r\n", 100 * b"a: b\r\n", False),
    ),
    "reset at once": (RESET, closes_unasked),
    "reset after the request": (RESET, reset_after(b"")),
    "reset amid the headers": (RESET, reset_after(b"HTTP/1.1 200 OK\r\nx:")),
    "reads nothing": (LIMIT, reads_nothing),
    "silent": (LIMIT, then_waits(b"")),
    "half a status line, silent": (LIMIT, then_waits(b"HTTP/1.1 20")),
    "half a header, silent": (LIMIT, then_waits(b"HTTP/1.1 200 OK\r\nx: ")),
    "early hints, silent": (LIMIT, then_waits(http("103 Early Hints"))),
    "early hints without end": (LIMIT, on_and_on(b"", http("103 Early Hints"), True)),
    "a drip of a header": (LIMIT, on_and_on(b"HTTP/1.1 200 OK\r\nx: ", b"y", True)),
}


@pytest.fixture(scope="module")
def peer():
    peer = Peer()
    yield peer
    peer.close()


@pytest.fixture
def limit(peer, monkeypatch):
    """The deadline of an attempt passes when the endpoint says so, and never by itself."""

    def timeout(seconds):
        assert seconds == posting.TIMEOUT
        limit, loop = asyncio.Timeout(None), asyncio.get_running_loop()
        peer.lets_pass = lambda: loop.call_soon_threadsafe(limit.reschedule, 0)
        return limit

    patch_here(monkeypatch, asyncio, "timeout", timeout)


@pytest.fixture
def post(peer, limit, tmp_path):
    """Posts an update to a URL; returns the dead letters."""

    def post(url, attempts=1, prepare=lambda endpoint: None, pause=lambda seconds: None):
        peer.requests.clear()
        endpoint = posting.Endpoint(url, webhooks.read_secrets(tmp_path / "secret"))
        prepare(endpoint)
        response = feed_pb2.WatchMatchesResponse()
        response.updates.add(name="matches/x", version=1)
        folder = webhooks.Folder(tmp_path / "state")
        assert webhooks.deliver(response, endpoint, folder, attempts, pause)
        dead = tmp_path / "state" / "dead.jsonl"
        return [*map(json.loads, dead.read_text().splitlines())] if dead.exists() else []

    (tmp_path / "secret").write_text(f"{OLD}\n{NEW}\n")
    return post


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken_is_no_dead_letter(peer, post, name):
    url, over = peer.listen(TAKEN[name])
    assert post(url) == []
    over()
    [(line, headers, body)] = peer.requests
    assert line == "POST /hook HTTP/1.1"
    for secret in (OLD, NEW):  # Whichever of both the receiver knows.
        assert Webhook(secret).verify(body, headers)["type"] == "matches.changed"


@pytest.mark.parametrize("name", FAILED)
def test_what_is_not_taken_is_a_dead_letter_with_its_reason(peer, post, name, capsys):
    why, answer = FAILED[name]
    url, over = peer.listen(answer)
    [dead] = post(url)
    over()  # The client has left, so that no attempt goes on.
    assert re.search(why, dead["why"]), dead["why"]
    assert len(dead["why"]) <= asking.MAX_REASON
    assert dead["message"]["data"]["updates"] == [{"name": "matches/x", "version": "1"}]
    assert len(peer.requests) <= 1
    said = capsys.readouterr().err
    assert said == f"{url}: {dead['why']}; attempt 1 of 1\n" and said[:-1].isprintable()


def test_a_connection_that_cannot_be_made_has_its_reason(peer, post, monkeypatch):
    plain, closing, silent = (
        peer.listen(each)[0].replace("http:", "https:")
        for each in (answers_unasked, closes_unasked, reads_nothing)
    )
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    answered = threading.Event()

    def resolve(host, *others, **named):
        if "silent" in str(host):
            peer.lets_pass()
            answered.wait()
        elif "none" in str(host):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return real(host, *others, **named)

    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    try:
        for tried, why in (
            (f"http://127.0.0.1:{port}", "Connect call failed"),
            ("http://none.invalid", "no such name"),
            ("http://silent.invalid", LIMIT),
            (plain, "SSL"),
            (closing, "reset|EOF"),
            (silent, LIMIT),
        ):
            assert re.search(why, post(tried)[-1]["why"])
    finally:
        answered.set()


def test_only_a_certificate_that_is_trusted_is_posted_to(peer, post, tmp_path):
    authority = Authority(tmp_path, "hooks")
    for hosts, days, trusted, why in (
        ("IP:127.0.0.1", 1, False, "CERTIFICATE_VERIFY_FAILED"),
        ("IP:127.0.0.1", -1, True, "expired"),
        ("DNS:else.example", 1, True, "IP address mismatch"),
        ("IP:127.0.0.1", 1, True, ""),
    ):
        security = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        security.load_cert_chain(*authority.issue(hosts, days))
        url, _ = peer.listen(http("204 No Content"), security)

        def prepare(endpoint, trusted=trusted):
            if trusted:
                endpoint._trust.load_verify_locations(authority.cert)

        before = len(post("http://none.invalid:1")) if not why else 0
        letters = post(url, prepare=prepare)
        assert re.search(why, letters[-1]["why"]) if why else len(letters) == before


def test_it_waits_as_long_as_the_endpoint_asks_but_not_for_ever(peer, post):
    soon = formatdate(time.time() + 3600, usegmt=True)
    asked = ["120", soon, "9" * 5000, "-1", "soon", "Mon, 01 Jan 0001 00:00:00 +2300", ""]
    pauses = []
    for each in asked:
        url, _ = peer.listen(http("429 Slow Down", f"retry-after: {each}"))
        post(url, attempts=2, pause=pauses.append)
    assert pauses[:3] == [120, webhooks.MAX_PAUSE, webhooks.MAX_PAUSE]
    assert all(0.5 <= each <= 1 for each in pauses[3:])


def test_a_password_in_the_url_is_sent_and_never_shown(peer, post, capsys):
    url, _ = peer.listen(http("500 Wrong"))
    [dead] = post(url.replace("//", "//ada:p%40ss@") + "?key=hidden#part")
    [(line, headers, _)] = peer.requests
    assert line == "POST /hook?key=hidden HTTP/1.1"
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == b"ada:p@ss"
    assert capsys.readouterr().err == f"{url}: status 500; attempt 1 of 1\n"
    assert not re.search("ada|p@ss|p%40ss|hidden", json.dumps(dead))
