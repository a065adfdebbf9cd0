"""Connections of HTTP/1.1, and how long they may take over a request.

uvicorn speaks HTTP/1.1, and h11 reads it: slower than a parser in C, but exactly as the standard
says, and one request at a time. What neither of them limits is limited here: whatever is read costs
time before anybody knows who sent it, and h11 bounds only what it keeps until the rest of it comes,
not what comes in one piece.
"""

import asyncio
import logging
import re
import socket
import ssl
import sys
from asyncio import TimerHandle
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from typing import Any, Protocol, TypeAlias
from urllib.parse import quote

import h11
from h11 import _readers
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from service.common.event_loop import Turns
from service.common.memory import give_back_soon
from service.common.tasks import Tasks
from service.listening.connections import (
    HANDSHAKE_SECONDS,
    MAX_REQUEST_BYTES,
    REQUEST_SECONDS,
    STALLED_SECONDS,
    drop_unsent,
)
from wire.errors import Refusal

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

UNREADABLE = "unreadable"  # In the state of a scope, for what is no request: the status to answer.
MAX_HEADER_BYTES = 16 << 10  # A browser also sends the cookies of other servers on this host.
MAX_HEADERS = 100
MAX_CHUNKS = 200  # Of a request: each costs a fiftieth of a short call.
KEEP_ALIVE_SECONDS = 75  # Between two requests.
# Of a whole request, however it is cut into chunks, and with what may follow the last one.
MAX_BYTES = 4 * MAX_REQUEST_BYTES
# Of all requests that have come in part. Beyond this, those that are larger than one piece of data
# are given up, so that small ones still get through.
MAX_ARRIVING_BYTES = 64 << 20
PIECE_BYTES = 64 << 10
# Of all connections with a call, an address may have one part of so many.
PARTS = 4


async def respond(send: Send, status: int, headers: Headers, body: bytes = b"") -> None:
    """Sends a whole response."""
    if status not in (204, 304):
        headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def respond_text(send: Send, status: int, text: str, headers: Headers | None = None) -> None:
    """Sends a plain text for a person."""
    content_type = (b"content-type", b"text/plain; charset=utf-8")
    await respond(send, status, [content_type, *(headers or [])], f"{text}\n".encode())


def peer_of(host: str) -> str:
    """An address as gRPC writes it, but without its port, so that it is read once for a host."""
    return f"ipv6:{quote(f'[{host}]')}:0" if ":" in host else f"ipv4:{host}:0"


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


_FRAMINGS = {b"content-length", b"transfer-encoding"}


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
        if isinstance(event, h11.Request) and {name for name, _ in event.headers} >= _FRAMINGS:
            # What stands before this server may have taken the other one, and see other requests.
            raise h11.RemoteProtocolError("a body has one of Content-Length and Transfer-Encoding")
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


class Held(Protocol):
    """What the address of a connection holds of something that it may have."""

    def set(self, amount: int) -> None:
        """Holds this amount from now on; raises Refusal, and changes nothing, if it is too much."""


class _Unlimited:
    def set(self, amount: int) -> None:
        pass


