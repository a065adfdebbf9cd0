"""The door for gRPC on nghttp2: a port, the services behind it, health and reflection."""

import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from service.accepting import Acceptor
from service.api.calls import Calls, Service
from service.api.door import cannot_listen, warn_of_cleartext
from service.connections import ConnectionLimits, max_connections
from service.http2.connections import Connections
from service.http2.methods import Methods
from service.sockets import listen_at_all, listen_at_path

_SERVING = health_pb2.HealthCheckResponse.SERVING
_UNIX = "unix:"


class Http2Door:
    """A gRPC server of the event loop."""

    def __init__(
        self,
        calls: Calls,
        limits: ConnectionLimits,
        context: Callable[[], ssl.SSLContext] | None = None,
        doors: int = 1,
        *,
        shares_port: bool = False,
    ) -> None:
        """`context` gives the TLS context for the next connection; None: in the clear.

        For the rest see `service/api/door.py:GrpcDoor`. Raises ValueError if there are too few
        files.
        """
        self._calls = calls
        self._limits = limits
        self._most = max_connections(limits, doors)
        self._context = context
        self._shares_port = shares_port
        self._health = health.aio.HealthServicer()
        self.methods = Methods()
        self._connections: Connections | None = None
        self._listening: list[socket.socket] = []
        self._path = ""  # Of a socket in the file system.
        self._acceptor: Acceptor | None = None

    async def open(self, address: str, services: Sequence[Service]) -> str:
        """Serves at an address: HOST:PORT, or unix:PATH. Returns it with the port that it has.

        Raises OSError if the address cannot be used.
        """
        names = [service.descriptor.full_name for service in services]
        self.methods.add_services(self._calls, services)
        methods: Any = self.methods  # Which takes handlers as a server of grpcio does.
        health_pb2_grpc.add_HealthServicer_to_server(self._health, methods)
        reflected = (*names, health.SERVICE_NAME, reflection.SERVICE_NAME)
        add_reflection: Any = reflection_pb2_grpc.add_ServerReflectionServicer_to_server
        add_reflection(reflection.aio.ReflectionServicer(reflected), methods)
        for name in ("", *names):
            await self._health.set(name, _SERVING)
        address = self._listen(address)
        self._connections = Connections(self.methods, self._limits, self._most, self._context)
        self._acceptor = Acceptor(self._listening, self._connections.admit)
        return address

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return 0 if self._connections is None else len(self._connections)

    @property
    def calls(self) -> int:
        """How many calls run, those of health and reflection included."""
        return 0 if self._connections is None else self._connections.calls

    async def begin_to_close(self) -> None:
        """Tells those who ask about health that this server is going."""
        await self._health.enter_graceful_shutdown()

    async def close(self, grace: float) -> None:
        """Closes the port; calls that run have `grace` seconds to end."""
        if self._acceptor is not None:
            await self._acceptor.close()
        if self._path:
            Path(self._path).unlink(missing_ok=True)
        if self._connections is not None:
            await self._connections.close(grace)

    def _listen(self, address: str) -> str:
        if address.startswith(_UNIX):
            self._path = address.removeprefix(_UNIX)
            try:
                Path(self._path).unlink(missing_ok=True)  # Of a server that was killed.
                self._listening = [listen_at_path(self._path)]
            except OSError as error:
                raise OSError(f"cannot listen on {address}: {error.strerror}") from None
            return address
        host, _, port = address.rpartition(":")
        if self._context is None:
            warn_of_cleartext(host, address)
        try:
            self._listening = listen_at_all(
                host.strip("[]"), int(port), shares_port=self._shares_port
            )
        except OSError as error:
            raise cannot_listen(host, int(port), error) from None
        return f"{host}:{self._listening[0].getsockname()[1]}"
