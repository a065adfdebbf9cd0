"""`croupier config`: prints the options that are in force."""

import argparse
import re
import sys
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import tomlkit

from cli.arguments import Commands
from cli.configuration import ConfiguredParser
from cli.server_options import add_options, read_options
from engine.building import include_path
from service.common.urls import without_password

_WHOLE = "0|[1-9][0-9]{0,17}"  # Texts that TOML has as integers, which have 64 bits.


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
                shown = without_password(text) if isinstance(text, str) else text
                number = isinstance(shown, str) and re.fullmatch(_WHOLE, shown)
                item = tomlkit.item(int(number[0]) if number else shown)
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
