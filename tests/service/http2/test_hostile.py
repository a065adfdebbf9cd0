"""Peers that break the rules of HTTP/2 and gRPC, or use them to do harm: frames written by hand."""

import asyncio
import gzip
import random
import struct
import time

import pytest

from service import connections
from service.connections import MAX_METADATA_BYTES, MAX_REQUEST_BYTES, ConnectionLimits
from tests.support.http2 import (
    ACK,
    CALL,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    PING,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    TIMEOUT,
    WINDOW_UPDATE,
    RawClient,
    block,
    call,
    changed,
    frame,
    message,
    read_status,
    setting,
)

pytest.importorskip("service.http2.session")

from service.http2 import call as calls_of_http2
from service.http2 import connection as connections_of_http2

OK, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED = 0, 3, 8, 12
DEADLINE_EXCEEDED = 4
PROTOCOL_ERROR, FLOW_CONTROL, STREAM_CLOSED, COMPRESSION, CALM = -1, -3, -5, -9, 11
WATCH = "/croupier.v1.MatchService/WatchMatch"


@pytest.fixture(scope="module")
def hosted(servers):
    """A server on nghttp2."""
    return servers.start(grpc="nghttp2", connections=ConnectionLimits(streams=50))


@pytest.fixture
def raw(hosted, servers):
    """Opens connections, and checks afterwards that the server is well and keeps nothing."""
    server, address = hosted
    opened = []

    def connect(**options):
        opened.append(RawClient(address, **options))
        return opened[-1]

    yield connect
    for each in opened:
        each.socket.close()
    with RawClient(address) as other:
        other.send(call(1))
        assert other.status(1) == OK
    until = time.monotonic() + TIMEOUT
    while server._door.connections or server._door.calls:
        assert time.monotonic() < until, (server._door.connections, server._door.calls)
        servers.run(asyncio.sleep(0))  # A turn of the server's loop.


def alive(client, stream=99):
    client.send(call(stream))
    return client.status(stream) == OK


def test_a_call_is_answered(raw):
    assert alive(raw())


@pytest.mark.parametrize(
    "preface", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"PRI * X"]
)
def test_another_protocol_is_hung_up_on(raw, preface):
    client = raw(preface=preface + bytes(24))
    list(client.frames())


# Headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (changed(path=None), PROTOCOL_ERROR),
        ([*CALL, ("X-Upper", "case")], PROTOCOL_ERROR),
        ([*CALL, ("connection", "close")], PROTOCOL_ERROR),
        ([*CALL, ("x", "a\nb")], PROTOCOL_ERROR),
        (changed(path="/nobody/Nothing"), UNIMPLEMENTED),
        (changed(te=None), INVALID_ARGUMENT),
        ([*CALL, ("grpc-timeout", "soon")], INVALID_ARGUMENT),
        ([*CALL, ("grpc-timeout", "123456789S")], INVALID_ARGUMENT),
        ([*CALL, ("grpc-timeout", "0n")], DEADLINE_EXCEEDED),
        ([*CALL, ("grpc-encoding", "snappy")], UNIMPLEMENTED),
        ([*CALL, ("grpc-timeout", "10S"), ("grpc-encoding", "identity")], OK),
        ([*CALL, ("some-bin", "AQI,AwQ=")], OK),
        ([*CALL, ("some-bin", "A")], INVALID_ARGUMENT),
        (changed(content_type="application/grpc+proto"), OK),
    ],
)
def test_headers(raw, headers, status):
    client = raw()
    client.send(call(1, headers))
    assert client.status(1) == status
    assert alive(client)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (changed(method="GET"), b"405"),
        (changed(content_type="application/json"), b"415"),
        (changed(content_type="application/grpc-web"), b"415"),
        (changed(content_type=None), b"415"),
    ],
)
def test_what_is_not_grpc_gets_a_status_of_http(raw, headers, status):
    client = raw()
    client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block(headers)))
    found = client.wait(HEADERS, 1)
    assert found.flags & END_STREAM
    assert status in found.body
    assert alive(client)


