"""How tests wait: for an event, and however long it takes.

No test knows how fast the machine is. A test that waits has no limit of its own: `timeout` in
pyproject.toml is that of every test, so generous that only what never comes reaches it. Where a
test waits for others, `waiting_for` then says for whom.
"""

import time
from contextlib import contextmanager

PAUSE = 0.01  # Seconds between two looks at what nobody tells of.
# For what must have a deadline, such as a call that a test lets wait: more than that of any test.
FOREVER = 3600.0


def wait_until(condition, describe=lambda: ""):
    """Waits until a condition is true, and returns what it then is; looks again and again."""
    with waiting_for(describe):
        while not (found := condition()):
            time.sleep(PAUSE)
    return found


@contextmanager
def waiting_for(describe):
    """Adds to whatever ends the wait in this block what `describe()` says it still waited for."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"still waited for: {describe()}")
        raise
