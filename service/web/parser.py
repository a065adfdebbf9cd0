"""What reads the requests of a connection: h11, with limits that it lacks.

Whatever is read here costs time before anybody knows who sent it. h11 bounds only what it keeps
until the rest of it comes, and not what comes in one piece.
"""

import re
from collections.abc import Iterable
from typing import Any

import h11
from h11 import _readers

MAX_HEADER_BYTES = 16 << 10  # A browser also sends the cookies of other servers on this host.
MAX_HEADERS = 100
MAX_CHUNKS = 200  # Of a request: each costs a fiftieth of a short call.

_BLANK_LINE = re.compile(rb"\n\r?\n")

# h11 tries every way to divide a run of spaces between two parts of a line that has an error: some
# seconds for 32 KiB of them. These take the same lines, and try one way.
_readers.header_field_re = re.compile(
    rb"(?P<field_name>[-!#$%&'*+.^_`|~0-9a-zA-Z]+):[ \t]*+"
    rb"(?P<field_value>(?:[^\x00\s]+(?:[ \t]+[^\x00\s]+)*)?)[ \t]*+"
)
_readers.chunk_header_re = re.compile(
    rb"(?P<chunk_size>[0-9A-Fa-f]{1,20})(?P<chunk_ext>;[^\n]*(?=\r\n))?[ \t]*+\r\n"
)


class Parser(h11.Connection):
    """Reads the requests of one connection, one after the other."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MAX_HEADER_BYTES)
        self._chunks = 0

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            self._chunks = 0
            if self.waiting > MAX_HEADER_BYTES:
                begin = self.trailing_data[0][:MAX_HEADER_BYTES]
                if not _BLANK_LINE.search(begin):
                    raise h11.RemoteProtocolError("the headers are too large", 431)
        event = super().next_event()
        if isinstance(event, h11.Data) and event.chunk_start:
            self._chunks += 1
            if self._chunks > MAX_CHUNKS:
                raise h11.RemoteProtocolError("there are too many chunks", 413)
        return event

    @property
    def waiting(self) -> int:
        """How many bytes were received and are not read yet."""
        return len(self._receive_buffer)

    @property
    def is_reading(self) -> bool:
        """Whether a request has come in part."""
        state = self.their_state
        return state is h11.SEND_BODY or (state is h11.IDLE and bool(self.waiting))


def _decode_header_lines(lines: list[bytes]) -> Iterable[tuple[bytes, bytes]]:
    # Of headers, and of the trailers after chunks.
    if len(lines) > MAX_HEADERS:
        raise h11.LocalProtocolError("there are too many headers", 431)
    return _decode_all_lines(lines)


_decode_all_lines = _readers._decode_header_lines
_readers._decode_header_lines = _decode_header_lines  # type: ignore[assignment]
