"""`croupier config`: prints the options that are in force."""

import argparse
import re
import sys
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import tomlkit

from cli.arguments import Commands
from cli.configuration import ConfiguredParser
from cli.server_options import add_options, read_options
from engine.building import include_path

# The parameters of a PostgreSQL URL that hold a secret.
_SECRETS = ("password", "sslpassword")


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "config",
        usage="%(prog)s [OPTION ...]",
        help="print the options of the server that are in force",
        description="Takes the options of `croupier serve`, checks them as it does, and prints "
        "them with the source of each, as a file that --config reads. It opens no other file. A "
        "password in a URL is left out.",
    )
    parser.add_argument(
        "--cython-include",
        action="store_true",
        help="print the folder in which Cython finds the contract of a game, and nothing else",
    )
    add_options(parser)
    for option in parser.options:
        if option.action.type is not None:
            option.action.type = _keep_text(option.action.type)
    parser.set_defaults(run=partial(run, parser))


def run(parser: ConfiguredParser, chosen: argparse.Namespace) -> int:
    """Prints the options."""
    if chosen.cython_include:
        print(include_path())
        return 0
    for warning in parser.unknown_variables():
        print(f"croupier: warning: {warning}", file=sys.stderr)
    texts = vars(chosen)
    read_options(argparse.Namespace(**{name: _value(given) for name, given in texts.items()}))
    document = tomlkit.document()
    for group, options in groupby(parser.options, key=lambda option: option.group):
        document.add(tomlkit.comment(group))
        for option in options:
            text = _text(texts[option.action.dest])
            if text is None:
                document.add(tomlkit.comment(f"{option.key}: {option.default}"))
            else:
                shown = _without_password(text)
                number = isinstance(shown, str) and re.fullmatch("0|[1-9][0-9]*", shown)
                item = tomlkit.item(int(shown) if number else shown)
                note = "" if shown == text else "; the password is left out"
                document.add(option.key, item.comment(parser.source(option) + note))
        document.add(tomlkit.nl())
    print(tomlkit.dumps(document).rstrip())
    return 0


class _Given(NamedTuple):
    """A value that was read, with the text that it was read from."""

    text: str
    value: object


def _keep_text(read: Any) -> Callable[[str], _Given]:
    return lambda text: _Given(text, read(text))


def _value(given: Any) -> Any:
    if isinstance(given, list):
        return [_value(each) for each in given]
    return given.value if isinstance(given, _Given) else given


def _text(given: object) -> bool | str | list[str] | None:
    """Returns what a file would have; None for a default that no text stands for."""
    if isinstance(given, list):
        return [each.text if isinstance(each, _Given) else each for each in given]
    if isinstance(given, _Given):
        return given.text
    return given if isinstance(given, bool | str) else None


def _without_password(text: Any) -> Any:
    """Returns a text without the password that it holds if it is a URL."""
    if not isinstance(text, str) or "://" not in text:
        return text
    parts = urlsplit(text)
    user, at, place = parts.netloc.rpartition("@")
    query = parse_qsl(parts.query, keep_blank_values=True)
    kept = [(name, value) for name, value in query if name not in _SECRETS]
    if parts.password is None and kept == query:
        return text
    return parts._replace(
        netloc=user.partition(":")[0] + at + place,
        query=parts.query if kept == query else urlencode(kept),
    ).geturl()
