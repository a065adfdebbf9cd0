"""How tests wait: for an event, and however long it takes.

No test knows how fast the machine is. A test that waits has no limit of its own: `timeout` in
pyproject.toml is that of every test, so generous that only what never comes reaches it. Where a
test waits for others, `waiting_for` then says for whom. As that limit ends a test once, and not
what is cleaned up after it, a wait ends by itself after as long.
"""

import time
import tomllib
from contextlib import contextmanager
from pathlib import Path

PAUSE = 0.01  # Seconds between two looks at what nobody tells of.
# For what must have a deadline, such as a call that a test lets wait: more than that of any test.
FOREVER = 3600.0
_PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
LIMIT = _PROJECT["tool"]["pytest"]["ini_options"]["timeout"]


def wait_until(condition, describe=lambda: ""):
    """Waits until a condition is true, and returns what it then is; looks again and again."""
    began = time.monotonic()
    with waiting_for(describe):
        while not (found := condition()):
            if time.monotonic() - began > LIMIT:
                raise TimeoutError(f"nothing came in {LIMIT} seconds")
            time.sleep(PAUSE)
    return found


@contextmanager
def waiting_for(describe):
    """Adds to whatever ends the wait in this block what `describe()` says it still waited for."""
    try:
        yield
    except BaseException as error:
        try:
            error.add_note(f"still waited for: {describe()}")
        except Exception as other:  # What was waited for may be gone.
            error.add_note(f"what was waited for cannot be told: {other!r}")
        raise
