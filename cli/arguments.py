"""What the commands share: types of arguments, defaults, and how a command fails.

A command that fails raises `CommandError`; `main` prints the message on standard error and exits
with the status of the error.
"""

import argparse
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from croupier.transport import Security

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

DEFAULT_ADDRESS = "127.0.0.1:50051"
MAX_PORT = 65535
MAX_UINT64 = 2**64 - 1
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
HASH_BYTES = 32


class CommandError(Exception):
    """A command has failed; the message says why."""

    status = 1


class UsageError(CommandError):
    """The command line asks for something that does not exist or does not fit the rest."""

    status = 2  # As for the errors that argparse finds.


def add_server(
    parser: argparse.ArgumentParser, default: str | None = DEFAULT_ADDRESS, help: str = "the server"
) -> None:
    """Adds the option --server, and those that protect the connection to it."""
    text = f"{help} (default: %(default)s)" if default else help
    parser.add_argument("--server", metavar="HOST:PORT", default=default, help=text)
    group = parser.add_argument_group("the connection to the server")
    add = group.add_argument
    add("--tls", action="store_true", help="connect with TLS; each of the files below implies it")
    add(
        "--tls-ca",
        metavar="FILE",
        type=Path,
        help="the certificates of the authorities that the server's certificate must come from, "
        "in PEM format (default: those that gRPC comes with)",
    )
    add(
        "--tls-cert",
        metavar="FILE",
        type=Path,
        help="the certificate of this client, for a server that asks for one",
    )
    add("--tls-key", metavar="FILE", type=Path, help="the private key of --tls-cert")
    add(
        "--insecure",
        action="store_true",
        help="send tokens in the clear, also to another host; for private networks only",
    )


def security(chosen: argparse.Namespace) -> Security:
    """Returns what the options of `add_server` say; raises UsageError if they do not fit."""
    files = {"ca": chosen.tls_ca, "cert": chosen.tls_cert, "key": chosen.tls_key}
    if chosen.insecure and (chosen.tls or any(files.values())):
        raise UsageError("--insecure excludes --tls and its files")
    if bool(chosen.tls_cert) != bool(chosen.tls_key):
        raise UsageError("--tls-cert and --tls-key belong together")
    for name, path in files.items():
        if path is not None and not os.access(path, os.R_OK):
            raise UsageError(f"--tls-{name}: {path} cannot be read")
    return Security(chosen.tls, **files, insecure=chosen.insecure)


def add_no_color(parser: argparse.ArgumentParser) -> None:
    """Adds the option --no-color."""
    parser.add_argument(
        "--no-color",
        action="store_true",
        help="print no colours (also: NO_COLOR in the environment)",
    )


def default_data() -> Path:
    """Returns the default directory of the log: the XDG base directory for data."""
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(home) / "croupier"


# Types of arguments: functions of a text that raise ArgumentTypeError


def address(text: str) -> tuple[str, int]:
    """Reads HOST:PORT."""
    host, colon, number = text.rpartition(":")
    if not colon or not host:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host, port(number)


def port(text: str) -> int:
    """Reads the number of a port; 0 takes a free one."""
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 0 to {MAX_PORT}")
    return int(text)


def whole(least: int = 0, most: int = MAX_UINT64) -> Callable[[str], int]:
    """Returns a type: a whole number from `least` to `most`."""
    limits = f"from {least} on" if most == MAX_UINT64 else f"from {least} to {most}"

    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {limits}")
        return int(text)

    return read


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


def seconds(most: float) -> Callable[[str], float]:
    """Returns a type: a number of seconds, with decimals or without, up to `most`."""

    def read(text: str) -> float:
        if not re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", text) or float(text) > most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a number of seconds from 0 to {most:g}"
            )
        return float(text)

    return read


def duration(text: str) -> float:
    """Reads a duration with a unit, as 90d, in seconds."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration: 90d, 12h, 30m or 45s")
    return float(int(found[1]) * SECONDS[found[2]])


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


def json_option(text: str) -> tuple[str, Any]:
    """Reads NAME=JSON."""
    name, equals, value = text.partition("=")
    try:
        if equals:
            return name, json.loads(value)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not NAME=JSON")
