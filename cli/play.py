"""`croupier play`: plays a match against a bot or a friend in the terminal."""

import argparse

from cli.arguments import Commands
from croupier.terminal import command


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "play",
        help="play a match against a bot or a friend in the terminal",
        description=command.DESCRIPTION,
    )
    command.add_arguments(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Plays as the command line says."""
    return command.run(chosen, "croupier play")
