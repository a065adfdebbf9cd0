"""The attacks on gRPC's own services, and by requests and streams that cost more than others."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from croupier.v1 import feed_pb2, feed_pb2_grpc, match_pb2, match_pb2_grpc, review_pb2
from lab.overload.attacker import Attacker
from lab.overload.places import Metadata, channel
from service.listening.connections import MAX_REQUEST_BYTES
from wire.encoding import field

CONNECTIONS = 60
STREAMS = 15  # On each of them.
UNREAD = 300
AT_ONCE = 32
PART_BYTES, PART_CONNECTIONS = 8_000, 4
MATCH_SERVICE = "croupier.v1.MatchService"
SUGGEST = "/croupier.v1.HintService/SuggestAction"
WATCH = "/grpc.health.v1.Health/Watch"
LIST = "/croupier.v1.CatalogService/ListGames"
REVIEW = "/croupier.v1.ReviewService/ReviewMatch"
_ODD = range(1, 200, 2)  # The numbers of the streams of a connection.
_WINDOW = struct.pack(">HI", 4, 0)  # The setting by which a stream takes nothing at first.
_SEARCH, _VIEW, _LEGAL_ACTIONS = 1, 2, 5


async def health_watchers(attacker: Attacker) -> None:
    """Watches the health of services that do not exist, by the longest names that there can be."""
    request = health_pb2.HealthCheckRequest(service="x" * (MAX_REQUEST_BYTES - 10))
    short = health_pb2.HealthCheckRequest(service="x" * 200)
    async with contextlib.AsyncExitStack() as stack:
        channels = [
            await stack.enter_async_context(channel(attacker.near)) for _ in range(CONNECTIONS)
        ]
        turn = iter(range(1 << 60))

        async def watch() -> None:
            number = next(turn)
            stub: Any = health_pb2_grpc.HealthStub(channels[number % CONNECTIONS])
            asked = request if number % 2 else short
            await _follow(attacker, stub.Watch(asked, metadata=attacker.metadata))

        await attacker.until_end(watch, CONNECTIONS * STREAMS)


async def _follow(attacker: Attacker, responses: Any) -> None:
    try:
        async for _ in responses:
            attacker.outcomes["read"] += 1
    except grpc.RpcError:
        # What is raised may be that no further request can be sent.
        status = await responses.code()
        attacker.outcomes[status.name] += 1
        await asyncio.sleep(0.02)


async def unread_streams(attacker: Attacker) -> None:
    """Opens streams, each on a connection of its own, and takes nothing of what comes."""
    said = UNREADING + request_on(1, WATCH, attacker.address, metadata=attacker.metadata)
    await attacker.keep_connections(UNREAD, "streams", said)


async def unread_responses(attacker: Attacker) -> None:
    """Makes short calls, many on each connection, and takes nothing of what comes."""
    calls = (request_on(each, LIST, attacker.address, b"", attacker.metadata) for each in _ODD)
    await attacker.keep_connections(CONNECTIONS, "connections", UNREADING + b"".join(calls))


async def unsent_requests(attacker: Attacker) -> None:
    """Begins calls, many on each connection, whose requests do not come."""
    calls = (
        request_on(each, LIST, attacker.address, b"", attacker.metadata, MAX_REQUEST_BYTES - 10)
        for each in _ODD
    )
    await attacker.keep_connections(CONNECTIONS, "connections", UNREADING + b"".join(calls))


async def partial_requests(attacker: Attacker) -> None:
    """Sends most of a request on as many streams as it can, faster than they can be ended."""
    part = bytes(PART_BYTES)

    async def send() -> None:
        async with attacker.connection(attacker.address) as (reader, writer):
            writer.write(READING)
            ignoring = asyncio.create_task(_ignore(reader))
            try:
                for stream in range(1, 1 << 30, 2):
                    writer.write(
                        request_on(
                            stream, LIST, attacker.address, part, attacker.metadata, unsent=1
                        )
                    )
                    await writer.drain()
                    attacker.outcomes["parts"] += 1
            finally:
                ignoring.cancel()

    await attacker.until_end(send, PART_CONNECTIONS)


async def _ignore(reader: asyncio.StreamReader) -> None:
    while await reader.read(1 << 20):
        pass


async def unread_reviews(attacker: Attacker) -> None:
    """Asks for reviews, each on a connection of its own, and takes nothing of what comes."""
    async with channel(attacker.near) as own:
        created = await attacker.create(own, ruleset={"skystones": {}})
        assert created is not None, attacker.outcomes
        bearer = attacker.bearer(created.seat_tokens[0].token)
        resign = match_pb2.ResignMatchRequest(name=created.name)
        await match_pb2_grpc.MatchServiceStub(own).ResignMatch(resign, metadata=bearer)
    asked = review_pb2.ReviewMatchRequest(match_name=created.name).SerializeToString()
    said = UNREADING + request_on(1, REVIEW, attacker.address, asked, bearer)
    await attacker.keep_connections(CONNECTIONS, "reviews", said)


async def unknown_methods(attacker: Attacker) -> None:
    """Calls a method that does not exist as often as it can."""
    async with channel(attacker.near) as own:
        cheat: Any = own.unary_unary("/croupier.v1.MatchService/Cheat")
        await attacker.until_end(
            lambda: attacker.call(cheat(b"", metadata=attacker.metadata, timeout=30)), AT_ONCE
        )


async def feeds(attacker: Attacker) -> None:
    """Lists as many matches as it may have, again and again."""
    async with channel(attacker.near) as own:
        while await attacker.create(own, ruleset={"skystones": {}}) is not None:
            pass
        stub = feed_pb2_grpc.FeedServiceStub(own)

        async def follow() -> None:
            stream = stub.WatchMatches(feed_pb2.WatchMatchesRequest(), metadata=attacker.metadata)
            await attacker.call(stream.read())
            stream.cancel()

        await attacker.until_end(follow, AT_ONCE)


async def reflections(attacker: Attacker) -> None:
    """Asks for all schemas, again and again, on streams that stay open."""
    asked = reflection_pb2.ServerReflectionRequest(file_containing_symbol=MATCH_SERVICE)

    async def ask() -> AsyncIterator[reflection_pb2.ServerReflectionRequest]:
        while True:
            yield asked

    async with channel(attacker.near) as own:
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(own)  # type: ignore[arg-type]

        async def converse() -> None:
            await _follow(attacker, stub.ServerReflectionInfo(ask(), metadata=attacker.metadata))

        await attacker.until_end(converse, AT_ONCE)


async def wide_requests(attacker: Attacker) -> None:
    """Asks for hints with views of as many empty actions as a request has room for."""
    view = field(_LEGAL_ACTIONS, b"") * (250_000 // 2)
    await _suggest(attacker, field(_SEARCH, field(_VIEW, view)), grpc.Compression.NoCompression)


async def compressed_requests(attacker: Attacker) -> None:
    """Sends requests that unpack to more than there may be."""
    await _suggest(attacker, bytes(2 << 20), grpc.Compression.Gzip)


async def _suggest(attacker: Attacker, request: bytes, compression: grpc.Compression) -> None:
    options = (("grpc.use_local_subchannel_pool", 1),)
    async with grpc.aio.insecure_channel(attacker.near, options, compression=compression) as own:
        suggest: Any = own.unary_unary(SUGGEST)
        await attacker.until_end(
            lambda: attacker.call(suggest(request, metadata=attacker.metadata, timeout=30)),
            AT_ONCE,
        )


HEAD = struct.Struct(">BHBBI")  # Of a frame: its length in 24 bits, type, flags and stream.


def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    """A frame of HTTP/2."""
    return HEAD.pack(len(body) >> 16, len(body) & 0xFFFF, kind, flags, stream) + body


def text(text: str) -> bytes:
    """A text, as a header has it."""
    data, length, more = text.encode(), b"", len(text) - 127
    while more >= 0:
        length += bytes([more & 127 | (128 if more > 127 else 0)])
        more = (more >> 7) or -1
    return bytes([min(len(data), 127)]) + length + data


# What opens a connection of HTTP/2.
READING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"")
# The same, where the streams have no room for a response.
UNREADING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, _WINDOW)


def request_on(
    stream: int,
    path: str,
    authority: str,
    request: bytes = b"",
    metadata: Metadata = (),
    unsent: int = 0,
) -> bytes:
    """A call of gRPC on a stream of HTTP/2, whose number is odd; so many bytes of it may lack."""
    headers = b"\x83\x86\x04" + text(path) + b"\x01" + text(authority)
    headers += b"\x0f\x10" + text("application/grpc") + b"\x00" + text("te") + text("trailers")
    for name, value in metadata:
        headers += b"\x00" + text(name) + text(value)
    data = struct.pack(">BI", 0, len(request) + unsent) + request
    return frame(1, 4, stream, headers) + frame(0, not unsent, stream, data)


STREAM_ATTACKS = (
    health_watchers,
    unread_streams,
    unread_responses,
    unsent_requests,
    partial_requests,
    unread_reviews,
    unknown_methods,
    feeds,
    reflections,
    wide_requests,
    compressed_requests,
)
