"""The server under test of Connect's conformance suite: `make conformance` runs it.

The suite calls a service of its own, over the parts of the gateway that know no service of ours:
its connections, its application, and the ways in which it reads and writes messages.
"""

import asyncio
import os
import socket
import struct
import sys
import tempfile
from contextvars import ContextVar
from pathlib import Path
from urllib.parse import parse_qs

import uvloop
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError, ErrorDetail
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.server import ConnectASGIApplication, Endpoint
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool
from google.protobuf.message_factory import GetMessageClass
from protobuf.wkt import Any as AnyDetail

from service.common.event_loop import finish_now
from service.common.tasks import Tasks
from service.gateway.application import WebApplication
from service.gateway.origins import Origins
from service.gateway.rpc import CODES, BinaryCodec, Gzip, JsonCodec, connect_error, encoder
from service.gateway.site import Site
from service.listening.connections import accept
from service.listening.http import Connections
from service.listening.tls import Certificate, Files
from wire.errors import Refusal

PACKAGE = "connectrpc.conformance.v1"
MOST, IDLE = 1000, 60.0

_query = ContextVar("query", default=b"")


def load_schema(path):
    """Adds the schemas of the suite to those that are known."""
    found = descriptor_pb2.FileDescriptorSet.FromString(Path(path).read_bytes())
    pool = descriptor_pool.Default()
    for file in found.file:
        if file.package == PACKAGE:
            pool.AddSerializedFile(file.SerializeToString())


def message_class(name):
    return GetMessageClass(descriptor_pool.Default().FindMessageTypeByName(f"{PACKAGE}.{name}"))


class Unpacked(Gzip):
    """As the gateway packs; it unpacks at once, as no caller pays here for what comes."""

    def decompress(self, data, read_max_bytes=None):
        return GzipCompression.decompress(self, data, read_max_bytes)


class Suite(ConnectASGIApplication):
    """The suite's service."""

    path = ""

    def __init__(self, limit):
        service = descriptor_pool.Default().FindServiceByName(f"{PACKAGE}.ConformanceService")
        answers = {"Unary": unary, "IdempotentUnary": unary, "ServerStream": server_stream}
        endpoints = {
            f"/{service.full_name}/{method.name}": endpoint(
                method, answers.get(method.name, unimplemented)
            )
            for method in service.methods
            if not method.client_streaming
        }
        super().__init__(
            service=None,
            endpoints=lambda _: endpoints,
            read_max_bytes=limit or None,
            compressions=[Unpacked(1)],
            codecs=[BinaryCodec(), JsonCodec()],
        )

    async def __call__(self, scope, receive, send):
        _query.set(scope["query_string"])
        await super().__call__(scope, receive, send)


def endpoint(method, answer):
    output = GetMessageClass(method.output_type)
    safe = method.GetOptions().idempotency_level == descriptor_pb2.MethodOptions.NO_SIDE_EFFECTS
    info = MethodInfo(
        name=method.name,
        service_name=method.containing_service.full_name,
        input=GetMessageClass(method.input_type),
        output=output,
        idempotency_level=IdempotencyLevel.NO_SIDE_EFFECTS if safe else IdempotencyLevel.UNKNOWN,
        stream_type=StreamType.SERVER_STREAM if method.server_streaming else StreamType.UNARY,
    )
    if not method.server_streaming:

        async def only(read, context):
            return written(read, await answer(parse(read), context, output))

        return Endpoint.unary(method=info, function=only)

    async def each(read, context):
        async for response in answer(parse(read), context, output):
            yield written(read, response)

    return Endpoint.server_stream(method=info, function=each)


def written(read, response):
    encode = encoder(read, type(response))
    return response if encode is None else finish_now(encode(response))


def parse(read):
    try:
        return read()
    except Refusal as refusal:
        raise connect_error(refusal) from None


async def unimplemented(request, context, output):
    from connectrpc.code import Code

    raise ConnectError(Code.UNIMPLEMENTED, "not implemented")


async def unary(request, context, output):
    definition = request.response_definition
    send_metadata(definition, context)
    info = info_of(request, context)
    await asyncio.sleep(definition.response_delay_ms / 1000)
    if definition.HasField("error"):
        raise error_of(definition.error, info)
    return output(payload={"data": definition.response_data, "request_info": info})


async def server_stream(request, context, output):
    definition = request.response_definition
    send_metadata(definition, context)
    info = info_of(request, context)
    for number, data in enumerate(definition.response_data):
        await asyncio.sleep(definition.response_delay_ms / 1000)
        yield output(payload={"data": data, "request_info": None if number else info})
    if definition.HasField("error"):
        raise error_of(definition.error, None if definition.response_data else info)


def send_metadata(definition, context):
    for target, headers in (
        (context.response_headers, definition.response_headers),
        (context.response_trailers, definition.response_trailers),
    ):
        for header in headers:
            for value in header.value:
                target.add(header.name, value)


def info_of(request, context):
    header = message_class("Header")
    values = {}
    for name, value in context.request_headers.allitems():
        values.setdefault(name, []).append(value)
    sent = any_pb2.Any()
    sent.Pack(request)
    info = message_class("ConformancePayload.RequestInfo")(
        request_headers=[header(name=name, value=each) for name, each in values.items()],
        requests=[sent],
    )
    if context.timeout_ms is not None:
        info.timeout_ms = round(context.timeout_ms)
    if context.http_method == "GET":
        for name, each in parse_qs(_query.get().decode(), keep_blank_values=True).items():
            info.connect_get_info.query_params.add(name=name, value=each)
    return info


def error_of(error, info):
    details = list(error.details)
    if info is not None:
        packed = any_pb2.Any()
        packed.Pack(info)
        details.append(packed)
    sent = [ErrorDetail(AnyDetail(type_url=each.type_url, value=each.value)) for each in details]
    return ConnectError(CODES[error.code], error.message, sent)


def context_of(asked, folder):
    """The TLS that the suite asks for; None: in the clear."""
    if not asked.use_tls:
        return None
    given = {"cert": asked.server_creds.cert, "key": asked.server_creds.key}
    if asked.client_tls_cert:
        given["client"] = asked.client_tls_cert
    for name, data in given.items():
        folder.joinpath(name).write_bytes(data)
    return Certificate(Files(*(folder / name for name in given))).context


async def admit(call):
    """Lets everybody do everything."""


async def serve(asked, context):
    origins = Origins((), {"localhost"})
    suite = Suite(asked.message_receive_limit)
    application = WebApplication(origins, suite, Site(), admit, lambda status: None, f"/{PACKAGE}.")
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    response = message_class("ServerCompatResponse")(
        host="127.0.0.1", port=listening.getsockname()[1]
    )
    if context is not None:
        response.pem_cert = asked.server_creds.cert
    data = response.SerializeToString()
    os.write(1, struct.pack(">I", len(data)) + data)
    await accept(listening, Connections(application, MOST, IDLE, context, Tasks()).admit)


def main():
    load_schema(sys.argv[1])
    (size,) = struct.unpack(">I", sys.stdin.buffer.read(4))
    asked = message_class("ServerCompatRequest").FromString(sys.stdin.buffer.read(size))
    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(serve(asked, context_of(asked, Path(folder))))


if __name__ == "__main__":
    main()
