"""MCP over HTTP, on connections with the limits of the server's own web port.

Whoever connects is unknown until a tool has looked at the key: until then a request has a time and
a size, an address has its share, and one that is silent makes room for others.
"""

import asyncio
import os
import signal
from typing import Any

import uvloop

from service.admission.admission import Admission
from service.admission.callers_file import Callers
from service.common.errors import log_failure
from service.listening.connections import (
    ConnectionLimits,
    accept,
    cannot_listen,
    listen,
    max_connections,
    raise_file_limit,
)
from service.listening.http import UNREADABLE, Connections, Receive, Scope, Send, respond_text
from service.observability.metrics import Metrics

GRACE = 5.0  # Seconds for which a server that is to end goes on with calls.


def serve_http(application: Any, host: str, port: int) -> None:
    """Serves an application of Starlette until SIGINT or SIGTERM; raises OSError if it cannot."""
    uvloop.run(_serve(application, host, port))


async def _serve(application: Any, host: str, port: int) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    try:
        listening = listen(host, port)
    except OSError as error:
        raise cannot_listen(host, port, error, "--http") from None

    shown = f"[{host}]" if ":" in host else host
    print(f"MCP at http://{shown}:{listening.getsockname()[1]}/mcp", flush=True)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if UNREADABLE in scope["state"]:
            await respond_text(send, scope["state"][UNREADABLE], "this is no request of HTTP/1.1")
            return
        if scope["method"] == "GET":
            # Without sessions a stream of the server's own has nothing to say, and would never end.
            await respond_text(send, 405, "MCP is asked by POST", [(b"allow", b"POST")])
            return
        try:
            await application(scope, receive, send)
        except Exception as error:
            log_failure("a request", error)
            raise

    raise_file_limit()
    limits, metrics = ConnectionLimits(), Metrics()
    connections = Connections(
        answer,
        max_connections(limits),
        limits.idle,
        None,
        metrics.tasks,
        Admission(Callers(), metrics).holding_connection,
    )
    accepting = metrics.tasks.keep("web port", accept, listening, connections.admit)
    async with application.router.lifespan_context(application):
        await stopped.wait()
        accepting.close()
        await asyncio.wait([accepting.task])
        listening.close()
        await connections.close(GRACE)
        # A tool that asks the server is in a thread, which Python would wait for: nothing is lost.
        os._exit(0)
