"""How requests and responses are written over HTTP: as in gRPC, or as JSON."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from connectrpc.codec import Codec
from google.protobuf import json_format
from google.protobuf.message import Message

from service.api.calls import Response, parse, unreadable
from service.hosting.long_work import Work
from service.web import protojson

# A request is parsed only after its caller has been admitted, and so at the caller's expense.
Reader: TypeAlias = Callable[[], Message]

# Parsing JSON takes some seventy times as long as parsing the same message as bytes, and other
# calls wait meanwhile: up to 10 ms for as much as this. The largest view is a tenth of it.
MAX_JSON_BYTES = 128 << 10
# Of a message that is written as JSON at once, in less than a millisecond or so.
PIECE_BYTES = 1 << 10


class BinaryCodec(Codec[Response, Reader]):
    """The messages as gRPC sends them."""

    def name(self) -> str:
        return "proto"

    def encode(self, message: Response) -> bytes:
        return message if isinstance(message, bytes) else message.SerializeToString()

    def decode(self, data: bytes | bytearray, message_class: Any) -> Reader:
        return partial(parse, message_class, bytes(data))


class JsonCodec(BinaryCodec):
    """The messages as JSON (ProtoJSON). Responses are encoded before they come here (`encoder`)."""

    def name(self) -> str:
        return "json"

    def decode(self, data: bytes | bytearray, message_class: Any) -> Reader:
        return partial(_read_json, message_class, bytes(data))


def encoder(read: Reader, message_class: type[Message]) -> Callable[[Response], Work[bytes]] | None:
    """What encodes the responses to a request, of a class of messages; None if its codec does."""
    return partial(_encode_json, message_class) if is_json(read) else None


def _encode_json(message_class: type[Message], response: Response) -> Work[bytes]:
    if isinstance(response, bytes):
        response = message_class.FromString(response)
    written = bytearray()
    yield from _write_json(response, written)
    return bytes(written)


def _write_json(message: Message, written: bytearray) -> Work[None]:
    # In pieces, since a record of 20,000 entries takes seconds.
    if message.ByteSize() <= PIECE_BYTES:
        written += _dump(message)
        yield
        return
    rest = type(message)()  # What is not written by itself.
    separator = b"{"
    for field, content in message.ListFields():
        if field.message_type is None:
            if field.is_repeated:
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
    return isinstance(read, partial) and read.func is _read_json


def _read_json(message_class: type[Message], data: bytes) -> Message:
    if len(data) > MAX_JSON_BYTES:
        raise unreadable(f"JSON may have {MAX_JSON_BYTES} bytes; send application/proto")
    return protojson.parse(message_class, data)
