"""`croupier key`: makes an API key."""

import argparse
import hashlib
import re
import secrets

from cli.arguments import Commands

_KEY_BYTES = 32


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "key",
        help="make an API key for a front end",
        description="Prints a new API key, and the lines for the callers file (serve "
        "--callers-file), which holds only its hash. The key itself is for the front end, which "
        'sends it as the metadata "x-api-key"; nothing can show it again.',
    )
    parser.add_argument(
        "name", metavar="NAME", type=_name, help="what the operator calls the front end"
    )
    parser.add_argument(
        "--names-players",
        action="store_true",
        help='believe its metadata "x-player-id": each player then has budgets of their own',
    )
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Prints the key and its entry."""
    key = secrets.token_urlsafe(_KEY_BYTES)
    print(f"# The key, for the front end alone: {key}")
    print(f"[keys.{chosen.name}]")
    print(f'sha256 = "{hashlib.sha256(key.encode()).hexdigest()}"')
    if chosen.names_players:
        print("names_players = true")
    return 0


def _name(text: str) -> str:
    if not re.fullmatch("[A-Za-z0-9_-]{1,40}", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a name: 1 to 40 letters, digits, hyphens and underscores"
        )
    return text
