"""Metering: how long a coroutine keeps the event loop from everything else."""

import time
import types
from collections.abc import Callable, Generator
from typing import Any


@types.coroutine
def metered(
    work: Any,
    charge: Callable[[float], object],
    timer: Callable[[], float] = time.thread_time,
) -> Generator[Any, Any, Any]:
    """Awaits a coroutine, or the next item of an async generator, and returns its result.

    `charge` is called with the seconds that each of its steps takes, by default of processor time:
    a step goes from when the event loop turns to it until it waits for something or ends.
    """
    step, sent = work.send, None
    while True:
        began = timer()
        try:
            waited = step(sent)
        except StopIteration as ended:
            return ended.value
        finally:
            charge(timer() - began)
        try:
            step, sent = work.send, (yield waited)
        except GeneratorExit:
            work.close()
            raise
        # Such as a cancellation: it goes where the coroutine waits.
        except BaseException as error:
            step, sent = work.throw, error
