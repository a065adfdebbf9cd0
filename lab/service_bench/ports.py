"""Ports for servers that are measured or tested."""

import random
import socket
from contextlib import suppress

# Below those that the system gives to clients: a connection could take the port of a server that
# is yet to start, or is to start again.
PORTS = range(20000, 32000)


def free_port() -> int:
    """Returns a port that nobody listens on, and that no client gets."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        # On all interfaces, since the server may ask for any.
        with suppress(OSError), socket.create_server(("", port)):
            return port
