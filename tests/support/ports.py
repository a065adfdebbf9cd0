"""Ports for servers of tests, which run in several processes at once, and of benches."""

import random
import socket
from contextlib import suppress

# Below those that the system gives to clients: a connection could take the port of a server that
# is yet to start, or is to start again.
PORTS = range(20000, 32000)

_marks: list[socket.socket] = []  # Kept for as long as this process runs.


def free_port() -> int:
    """Returns a port that nobody listens on, and that no client gets."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        # On all interfaces, since the server may ask for any.
        with suppress(OSError), socket.create_server(("", port)):
            return port


def own_port() -> int:
    """Returns a port that nobody listens on, and that no other test gets until it is used."""
    while True:
        port = free_port()
        mark = socket.socket(socket.AF_UNIX)
        with suppress(OSError):
            mark.bind(f"\0a port of the tests: {port}")
            _marks.append(mark)
            return port
        mark.close()
