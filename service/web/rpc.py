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
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message_factory import GetMessageClass
from google.rpc import code_pb2
from protobuf.wkt import Any as AnyDetail

from service.admission.identification import Metadata
from service.api.calls import Calls, Service, path_of
from service.connections import MAX_REQUEST_BYTES
from service.current_call import REQUEST_ID_HEADER, CurrentCall, begin_call
from service.errors import Refusal
from service.web.messages import Answer, BinaryCodec, JsonCodec, Reader, is_json

GZIP_LEVEL = 1  # Of the higher levels, none makes a view much smaller.


class RpcApplication(ConnectASGIApplication[None]):
    """The services as an ASGI application."""

    def __init__(self, calls: Calls, services: Iterable[Service]) -> None:
        endpoints: dict[str, Any] = {
            path_of(method): _endpoint(calls, method, getattr(service.servicer, method.name))
            for service in services
            for method in service.descriptor.methods
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


class _Context:
    """A call that came over HTTP, as `Calls` and the servicers see it."""

    def __init__(self, request: "RequestContext[Any, Any]") -> None:
        self._request = request

    def invocation_metadata(self) -> Metadata:
        return self._request.request_headers.allitems()

    def peer(self) -> str:
        return peer_of(*(self._request.client_address or "").rpartition(":")[::2])

    def time_remaining(self) -> float | None:
        milliseconds = self._request.timeout_ms
        return None if milliseconds is None else milliseconds / 1000


def peer_of(host: str, port: str) -> str:
    """An address as gRPC writes it."""
    if ":" in host:
        return f"ipv6:{quote(f'[{host}]')}:{port}"
    return f"ipv4:{host}:{port}"


def _endpoint(calls: Calls, method: MethodDescriptor, servicer: Any) -> "Endpoint[Any, Any]":
    path = path_of(method)
    output = GetMessageClass(method.output_type)
    safe = method.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS
    info = MethodInfo(
        name=method.name,
        service_name=method.containing_service.full_name,
        input=GetMessageClass(method.input_type),
        output=output,
        idempotency_level=IdempotencyLevel.NO_SIDE_EFFECTS if safe else IdempotencyLevel.UNKNOWN,
        stream_type=StreamType.SERVER_STREAM if method.server_streaming else StreamType.UNARY,
    )

    async def answer(read: Reader, request: "RequestContext[Any, Any]") -> Answer:
        try:
            call = _begin(path, request, read)
            return Answer(await calls.answer(call, servicer, read, _Context(request)), output)
        except Refusal as refusal:
            raise connect_error(refusal) from None

    async def stream(read: Reader, request: "RequestContext[Any, Any]") -> AsyncIterator[Answer]:
        call = _begin(path, request, read)
        responses: Any = calls.stream(call, servicer, read, _Context(request))
        try:
            async with aclosing(responses):
                async for response in responses:
                    yield Answer(response, output)
        except Refusal as refusal:
            raise connect_error(refusal) from None

    if method.server_streaming:
        return Endpoint.server_stream(method=info, function=stream)
    return Endpoint.unary(method=info, function=answer)


def _begin(path: str, request: "RequestContext[Any, Any]", read: Reader) -> CurrentCall:
    call = begin_call(path, _protocol(request, read), request.request_headers.allitems())
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
