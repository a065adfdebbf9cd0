"""The listener of the web gateway: listens for HTTP, and is started and stopped with the server."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Iterable

from croupier.transport import is_loopback
from service.api.calls import Calls, Service
from service.common.tasks import KeptTask, Tasks
from service.gateway.application import WebApplication
from service.gateway.options import WebOptions
from service.gateway.origins import Origins
from service.gateway.rpc import RpcApplication
from service.gateway.site import Site
from service.listening.connections import ConnectionLimits, accept, listen, max_connections
from service.listening.http import Connections

LOOPBACK_NAMES = ("localhost",)
# Where a browser on this machine finds a server that listens on all addresses.
WILDCARDS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


class WebListener:
    """The web gateway of one server. It is started once and stopped once."""

    def __init__(
        self,
        options: WebOptions,
        limits: ConnectionLimits,
        calls: Calls,
        context: Callable[[], ssl.SSLContext] | None,
        tasks: Tasks,
        count: Callable[[int], None],
    ) -> None:
        """`context` gives the TLS context for the next connection; None: in the clear.

        `count` is told the status of each response.
        """
        self.options = options
        self.most_connections = max_connections(limits, listeners=2)
        self._limits = limits
        self._calls = calls
        self._context = context
        self._tasks = tasks
        self._count = count
        self._connections: Connections | None = None
        self._listening: socket.socket | None = None
        self._accepting: KeptTask | None = None

    async def start(self, services: Iterable[Service]) -> str:
        """Starts to serve; returns the URL of the web app. Raises OSError if it cannot."""
        self._listening = listening = _open_port(self.options)
        rpc = RpcApplication(self._calls, services, self.options.take_unknown)
        admit = self._calls.admit_file
        application = WebApplication(
            self._origins(), rpc, Site(), admit, self._count, methods=rpc.methods
        )
        self._connections = Connections(
            application,
            self.most_connections,
            self._limits.idle,
            self._context,
            self._tasks,
            self._calls.admission.holding_connection,
            self._calls.admission.delay_handshake,
        )
        self._accepting = self._tasks.keep(
            "web port", accept, listening, self._connections.admit, needed=True
        )
        scheme = "http" if self._context is None else "https"
        host = WILDCARDS.get(self.options.host, self.options.host)
        return f"{scheme}://{host}:{listening.getsockname()[1]}/"

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return 0 if self._connections is None else len(self._connections)

    async def stop(self, seconds: float) -> None:
        """Closes the port, and each connection when its response has been sent."""
        if self._accepting is not None:
            self._accepting.close()
            await asyncio.wait([self._accepting.task])
        if self._listening is not None:
            self._listening.close()
        if self._connections is not None:
            await self._connections.close(seconds)

    def _origins(self) -> Origins:
        options = self.options
        names = {*options.hosts, options.host.strip("[]")}
        if is_loopback(options.host):
            return Origins(options.origins, {*names, *LOOPBACK_NAMES})
        return Origins(options.origins, names if options.hosts else None)


def _open_port(options: WebOptions) -> socket.socket:
    """A socket on the port of a listener, or on the next best one; raises OSError."""
    host, port = options.host.strip("[]"), options.port
    try:
        return listen(host, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE or not options.may_move:
            raise
    return listen(host, 0)
