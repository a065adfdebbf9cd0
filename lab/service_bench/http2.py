"""The part of HTTP/2 and gRPC that a client which sends prepared calls needs.

The client forbids the server to use HPACK's dynamic table, so that it recognizes a status without
decoding the headers before it.
"""

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEAD = struct.Struct(">BHBBI")  # Of a frame: its length in 24 bits, type, flags and stream.
_MAX_WINDOW = 2**31 - 1
_SETTING_TABLE_SIZE, _SETTING_WINDOW = 1, 4
# The name as it is, or in HPACK's Huffman code.
_STATUS_OK = b"\x0bgrpc-status\x010", b"\x88\x9a\xca\xc8\xb2\x12\x34\xda\x8f\x010"


class Frame(NamedTuple):
    """A frame that has been received."""

    kind: int
    flags: int
    stream: int
    body: bytes

    @property
    def ends_stream(self) -> bool:
        """Whether these are the trailers of a call."""
        return self.kind == HEADERS and bool(self.flags & END_STREAM)

    def check_status(self) -> None:
        """Raises RuntimeError if the trailers tell an error."""
        if not any(status in self.body for status in _STATUS_OK):
            raise RuntimeError(f"a call failed: {self.body!r}")


def opening() -> bytes:
    """What a client sends first: it accepts any amount of data."""
    settings = struct.pack(">HIHI", _SETTING_TABLE_SIZE, 0, _SETTING_WINDOW, _MAX_WINDOW)
    window = struct.pack(">I", _MAX_WINDOW - 65535)
    return _PREFACE + frame(SETTINGS, 0, 0, settings) + frame(WINDOW_UPDATE, 0, 0, window)


def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    """The bytes of a frame."""
    return _HEAD.pack(len(body) >> 16, len(body) & 0xFFFF, kind, flags, stream) + body


def call(address: str, method: str, token: str) -> Callable[[int, bytes], bytes]:
    """Returns what makes the frames of a whole call from the number of its stream and its message.

    `method` is "/package.Service/Method"; `token` is the bearer token of the caller.
    """
    # Literals, by the numbers of their names in HPACK's static table.
    block = b"".join(
        (
            b"\x83\x86",  # :method: POST, :scheme: http
            b"\x04" + _string(method),
            b"\x01" + _string(address),
            b"\x0f\x10" + _string("application/grpc"),
            b"\x00" + _string("te") + _string("trailers"),
            b"\x0f\x08" + _string(f"Bearer {token}"),
        )
    )
    head = _HEAD.pack(0, len(block), HEADERS, END_HEADERS, 0)[:5]

    def frames(stream: int, message: bytes) -> bytes:
        number = stream.to_bytes(4, "big")
        size = len(message)
        return b"%b%b%b%b%b\0%b%b" % (
            head,
            number,
            block,
            _HEAD.pack(0, size + 5, DATA, END_STREAM, 0)[:5],
            number,
            size.to_bytes(4, "big"),
            message,
        )

    return frames


def _string(text: str) -> bytes:
    data = text.encode()
    assert len(data) < 127, "longer strings need a longer prefix"
    return bytes([len(data)]) + data


class Receiver:
    """Splits what one connection receives into frames."""

    def __init__(self) -> None:
        self._received = b""

    def frames(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete with this data.

        Raises RuntimeError if the server ends a call or the connection.
        """
        received = self._received + data
        at, size = 0, len(received)
        while size - at >= _HEAD.size:
            high, low, kind, flags, stream = _HEAD.unpack_from(received, at)
            end = at + _HEAD.size + (high << 16 | low)
            if end > size:
                break
            if kind in (RST_STREAM, GOAWAY):
                raise RuntimeError(f"the server ended it: {received[at:end]!r}")
            yield Frame(kind, flags, stream, received[at + _HEAD.size : end])
            at = end
        self._received = received[at:]


def reply(received: Frame) -> bytes:
    """What a client owes the server for a frame: an acknowledgement, or nothing."""
    if received.kind not in (SETTINGS, PING) or received.flags & ACK:
        return b""
    return frame(received.kind, ACK, 0, received.body if received.kind == PING else b"")
