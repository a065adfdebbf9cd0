"""Streams that prove that they live: what was silent for too long is lost."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

HEARTBEAT_INTERVAL = 10.0  # Seconds between the signs of life that a stream asks for.
# A stream that was silent for so many intervals is lost: one sign of life may come late.
SILENT_INTERVALS = 2.5


def in_background(name: str, work: Callable[[], object]) -> None:
    """Does work in a thread of its own, which ends with the process; its failure is logged.

    Whatever a client does in the background is begun here.
    """

    def run() -> None:
        try:
            work()
        except Exception:
            logging.getLogger(__name__).exception("%s has failed", name)

    threading.Thread(target=run, name=name, daemon=True).start()


async def ended(call: Any) -> None:
    """Returns when a call of grpc, as a future of it, has ended; no thread waits for it."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    call.add_done_callback(lambda _: loop.call_soon_threadsafe(done.set))
    await done.wait()


def until_silent(stream: Any, limit: float) -> Iterator[Any]:
    """Yields the responses of a stream with heartbeats.

    From its first response on, the stream is cancelled when nothing has come for `limit` seconds
    while the caller waited; a caller that is busy elsewhere finds what has come meanwhile.
    """
    waiting_since: float | None = None
    over = threading.Event()

    def listen() -> None:
        while not over.wait(limit / 10):
            since = waiting_since
            if since is not None and time.monotonic() - since > limit:
                stream.cancel()

    in_background("listening to a stream", listen)
    try:
        for response in stream:
            waiting_since = None
            yield response
            waiting_since = time.monotonic()
    finally:
        over.set()
