"""Connections: how many there may be, for how long, and how they are accepted.

grpcio refuses a connection beyond the limits before it costs more than a file. On other ports the
one that has been silent for the longest makes room (`service/listening/http.py`). On the
web port one address has a share (`PARTS` there); grpcio knows no addresses, so for native calls
that is the business of a proxy (docs/operations.md).
"""

import asyncio
import logging
import os
import re
import resource
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from croupier.transport import is_loopback

# Files that are not connections: the log, its readers, the connections to a database, metrics.
RESERVED_FILES = 256
# A connection that has not even said that it speaks HTTP/2 by then is closed.
HANDSHAKE_SECONDS = 10.0
# A silent peer is asked whether it still lives, and has this long to answer, so that the streams of
# a phone that has lost its network do not stay.
KEEPALIVE_SECONDS = 60.0
KEEPALIVE_TIMEOUT_SECONDS = 20.0
# A client that asks more often than this, three times, is disconnected.
MIN_PING_SECONDS = 10.0
# Calls that have come and that Python has not taken up yet. Beyond the first number gRPC cancels
# some of them, whoever calls, and beyond the second one all. When a server dies, the streams of all
# its players come to another one in the same second; with gRPC's own limits, of 1,000 and 3,000,
# they and everybody else there were sent away again and again.
PENDING_CALLS, MAX_PENDING_CALLS = 10_000, 20_000
MAX_METADATA_BYTES = 8 << 10
# Of any request, also when it is decompressed: the largest is a view, sent for a hint.
MAX_REQUEST_BYTES = 320 << 10
# A request must have arrived completely by then. The largest one takes that long at 11 kB/s.
REQUEST_SECONDS = 30.0
# A reader that takes nothing for that long, while there is something to send, is given up.
STALLED_SECONDS = 60.0

_log = logging.getLogger(__name__)
BACKLOG = 1024
PROBES = 4  # To a silent peer, before it counts as gone.
ACCEPT_AGAIN_SECONDS = 0.1
ACCEPTED_AT_ONCE = 8  # Before the loop turns to others: a flood of connections must not hold it.


class ConnectionLimits(NamedTuple):
    """The limits that an operator can choose; times are in seconds."""

    connections: int = 0  # Of each listener; 0: as many as the process may have files.
    streams: int = 1000  # Of one connection, at once; more calls wait at the client.
    idle: float = 900.0  # Without a call: the connection is closed, and opened again when needed.
    age: float = 43_200.0  # After this the client is asked to connect anew,
    age_grace: float = 3_600.0  # and after this much longer its streams end.


def raise_file_limit() -> int:
    """Raises the limit of files to what the system allows; returns it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def max_connections(limits: ConnectionLimits, listeners: int = 1) -> int:
    """The most connections of each listener."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = files - RESERVED_FILES if files != resource.RLIM_INFINITY else 1 << 20
    if most < 1:
        raise ValueError(
            f"the limit of open files is {files}, and at least {RESERVED_FILES + 1} are needed"
        )
    most = max(1, most // listeners)
    return min(limits.connections, most) if limits.connections else most


def channel_options(limits: ConnectionLimits, listeners: int = 1) -> tuple[tuple[str, int], ...]:
    """The limits as options of a gRPC server; raises ValueError if there are too few files."""
    return (
        ("grpc.max_allowed_incoming_connections", max_connections(limits, listeners)),
        ("grpc.max_concurrent_streams", limits.streams),
        ("grpc.max_connection_idle_ms", _milliseconds(limits.idle)),
        ("grpc.max_connection_age_ms", _milliseconds(limits.age)),
        ("grpc.max_connection_age_grace_ms", _milliseconds(limits.age_grace)),
        ("grpc.server_handshake_timeout_ms", _milliseconds(HANDSHAKE_SECONDS)),
        ("grpc.keepalive_time_ms", _milliseconds(KEEPALIVE_SECONDS)),
        ("grpc.keepalive_timeout_ms", _milliseconds(KEEPALIVE_TIMEOUT_SECONDS)),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", _milliseconds(MIN_PING_SECONDS)),
        ("grpc.server.max_pending_requests", PENDING_CALLS),
        ("grpc.server.max_pending_requests_hard_limit", MAX_PENDING_CALLS),
        ("grpc.max_metadata_size", MAX_METADATA_BYTES),
        ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
        ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
    )


def _milliseconds(seconds: float) -> int:
    return max(1, min(round(1000 * seconds), 2**31 - 1))  # As gRPC can hold it.


_RESET = struct.pack("ii", 1, 0)  # Linger for no time: what was not sent is dropped.


def listen(host: str, port: int) -> socket.socket:
    """A socket on which to accept connections; raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    listening = socket.create_server(
        (host, port), family=family, backlog=BACKLOG, dualstack_ipv6=both
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


def count_connections(port: int) -> int:
    """How many connections this machine has at a port of TCP; 0 where it does not say."""
    # Addresses are as 0100007F:C383, and state 1 is that of a connection.
    line = re.compile(rb"^ *\d+: [0-9A-F]+:%04X [0-9A-F]+:[0-9A-F]{4} 01 " % port, re.MULTILINE)
    found = 0
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            found += len(line.findall(Path("/proc/self/net", table).read_bytes()))
    return found


def warn_of_cleartext(host: str, address: str) -> None:
    """Warns if others could read what is sent to an address without TLS."""
    if not is_loopback(host):
        _log.warning(
            "tokens travel in the clear on %s: give --tls-cert and --tls-key, unless a"
            " proxy with TLS is in front and the network up to here is private",
            address,
        )


def check_free(host: str, port: int, option: str) -> None:
    """Raises OSError, which names the option that says where, if nobody can listen there."""
    # gRPC would report the same at length, and part of it on standard error.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host.strip("[]"), port), family=family).close()
    except OSError as error:
        raise cannot_listen(host, port, error, option) from None


def cannot_listen(host: str, port: int, error: OSError, option: str) -> OSError:
    """The error of an address that cannot be used, with the reason that the system gives.

    `option` is what says where to listen.
    """
    # When a host cannot be looked up, the number is not one of the system's errors.
    number = error.errno or 0
    why = os.strerror(number) if number > 0 else "the host has no address"
    return OSError(f"cannot listen on {host}:{port}: {why}; give {option} another address")


def drop_unsent(connected: socket.socket | None) -> None:
    """Lets a close drop what the peer has not taken; the system would keep megabytes of it.

    A transport has no socket any more, or a closed one, when its connection has just been lost.
    """
    if connected is not None:
        with suppress(OSError):
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


async def accept(listening: socket.socket, admit: Callable[[socket.socket, Any], None]) -> None:
    """Hands over the connections that it accepts, with their addresses, until it is cancelled.

    A server of asyncio would count a connection only when its handshake is over.
    """
    loop = asyncio.get_running_loop()
    waiting = asyncio.Event()
    # Not `sock_accept`, which tells the system anew for each connection that it waits for one.
    loop.add_reader(listening, waiting.set)
    try:
        while True:
            await waiting.wait()
            waiting.clear()
            try:
                for _ in range(ACCEPTED_AT_ONCE):
                    accepted, address = listening.accept()
                    accepted.setblocking(False)
                    admit(accepted, address)
            except BlockingIOError:
                pass
            except OSError:  # The other end has gone, or the process has too many files.
                loop.remove_reader(listening)
                await asyncio.sleep(ACCEPT_AGAIN_SECONDS)
                loop.add_reader(listening, waiting.set)
    finally:
        loop.remove_reader(listening)
