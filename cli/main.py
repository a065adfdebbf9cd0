"""The command line `croupier`."""

import argparse
import gc
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module

from cli.arguments import CommandError
from cli.configuration import ConfiguredParser
from engine.packages import PackageError

UNUSABLE = 1  # The status where the package of a game cannot be used.

# By their names, the modules of the commands. One is imported with its command, as what the server
# imports takes half a second of a processor.
COMMANDS = {
    name: f"cli.{name.replace('-', '_')}{'_' if name == 'import' else ''}"
    for name in (
        "serve",
        "config",
        "key",
        "games",
        "health",
        "play",
        "load",
        "mcp",
        "webhooks",
        "arena",
        "exploit",
        "train",
        "new-game",
        "check-game",
        "verify",
        "review",
        "puzzles",
        "export",
        "import",
        "schema",
    )
}


def make_parser(names: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of some commands, or of all, and of their options."""
    parser = argparse.ArgumentParser(
        prog="croupier", description="Hosts card games with hidden information over gRPC."
    )
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", parser_class=ConfiguredParser
    )
    for name in names:
        import_module(COMMANDS[name]).add_parser(commands)
    return parser


def _collect_garbage() -> None:
    # From now on, if the start went without. What was imported stays: to look for garbage among it
    # would take a twentieth of a second of a processor at the first turn, and again at later ones.
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits with its status."""
    try:
        given = sys.argv[1:] if arguments is None else arguments
        named = [name for name in given[:1] if name in COMMANDS]
        chosen = make_parser(named or COMMANDS).parse_args(given)
        _collect_garbage()
        status = chosen.run(chosen)
    except PackageError as error:
        print(f"croupier: {error}", file=sys.stderr)
        status = UNUSABLE
    except CommandError as error:
        print(f"croupier: {error}", file=sys.stderr)
        status = error.status
    sys.exit(status)
