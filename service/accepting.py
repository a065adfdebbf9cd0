"""What doors with sockets of their own share: to accept connections, and to keep count of them."""

import asyncio
import ctypes
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

ACCEPT_AGAIN_SECONDS = 0.1
# Often enough to give back little at once, which takes 0.1 ms for each MB.
GIVE_BACK_SECONDS = 1.0

# glibc keeps what was freed below something that is in use: hundreds of MB after thousands of TLS
# connections. Other libraries have no such function.
_give_back: Callable[[int], int] = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)


class Abortable(Protocol):
    """A connection."""

    def abort(self) -> None:
        """Closes it at once, and removes it from `OpenConnections`."""


C = TypeVar("C", bound=Abortable)


class OpenConnections(Generic[C]):
    """The connections of a door, from when they are accepted: at most so many.

    One without a running call costs a file and some memory. When there are too many, the one that
    has been silent for the longest makes room for a new one, so that nobody is locked out by
    connections that only wait.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[C] = set()
        # Those without a running call; the one that has been silent for the longest comes first.
        self._silent: dict[C, None] = {}
        self._changed = asyncio.Event()
        self._giving_back: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def __iter__(self) -> Iterator[C]:
        """Those that are open now; they may be removed meanwhile."""
        return iter(list(self._open))

    def add(self, connection: C) -> bool:
        """Takes a new connection, unless too many are busy with calls."""
        if len(self._open) >= self._most:
            oldest = next(iter(self._silent), None)
            if oldest is None:
                return False
            oldest.abort()
        self._open.add(connection)
        self._silent[connection] = None
        return True

    def remove(self, connection: C) -> None:
        """Forgets a connection that is closed."""
        self._open.discard(connection)
        self._silent.pop(connection, None)
        self.changed()
        if self._giving_back is None:
            loop = asyncio.get_running_loop()
            self._giving_back = loop.call_later(GIVE_BACK_SECONDS, self._give_back)

    def _give_back(self) -> None:
        # Gives the memory of connections that are closed back to the system.
        self._giving_back = None
        _give_back(0)

    def set_silent(self, connection: C, silent: bool) -> None:
        """A call of a connection has begun, or its last one has ended."""
        self._silent.pop(connection, None)
        if silent and connection in self._open:
            self._silent[connection] = None

    def changed(self) -> None:
        """Something has happened for which `wait` may wait."""
        self._changed.set()

    async def wait(self, until: Callable[[], bool], seconds: float) -> None:
        """Returns when a condition holds, or after a time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                while not until():
                    self._changed.clear()
                    await self._changed.wait()


class Acceptor:
    """Accepts connections on sockets that listen, until it is closed."""

    def __init__(
        self, listening: Iterable[socket.socket], admit: Callable[[socket.socket, Any], None]
    ) -> None:
        self._listening = list(listening)
        self._tasks = [asyncio.create_task(accept(each, admit)) for each in self._listening]

    async def close(self) -> None:
        """Accepts no more, and closes the sockets."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        for listening in self._listening:
            listening.close()


async def accept(listening: socket.socket, admit: Callable[[socket.socket, Any], None]) -> None:
    """Hands over the connections that it accepts, with their addresses, until it is cancelled.

    A server of asyncio would count a connection only when its handshake is over.
    """
    loop = asyncio.get_running_loop()
    while True:
        try:
            accepted, address = await loop.sock_accept(listening)
        except OSError:  # The other end has gone, or the process has too many files.
            await asyncio.sleep(ACCEPT_AGAIN_SECONDS)
            continue
        admit(accepted, address)
