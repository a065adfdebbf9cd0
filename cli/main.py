"""The command line `croupier`."""

import argparse
import gc
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module, metadata

from cli.arguments import CommandError
from cli.configuration import ConfiguredParser
from croupier.terminal import program
from croupier.terminal.arguments import Parser
from engine.packages import PackageError

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
        "balance",
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
    parser = Parser(
        prog="croupier", description="Hosts card games with hidden information over gRPC."
    )
    told = f"croupier {metadata.version('croupier-server')}"
    parser.add_argument("--version", action="version", version=told)
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
    """Runs one command and exits with its status.

    What a command does not expect of its surroundings, such as a full disk or a server that is
    away, is said in a line. Errors of Croupier itself have a traceback.
    """
    chosen = argparse.Namespace()

    def command() -> int:
        given = sys.argv[1:] if arguments is None else arguments
        named = [name for name in given[:1] if name in COMMANDS]
        make_parser(named or COMMANDS).parse_args(given, chosen)
        _collect_garbage()
        program.take_interrupts()
        return chosen.run(chosen)  # type: ignore[no-any-return]

    program.run(command, lambda error: _said(error, getattr(chosen, "server", None)))


def _said(error: Exception, server: str | None) -> str | None:
    from croupier.errors import CroupierError  # It would double the time of a command's start.
    from wire.errors import Refusal

    if isinstance(error, CroupierError) and server:
        return f"croupier: {server}: {error}"
    if isinstance(error, FileExistsError):  # Of a folder that was to be made.
        return f"croupier: {error.filename} exists, and is no folder"
    expected = isinstance(error, CommandError | PackageError | CroupierError | Refusal | OSError)
    return f"croupier: {error}" if expected else None
