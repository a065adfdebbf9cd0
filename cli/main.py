"""The command line `croupier`."""

import argparse
import sys
from collections.abc import Sequence

from cli import (
    arena,
    check_game,
    config,
    exploit,
    export,
    games,
    health,
    import_,
    key,
    new_game,
    play,
    review,
    schema,
    serve,
    train,
    verify,
)
from cli.arguments import CommandError
from cli.configuration import ConfiguredParser
from engine.packages import PackageError

UNUSABLE = 1  # The status where the package of a game cannot be used.

COMMANDS = (
    serve,
    config,
    key,
    games,
    health,
    play,
    arena,
    exploit,
    train,
    new_game,
    check_game,
    verify,
    review,
    export,
    import_,
    schema,
)


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands and their options."""
    parser = argparse.ArgumentParser(
        prog="croupier", description="Hosts card games with hidden information over gRPC."
    )
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", parser_class=ConfiguredParser
    )
    for command in COMMANDS:
        command.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits with its status."""
    try:
        chosen = make_parser().parse_args(arguments)
        status = chosen.run(chosen)
    except PackageError as error:
        print(f"croupier: {error}", file=sys.stderr)
        status = UNUSABLE
    except CommandError as error:
        print(f"croupier: {error}", file=sys.stderr)
        status = error.status
    sys.exit(status)
