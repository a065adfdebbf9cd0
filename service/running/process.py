"""A server as a process, which runs until it gets SIGTERM or SIGINT."""

import asyncio
import gc
import logging
import signal
from collections.abc import Callable
from typing import Protocol

from service.listening.connections import raise_file_limit
from service.observability.metrics import Metrics

GARBAGE_THRESHOLD = 5_000  # New objects between two collections of the youngest generation.
FULL_COLLECTION_THRESHOLD = 100  # Collections of the middle generation between two full ones.

_log = logging.getLogger(__name__)


class Served(Protocol):
    """A server of any kind."""

    @property
    def metrics(self) -> Metrics:
        """Its metrics."""

    @property
    def web_url(self) -> str:
        """The URL of the web app when it has started; empty without a web gateway."""

    async def start(self) -> str:
        """Starts to serve; returns the address. Raises OSError or ValueError if it cannot."""

    async def stop(self) -> None:
        """Stops, and answers the calls that run."""


async def run(make_server: Callable[[], Served]) -> None:
    """Serves until a signal comes; raises OSError or ValueError if the server cannot start."""
    raise_file_limit()
    server = make_server()
    server.metrics.add_process()
    server.metrics.tasks.watch(asyncio.get_running_loop())
    try:
        address = await server.start()
    except (OSError, ValueError):
        await server.stop()
        raise
    # Up to here a signal ends the process at once, since nobody waits for an answer: see
    # `cli/__main__.py`.
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    settle()
    print(f"croupier serves on {address}", flush=True)
    if server.web_url:
        print(f"in a browser: {server.web_url}", flush=True)
    await stopped.wait()
    _log.info("stopping")
    await server.stop()


def settle() -> None:
    """Lets garbage collections leave what exists by now, when a server has started."""
    # The objects that exist by now stay. Each full collection would take 10 to 25 ms for them, in
    # which no call is answered, and takes 30 to 150 ms for the cached matches. With the
    # interpreter's own threshold there was one every 1,500 actions; with this one they are rarer.
    # With 10,000 matches that are watched one takes a second. Meanwhile more than 1,000 calls can
    # come in, of which grpcio cancels some.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, 10, FULL_COLLECTION_THRESHOLD)
