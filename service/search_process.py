"""The main module of a search process (`service/searching/processes.py`).

It reads one line from its standard input: a JSON object with the address where it serves and the
options of its searches. It stops when its standard input ends.
"""

import asyncio
import json
import logging
import sys

import uvloop

from service.process import settle
from service.search_server import SearchServer, SearchServerOptions
from service.searching.pools import SearchOptions


async def serve() -> None:
    """Serves until the standard input ends."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    first = await lines.readline()
    if not first:
        return
    told = json.loads(first)
    logging.getLogger("service").setLevel(told["log_level"])
    server = SearchServer(SearchServerOptions(told["address"], SearchOptions(**told["options"])))
    await server.start()
    settle()
    await lines.read()
    await server.stop()


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    uvloop.run(serve())
