"""`croupier export`: writes records of finished matches to files."""

import argparse
import sys
from collections.abc import Sequence

from cli import arguments, record_files
from cli.arguments import Commands
from croupier.client import Client, CroupierError, Operator
from croupier.retry import may_pass
from croupier.v1 import match_pb2

OPTIONS = f"""
--output DIR
    the directory of the files; it is created if it is missing
--format {"|".join(record_files.SUFFIXES)} [json]
    the form of the files
--operator-token-file FILE
    the file with the token of the operator that the server was started with
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "export",
        help="write records of finished matches to files",
        description="Asks a server for records of matches that are over, and writes each to a file "
        "named by the id of the match. For the operator of the server.",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "matches", metavar="MATCH", nargs="*", default=[], help='the name of a match: "matches/..."'
    )
    which.add_argument("--all", action="store_true", help="export all matches that are over")
    arguments.add_server(parser)
    required = {"required": True}
    more = {"--output": required, "--operator-token-file": required}
    arguments.declare(parser, OPTIONS, more=more)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Writes the files."""
    chosen.output.mkdir(parents=True, exist_ok=True)
    with Client(chosen.server, **arguments.connection(chosen)) as client:
        operator = Operator(client, arguments.operator_token(chosen.operator_token_file))
        count, failed = 0, False
        for match in _names(chosen, operator):
            try:
                record = operator.record(match)
            except CroupierError as error:
                if not chosen.all or not error.reason or may_pass(error):
                    raise
                # What is wrong with one match must not take the others along, and one that was
                # deleted after it was listed is none of them.
                if error.reason != "MATCH_NOT_FOUND":
                    print(f"{match}: {error}", file=sys.stderr)
                    failed = True
                continue
            path = record_files.write(record, chosen.output, chosen.format)
            count += 1
            if not chosen.all:
                print(path)
        if chosen.all:
            print(f"{count} records in {chosen.output}")
    return int(failed)


def _names(chosen: argparse.Namespace, operator: Operator) -> Sequence[str]:
    if chosen.all:
        # The whole list first, because exporting a page of records may outlast its page token.
        listed = operator.matches(state=match_pb2.MATCH_STATE_OVER)
        return [summary.name for summary in listed]
    return [f"matches/{name.removeprefix('matches/')}" for name in chosen.matches]
