"""The doors for gRPC, one of which a server has: on nghttp2, or on grpcio."""

from collections.abc import Sequence
from typing import Protocol

from service.api.calls import Calls, Service
from service.api.door import GrpcDoor
from service.connections import ConnectionLimits
from service.tls import Certificate

AUTO, NGHTTP2, GRPCIO = "auto", "nghttp2", "grpcio"
KINDS = (AUTO, NGHTTP2, GRPCIO)


class Door(Protocol):
    """What a server does with its door for gRPC."""

    async def open(self, address: str, services: Sequence[Service]) -> str:
        """Serves at an address: HOST:PORT, or unix:PATH. Returns it with the port that it has."""

    async def begin_to_close(self) -> None:
        """Tells those who ask about health that this server is going."""

    async def close(self, grace: float) -> None:
        """Closes the port; calls that run have `grace` seconds to end."""


def has_nghttp2() -> bool:
    """Whether this build has the door on nghttp2."""
    try:
        import service.http2.session  # noqa: F401
    except ImportError:
        return False
    return True


def resolve(kind: str) -> str:
    """What a kind is in this build: AUTO is NGHTTP2 where that is built, else GRPCIO."""
    if kind != AUTO:
        return kind
    return NGHTTP2 if has_nghttp2() else GRPCIO


def make_door(
    kind: str,
    calls: Calls,
    limits: ConnectionLimits,
    certificate: Certificate | None,
    doors: int = 1,
    *,
    shares_port: bool = False,
) -> Door:
    """A door of a kind, as `service/api/door.py:GrpcDoor`; raises ValueError if it cannot be."""
    kind = resolve(kind)
    if kind == GRPCIO:
        credentials = None if certificate is None else certificate.credentials()
        return GrpcDoor(calls, limits, credentials, doors, shares_port=shares_port)
    try:
        from service.http2.door import Http2Door
    except ImportError as error:
        raise ValueError(
            f"--grpc {NGHTTP2} is not part of this installation ({error}): install nghttp2"
            " (apt-get install libnghttp2-dev), and build the server from its sources"
        ) from None
    context = None if certificate is None else certificate.http2_context
    return Http2Door(calls, limits, context, doors, shares_port=shares_port)
