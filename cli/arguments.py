"""What the commands share: types of arguments, defaults, and how a command fails.

A command that fails raises `CommandError`; `main` prints the message on standard error and exits
with the status of the error.
"""

import argparse
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from cli.configuration import ConfiguredParser
from croupier.terminal.arguments import API_KEY as API_KEY
from croupier.terminal.arguments import DEFAULT_ADDRESS as DEFAULT_ADDRESS
from croupier.terminal.arguments import MAX_ITERATIONS as MAX_ITERATIONS
from croupier.terminal.arguments import MAX_UINT64 as MAX_UINT64
from croupier.terminal.arguments import CommandError as CommandError
from croupier.terminal.arguments import UsageError as UsageError
from croupier.terminal.arguments import add_language as add_language
from croupier.terminal.arguments import add_no_color as add_no_color
from croupier.terminal.arguments import add_server as add_server
from croupier.terminal.arguments import connection as connection
from croupier.terminal.arguments import declare as declare
from croupier.terminal.arguments import declared as declared
from croupier.terminal.arguments import digits as digits
from croupier.terminal.arguments import path as path
from croupier.terminal.arguments import seconds as seconds
from croupier.terminal.arguments import security as security
from croupier.terminal.arguments import whole as whole

Commands: TypeAlias = "argparse._SubParsersAction[ConfiguredParser]"

MAX_PORT = 65535
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
UNITS = {"M": 20, "G": 30}
LEAST_MEMORY = 16 << 20  # Bytes, for searches.
HASH_BYTES = 32


def default_data() -> str:
    """Returns the default directory of the log, under the XDG base directory for data."""
    return f"{os.environ.get('XDG_DATA_HOME') or '~/.local/share'}/croupier"


def check_data(store: str, data: Path) -> None:
    """Raises UsageError if a log would be in a directory under an unknown home directory."""
    if store == "sqlite" and str(data).startswith("~"):
        raise UsageError(
            f"argument --data: the home directory, and so {data}, is unknown: name a directory, or "
            "set HOME"
        )


def operator_token(path: Path) -> str:
    """The operator's token in a file; raises OSError, and CommandError if it is none."""
    from service.api.authentication import read_operator_token  # Most commands need none.

    try:
        return read_operator_token(path)
    except ValueError as error:
        raise CommandError(str(error)) from None


# Types of arguments: functions of a text that raise ArgumentTypeError


def address(text: str) -> tuple[str, int]:
    """Reads HOST:PORT."""
    host, colon, number = text.rpartition(":")
    if not colon or not host:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host, port(number)


def port(text: str) -> int:
    """Reads the number of a port; 0 takes a free one."""
    number = digits(text)
    if number is None or number > MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 0 to {MAX_PORT}")
    return number


def directory(text: str) -> Path:
    """Reads the path of a directory; ~ at its beginning stays if there is no home directory."""
    expanded = os.path.expanduser(path(text))
    # An empty HOME would name the root, and a relative one whatever directory the process is in.
    homeless = not os.path.isabs(os.environ.get("HOME", "/"))
    return Path(text if homeless and text.startswith("~") else expanded)


def new_file(text: str) -> Path:
    """Reads the path of a file to write: what cannot be written is told before the work for it."""
    named = path(text)
    folder = named.resolve().parent
    if named.is_dir() or not folder.is_dir():
        what = "is a folder" if named.is_dir() else "is in no folder that there is"
        raise argparse.ArgumentTypeError(f"{text!r} {what}: name a file")
    if not named.exists() or named.is_file():  # A device is written itself; a file is made anew.
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            what = f"{str(folder)!r} cannot be written: {error.strerror}"
            raise argparse.ArgumentTypeError(what) from None
    return named


def even(text: str) -> int:
    """Reads an even number from 2 on."""
    number = whole(1)(text)
    if number % 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not an even number")
    return number


def fraction(least: float, most: float) -> Callable[[str], float]:
    """Returns a type: a number between `least` and `most`, excluding both."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = least
        if not least < number < most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a number between {least:g} and {most:g}"
            )
        return number

    return read


def ascending(text: str) -> tuple[float, float]:
    """Reads two numbers in ascending order, with a comma between them."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not two numbers, as 0,20") from None
    if not low < high:
        raise argparse.ArgumentTypeError(f"{text!r}: the first must be below the second")
    return low, high


def duration(text: str) -> float:
    """Reads a duration with a unit, as 90d, in seconds."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration: 90d, 12h, 30m or 45s")
    return float(int(found[1]) * SECONDS[found[2]])


def size(text: str) -> int:
    """Reads an amount of memory with a unit, as 512M or 2G, in bytes."""
    found = re.fullmatch(r"([0-9]{1,7})([MG])", text)
    number = int(found[1]) << UNITS[found[2]] if found else 0
    if number < LEAST_MEMORY:
        raise argparse.ArgumentTypeError(f"{text!r} is not 16M or more, as 512M or 2G")
    return number


def duration_or_never(text: str) -> float | None:
    """Reads a duration, or "never" as None."""
    return None if text == "never" else duration(text)


def sha256(text: str) -> bytes:
    """Reads a hash in hexadecimal digits."""
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if len(data) != HASH_BYTES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a hash: {2 * HASH_BYTES} hexadecimal digits"
        )
    return data


def store(text: str) -> str:
    """Reads where matches are kept."""
    from service.running.server import check_store  # Much for the commands without this argument.

    try:
        return check_store(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
