"""The processor time of a call: what it keeps the event loop from answering others."""

import types
from collections.abc import Callable, Generator
from time import thread_time
from typing import Any


@types.coroutine
def metered(work: Any, charge: Callable[[float], object]) -> Generator[Any, Any, Any]:
    """Awaits a coroutine, or the next item of an async generator, and returns its result.

    `charge` is called with the seconds of processor time of each of its steps, from when the event
    loop turns to it until it waits for something or ends.
    """
    step, sent = work.send, None
    while True:
        began = thread_time()
        try:
            waited = step(sent)
        except StopIteration as ended:
            return ended.value
        finally:
            charge(thread_time() - began)
        try:
            step, sent = work.send, (yield waited)
        except GeneratorExit:
            work.close()
            raise
        except BaseException as error:
            step, sent = work.throw, error
