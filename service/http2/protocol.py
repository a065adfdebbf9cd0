"""gRPC over HTTP/2: what is written in headers.

As the specification says: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
"""

import ipaddress
import re
import zlib
from binascii import b2a_base64
from typing import Any
from urllib.parse import quote

from google.rpc import code_pb2

# The codes of HTTP/2 with which streams and connections end.
NO_ERROR, CANCEL, ENHANCE_YOUR_CALM = 0x0, 0x8, 0xB

ENCODINGS = ("", "identity", "gzip", "deflate")
_ACCEPTED = (b"grpc-accept-encoding", b"identity,deflate,gzip")
_UNITS = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_TIMEOUT = re.compile(r"[0-9]{1,8}[HMSmun]", re.ASCII)
_PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")
_ANY_HEADER = 47  # For zlib: that of gzip or of zlib.
MAX_TEXT = 1000  # Characters of the text of an error.

Headers = list[tuple[bytes, bytes]]

OK: tuple[bytes, bytes] = (b"grpc-status", b"0")


class Fault(Exception):
    """A request that is answered without a servicer."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text

    def headers(self) -> Headers:
        """The trailers that say so."""
        unimplemented = self.code == code_pb2.UNIMPLEMENTED
        return [*status(self.code, self.text), *([_ACCEPTED] if unimplemented else [])]


def status(code: int, text: str = "") -> Headers:
    """The trailers of a call that has failed."""
    headers = [(b"grpc-status", b"%d" % code)]
    if text:
        headers.append((b"grpc-message", quote(text[:MAX_TEXT], safe=_PRINTABLE).encode()))
    return headers


def binary(value: bytes) -> bytes:
    """The value of a header whose name ends with -bin."""
    return b2a_base64(value, newline=False).rstrip(b"=")


def is_grpc(content_type: str) -> bool:
    """Whether a request is one of gRPC: application/grpc, perhaps with +proto or parameters."""
    return content_type.startswith("application/grpc") and content_type[16:17] in ("", "+", ";")


def read_timeout(text: str) -> float | None:
    """The seconds that a caller waits; None if it does not say. Raises Fault."""
    if not text:
        return None
    if not _TIMEOUT.fullmatch(text):
        raise Fault(code_pb2.INVALID_ARGUMENT, "grpc-timeout is malformed")
    return int(text[:-1]) * _UNITS[text[-1]]


def decompress(message: bytes, encoding: str, most: int) -> bytes:
    """A message that the caller has compressed; raises Fault, also if it has more than `most`."""
    if encoding in ("", "identity"):
        raise Fault(code_pb2.INVALID_ARGUMENT, "a message is compressed, and nothing says how")
    reader = zlib.decompressobj(_ANY_HEADER)
    try:
        plain = reader.decompress(message, most + 1)
    except zlib.error:
        raise Fault(code_pb2.INVALID_ARGUMENT, "a message is compressed in another way") from None
    if len(plain) > most:
        raise too_large(most)
    if not reader.eof:
        raise Fault(code_pb2.INVALID_ARGUMENT, "a compressed message is cut")
    return plain


def too_large(most: int) -> Fault:
    """The fault of a message that is too large."""
    return Fault(code_pb2.RESOURCE_EXHAUSTED, f"a message is larger than {most} bytes")


def write_peer(name: Any) -> str:
    """The address of the other end of a connection, as gRPC writes it."""
    if not isinstance(name, tuple):
        return "unix:"
    host, port = str(name[0]), name[1]
    if ":" not in host:
        return f"ipv4:{host}:{port}"
    mapped = ipaddress.IPv6Address(host.partition("%")[0]).ipv4_mapped
    return f"ipv6:[{host}]:{port}" if mapped is None else f"ipv4:{mapped}:{port}"
