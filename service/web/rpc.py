"""Our services over Connect, gRPC-Web and JSON, answered by the servicers that answer gRPC."""

import zlib
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from typing import Any

from connectrpc.code import Code
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError, ErrorDetail
from connectrpc.interceptor import MetadataInterceptor
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message_factory import GetMessageClass
from google.rpc import code_pb2
from protobuf.wkt import Any as AnyDetail

from service.api.calls import Calls, Method, Response, Service
from service.call import REQUEST_ID_HEADER, Call, current_call
from service.connections import MAX_REQUEST_BYTES
from service.errors import Refusal
from service.web.asgi import peer_of
from service.web.messages import BinaryCodec, JsonCodec, Reader, encoder, is_json

GZIP_LEVEL = 1  # Of the higher levels, none makes a view much smaller.
MAX_UNPACKED_BYTES = 128 << 10  # Ten times the largest view as JSON.


class RpcApplication(ConnectASGIApplication[None]):
    """The services as an ASGI application."""

    def __init__(self, calls: Calls, services: Iterable[Service]) -> None:
        endpoints: dict[str, Any] = {
            method.path: _endpoint(calls, method)
            for service in services
            for method in service.methods()
        }
        super().__init__(
            service=None,
            endpoints=lambda _: endpoints,
            interceptors=[_Forgetting(), _Admission(calls)],
            read_max_bytes=MAX_REQUEST_BYTES,
            compressions=[Gzip(GZIP_LEVEL, MAX_UNPACKED_BYTES)],
            codecs=[BinaryCodec(), JsonCodec()],
        )

    @property
    def path(self) -> str:
        """The prefix of the paths of all services."""
        return ""


class Gzip(GzipCompression):
    """The library's, but a request is in one piece, and unpacks to less than others may have.

    To unpack takes longer than all else that is done before a request is read; the time for many
    small pieces one after the other grows with the square of their number.
    """

    def __init__(self, level: int, most: int | None = None) -> None:
        """Requests may unpack to `most` bytes; None: to as many as the library says."""
        super().__init__(level)
        self._most = most

    def decompress(
        self, data: bytes | bytearray | memoryview, read_max_bytes: int | None = None
    ) -> bytes:
        most = self._most or read_max_bytes or 0  # 0: no limit.
        unpacking = zlib.decompressobj(wbits=31)
        unpacked = unpacking.decompress(data, most and most + 1)
        if most and len(unpacked) > most:
            raise ConnectError(Code.RESOURCE_EXHAUSTED, f"what is packed may have {most} bytes")
        if not unpacking.eof or unpacking.unused_data:
            raise ValueError("what is packed must be complete and in one piece")
        return unpacked


class _Forgetting(MetadataInterceptor[None]):
    """Forgets where an error came from: the library holds it in a frame that it refers to."""

    async def on_start(self, ctx: "RequestContext[Any, Any]") -> None:
        """Nothing is needed."""

    async def on_end(
        self, token: None, ctx: "RequestContext[Any, Any]", error: Exception | None
    ) -> None:
        if isinstance(error, ConnectError):
            error.__traceback__ = error.__context__ = error.__cause__ = None


class _Admission(MetadataInterceptor[None]):
    """Admits calls before the library reads, unpacks and parses their requests."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def on_start(self, ctx: "RequestContext[Any, Any]") -> None:
        headers = ctx.request_headers
        path = f"/{ctx.method.service_name}/{ctx.method.name}"
        call = Call(
            path,
            _protocol(headers.get("content-type", "")),
            headers.allitems(),
            peer_of((ctx.client_address or "").rpartition(":")[0]),
            lambda: None if ctx.timeout_ms is None else ctx.timeout_ms / 1000,
        )
        ctx.response_headers[REQUEST_ID_HEADER] = call.request_id
        try:
            await self._calls.admit(call)
        except Refusal as refusal:
            raise connect_error(refusal) from None


def _protocol(content_type: str) -> str:
    # As the metrics name it. JSON is also a form of Connect, but not the one of its libraries.
    if content_type.startswith("application/grpc-web"):
        return "grpc-web"
    return "json" if "json" in content_type else "connect"


def _endpoint(calls: Calls, method: Method) -> "Endpoint[Any, Any]":
    descriptor = method.descriptor
    output = GetMessageClass(descriptor.output_type)
    safe = descriptor.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS
    info = MethodInfo(
        name=descriptor.name,
        service_name=descriptor.containing_service.full_name,
        input=GetMessageClass(descriptor.input_type),
        output=output,
        idempotency_level=IdempotencyLevel.NO_SIDE_EFFECTS if safe else IdempotencyLevel.UNKNOWN,
        stream_type=StreamType.SERVER_STREAM if method.streams else StreamType.UNARY,
    )

    async def answer(read: Reader, request: "RequestContext[Any, Any]") -> Response:
        try:
            return await calls.answer(_call(read), method, read, encoder(read, output))
        except Refusal as refusal:
            raise connect_error(refusal) from None

    async def stream(read: Reader, request: "RequestContext[Any, Any]") -> AsyncIterator[Response]:
        responses: Any = calls.stream(_call(read), method, read, encoder(read, output))
        try:
            async with aclosing(responses):
                async for response in responses:
                    yield response
        except Refusal as refusal:
            raise connect_error(refusal) from None

    if method.streams:
        return Endpoint.server_stream(method=info, function=stream)
    return Endpoint.unary(method=info, function=answer)


def _call(read: Reader) -> Call:
    call = current_call.get()
    assert call is not None  # Since it was admitted.
    if is_json(read):  # By GET, too.
        call.protocol = "json"
    return call


CODES: Mapping[int, Code] = {
    number: Code.CANCELED if name == "CANCELLED" else Code[name]
    for name, number in code_pb2.Code.items()
    if name != "OK"
}


def connect_error(refusal: Refusal) -> ConnectError:
    """A refusal with its details, as the library sends it."""
    status = refusal.status
    details = [
        ErrorDetail(AnyDetail(type_url=detail.type_url, value=detail.value))
        for detail in status.details
    ]
    return ConnectError(CODES[status.code], status.message, details)
