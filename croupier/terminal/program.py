"""How a program begins and ends: its standard streams, interrupts, and errors in a line."""

import io
import os
import re
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# Statuses. The last two are those of a program that a signal has ended.
UNUSABLE, INTERRUPTED, UNREAD = 1, 130, 141
# What an error repeats of a word that was given or sent, in characters.
MOST_CHARACTERS = 200
_LONG = re.compile(rf"(\S{{{MOST_CHARACTERS}}})\S+")
# The password of a URL, and what may be the end of one; what a message asks for is no secret.
_SECRET = re.compile(
    r"(?<![^\s'\"])(?:(\w+://[^\s'\":/@]*)(:[^\s'\"]*)?|[^\s'\"]*)(?<!USER:PASSWORD)@"
)


class _Heedless(io.FileIO):
    # Standard error: what its disk or its reader does not take is lost, and ends nothing. Most of
    # it tells how far a work of hours is.
    def write(self, data: "ReadableBuffer") -> int:
        with suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


def begin() -> None:
    """Lets standard streams that are closed lead nowhere, and Ctrl-C end what is imported next."""
    # Else the next files that are opened would be taken for them, and get what libraries print.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            stream = os.fdopen(number, "w" if number else "r", closefd=False)
            setattr(sys, name, stream)
    error = io.BufferedWriter(_Heedless(2, "w", closefd=False))
    encoding = sys.stderr.encoding
    sys.stderr = io.TextIOWrapper(error, encoding, "backslashreplace", line_buffering=True)
    # A name of a file or of a card may have letters that the output lacks.
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def take_interrupts() -> None:
    """Lets Ctrl-C raise KeyboardInterrupt again, which some of what is imported would swallow."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _without_secret(found: re.Match[str]) -> str:
    user, password = found.groups()
    return f"{user}@" if user and not password else f"{user or ''}...@"


def shown(line: str) -> str:
    """An error as people may see it: no password of a URL, no long word, no control characters.

    Much of it may come from an argument, from a server, or from what stands before it.
    """
    line = _LONG.sub(r"\1...", _SECRET.sub(_without_secret, line))
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in line)


def run(command: Callable[[], int], said: Callable[[Exception], str | None]) -> NoReturn:
    """Runs a command and exits with its status; an interrupt ends it in silence.

    `said` returns the line with which the command ends at an error, or None for an error of ours,
    which has a traceback. The status is the `status` of the error, if it has one.
    """
    status: object
    try:
        try:
            status = command()
        except SystemExit as end:  # Of argparse, which has printed a help.
            status = end.code
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:  # The reader of the output has enough, as `head` does.
        status = UNREAD
    except Exception as error:
        # Whatever bytes an argument has, what is sent is UTF-8.
        unsent = isinstance(error, UnicodeEncodeError)
        line = said(OSError("an argument is not UTF-8") if unsent else error)
        if line is None:
            raise
        print(shown(line), file=sys.stderr)
        status = getattr(error, "status", UNUSABLE)
    try:
        sys.stdout.flush()
    except OSError:  # What is left goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)  # type: ignore[arg-type]
