"""Connections: how many there may be, for how long, and what they may do.

grpcio refuses a connection beyond the limits before it costs more than a file; the other doors let
the one that has been silent for the longest make room (`service/accepting.py`). A limit for each
address is the business of a proxy (docs/operations.md).
"""

import resource
from typing import NamedTuple

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
MAX_METADATA_BYTES = 8 << 10
# Of any request, also when it is decompressed: the largest is a view, sent for a hint. Each method
# has a limit of its own (`service/sizes.py`).
MAX_REQUEST_BYTES = 320 << 10


class ConnectionLimits(NamedTuple):
    """The limits that an operator can choose; times are in seconds."""

    connections: int = 0  # Of each door; 0: as many as the process may have files.
    streams: int = 1000  # Of one connection, at once; more calls wait at the client.
    idle: float = 900.0  # Without a call: the connection is closed, and opened again when needed.
    age: float = 43_200.0  # After this the client is asked to connect anew,
    age_grace: float = 3_600.0  # and after this much longer its streams end.


def raise_file_limit() -> int:
    """Raises the limit of files to what the system allows; returns it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def max_connections(limits: ConnectionLimits, doors: int = 1) -> int:
    """The most connections of each door."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = files - RESERVED_FILES if files != resource.RLIM_INFINITY else 1 << 20
    if most < 1:
        raise ValueError(
            f"the limit of open files is {files}, and at least {RESERVED_FILES + 1} are needed"
        )
    most = max(1, most // doors)
    return min(limits.connections, most) if limits.connections else most


def channel_options(limits: ConnectionLimits, doors: int = 1) -> tuple[tuple[str, int], ...]:
    """The limits as options of a gRPC server; raises ValueError if there are too few files."""
    return (
        ("grpc.max_allowed_incoming_connections", max_connections(limits, doors)),
        ("grpc.max_concurrent_streams", limits.streams),
        ("grpc.max_connection_idle_ms", _milliseconds(limits.idle)),
        ("grpc.max_connection_age_ms", _milliseconds(limits.age)),
        ("grpc.max_connection_age_grace_ms", _milliseconds(limits.age_grace)),
        ("grpc.server_handshake_timeout_ms", _milliseconds(HANDSHAKE_SECONDS)),
        ("grpc.keepalive_time_ms", _milliseconds(KEEPALIVE_SECONDS)),
        ("grpc.keepalive_timeout_ms", _milliseconds(KEEPALIVE_TIMEOUT_SECONDS)),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", _milliseconds(MIN_PING_SECONDS)),
        ("grpc.max_metadata_size", MAX_METADATA_BYTES),
        ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
        ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
    )


def _milliseconds(seconds: float) -> int:
    return max(1, min(round(1000 * seconds), 2**31 - 1))  # As gRPC can hold it.
