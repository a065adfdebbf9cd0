"""Streams that prove that they live: what was silent for too long is lost."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

HEARTBEAT_INTERVAL = 10.0  # Seconds between the signs of life that a stream asks for.
# A stream that was silent for so many intervals is lost: one sign of life may come late.
SILENT_INTERVALS = 2.5

_Response = TypeVar("_Response")


def until_silent(
    stream: Any, limit: float, is_sign: Callable[[_Response], bool]
) -> Iterator[_Response]:
    """Yields the responses of a stream.

    From its first sign of life on, the stream is cancelled when nothing has come for `limit`
    seconds while the caller waited; a caller that is busy elsewhere finds what has come meanwhile.
    A server without heartbeats may be silent for as long as it likes.
    """
    waiting_since: float | None = None
    over = threading.Event()

    def listen() -> None:
        while not over.wait(limit / 10):
            since = waiting_since
            if since is not None and time.monotonic() - since > limit:
                stream.cancel()

    listener = threading.Thread(target=listen, daemon=True)
    try:
        for response in stream:
            waiting_since = None
            if is_sign(response) and not listener.is_alive():
                listener.start()
            yield response
            waiting_since = time.monotonic()
    finally:
        over.set()
