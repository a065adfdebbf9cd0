"""Sockets that listen, and connections that are cut."""

import socket
import struct

from service.connections import KEEPALIVE_SECONDS, KEEPALIVE_TIMEOUT_SECONDS

BACKLOG = 1024
PROBES = 4  # To a silent peer, before it counts as gone.
_RESET = struct.pack("ii", 1, 0)  # Linger for no time: what was not sent is dropped.


def listen(host: str, port: int) -> socket.socket:
    """A socket on which to accept connections; raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    listening = socket.create_server(
        (host, port),
        family=family,
        backlog=BACKLOG,
        dualstack_ipv6=both,
    )
    listening.setblocking(False)
    # A peer that has lost its network is asked whether it still lives. Connections inherit this.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", round(KEEPALIVE_SECONDS)),
        ("TCP_KEEPINTVL", round(KEEPALIVE_TIMEOUT_SECONDS / PROBES)),
        ("TCP_KEEPCNT", PROBES),
    ):
        if hasattr(socket, name):
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return listening


def drop_unsent(connected: socket.socket) -> None:
    """Lets a close drop what the peer has not taken; the system would keep megabytes of it."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
