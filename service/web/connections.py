"""The connections of the door, and how long they may take over a request."""

import asyncio
import logging
import socket
import ssl
from asyncio import TimerHandle
from collections.abc import Callable

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from service.accepting import OpenConnections
from service.connections import HANDSHAKE_SECONDS, MAX_REQUEST_BYTES
from service.sockets import drop_unsent
from service.web.asgi import Application

# A request must have arrived completely by then, or its connection is closed. The largest one takes
# that long at 35 kB/s.
REQUEST_SECONDS = 30.0
# A reader that takes nothing for that long, while there is something to send, is disconnected.
STALLED_SECONDS = 60.0
KEEP_ALIVE_SECONDS = 75  # Between two requests.
# Of a whole request, however it is cut into chunks, and with what may follow the last one.
MAX_BYTES = 4 * MAX_REQUEST_BYTES
MAX_HEADER_BYTES = 32 << 10  # A browser also sends the cookies of other servers on this host.
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class Connections:
    """All connections of the door, from when they are accepted."""

    def __init__(
        self,
        application: Application,
        most: int,
        idle: float,
        context: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        """`idle` is how long a connection may be silent between two requests, in seconds.

        `context` gives the TLS context for the next connection; None: in the clear.
        """
        self.config = Config(
            application,
            interface="asgi3",
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
        self._open = OpenConnections[HttpConnection](most)

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def admit(self, accepted: socket.socket) -> None:
        """Begins with a connection that was accepted, unless too many are busy with calls."""
        connection = HttpConnection(self.config, self.context, self._open)
        if self._open.add(connection):
            connection.open(accepted)
        else:
            accepted.close()

    async def close(self, seconds: float) -> None:
        """Closes each connection when its response has been sent, and all of them after a time."""
        for connection in self._open:
            connection.shutdown()
        await self._open.wait(lambda: not self._open, seconds)
        for connection in self._open:
            connection.abort()


class HttpConnection(HttpToolsProtocol):
    """A connection: uvicorn's, with limits of time and size."""

    def __init__(
        self,
        config: Config,
        context: Callable[[], ssl.SSLContext] | None,
        connections: "OpenConnections[HttpConnection]",
    ) -> None:
        super().__init__(config, ServerState(), {})
        self._context = context
        self._all = connections
        self._accepted: socket.socket | None = None  # Until a transport has it.
        self._opening: asyncio.Task[None] | None = None
        self._in_headers = True  # Of the request that comes in or is expected.
        self._header_bytes = 0
        self._bytes = 0
        self._timer: TimerHandle | None = None  # Until when a request must be here.
        self._stalled: TimerHandle | None = None

    def open(self, accepted: socket.socket) -> None:
        """Begins with an accepted socket."""
        self._accepted = accepted
        self._expect(HANDSHAKE_SECONDS)
        self._opening = self.loop.create_task(self._open())

    async def _open(self) -> None:
        accepted, self._accepted = self._accepted, None
        assert accepted is not None
        try:
            if self._context is None:
                await self.loop.connect_accepted_socket(lambda: self, accepted)
            else:
                await self.loop.connect_accepted_socket(
                    lambda: self,
                    accepted,
                    ssl=self._context(),
                    ssl_handshake_timeout=HANDSHAKE_SECONDS,
                )
        except (OSError, ValueError):  # ssl.SSLError is an OSError.
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        if self.transport is not None:
            super().connection_lost(exc)

    def _forget(self) -> None:
        self._all.remove(self)
        for timer in (self._timer, self._stalled):
            if timer is not None:
                timer.cancel()
        self._timer = self._stalled = None

    def abort(self) -> None:
        """Closes the connection at once."""
        self._forget()
        if self._opening is not None:
            self._opening.cancel()
        if self._accepted is not None:
            self._accepted.close()
        if self.transport is not None:
            # Otherwise the system would keep what a stalled reader has not taken: megabytes.
            drop_unsent(self.transport.get_extra_info("socket"))
            self.transport.abort()

    def shutdown(self) -> None:
        """Closes the connection when its response has been sent."""
        if self.transport is None:
            self.abort()
        else:
            super().shutdown()

    def _expect(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self.abort)

    def data_received(self, data: bytes) -> None:
        if self._in_headers:
            if not self._header_bytes:
                self._expect(REQUEST_SECONDS)
            self._header_bytes += len(data)
        self._bytes += len(data)
        super().data_received(data)
        if self._bytes > MAX_BYTES:
            self.abort()
        elif self._header_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response("")

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        self._header_bytes = size  # What else came with them is the body.
        if size > MAX_HEADER_BYTES:
            raise ValueError("the parser makes this an answer of 400")
        self._in_headers = False
        self._header_bytes = 0
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        if self._header_bytes > MAX_HEADER_BYTES:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        else:
            super().send_400_response(msg)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_headers = True
        self._bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self.cycle.response_complete:
            self._all.set_silent(self, False)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:
            self._all.set_silent(self, True)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(STALLED_SECONDS, self.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
