"""Our services over Connect, gRPC-Web and JSON, answered by the servicers that answer gRPC."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

from connectrpc.code import Code
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError, ErrorDetail
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message_factory import GetMessageClass
from google.rpc import code_pb2
from protobuf.wkt import Any as AnyDetail

from service.api.calls import Calls, Method, Service
from service.call import REQUEST_ID_HEADER, Call
from service.connections import MAX_REQUEST_BYTES
from service.errors import Refusal
from service.web.messages import Answer, BinaryCodec, JsonCodec, Reader, is_json

GZIP_LEVEL = 1  # Of the higher levels, none makes a view much smaller.


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
            read_max_bytes=MAX_REQUEST_BYTES,
            compressions=[GzipCompression(GZIP_LEVEL)],
            codecs=[BinaryCodec(), JsonCodec()],
        )

    @property
    def path(self) -> str:
        """The prefix of the paths of all services."""
        return ""


def peer_of(host: str, port: str) -> str:
    """An address as gRPC writes it."""
    if ":" in host:
        return f"ipv6:{quote(f'[{host}]')}:{port}"
    return f"ipv4:{host}:{port}"


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

    async def answer(read: Reader, request: "RequestContext[Any, Any]") -> Answer:
        try:
            call = _begin(method.path, request, read)
            return Answer(await calls.answer(call, method, read), output)
        except Refusal as refusal:
            raise connect_error(refusal) from None

    async def stream(read: Reader, request: "RequestContext[Any, Any]") -> AsyncIterator[Answer]:
        call = _begin(method.path, request, read)
        responses: Any = calls.stream(call, method, read)
        try:
            async with aclosing(responses):
                async for response in responses:
                    yield Answer(response, output)
        except Refusal as refusal:
            raise connect_error(refusal) from None

    if method.streams:
        return Endpoint.server_stream(method=info, function=stream)
    return Endpoint.unary(method=info, function=answer)


def _begin(path: str, request: "RequestContext[Any, Any]", read: Reader) -> Call:
    def time_remaining() -> float | None:
        milliseconds = request.timeout_ms
        return None if milliseconds is None else milliseconds / 1000

    call = Call(
        path,
        _protocol(request, read),
        request.request_headers.allitems(),
        peer_of(*(request.client_address or "").rpartition(":")[::2]),
        time_remaining,
    )
    request.response_headers[REQUEST_ID_HEADER] = call.request_id
    return call


def _protocol(request: "RequestContext[Any, Any]", read: Reader) -> str:
    # As the metrics name it. JSON is also a form of Connect, but not the one of its libraries.
    if request.request_headers.get("content-type", "").startswith("application/grpc-web"):
        return "grpc-web"
    return "json" if is_json(read) else "connect"


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
