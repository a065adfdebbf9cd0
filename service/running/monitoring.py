"""The port for machines, over HTTP: the metrics, whether the server lives, and is ready.

| path | answer |
|---|---|
| `/metrics` | the metrics, for Prometheus |
| `/livez` | 200, or 503 if the event loop of the server has stood still for LIVE_SECONDS |
| `/readyz` | 200 while the server takes calls; 503 while it starts or stops, and while it cannot |
|  | read its log or background work does not come back without which it is of no use |

A thread of its own answers, so that the metrics can be read also while the event loop is busy. The
connections have the limits of the web gateway: a reader that takes nothing loses its place after a
while. Until then some 60 of them can lock out others, so the port belongs inside.
"""

import asyncio
import logging
import socket
import time
from pathlib import Path
from typing import TypeAlias

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

import wire
from service.common.tasks import KeptTask, Tasks
from service.listening.connections import accept, cannot_listen, listen
from service.listening.http import (
    UNREADABLE,
    Connections,
    Receive,
    Scope,
    Send,
    respond,
    respond_text,
)
from service.observability.metrics import Metrics
from service.searching.processes import SummedRegistry

LIVE_SECONDS = 10.0
LAG_SAMPLE_SECONDS = 0.1
MAX_CONNECTIONS = 64
IDLE_SECONDS = 60.0
READY = "ready"
UNREADABLE_SECONDS = 10.0  # After which a server that cannot read its log is not ready.

_log = logging.getLogger(__name__)


# A host (in brackets if it is an IPv6 address) and a port, or a socket in the file system; None:
# nowhere.
MonitoringAddress: TypeAlias = tuple[str, int] | Path | None


class Monitoring:
    """Answers for one server of any kind. Every method is called on the server's event loop."""

    def __init__(self, metrics: Metrics, registry: SummedRegistry | None = None) -> None:
        """`registry` is what to tell instead of the metrics alone."""
        self.state = "starting"  # READY, or what the server does instead of taking calls.
        self._metrics = metrics
        self._shown: Collector = registry or metrics.registry
        self._turned = time.monotonic()  # When the event loop was last seen to turn.
        self._sampling: KeptTask | None = None
        self._port: _Port | None = None

    def start(self, address: MonitoringAddress) -> None:
        """Starts to answer; raises OSError if the address cannot be used."""
        if address is None:
            return
        tasks = self._metrics.tasks
        connections = Connections(self._answer, MAX_CONNECTIONS, IDLE_SECONDS, None, tasks)
        self._port = _Port(_listen(address), connections, tasks)
        self._sampling = tasks.keep("loop lag", self._take_samples)
        if isinstance(address, tuple):
            _log.info("metrics on http://%s:%d/metrics", *address)

    def stop(self) -> None:
        """Closes the port."""
        if self._sampling is not None:
            self._sampling.close()
        if self._port is not None:
            self._port.close()

    async def _take_samples(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._turned = time.monotonic()
            due = loop.time() + LAG_SAMPLE_SECONDS
            await asyncio.sleep(LAG_SAMPLE_SECONDS)
            self._metrics.loop_lag.observe(max(0.0, loop.time() - due))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if UNREADABLE in scope["state"]:
            await respond_text(send, scope["state"][UNREADABLE], "this is no request of HTTP/1.1")
        elif path not in ("/metrics", "/livez", "/readyz"):
            await respond_text(send, 404, "here are /metrics, /livez and /readyz")
        elif scope["method"] not in ("GET", "HEAD"):
            await respond_text(send, 405, "only GET", [(b"allow", b"GET, HEAD")])
        elif path == "/metrics":
            # In one form, which all readers know, whatever they say that they accept.
            kind = (b"content-type", CONTENT_TYPE_PLAIN_0_0_4.encode())
            await respond(send, 200, [kind], generate_latest(self._shown))
        elif path == "/readyz":
            state = self._readiness()
            await respond_text(send, 200 if state == READY else 503, state)
        else:
            still = time.monotonic() - self._turned
            if still < LIVE_SECONDS:
                await respond_text(send, 200, "live")
            else:
                await respond_text(send, 503, f"the event loop has stood still for {still:.0f} s")

    def _readiness(self) -> str:
        since = self._metrics.unreadable_since
        if self.state == READY and since and time.monotonic() - since > UNREADABLE_SECONDS:
            return "the log cannot be read"
        lost = self._metrics.tasks.lost()
        if self.state == READY and lost:
            return f"background work fails again and again: {lost}"
        return self.state


class _Port:
    """The port, on the event loop of a thread of its own."""

    def __init__(self, listening: socket.socket, connections: Connections, tasks: Tasks) -> None:
        self._listening = listening
        self._connections = connections
        self._tasks = tasks
        self._loop = asyncio.new_event_loop()
        tasks.watch(self._loop)
        self._loop.call_soon(self._begin)
        self._thread = tasks.keep_thread("metrics port", self._loop.run_forever)

    def close(self) -> None:
        """Closes it."""
        self._thread.close(lambda: self._loop.call_soon_threadsafe(self._end))
        self._listening.close()
        self._loop.close()

    def _begin(self) -> None:
        self._accepting = self._tasks.keep(
            "metrics port", accept, self._listening, self._connections.admit
        )

    def _end(self) -> None:
        self._tasks.spawn("metrics port", self._close)

    async def _close(self) -> None:
        try:
            self._accepting.close()
            await asyncio.wait([self._accepting.task])
            await self._connections.close(0.0)
            await asyncio.sleep(0)  # Until they know it.
        finally:
            self._loop.stop()


def add_rules_versions(metrics: Metrics) -> None:
    """Adds the versions of the rules that this server knows."""
    for game_id, game in wire.hosted_games().items():
        metrics.rules_versions.labels(game_id).set(game.rules_version)


def _listen(address: tuple[str, int] | Path) -> socket.socket:
    if isinstance(address, Path):
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(address))
        listening.listen()
        listening.setblocking(False)
        return listening
    host, port = address[0].strip("[]"), address[1]
    try:
        return listen(host, port)
    except OSError as error:
        raise cannot_listen(host, port, error, "--metrics-host or --metrics-port") from None
