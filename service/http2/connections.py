"""All connections of a door: how many there are, and how they end."""

import asyncio
import socket
import ssl
from collections.abc import Callable

from service.accepting import OpenConnections
from service.connections import ConnectionLimits
from service.http2.call import Call
from service.http2.connection import Connection
from service.http2.methods import Methods

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
        """There are at most so many connections (`OpenConnections`).

        `context` gives the TLS context for the next connection; None: in the clear.
        """
        self.loop = asyncio.get_running_loop()
        self.methods = methods
        self.limits = limits
        self._context = context
        self._open = OpenConnections[Connection](most)
        self._calls: set[Call] = set()

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    @property
    def calls(self) -> int:
        """How many calls run."""
        return len(self._calls)

    def admit(self, accepted: socket.socket) -> None:
        """Begins with a connection that was accepted, unless too many are busy with calls."""
        connection = Connection(self)
        if self._open.add(connection):
            connection.open(accepted, None if self._context is None else self._context())
        else:
            accepted.close()

    def set_silent(self, connection: Connection, silent: bool) -> None:
        """A call of a connection has begun, or its last one has ended."""
        self._open.set_silent(connection, silent)

    def closed(self, connection: Connection) -> None:
        """Forgets a connection that is closed."""
        self._open.remove(connection)

    def began(self, call: Call) -> None:
        """A call has begun."""
        self._calls.add(call)

    def ended(self, call: Call) -> None:
        """A call is over."""
        self._calls.discard(call)
        if not self._calls:
            self._open.changed()

    async def close(self, seconds: float) -> None:
        """Closes each connection when its calls have ended, and all of them after a time."""

        def is_over() -> bool:
            return not (self._open or self._calls)

        for connection in self._open:
            connection.leave()
        await self._open.wait(is_over, seconds)
        for connection in self._open:
            connection.cut()
        await self._open.wait(is_over, LAST_SECONDS)
        for connection in self._open:
            connection.abort()
