"""What commands that call a server share: options, types of arguments, and how a command fails."""

import argparse
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from croupier.terminal import program
from croupier.transport import Security

DEFAULT_ADDRESS = "127.0.0.1:50051"
MAX_UINT64 = 2**64 - 1
MAX_ITERATIONS = 10_000_000  # Of a search that a server is asked for.


def path(text: str) -> Path:
    """Reads the path of a file or a directory."""
    if not text:
        raise argparse.ArgumentTypeError("an empty path names nothing")
    return Path(text)


_TYPES: Mapping[str, Any] = {"FILE": path, "DIR": path}
_DECLARED = re.compile(
    r"(?:(?P<short>-\w), )?(?P<flag>--[\w-]+)(?: (?P<metavar>[^\s\[(]\S*))?(?P<many> \.\.\.)?"
    r"(?: \[(?P<default>.*)\]| \((?P<otherwise>.*)\))?"
)


CONNECTION = """
--tls
    connect with TLS; each of the files below implies it
--tls-ca FILE (those that gRPC comes with)
    the certificates of the authorities that the server's certificate must come from, in PEM format
--tls-cert FILE
    the certificate of this client, for a server that asks for one
--tls-key FILE
    the private key of --tls-cert
--insecure
    send tokens in the clear, also to another host; for private networks only
--api-key KEY (CROUPIER_API_KEY in the environment, which other users of this machine cannot see)
    the API key that each call carries
"""
API_KEY = "CROUPIER_API_KEY"

LANGUAGE = """
--language CODE []
    the language of the names and texts of the game, and of a review, such as de, if there is one
"""
NO_COLOR = """
--no-color
    print no colours (also: NO_COLOR in the environment)
"""


class Exact:
    """A parser that repeats arguments only as `program.shown` shows them, and loses none."""

    def exit(self, status: int = 0, message: str | None = None) -> Any:
        return super().exit(status, message and program.shown(message))  # type: ignore[misc]

    def _get_values(self, action: argparse.Action, given: list[str]) -> Any:
        if action.option_strings and given == ["--"]:  # Which some Pythons take for nothing.
            raise argparse.ArgumentError(action, "-- is no value")
        return super()._get_values(action, given)  # type: ignore[misc]


class Parser(Exact, argparse.ArgumentParser):
    """The parser of a program."""


class CommandError(Exception):
    """A command has failed; the message says why."""

    status = 1


class UsageError(CommandError):
    """The command line asks for something that does not exist or does not fit the rest."""

    status = 2  # As for the errors that argparse finds.


class Declared(NamedTuple):
    """An option as it is declared; see `declared`."""

    flags: list[str]
    meaning: str
    otherwise: str  # What holds by default, in words, if no text stands for it.
    settings: dict[str, Any]  # For argparse.


def declared(
    text: str, types: Mapping[str, Any] = {}, more: Mapping[str, Any] = {}
) -> Iterator[Declared]:
    """Yields options that are declared as a help shows them.

        --games N [400]
            games of each pairing

    A default is in brackets, or in parentheses if it is only told and no value. "..." lets an
    option be repeated. An option takes one of several words with | between them; or what a type
    reads, by its flag or metavar; or nothing, and then it is a flag. By flag, `more` has further
    settings for argparse.
    """
    for stanza in re.split(r"\n(?=\S)", text.strip()):
        head, *lines = stanza.split("\n")
        found = _DECLARED.fullmatch(head)
        assert found, head
        flag, metavar = found["flag"], found["metavar"]
        settings: dict[str, Any] = {}
        if metavar is None and found["default"] is None:
            settings["action"] = "store_true"
        elif metavar and "|" in metavar:
            settings["type"] = types.get(flag)
            settings["choices"] = tuple(map(settings["type"] or str, metavar.split("|")))
        elif metavar:
            settings["metavar"] = metavar
            settings["type"] = types.get(flag) or types.get(metavar) or _TYPES.get(metavar)
        if found["many"]:
            settings.update(action="append", default=[])
        elif found["default"] is not None:
            settings["default"] = found["default"]
        flags = [each for each in (found["short"], flag) if each]
        meaning = " ".join(map(str.strip, lines))
        yield Declared(
            flags, meaning, found["otherwise"] or "", settings | dict(more.get(flag, {}))
        )


def declare(
    group: argparse._ActionsContainer,
    text: str,
    types: Mapping[str, Any] = {},
    more: Mapping[str, Any] = {},
) -> None:
    """Adds options that are declared as `declared` says."""
    for option in declared(text, types, more):
        shown = option.otherwise or option.settings.get("default") or ""
        ending = f" (default: {shown})" if shown else ""
        told = (option.meaning + ending).replace("%", "%%")
        group.add_argument(*option.flags, help=told, **option.settings)


def add_server(
    parser: argparse.ArgumentParser, default: str | None = DEFAULT_ADDRESS, help: str = "the server"
) -> None:
    """Adds the option --server, and those that protect the connection to it."""
    text = f"{help} (default: %(default)s)" if default else help
    parser.add_argument("--server", metavar="HOST:PORT", default=default, help=text)
    key = {"--api-key": {"default": os.environ.get(API_KEY, "")}}
    declare(parser.add_argument_group("the connection to the server"), CONNECTION, more=key)


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


def connection(chosen: argparse.Namespace) -> dict[str, Any]:
    """Returns what the options of `add_server` say to a `Client`, but the address."""
    return {**security(chosen)._asdict(), "api_key": chosen.api_key}


def add_language(parser: argparse.ArgumentParser) -> None:
    """Adds the option --language."""
    declare(parser, LANGUAGE)


def add_no_color(parser: argparse.ArgumentParser) -> None:
    """Adds the option --no-color."""
    declare(parser, NO_COLOR)


def digits(text: str) -> int | None:
    """Returns the number that a text of ASCII digits is; None for another text, or a long one."""
    return int(text) if re.fullmatch("[0-9]{1,20}", text) else None


def whole(least: int = 0, most: int = MAX_UINT64) -> Callable[[str], int]:
    """Returns a type: a whole number from `least` to `most`."""
    limits = f"from {least} on" if most == MAX_UINT64 else f"from {least} to {most}"

    def read(text: str) -> int:
        number = digits(text)
        if number is None or not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {limits}")
        return number

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
