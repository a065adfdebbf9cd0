"""`croupier play` on a terminal of a chosen size, for tests."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf import text_format

import wire
from croupier.terminal import texts
from service.api.catalog_service import in_all_languages

ROOT = Path(__file__).parents[3]
PROMPTS = ("> ", "Enter: go on ", "Eingabetaste: weiter ", "(y or n) ", "(j oder n) ")
_WORD = r"[^\W\d_]{2,}"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def not_german(text: str, game: str) -> set[str]:
    """The words of what a German player of a game is shown that no German text has."""
    described = in_all_languages(wire.hosted_games()[game]())["de"]
    shown = text_format.MessageToString(described, as_utf8=True).replace("\\n", " ")
    known = re.findall(_WORD, " ".join((shown, *texts.GERMAN.values())).lower())
    return {
        word for word in re.findall(_WORD, re.sub(r"\w+…", "", text)) if word.lower() not in known
    }


class Terminal:
    """A session on a terminal; what it prints up to each prompt is a list of lines."""

    def __init__(
        self,
        address: str,
        *words: str,
        state: Path,
        rows: int = 24,
        columns: int = 80,
        **environment: str,
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
        server = ("--server", address) if address else ()
        self.process = subprocess.Popen(
            (sys.executable, "-m", "cli", "play", *server, *words),
            cwd=ROOT,
            env={
                **kept,
                "TERM": "xterm-256color",
                "XDG_STATE_HOME": str(state),
                "NO_COLOR": "",
                **environment,
            },
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self.raw = ""  # All that came from the session.

    def read(self, *prompts: str) -> list[str]:
        """Returns the lines up to the next of these prompts, or to the end of the session."""
        new = ""
        while not new or not _plain(new[-200:]).endswith(prompts or PROMPTS):
            try:
                data = os.read(self._master, 65536)
            except OSError:  # The end of the other side, on Linux.
                break
            if not data:
                break
            while True:  # A character may be cut in two.
                with contextlib.suppress(UnicodeDecodeError):
                    new += data.decode()
                    break
                data += os.read(self._master, 1)
        self.raw += new
        return _lines(new)

    def type(self, text: str) -> None:
        """Types a line; takes its echo away."""
        os.write(self._master, f"{text}\n".encode())
        echo = b""
        while not echo.endswith(b"\n"):
            echo += os.read(self._master, 1)

    def interrupt(self) -> None:
        """Interrupts the session at a prompt, as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        # If Python does not read yet, it notices the interrupt at the end of a line.
        os.write(self._master, b"\n")

    def close(self) -> None:
        """Ends the session, if it still runs."""
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@contextlib.contextmanager
def terminal(address: str, *words: str, **options: Any) -> Iterator[Terminal]:
    """A session that ends with the block; the options are those of `Terminal`."""
    session = Terminal(address, *words, **options)
    try:
        yield session
    finally:
        session.close()


def _lines(text: str) -> list[str]:
    # What is in sight at the end. A spinner draws its line again and again, and takes it away.
    lines = [""]
    for part in re.split(r"(\r\n|\r|\x1b\[1A)", text):
        match part:
            case "\r\n":
                lines.append("")
            case "\r":
                lines[-1] = ""
            case "\x1b[1A":
                lines.pop()
            case _:
                _, erased, new = part.rpartition("\x1b[2K")
                lines[-1] = ("" if erased else lines[-1]) + _plain(new)
    return lines


def _plain(text: str) -> str:
    return _CONTROL.sub("", text)