def test_headers_that_are_too_large(raw):
    client = raw()
    client.send(call(1, [*CALL, ("x", "a" * MAX_METADATA_BYTES)]))
    assert client.status(1) == RESOURCE_EXHAUSTED
    assert alive(client)


def test_headers_without_end(raw):
    client = raw()
    client.send(frame(HEADERS, 0, 1, block(CALL)))
    filler = frame(CONTINUATION, 0, 1, block([("x", "a" * 16000)]))
    while client.send(filler):
        pass
    client.goaway()


def test_a_header_of_the_table_that_is_repeated_without_end(raw):
    # One byte stands for four kilobytes.
    client = raw()
    entry = b"\x40" + block([("x", "a" * 4000)])[1:]
    client.send(frame(HEADERS, END_HEADERS, 1, block(CALL) + entry + b"\xbe" * 10_000))
    assert client.status(1) < 0
    assert alive(client)


def test_headers_that_cannot_be_read(raw):
    client = raw()
    client.send(frame(HEADERS, END_HEADERS, 1, b"\xff" * 20))
    assert client.goaway()[0] == -COMPRESSION


# Messages


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", UNIMPLEMENTED),
        (message() * 2, UNIMPLEMENTED),
        (message()[:3], INVALID_ARGUMENT),
        (message(b"abc")[:-1], INVALID_ARGUMENT),
        (message() + b"\0", INVALID_ARGUMENT),
        (message(compressed=2), INVALID_ARGUMENT),
        (message(b"abc", compressed=1), INVALID_ARGUMENT),
        (struct.pack(">BI", 0, MAX_REQUEST_BYTES + 1), RESOURCE_EXHAUSTED),
        (struct.pack(">BI", 0, 0xFFFFFFFF), RESOURCE_EXHAUSTED),
    ],
)
def test_messages(raw, body, status):
    client = raw()
    client.send(call(1, body=body))
    assert client.status(1) == status
    assert alive(client)


@pytest.mark.parametrize("body", [message() * 2, struct.pack(">BI", 0, 0xFFFFFFFF)])
def test_a_wrong_message_is_answered_before_the_request_ends(raw, body):
    client = raw()
    client.send(call(1, body=body, flags=0))
    assert client.status(1) > 0
    # The rest is not wanted.
    assert client.wait(RST_STREAM, 1).body == bytes(4)
    assert alive(client)


@pytest.mark.parametrize(
    ("plain", "status"),
    [(b"", OK), (bytes(MAX_REQUEST_BYTES + 1), RESOURCE_EXHAUSTED), (b"\xff", INVALID_ARGUMENT)],
)
def test_compressed_messages(raw, plain, status):
    client = raw()
    headers = [*CALL, ("grpc-encoding", "gzip")]
    client.send(call(1, headers, message(gzip.compress(plain), compressed=1)))
    assert client.status(1) == status
    client.send(call(3, headers, message(gzip.compress(plain)[:-9], compressed=1)))
    assert client.status(3) in (INVALID_ARGUMENT, RESOURCE_EXHAUSTED)
    assert alive(client)


def test_a_message_that_comes_byte_by_byte(raw):
    client = raw()
    client.send(frame(HEADERS, END_HEADERS, 1, block(CALL)))
    # An unknown field, which the server leaves out.
    data = message(b"\x82\x7d\x03abc")
    for at in range(len(data)):
        client.send(frame(DATA, 0, 1, data[at : at + 1]))
    client.send(frame(DATA, END_STREAM, 1))
    assert client.status(1) == OK


def test_requests_that_never_end_do_not_fill_the_memory(raw, monkeypatch):
    monkeypatch.setattr(connections_of_http2, "MAX_UNREAD_BYTES", 100_000)
    client = raw()
    part = message(bytes(200_000))[:16_000]
    for stream in range(1, 21, 2):
        client.send(call(stream, body=part, flags=0))
    # The seventh was too much, and so is each later one.
    statuses, ended = {}, set()
    for found in client.frames():
        if found.kind == HEADERS:
            statuses[found.stream] = read_status(found.body)
        elif found.kind == RST_STREAM:
            ended.add(found.stream)
            if len(ended) == 4:
                break
    assert statuses == dict.fromkeys((13, 15, 17, 19), RESOURCE_EXHAUSTED)
    assert alive(client)


