"""The program `croupier`, also as `python -m cli`."""

import gc
import os
import signal
import sys
from types import FrameType

from croupier.terminal import program

# Commands that run until a signal, and the signals that end them until they handle them themselves.
_EXITS = {
    "serve": (signal.SIGINT, signal.SIGTERM),
    "mcp": (signal.SIGINT, signal.SIGTERM),
    "webhooks": (signal.SIGTERM,),
}


def main() -> None:
    """Runs one command and exits with its status."""
    program.begin()
    # The processes that this one starts must not take what lies in the working directory, such as a
    # file random.py, for a module.
    os.environ["PYTHONSAFEPATH"] = "1"
    # The kernel ignores what the first process of a container does not handle: a signal at the
    # start, which takes a second or more, or at any time, if the command has nothing to end.
    for number in _EXITS.get("".join(sys.argv[1:2]), ()):
        signal.signal(number, _exit)
    if sys.argv[1:2] == ["serve"]:
        # Until the server can read its files again.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    # What is imported stays. To look for garbage among it would take a quarter of the start.
    gc.disable()
    from cli.main import main as run

    run()


def _exit(number: int, frame: FrameType | None) -> None:
    # Nobody waits for an answer, and nothing is lost at a kill. In the middle of an import an
    # exception might be swallowed.
    os._exit(0)


if __name__ == "__main__":
    main()
