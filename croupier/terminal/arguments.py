"""What commands that call a server share: options, types of arguments, and how a command fails."""

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path

from croupier.transport import Security

DEFAULT_ADDRESS = "127.0.0.1:50051"
MAX_UINT64 = 2**64 - 1


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


def add_language(parser: argparse.ArgumentParser) -> None:
    """Adds the option --language."""
    parser.add_argument(
        "--language",
        metavar="CODE",
        default="",
        help="the language of the names and texts of the game, and of a review, such as de, "
        "if there is one",
    )


def add_no_color(parser: argparse.ArgumentParser) -> None:
    """Adds the option --no-color."""
    parser.add_argument(
        "--no-color",
        action="store_true",
        help="print no colours (also: NO_COLOR in the environment)",
    )


def whole(least: int = 0, most: int = MAX_UINT64) -> Callable[[str], int]:
    """Returns a type: a whole number from `least` to `most`."""
    limits = f"from {least} on" if most == MAX_UINT64 else f"from {least} to {most}"

    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {limits}")
        return int(text)

    return read


def seconds(most: float) -> Callable[[str], float]:
    """Returns a type: a number of seconds, with decimals or without, up to `most`."""

    def read(text: str) -> float:
        if not re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", text) or float(text) > most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a number of seconds from 0 to {most:g}"
            )
        return float(text)

    return read
