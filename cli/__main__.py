"""The program `croupier`, also as `python -m cli`."""

import gc
import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Runs one command and exits with its status."""
    # Without standard streams, the next files that are opened would be taken for them, and get what
    # libraries print.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    # The processes that this one starts must not take what lies in the working directory, such as a
    # file random.py, for a module.
    os.environ["PYTHONSAFEPATH"] = "1"
    if sys.argv[1:2] == ["serve"]:
        # A start takes a second or more. A signal would be lost meanwhile if this is the first
        # process of a container: the kernel ignores what that one does not handle.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _exit)
    # What is imported stays. To look for garbage among it would take a quarter of the start.
    gc.disable()
    from cli.main import main as run

    run()


def _exit(number: int, frame: FrameType | None) -> None:
    # Nobody waits for an answer yet. In the middle of an import an exception might be swallowed.
    os._exit(0)


if __name__ == "__main__":
    main()
