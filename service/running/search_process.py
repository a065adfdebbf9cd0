"""The main module of a search process (`service/searching/processes.py`).

It reads one line from its standard input: a JSON object with the address where it serves and the
options of its searches. It stops when its standard input ends.
"""

import asyncio
import json
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

import uvloop

from service.observability import logs, tracing
from service.running.process import settle
from service.running.search_server import SearchServer, SearchServerOptions
from service.searching.options import SearchOptions


async def serve() -> None:
    """Serves until the standard input ends."""
    # A signal to the whole group of processes is for the server, which lets this one end in order.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # If memory runs out all the same, the system ends this process rather than the server.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    first = await lines.readline()
    if not first:
        return
    told = json.loads(first)
    logs.configure(*told["log"])
    if told["tracing"]:
        tracing.start()
    server = SearchServer(
        SearchServerOptions(
            told["address"], SearchOptions(**told["options"]), metrics_at=Path(told["metrics"])
        )
    )
    server.metrics.tasks.watch(loop)
    await server.start()
    settle()
    await lines.read()
    await server.stop()
    tracing.stop()
    # A server that was killed cannot remove it.
    shutil.rmtree(Path(told["metrics"]).parent, ignore_errors=True)


if __name__ == "__main__":
    uvloop.run(serve())
