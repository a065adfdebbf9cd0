"""Sockets that listen, and connections that are cut."""

import errno
import socket
import struct

from service.connections import KEEPALIVE_SECONDS, KEEPALIVE_TIMEOUT_SECONDS

BACKLOG = 1024
PROBES = 4  # To a silent peer, before it counts as gone.
_RESET = struct.pack("ii", 1, 0)  # Linger for no time: what was not sent is dropped.


# Of an address that a name has and this machine does not.
_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def listen_at_all(host: str, port: int, *, shares_port: bool = False) -> list[socket.socket]:
    """A socket for each address of a host, all on one port, as `listen`; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    listening: list[socket.socket] = []
    missing = None
    for address in dict.fromkeys(str(each[4][0]) for each in found):
        try:
            listening.append(listen(address, port, shares_port=shares_port))
        except OSError as error:
            if error.errno in _NOT_HERE:
                missing = error
                continue
            for each in listening:
                each.close()
            raise
        port = listening[0].getsockname()[1]
    if missing is not None and not listening:
        raise missing
    return listening


def listen(host: str, port: int, *, shares_port: bool = False) -> socket.socket:
    """A socket on which to accept connections; raises OSError.

    `shares_port`: other processes listen on the same port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    listening = socket.create_server(
        (host, port),
        family=family,
        backlog=BACKLOG,
        dualstack_ipv6=both,
        reuse_port=shares_port,
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


def listen_at_path(path: str) -> socket.socket:
    """A socket in the file system on which to accept connections; raises OSError."""
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(path)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening


def drop_unsent(connected: socket.socket) -> None:
    """Lets a close drop what the peer has not taken; the system would keep megabytes of it."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
