"""A server as a process: it runs until SIGTERM or SIGINT, and reads files again at SIGHUP."""

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from service.listening.connections import raise_file_limit
from service.observability import logs
from service.observability.metrics import Metrics

GARBAGE_THRESHOLD = 5_000  # New objects between two collections of the youngest generation.
FULL_COLLECTION_THRESHOLD = 100  # Collections of the middle generation between two full ones.

_log = logging.getLogger(__name__)


class Reloadable(NamedTuple):
    """What a server takes without a restart."""

    log_level: str
    callers_file: Path | None


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

    async def reload(self, callers_file: Path | None) -> None:
        """Reads the file again; raises OSError or ValueError, and has changed nothing then."""

    async def stop(self) -> None:
        """Stops, and answers the calls that run."""


async def run(make_server: Callable[[], Served], read: Callable[[], Reloadable]) -> None:
    """Serves until a signal comes; raises OSError or ValueError if the server cannot start.

    At SIGHUP `read` is called in a thread; it raises ValueError where a file is wrong.
    """
    terminals = [file for file in range(3) if os.isatty(file)]
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
    stopped, told = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)

    def hang_up() -> None:
        # The end of its terminal ends a server, too.
        (told if all(map(os.isatty, terminals)) else stopped).set()

    loop.add_signal_handler(signal.SIGHUP, hang_up)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
    reloading = server.metrics.tasks.keep("reload", _reload_on, told, server, read)
    settle()
    print(f"croupier serves on {address}", flush=True)
    # grpcio cannot answer JSON that comes to its port: nothing else would tell which port is which.
    if server.web_url:
        print(f"in a browser: {server.web_url}", flush=True)
        print(f"gRPC at {address}; JSON, Connect and gRPC-Web at {server.web_url}", flush=True)
    else:
        print(f"gRPC alone at {address}", flush=True)
    await stopped.wait()
    _log.info("stopping")
    reloading.close()
    await server.stop()


async def _reload_on(told: asyncio.Event, server: Served, read: Callable[[], Reloadable]) -> None:
    while True:
        await told.wait()
        told.clear()
        try:
            found = await asyncio.to_thread(read)
            await server.reload(found.callers_file)
        except (OSError, ValueError) as error:
            _log.error("reload: nothing is changed: %s", error)
        else:
            logs.set_level("info")  # Whoever has asked for it is told.
            _log.info("reload: the log level is %s, the callers file %s", *found)
            logs.set_level(found.log_level)


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
