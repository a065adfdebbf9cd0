"""The main module of a serving process (`service/serving.py`)."""

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Runs the process."""
    # A signal to the whole group of processes is for the main one, which lets this one end in
    # order.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        # It ends with the main process also where it is stopped or hangs: a process that is left
        # over would get connections, and have the ports that the next server needs.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # Afterwards, since it takes half a second.
    import uvloop

    from service.serving import serve

    uvloop.run(serve())


if __name__ == "__main__":
    main()