# Streams and windows


def test_data_for_no_stream_or_one_that_is_over(raw):
    client = raw()
    client.send(call(1))
    assert client.status(1) == OK
    client.send(frame(DATA, END_STREAM, 1, message()))
    found = client.goaway() if not alive(client) else (-STREAM_CLOSED, b"")
    assert found[0] in (-STREAM_CLOSED, -PROTOCOL_ERROR)
    other = raw()
    other.send(frame(DATA, 0, 7, message()))
    assert other.goaway()[0] == -PROTOCOL_ERROR


@pytest.mark.parametrize("stream", [0, 2])
def test_a_stream_of_a_wrong_number(raw, stream):
    client = raw()
    client.send(call(stream))
    assert client.goaway()[0] == -PROTOCOL_ERROR


def test_a_window_that_overflows(raw):
    client = raw()
    client.send(frame(WINDOW_UPDATE, body=struct.pack(">I", 0x7FFFFFFF)))
    assert client.goaway()[0] == -FLOW_CONTROL


def test_more_data_than_the_window_allows(raw):
    client = raw()
    client.send(frame(HEADERS, END_HEADERS, 1, block(CALL)))
    part = frame(DATA, 0, 1, bytes(16_000))
    client.send(frame(DATA, 0, 1, struct.pack(">BI", 0, MAX_REQUEST_BYTES)))
    for _ in range(400):
        if not client.send(part):
            break
    ends = [each.body for each in client.until(GOAWAY, RST_STREAM)]
    assert -FLOW_CONTROL in ends[-1]


@pytest.mark.parametrize("knows", [False, True])
def test_streams_beyond_the_limit(raw, knows):
    client = raw()
    if knows:
        client.wait(SETTINGS, ack=True)
        client.send(frame(SETTINGS, ACK))
    for stream in range(1, 103, 2):
        client.send(frame(HEADERS, END_HEADERS, stream, block(CALL)))
    if knows:
        assert client.goaway()[0] == -PROTOCOL_ERROR
        return
    # The code REFUSED_STREAM: the client may repeat it.
    assert client.status(101) == -7
    client.send(b"".join(frame(DATA, END_STREAM, at, message()) for at in range(1, 101, 2)))
    assert client.status(99) == OK


def test_a_reader_that_takes_nothing_is_given_up(raw, hosted, monkeypatch):
    monkeypatch.setattr(calls_of_http2, "STALLED_SECONDS", 0.2)
    client = raw(settings=struct.pack(">HI", INITIAL_WINDOW_SIZE, 0))
    client.send(call(1))
    assert client.status(1) == -8
    # It is the stream that is given up, not the connection.
    client.send(setting(INITIAL_WINDOW_SIZE, 1 << 20))
    assert alive(client)


def test_a_slow_reader_gets_everything(raw):
    client = raw(settings=struct.pack(">HI", INITIAL_WINDOW_SIZE, 0))
    client.send(call(1))
    received = 0
    client.wait(HEADERS, 1)
    while True:
        client.send(frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 500)))
        found = next(client.frames())
        if found.kind == HEADERS:
            break
        if found.kind == DATA:
            assert len(found.body) <= 500
            received += len(found.body)
    assert received > 500


def test_a_connection_that_takes_nothing_is_cut(raw, hosted, monkeypatch):
    monkeypatch.setattr(connections_of_http2, "STALLED_SECONDS", 0.2)
    client = raw(settings=struct.pack(">HI", INITIAL_WINDOW_SIZE, 0x7FFFFFFF))
    # It asks again and again, and never reads.
    stream = 1
    while client.send(call(stream)) and stream < 200_001:
        stream += 2
    assert stream < 200_001


# Floods


