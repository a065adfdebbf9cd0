"""All connections of a door: how many there are, and how they end."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from service.connections import ConnectionLimits
from service.http2.call import Call
from service.http2.connection import Connection
from service.http2.methods import Methods
from service.sockets import ACCEPT_AGAIN_SECONDS

LAST_SECONDS = 1.0  # For what was answered at the end of the grace.


class Connections:
    """The connections, and the calls that run on them."""

    def __init__(
        self,
        methods: Methods,
        limits: ConnectionLimits,
        most: int,
        context: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        """Beyond `most`, new connections are refused.

        `context` gives the TLS context for the next connection; None: in the clear.
        """
        self.loop = asyncio.get_running_loop()
        self.methods = methods
        self.limits = limits
        self._most = most
        self._context = context
        self._open: set[Connection] = set()
        self._calls: set[Call] = set()
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    @property
    def calls(self) -> int:
        """How many calls run."""
        return len(self._calls)

    async def accept(self, listening: socket.socket) -> None:
        """Accepts connections until it is cancelled.

        A server of asyncio would count a connection only when its handshake is over.
        """
        while True:
            try:
                accepted, _ = await self.loop.sock_accept(listening)
            except OSError:  # The other end has gone, or the process has too many files.
                await asyncio.sleep(ACCEPT_AGAIN_SECONDS)
                continue
            if len(self._open) >= self._most:
                accepted.close()
                continue
            connection = Connection(self)
            self._open.add(connection)
            connection.open(accepted, None if self._context is None else self._context())

    def closed(self, connection: Connection) -> None:
        """Forgets a connection that is closed."""
        self._open.discard(connection)
        self._changed.set()

    def began(self, call: Call) -> None:
        """A call has begun."""
        self._calls.add(call)

    def ended(self, call: Call) -> None:
        """A call is over."""
        self._calls.discard(call)
        if not self._calls:
            self._changed.set()

    async def close(self, seconds: float) -> None:
        """Closes each connection when its calls have ended, and all of them after a time."""
        for connection in list(self._open):
            connection.leave()
        await self._wait(seconds)
        for connection in list(self._open):
            connection.cut()
        await self._wait(LAST_SECONDS)
        for connection in list(self._open):
            connection.abort()

    async def _wait(self, seconds: float) -> None:
        # Until there are no connections and no calls.
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                while self._open or self._calls:
                    self._changed.clear()
                    await self._changed.wait()
