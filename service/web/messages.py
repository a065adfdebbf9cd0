"""How requests and responses are written over HTTP: as in gRPC, or as JSON."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from connectrpc.codec import Codec
from google.protobuf import json_format
from google.protobuf.message import Message

from service.api.calls import Response, parse, unreadable
from service.web import protojson

# A request is parsed only after its caller has been admitted, and so at the caller's expense.
Reader: TypeAlias = Callable[[], Message]

# Parsing JSON takes some seventy times as long as parsing the same message as bytes, and other
# calls wait meanwhile: up to 10 ms for as much as this. The largest view is a tenth of it.
MAX_JSON_BYTES = 128 << 10


class BinaryCodec(Codec[bytes, Reader]):
    """The messages as gRPC sends them. Responses are encoded before they come here (`encoder`)."""

    def name(self) -> str:
        return "proto"

    def encode(self, message: bytes) -> bytes:
        return message

    def decode(self, data: bytes | bytearray, message_class: Any) -> Reader:
        return partial(parse, message_class, bytes(data))


class JsonCodec(BinaryCodec):
    """The messages as JSON (ProtoJSON)."""

    def name(self) -> str:
        return "json"

    def decode(self, data: bytes | bytearray, message_class: Any) -> Reader:
        return partial(_read_json, message_class, bytes(data))


def encoder(read: Reader, message_class: type[Message]) -> Callable[[Response], bytes]:
    """What encodes the responses to a request, of a class of messages: in the form that it has."""
    return partial(_encode_json, message_class) if is_json(read) else _encode


def _encode(response: Response) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()


def _encode_json(message_class: type[Message], response: Response) -> bytes:
    if isinstance(response, bytes):
        response = message_class.FromString(response)
    fields = json_format.MessageToDict(response)
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def is_json(read: Reader) -> bool:
    """Whether a request came as JSON."""
    return isinstance(read, partial) and read.func is _read_json


def _read_json(message_class: type[Message], data: bytes) -> Message:
    if len(data) > MAX_JSON_BYTES:
        raise unreadable(f"JSON may have {MAX_JSON_BYTES} bytes; send application/proto")
    return protojson.parse(message_class, data)