def test_pings_in_order_are_answered(raw):
    client = raw()
    client.send(frame(PING, body=b"01234567"))
    assert client.wait(PING, ack=True).body == b"01234567"
    assert alive(client)


def test_too_many_pings(raw):
    client = raw()
    client.send(frame(PING, body=bytes(8)) * 4)
    assert client.goaway() == (CALM, b"too_many_pings")


def test_pings_between_answers_are_no_flood(raw):
    client = raw()
    for stream in range(1, 41, 2):
        client.send(frame(PING, body=bytes(8)) + call(stream))
        assert client.status(stream) == OK


@pytest.mark.parametrize(
    "useless",
    [
        setting(INITIAL_WINDOW_SIZE, 65535),
        frame(DATA, 0, 1),
    ],
    ids=["settings", "empty"],
)
def test_useless_frames(raw, useless):
    client = raw()
    client.send(frame(HEADERS, END_HEADERS, 1, block(CALL)))
    client.send(useless * 100)
    client.send(frame(DATA, END_STREAM, 1, message()))
    assert client.status(1) == OK
    client.send(frame(HEADERS, END_HEADERS, 3, block(CALL)))
    useless = useless.replace(struct.pack(">I", 1), struct.pack(">I", 3), 1)
    for _ in range(100):
        if not client.send(useless * 100):
            break
    found = client.goaway()
    assert found is None or found[0] in (CALM, -PROTOCOL_ERROR)


def test_calls_that_are_reset_at_once(raw):
    client = raw()
    stream = 1
    while stream < 100_000:
        sent = b""
        for _ in range(50):
            sent += call(stream, flags=0) + frame(RST_STREAM, 0, stream, bytes([0, 0, 0, 8]))
            stream += 2
        if not client.send(sent):
            break
    assert stream < 100_000
    client.goaway()


def test_many_calls_at_once_do_not_hold_up_others(raw, hosted):
    flood, other = raw(), raw()
    # Far more than one turn of the event loop takes.
    flood.send(b"".join(call(stream) for stream in range(1, 100, 2)))
    assert alive(other)
    assert flood.status(99) == OK


# Time


def test_a_deadline_is_kept_while_the_request_comes_in(raw):
    client = raw()
    client.send(frame(HEADERS, END_HEADERS, 1, block([*CALL, ("grpc-timeout", "100m")])))
    assert client.status(1) == DEADLINE_EXCEEDED
    assert alive(client)


def test_a_request_must_come_to_its_end(raw, monkeypatch):
    monkeypatch.setattr(calls_of_http2, "REQUEST_SECONDS", 0.1)
    client = raw()
    client.send(call(1, body=message(b"abc")[:-1], flags=0))
    assert client.status(1) == DEADLINE_EXCEEDED
    assert alive(client)


def test_a_peer_that_does_not_answer_is_cut(servers, monkeypatch):
    monkeypatch.setattr(connections, "KEEPALIVE_SECONDS", 0.1)
    monkeypatch.setattr(connections, "KEEPALIVE_TIMEOUT_SECONDS", 0.2)
    server, address = servers.start(grpc="nghttp2")
    with RawClient(address) as silent, RawClient(address) as answering:
        for _ in range(3):
            assert answering.wait(PING)
            answering.send(frame(PING, ACK, 0, bytes(8)))
        # This ends when the server has cut the connection.
        assert PING in [each.kind for each in silent.frames()]
        assert alive(answering)
    servers.stop(server)


def test_frames_at_random(raw, hosted):
    seed = 1
    print(f"seed {seed}")
    rng = random.Random(seed)
    valid = call(1) + frame(PING, body=bytes(8)) + setting(INITIAL_WINDOW_SIZE, 1000) + call(3)
    for _ in range(150):
        data = bytearray(valid)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        client = raw()
        client.send(bytes(data[: rng.randrange(1, len(data))]))
        client.socket.close()


def test_the_preface_is_needed(raw):
    client = raw(preface=PREFACE[:-1] + b"x")
    list(client.frames())
