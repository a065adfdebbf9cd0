"""`croupier verify`: checks records of finished matches."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from cli import arguments, record_files
from cli.arguments import CommandError, Commands, UsageError
from croupier.v1.match_pb2 import MatchStart
from service.hosting.match_state import MatchState
from service.hosting.records import RecordError, verify, write_record

ABOUT = """\
Checks records of finished matches. The deal and every shuffle of a record are drawn
again from its secret, every action is replayed through the rules, and every field is
compared with the result. So any change of the record is found and named.

The server published the hash of the secret when the match was created, as secret_hash.
With --secret-hash, the record must be that of the match that was announced with it.
Without it, a record can be true in itself and still belong to another secret. The deal of
a match that was played on is that of another match, which has a secret_hash of its own."""

EXIT = """\
Exit status: 0 if all records are true, 1 if a record is not true or cannot be read,
2 if the command line is wrong."""

OPTIONS = """
--secret-hash HEX
    the secret_hash of CreateMatch, in hexadecimal digits; only for one record
-q, --quiet
    print only what is wrong
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "verify",
        help="check records of finished matches",
        description=ABOUT,
        epilog=EXIT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_records(parser)
    arguments.declare(parser, OPTIONS, {"HEX": arguments.sha256})
    parser.set_defaults(run=run)


def add_records(parser: argparse.ArgumentParser, count: str = "+") -> None:
    """Adds the argument for records."""
    parser.add_argument(
        "records",
        metavar="RECORD",
        nargs=count,
        type=Path,
        help="a file as `croupier export` writes it, JSON or binary, or a directory of such files",
    )


def run(chosen: argparse.Namespace) -> int:
    """Prints a line for each record."""

    def check(path: Path, state: MatchState) -> None:
        if chosen.secret_hash not in (None, state.header.secret_hash):
            raise RecordError("secret_hash", "is not the one that was announced")
        if not chosen.quiet:
            header = state.header
            scores = "-".join(f"{score:g}" for score in write_record(state).result.scores)
            told = f"{path}: true: matches/{header.match_id}, {header.game}, {scores}"
            if header.start:
                origin = MatchStart.FromString(header.start).origin
                told += f", played on from version {origin.version} of {origin.name}"
            print(told)

    verified, wrong = verify_all(chosen.records, check)
    if wrong:
        return 1
    if chosen.secret_hash is not None and len(verified) != 1:
        raise UsageError("--secret-hash is for one record")
    return 0


def verify_all(
    paths: Sequence[Path], check: Callable[[Path, MatchState], None] = lambda path, state: None
) -> tuple[list[MatchState], bool]:
    """Verifies all records of some files and directories; `check` may raise ValueError for one.

    Returns those that are true, and whether any was not or could not be read, of which each is
    printed with what is wrong. Raises CommandError for a directory without records.
    """
    verified: list[MatchState] = []
    wrong = False
    try:
        for path in record_files.find(paths):
            try:
                state = verify(record_files.read(path))
                check(path, state)
                verified.append(state)
            except ValueError as error:
                print(f"{path}: not true: {error}", file=sys.stderr)
                wrong = True
            except OSError as error:
                print(f"{path}: {error.strerror}", file=sys.stderr)
                wrong = True
    except ValueError as error:
        raise CommandError(str(error)) from error
    return verified, wrong
