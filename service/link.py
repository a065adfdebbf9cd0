"""Links: messages between the processes of one server, over a pair of sockets that only they hold.

A frame is its length and the messages of one turn of the event loop, so that the more there is to
say, the less each message costs. Messages are pickled. That is safe because nobody else can write
to the sockets: they have no name, and each process inherits its own.
"""

import asyncio
import pickle
import struct
from collections.abc import Callable
from typing import Any, cast

_LENGTH = struct.Struct("!I")


class Link(asyncio.Protocol):
    """One end of a link, in one event loop."""

    def __init__(self, hear: Callable[[Any], None], lost: Callable[[], None]) -> None:
        """`hear` is called with each message, in order; `lost` once, when the other end is gone."""
        self._hear = hear
        self._lost = lost
        self._outgoing: list[Any] = []
        self._received = bytearray()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def send(self, message: Any) -> None:
        """Sends a message, with what else is sent in this turn of the event loop."""
        if not self._outgoing:
            asyncio.get_running_loop().call_soon(self.flush)
        self._outgoing.append(message)

    def flush(self) -> None:
        """Sends what is gathered."""
        outgoing, self._outgoing = self._outgoing, []
        if outgoing and self._transport is not None and not self._transport.is_closing():
            data = pickle.dumps(outgoing, pickle.HIGHEST_PROTOCOL)
            self._transport.write(_LENGTH.pack(len(data)) + data)

    @property
    def unsent_bytes(self) -> int:
        """How much the other end has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Sends what is gathered, and closes this end."""
        self.flush()
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._received += data
        begin = 0
        while len(self._received) >= begin + _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._received, begin)
            end = begin + _LENGTH.size + length
            if len(self._received) < end:
                break
            messages = pickle.loads(memoryview(self._received)[begin + _LENGTH.size : end])
            begin = end
            for message in messages:
                self._hear(message)
        del self._received[:begin]

    def connection_lost(self, error: Exception | None) -> None:
        self._lost()
