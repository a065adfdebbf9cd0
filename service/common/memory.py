"""Gives freed memory back to the system.

glibc keeps what was freed below what is in use: hundreds of MB after thousands of streams.
"""

import asyncio
import ctypes
import time
from collections.abc import Callable

# Often enough to give back little at once, which takes 0.1 ms for each MB.
GIVE_BACK_SECONDS = 1.0

_malloc_trim: Callable[[int], int] = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)
_due = 0.0  # By time.monotonic.


def give_back_soon() -> None:
    """Gives freed memory back in `GIVE_BACK_SECONDS`, once for all that ask until then."""
    global _due
    now = time.monotonic()
    if now >= _due:
        _due = now + GIVE_BACK_SECONDS
        asyncio.get_running_loop().call_later(GIVE_BACK_SECONDS, _malloc_trim, 0)