class Connections:
    """All connections of a listener, from when they are accepted: at most so many.

    One without a running call costs a file and some memory. When there are too many, the one that
    has been silent for the longest makes room for a new one, else the one that has not taken its
    response for the longest, so that nobody is locked out by connections that only wait.
    """

    def __init__(
        self,
        application: Application,
        most: int,
        idle: float,
        context: Callable[[], ssl.SSLContext] | None,
        tasks: Tasks,
        holding: Callable[[str, int], tuple[Held, Held]] | None = None,
        delay: Callable[[str, float], float] = lambda peer, most: 0.0,
    ) -> None:
        """`idle` is how long a connection may be silent between two requests, in seconds.

        `context` gives the TLS context for the next connection; None: in the clear. `holding` gives
        what holds a connection of a peer, of which its address may have so many, and its bytes.
        `delay` is in how many seconds a handshake of TLS with it may begin: too late, it does not.
        """
        self.config = Config(
            application,
            interface="asgi3",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.CRITICAL,  # Strangers could fill the log.
            access_log=False,
            proxy_headers=False,  # Admission reads them.
            server_header=False,
            date_header=False,
            timeout_keep_alive=max(1, min(KEEP_ALIVE_SECONDS, round(idle))),
            reset_contextvars=True,
        )
        self.config.load()
        self.context = context
        self.tasks = tasks
        self.turns = Turns()  # To read what has come.
        self.state = ServerState()
        self.arriving = 0  # Bytes of requests that have come in part.
        self.holding = holding or (lambda peer, most: (_Unlimited(), _Unlimited()))
        self.delay = delay
        self.part = max(1, most // PARTS)
        self._most = most
        self._open: set[HttpConnection] = set()
        # Those without a running call; the one that has been silent for the longest comes first.
        self._silent: dict[HttpConnection, None] = {}
        self._stalled: dict[HttpConnection, None] = {}  # Those that do not take a response.
        self._removed = asyncio.Event()

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def admit(self, accepted: socket.socket, address: Any) -> None:
        """Begins with a connection that was accepted, unless too many are busy with calls.

        `address` is that of the other end, as a socket gives it.
        """
        # Whatever goes wrong with one connection, the next ones come.
        if not self.tasks.attempt("admitting", self._admit, accepted, address):
            accepted.close()

    def _admit(self, accepted: socket.socket, address: Any) -> None:
        peer = peer_of(str(address[0])) if address else ""  # Of a socket of this machine.
        place, kept = self.holding(peer, self.part)
        try:
            # A flood of an address without a place must cost less than connections do.
            place.set(1)
            place.set(0)
        except Refusal:
            accepted.close()
            return
        if len(self._open) >= self._most:
            oldest = next(iter(self._silent or self._stalled), None)
            if oldest is None:
                accepted.close()
                return
            oldest.abort()
        connection = HttpConnection(self, peer, place, kept)
        self._open.add(connection)
        self._silent[connection] = None
        connection.open(accepted, address)

    def remove(self, connection: "HttpConnection") -> None:
        """Forgets a connection that is closed."""
        self._open.discard(connection)
        self._silent.pop(connection, None)
        self._stalled.pop(connection, None)
        self._removed.set()
        give_back_soon()

    def set_silent(self, connection: "HttpConnection", silent: bool) -> None:
        """A call of a connection has begun, or its last one has ended."""
        self._silent.pop(connection, None)
        if silent and connection in self._open:
            self._silent[connection] = None

    def set_stalled(self, connection: "HttpConnection", stalled: bool) -> None:
        """A connection has stopped taking what is sent, or goes on."""
        self._stalled.pop(connection, None)
        if stalled and connection in self._open:
            self._stalled[connection] = None

    async def close(self, seconds: float) -> None:
        """Closes each connection when its response has been sent, and all of them after a time."""
        for connection in list(self._open):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                while self._open:
                    self._removed.clear()
                    await self._removed.wait()
        for connection in list(self._open):
            connection.abort()


class HttpConnection(H11Protocol):
    """A connection: uvicorn's, with limits of time and size."""

    def __init__(self, connections: Connections, peer: str, place: Held, kept: Held) -> None:
        """`place` holds its place among those of the peer, `kept` its bytes in memory."""
        super().__init__(connections.config, connections.state, {})
        self.conn: Parser = Parser()
        self._all = connections
        self._accepted: socket.socket | None = None  # Until a transport has it.
        self._address: Any = None
        self._opening: asyncio.Task[None] | None = None
        self._bytes = 0  # Of the request that comes in.
        self._unread = bytearray()  # Of these, what h11 has not got yet.
        self._waits = False  # For its turn.
        self._answering = 0  # Bytes of the request whose response is not sent,
        self._unsent = 0  # and of responses that the other end does not take.
        self._peer = peer
        self._place = place
        self._kept = kept
        self._timer: TimerHandle | None = None  # Until when something must have happened.
        self._stalled: TimerHandle | None = None

    def open(self, accepted: socket.socket, address: Any) -> None:
        """Begins with an accepted socket, and the address of its other end."""
        self._accepted = accepted
        self._address = address
        self._expect(HANDSHAKE_SECONDS)
        self._opening = self._all.tasks.finish("handshake", self._open)

    async def _open(self) -> bool:
        if self._all.context is not None:
            delay = self._all.delay(self._peer, HANDSHAKE_SECONDS)
            if delay >= HANDSHAKE_SECONDS:
                self._opening = None
                self.abort()
                return True
            await asyncio.sleep(delay)
        accepted, self._accepted = self._accepted, None
        if accepted is None:
            return True  # It has failed before, and the connection is closed.
        try:
            if self._all.context is None:
                await self.loop.connect_accepted_socket(lambda: self, accepted)
            else:
                await self.loop.connect_accepted_socket(
                    lambda: self,
                    accepted,
                    ssl=self._all.context(),
                    ssl_handshake_timeout=HANDSHAKE_SECONDS,
                )
        except (OSError, ValueError):
            pass  # Of the other end: ssl.SSLError is an OSError.
        finally:
            self._opening = None
            if self.transport is None:
                self._forget()
        return True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Of a connection that was reset meanwhile the system no longer knows it.
        self.client = tuple(self._address[:2]) or None

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        if self.transport is not None:
            super().connection_lost(exc)

    def _forget(self) -> None:
        self._all.remove(self)
        self._answering = self._unsent = 0
        self._has_come(0)
        for timer in (self._timer, self._stalled):
            if timer is not None:
                timer.cancel()
        self._timer = self._stalled = None
        self._unset_keepalive_if_required()

    def abort(self) -> None:
        """Closes the connection at once."""
        self._forget()
        self._leave()
        if self._accepted is not None:
            self._accepted.close()
        if self.transport is None:
            if self._opening is not None:
                self._opening.cancel()
        else:
            # Its opening is not cancelled: uvloop would not tell of the loss, and keep it for ever.
            # The system would keep what a stalled reader has not taken: megabytes.
            drop_unsent(self.transport.get_extra_info("socket"))
            self.transport.abort()

    def _leave(self) -> None:
        # What is still answered need not be written.
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def shutdown(self) -> None:
        """Closes the connection when its response has been sent."""
        if self.transport is None:
            self.abort()
        elif self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False

    def _expect(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self.abort)

    def _has_come(self, size: int) -> None:
        # So many bytes of a request that is not there completely.
        self._all.arriving += size - self._bytes
        self._bytes = size
        self._hold()

    def _hold(self) -> None:
        # What is in memory for this connection counts for its address, for as long as it is there;
        # so does its place, from the first byte of a request to the end of its response.
        kept = self._bytes + self._answering + self._unsent
        try:
            self._place.set(1 if kept else 0)
            self._kept.set(kept)
        except Refusal:
            self.abort()

    def data_received(self, data: bytes) -> None:
        self._has_come(self._bytes + len(data))
        most = PIECE_BYTES if self._all.arriving > MAX_ARRIVING_BYTES else MAX_BYTES
        if self._bytes > most:
            self.abort()
        elif self.conn.their_state is not h11.MUST_CLOSE and not self.transport.is_closing():
            if self._bytes == len(data):
                self._expect(REQUEST_SECONDS)
            self._unset_keepalive_if_required()
            self._unread += data
            self.handle_events()

    def handle_events(self) -> None:
        # uvicorn calls this also when a response is sent, since the next request may have come.
        if not (self._unread or self.conn.waiting):
            self._read()
        elif not self._waits:
            self._waits = True
            self._all.turns.begin(self.client and self.client[0], self._read)

    def _read(self) -> None:
        self._waits = False
        if self.conn.their_state is h11.MUST_CLOSE or self.transport.is_closing():
            return
        if self._unread:
            unread, self._unread = bytes(self._unread), bytearray()
            self.conn.receive_data(unread)
        super().handle_events()
        if self.conn.is_reading or self.transport.is_closing():
            return
        running = self.cycle is not None and not self.cycle.response_complete
        waiting = self.conn.waiting
        if running:
            self._answering += self._bytes - waiting
        # What comes before the response waits unread, for as long as a request may take.
        self._has_come(waiting)
        if self.transport.is_closing():
            return  # Its address holds too much.
        if self._bytes:
            self._expect(REQUEST_SECONDS)
        elif self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if running:
            self._all.set_silent(self, False)
        elif self.timeout_keep_alive_task is None:
            # The response was sent before all of its request had come.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._expect(STALLED_SECONDS)

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()  # There is a response already.
            return
        self._leave()
        # The application answers also what is no request, so that it counts like any other answer.
        error = sys.exception()
        assert isinstance(error, h11.RemoteProtocolError)
        error.__traceback__ = None  # It would hold this connection, and itself.
        self.app_state[UNREADABLE] = error.error_status_hint
        self.conn = Parser()
        self.conn.receive_data(b"GET / HTTP/1.0\r\n\r\n")
        self.handle_events()

    def on_response_complete(self) -> None:
        self._answering = 0
        super().on_response_complete()
        if self.transport.is_closing():
            self._expect(STALLED_SECONDS)
        if self.cycle is not None and self.cycle.response_complete:
            self._hold()
            self._all.set_silent(self, True)
            if self.conn.their_state is h11.IDLE:
                # uvicorn would keep the last request until the next one.
                self.cycle = self.scope = self.headers = None  # type: ignore[assignment]

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unsent = self.transport.get_write_buffer_size()
        self._hold()
        self._stalled = self.loop.call_later(STALLED_SECONDS, self.abort)
        self._all.set_stalled(self, True)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._all.set_stalled(self, False)
        self._unsent = 0
        self._hold()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
