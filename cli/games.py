"""`croupier games`: lists the games."""

import argparse

import wire
from cli import arguments
from cli.arguments import Commands
from croupier.client import Client
from service.api.catalog_service import describe

ANSWER_SECONDS = 5.0


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "games",
        help="list the games",
        description="Lists the games of this program, or those that a running server hosts.",
    )
    arguments.add_server(parser, default=None, help="the server to ask")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Prints a line for each game."""
    if chosen.server:
        connection = arguments.connection(chosen)
        with Client(chosen.server, timeout=ANSWER_SECONDS, **connection) as client:
            games = client.games()
    else:
        described = wire.of_each("it cannot be described", lambda game: describe(game()))
        games = list(described.values())
    for game in games:
        name = game.name.removeprefix("games/")
        origin = f", {game.origin}" if game.origin else ""
        print(f"{name:20} {game.title}, rules version {game.rules_version}{origin}")
    return 0
