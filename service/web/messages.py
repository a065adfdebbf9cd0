"""How requests and responses are written over HTTP: as in gRPC, or as JSON."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from connectrpc.codec import Codec
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message

from service.api.calls import Response, unreadable
from service.web import protojson

# A request is parsed only after its caller has been admitted, and so at the caller's expense.
Reader: TypeAlias = Callable[[], Message]

# Parsing JSON takes some seventy times as long as parsing the same message as bytes, and other
# calls wait meanwhile: up to 10 ms for as much as this. The largest view is a tenth of it.
MAX_JSON_BYTES = 128 << 10


class Answer(NamedTuple):
    """A response with the class of its message, since it may be bytes."""

    response: Response
    message_class: type[Message]


class BinaryCodec(Codec[Answer, Reader]):
    """The messages as gRPC sends them."""

    def name(self) -> str:
        return "proto"

    def encode(self, message: Answer) -> bytes:
        response = message.response
        return response if isinstance(response, bytes) else response.SerializeToString()

    def decode(self, data: bytes | bytearray, message_class: Any) -> Reader:
        return partial(_read_binary, message_class, bytes(data))


class JsonCodec(Codec[Answer, Reader]):
    """The messages as JSON (ProtoJSON)."""

    def name(self) -> str:
        return "json"

    def encode(self, message: Answer) -> bytes:
        response = message.response
        if isinstance(response, bytes):
            response = message.message_class.FromString(response)
        fields = json_format.MessageToDict(response)
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()

    def decode(self, data: bytes | bytearray, message_class: Any) -> Reader:
        return partial(_read_json, message_class, bytes(data))


def is_json(read: Reader) -> bool:
    """Whether a request came as JSON."""
    return isinstance(read, partial) and read.func is _read_json


def _read_binary(message_class: type[Message], data: bytes) -> Message:
    try:
        return message_class.FromString(data)
    except DecodeError:
        raise unreadable() from None


def _read_json(message_class: type[Message], data: bytes) -> Message:
    if len(data) > MAX_JSON_BYTES:
        raise unreadable(f"JSON may have {MAX_JSON_BYTES} bytes; send application/proto")
    return protojson.parse(message_class, data)
