"""A server as a process: it runs until it gets SIGTERM or SIGINT."""

import asyncio
import gc
import logging
import signal

from service.server import Options, Server

GARBAGE_AFTER = 5_000  # Objects that are made and stay, until the young ones are looked through.

_log = logging.getLogger(__name__)


async def run(options: Options) -> None:
    """Serves until a signal comes; raises OSError or ValueError if the server cannot start."""
    server = Server(options)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        address = await server.start()
    except (OSError, ValueError):
        await server.stop()
        raise
    # What it has taken to start stays. To look through it for garbage again and again takes 10 to
    # 25 ms each time, in which nobody is answered; to look through the matches that are kept takes
    # 30 to 150. By the interpreter's own threshold that came every 1,500 actions; so it is rarer.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER, 10, 10)
    print(f"croupier serves on {address}", flush=True)
    await stopped.wait()
    _log.info("stopping")
    await server.stop()
