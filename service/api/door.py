"""The door for gRPC: a port, the services behind it, health and reflection."""

import asyncio
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import suppress

import grpc

from croupier.transport import is_loopback
from service.api.calls import Calls, Service
from service.api.grpc_services import HealthService, grpc_services
from service.api.handlers import ServiceHandlers
from service.connections import ConnectionLimits, channel_options

# Two servers must not share a port without noticing.
_NO_SHARED_PORT = ("grpc.so_reuseport", 0)
# What grpcio itself takes to end calls that are cut off.
END_SECONDS = 2.0

_log = logging.getLogger(__name__)


class GrpcDoor:
    """A gRPC server."""

    def __init__(
        self,
        calls: Calls,
        limits: ConnectionLimits,
        credentials: grpc.ServerCredentials | None = None,
        doors: int = 1,
    ) -> None:
        """Without `credentials` it serves in the clear. `doors` share the files of the process.

        Raises ValueError if there are too few files.
        """
        self._calls = calls
        self._credentials = credentials
        self._health: HealthService | None = None
        options = (_NO_SHARED_PORT, *channel_options(limits, doors))
        self._server = grpc.aio.server(options=options)

    async def open(self, address: str, services: Sequence[Service]) -> str:
        """Serves at an address: HOST:PORT, or unix:PATH. Returns it with the port that it has.

        Raises OSError if the address cannot be used.
        """
        names = [service.descriptor.full_name for service in services]
        self._health, more = grpc_services(names)
        self._server.add_generic_rpc_handlers([ServiceHandlers(self._calls, [*services, *more])])
        address = self._listen(address)
        await self._server.start()
        return address

    def begin_to_close(self) -> None:
        """Tells those who watch its health that this server is going."""
        if self._health is not None:
            self._health.stop()

    async def close(self, grace: float) -> None:
        """Closes the port; calls that run have `grace` seconds to end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace + END_SECONDS):
                await self._server.stop(grace)

    def _listen(self, address: str) -> str:
        is_socket = address.startswith("unix:")
        host, _, port = address.rpartition(":")
        if not is_socket:
            check_free(host, int(port))
        try:
            if self._credentials is not None:
                number = self._server.add_secure_port(address, self._credentials)
            else:
                if not is_socket:
                    warn_of_cleartext(host, address)
                number = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {address}: {error}") from None
        return address if is_socket else f"{host}:{number}"


def warn_of_cleartext(host: str, address: str) -> None:
    """Warns if others could read what is sent to an address without TLS."""
    if not is_loopback(host):
        _log.warning(
            "tokens travel in the clear on %s: give --tls-cert and --tls-key, unless a"
            " proxy with TLS is in front and the network up to here is private",
            address,
        )


def check_free(host: str, port: int) -> None:
    """Raises OSError if nobody can listen there."""
    # gRPC would report the same at length, and part of it on standard error.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host.strip("[]"), port), family=family).close()
    except OSError as error:
        raise cannot_listen(host, port, error) from None


def cannot_listen(host: str, port: int, error: OSError) -> OSError:
    """The error of an address that cannot be used, with the reason that the system gives."""
    # When a host cannot be looked up, the number is not one of the system's errors.
    number = error.errno or 0
    why = os.strerror(number) if number > 0 else "the host has no address"
    return OSError(f"cannot listen on {host}:{port}: {why}")
