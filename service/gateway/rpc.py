"""Our services over Connect, gRPC-Web and JSON, answered by the servicers that answer gRPC."""

import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, TypeAlias

from connectrpc.code import Code
from connectrpc.codec import Codec
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError, ErrorDetail
from connectrpc.interceptor import MetadataInterceptor
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import code_pb2
from protobuf.wkt import Any as AnyDetail

from service.api.calls import Calls, Method, Response, Service, parse, unreadable
from service.common.call import REQUEST_ID_HEADER, Call, current_call
from service.common.event_loop import Work
from service.gateway import protojson
from service.listening.connections import MAX_REQUEST_BYTES
from service.listening.http import peer_of
from wire.errors import Refusal

# A request is parsed only after its caller has been admitted, and so at the caller's expense.
Reader: TypeAlias = Callable[[], Message]

# Parsing JSON takes some seventy times as long as parsing the same message as bytes, and other
# calls wait meanwhile: up to 10 ms for as much as this. The largest view is a tenth of it.
MAX_JSON_BYTES = 128 << 10
MAX_UNPACKED_BYTES = 128 << 10  # Ten times the largest view as JSON.
# Of a message that is written as JSON at once, in less than a millisecond or so.
PIECE_BYTES = 1 << 10
GZIP_LEVEL = 1  # Of the higher levels, none makes a view much smaller.


class BinaryCodec(Codec[Response, Reader]):
    """The messages as gRPC sends them."""

    def name(self) -> str:
        return "proto"

    def encode(self, message: Response) -> bytes:
        return message if isinstance(message, bytes) else message.SerializeToString()

    def decode(self, data: bytes | bytearray, message_class: Any) -> Reader:
        return partial(_read, parse, message_class, _whole(data))


class JsonCodec(BinaryCodec):
    """The messages as JSON (ProtoJSON). Responses are encoded before they come here (`encoder`)."""

    def __init__(self, take_unknown: bool = False) -> None:
        self._parse = partial(_read_json, take_unknown)

    def name(self) -> str:
        return "json"

    def decode(self, data: bytes | bytearray, message_class: Any) -> Reader:
        return partial(_read, self._parse, message_class, _whole(data))


def encoder(read: Reader, message_class: type[Message]) -> Callable[[Response], Work[bytes]] | None:
    """Encodes the responses to a request, of a class of messages; None if its codec does that."""
    return partial(_encode_json, message_class) if is_json(read) else None


def _encode_json(message_class: type[Message], response: Response) -> Work[bytes]:
    if isinstance(response, bytes):
        response = message_class.FromString(response)
    written = bytearray()
    yield from _write_json(response, written)
    return bytes(written)


def _write_json(message: Message, written: bytearray) -> Work[None]:
    # In pieces, since a record of 20,000 entries takes seconds.
    # A message of protobuf itself has a form of its own.
    if message.ByteSize() <= PIECE_BYTES or message.DESCRIPTOR.file.package == "google.protobuf":
        written += _dump(message)
        yield
        return
    rest = type(message)()  # What is not written by itself.
    separator = b"{"
    for field, content in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            if field.message_type is not None:
                getattr(rest, field.name).MergeFrom(content)
            elif field.is_repeated:
                getattr(rest, field.name).extend(content)
            else:
                setattr(rest, field.name, content)
            continue
        written += separator + f'"{field.json_name}":'.encode()
        if field.is_repeated:
            between = b"["
            for item in content:
                written += between
                yield from _write_json(item, written)
                between = b","
            written += b"]"
        else:
            yield from _write_json(content, written)
        separator = b","
    fields = _dump(rest)
    if separator == b"{":
        written += fields
    else:
        written += b"}" if fields == b"{}" else b"," + fields[1:]


def _dump(message: Message) -> bytes:
    fields = json_format.MessageToDict(message)
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def is_json(read: Reader) -> bool:
    """Whether a request came as JSON."""
    return isinstance(read, partial) and read.args[0] is not parse


class Packed(bytes):
    """What is to be unpacked when it is read: after its caller was admitted, at its expense."""


def _whole(data: bytes | bytearray) -> bytes:
    return data if isinstance(data, bytes) else bytes(data)


def _read(
    parse: Callable[[type[Message], bytes], Message], message_class: type[Message], data: bytes
) -> Message:
    return parse(message_class, unpack(data) if isinstance(data, Packed) else data)


def unpack(data: bytes) -> bytes:
    """Unpacks one piece, to no more than others may have; raises Refusal.

    The time for many small pieces one after the other grows with the square of their number.
    """
    unpacking = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacking.decompress(data, MAX_UNPACKED_BYTES + 1)
    except zlib.error as error:
        raise unreadable(f"cannot decompress it: {error}") from None
    if len(unpacked) > MAX_UNPACKED_BYTES:
        raise unreadable(f"what is packed may have {MAX_UNPACKED_BYTES} bytes")
    if not unpacking.eof or unpacking.unused_data:
        raise unreadable("cannot decompress it: what is packed must be complete and in one piece")
    return unpacked


def _read_json(take_unknown: bool, message_class: type[Message], data: bytes) -> Message:
    if len(data) > MAX_JSON_BYTES:
        raise unreadable(f"JSON may have {MAX_JSON_BYTES} bytes; send application/proto")
    return protojson.parse(message_class, data, take_unknown)


class RpcApplication(ConnectASGIApplication[None]):
    """The services as an ASGI application."""

    def __init__(
        self, calls: Calls, services: Iterable[Service], take_unknown: bool = False
    ) -> None:
        """With `take_unknown`, fields of JSON that are not known are left out, not refused."""
        endpoints: dict[str, Any] = {
            method.path: _endpoint(calls, method)
            for service in services
            for method in service.methods()
        }
        self.methods = list(endpoints)
        super().__init__(
            service=None,
            endpoints=lambda _: endpoints,
            interceptors=[_Forgetting(), _Admission(calls)],
            read_max_bytes=MAX_REQUEST_BYTES,
            compressions=[Gzip(GZIP_LEVEL)],
            codecs=[BinaryCodec(), JsonCodec(take_unknown)],
        )

    @property
    def path(self) -> str:
        """The prefix of the paths of all services."""
        return ""


class Gzip(GzipCompression):
    """The library's, but a request is not unpacked before it is read."""

    def decompress(
        self, data: bytes | bytearray | memoryview, read_max_bytes: int | None = None
    ) -> bytes:
        return Packed(data)


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
        call.size = _size(headers.get("content-length", ""))
        ctx.response_headers[REQUEST_ID_HEADER] = call.request_id
        try:
            await self._calls.admit(call)
        except Refusal as refusal:
            raise connect_error(refusal) from None


def _size(content_length: str) -> int:
    # The most that is kept of a request that waits to be refused.
    said = int(content_length) if content_length.isdecimal() else MAX_REQUEST_BYTES
    return min(said, MAX_REQUEST_BYTES)


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
    assert isinstance(read, partial)
    call.size = len(read.args[2])
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
