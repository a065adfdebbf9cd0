"""A client of HTTP/2 that sends whatever bytes a test wants."""

import socket
import struct
from typing import NamedTuple

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
INITIAL_WINDOW_SIZE = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# "grpc-status" as a new name in HPACK, in its Huffman code; its value follows.
_STATUS = bytes.fromhex("889acac8b21234da8f")
CALL = (
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/croupier.v1.CatalogService/ListGames"),
    (":authority", "localhost"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
)


class Frame(NamedTuple):
    """A frame that came."""

    kind: int
    flags: int
    stream: int
    body: bytes


def frame(kind, flags=0, stream=0, body=b""):
    """The bytes of a frame."""
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body


def setting(number, value):
    """The bytes of a frame with one setting."""
    return frame(SETTINGS, body=struct.pack(">HI", number, value))


def block(headers):
    """Headers as HPACK's literals, which leave nothing in its table."""
    data = b""
    for name, value in headers:
        data += b"\0" + _string(name) + _string(value)
    return data


def _string(text):
    raw = text.encode("latin-1")
    if len(raw) < 127:
        return bytes([len(raw)]) + raw
    length, left = b"\x7f", len(raw) - 127
    while left >= 128:
        length += bytes([left % 128 + 128])
        left //= 128
    return length + bytes([left]) + raw


def changed(**values):
    """The headers of a call, with some values changed, or left out where they are None.

    The names are written with _ for - and :.
    """
    names = {name: name.strip(":").replace("-", "_") for name, _ in CALL}
    pairs = [(name, values.get(names[name], value)) for name, value in CALL]
    return [(name, value) for name, value in pairs if value is not None]


def message(data=b"", compressed=0):
    """A message of gRPC."""
    return struct.pack(">BI", compressed, len(data)) + data


def call(stream, headers=CALL, body=None, flags=END_STREAM):
    """The frames of a call."""
    return frame(HEADERS, END_HEADERS, stream, block(headers)) + frame(
        DATA, flags, stream, message() if body is None else body
    )


class RawClient:
    """One connection."""

    def __init__(self, address, preface=PREFACE, settings=b"", window=1 << 30):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)))
        self._received = b""
        # Without HPACK's table, the server names each header anew.
        no_table = struct.pack(">HI", 1, 0)
        room = frame(WINDOW_UPDATE, body=struct.pack(">I", window))
        self.send(preface + frame(SETTINGS, body=no_table + settings) + room)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Sends bytes, unless the server has closed the connection."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def frames(self):
        """The frames until the server closes the connection."""
        while True:
            while len(self._received) >= 9:
                high, low, kind, flags, stream = struct.unpack_from(">BHBBI", self._received)
                end = 9 + (high << 16 | low)
                if len(self._received) < end:
                    break
                found = Frame(kind, flags, stream, self._received[9:end])
                self._received = self._received[end:]
                yield found
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionResetError:
                return
            if not data:
                return
            self._received += data

    def wait(self, kind, stream=None, *, ack=False):
        """The next frame of a kind; None if the connection is closed before it."""
        for found in self.frames():
            if found.kind == kind and stream in (None, found.stream):
                if kind in (SETTINGS, PING) and bool(found.flags & ACK) != ack:
                    continue
                return found
        return None

    def until(self, *kinds):
        """The frames up to the first of some kinds."""
        for found in self.frames():
            yield found
            if found.kind in kinds:
                return

    def status(self, stream):
        """The status of a call; or the code of HTTP/2 with which its stream ends, negative."""
        for found in self.frames():
            if found.stream != stream:
                assert found.kind != GOAWAY, found
            elif found.kind == RST_STREAM:
                return -int.from_bytes(found.body, "big")
            elif found.kind == HEADERS and found.flags & END_STREAM:
                return read_status(found.body)
        return None

    def goaway(self):
        """The code and the text with which the server ends the connection; None without them."""
        found = None
        for each in self.frames():
            if each.kind == GOAWAY:
                found = int.from_bytes(each.body[4:8], "big"), each.body[8:]
        return found


def read_status(body):
    """The value of grpc-status in a block of headers that names it anew."""
    at = body.index(_STATUS) + len(_STATUS)
    return int(body[at + 1 : at + 1 + body[at]])
