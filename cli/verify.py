"""`croupier verify`: checks records of finished matches, or a whole log."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TextColumn

from cli import arguments, record_files
from cli.arguments import CommandError, Commands, UsageError
from croupier.v1.match_pb2 import MatchStart
from service.hosting.checking import check_matches
from service.hosting.clocks import Clock
from service.hosting.match_state import MatchState
from service.hosting.records import RecordError, verify, write_record
from service.observability.metrics import Metrics
from service.running.server import Options, open_store
from service.store import Store
from wire.errors import Refusal

ABOUT = """\
Checks records of finished matches, or, with --data or --store, a whole log.

The deal and every shuffle of a record are drawn
again from its secret, every action is replayed through the rules, and every field is
compared with the result. So any change of the record is found and named.

The server published the hash of the secret when the match was created, as secret_hash.
With --secret-hash, the record must be that of the match that was announced with it.
Without it, a record can be true in itself and still belong to another secret. The deal of
a match that was played on is that of another match, which has a secret_hash of its own.

Of a log, all that is stored of each match is compared with what was written, and each
match is replayed. Nothing is written. No server may use a SQLite log meanwhile; beside
the servers of a PostgreSQL database it may run."""

EXIT = """\
Exit status: 0 if all records are true and the log is whole, 1 if a record is not true or
cannot be read, or the log is damaged or was made under other rules, 2 if the command
line is wrong, 3 if the log cannot be checked: it is not there, in use, or unreadable."""

OPTIONS = """
--secret-hash HEX
    the secret_hash of CreateMatch, in hexadecimal digits; only for one record
-q, --quiet
    print only what is wrong
--data PATH
    check the SQLite log in this directory, as `croupier serve` names it, or a copy in this file
--store WHERE
    check the log in this database: "postgresql://..."
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
    add_records(parser, "*")
    types = {"HEX": arguments.sha256, "PATH": arguments.directory, "WHERE": arguments.store}
    arguments.declare(parser, OPTIONS, types)
    parser.set_defaults(run=run)


def add_records(parser: argparse.ArgumentParser, count: str = "+") -> None:
    """Adds the argument for records."""
    parser.add_argument(
        "records",
        metavar="RECORD",
        nargs=count,
        type=arguments.path,
        help="a file as `croupier export` writes it, JSON or binary, or a directory of such files",
    )


def run(chosen: argparse.Namespace) -> int:
    """Prints a line for each record, or for each match of a log that is damaged."""
    if [bool(chosen.records), chosen.data is not None, chosen.store is not None].count(True) != 1:
        raise UsageError("name records, or one log with --data or --store")
    if not chosen.records:
        return _run_log(chosen)

    def check(path: Path, state: MatchState) -> str:
        if chosen.secret_hash not in (None, state.header.secret_hash):
            raise RecordError("secret_hash", "is not the one that was announced")
        if chosen.quiet:
            return ""
        header = state.header
        scores = "-".join(f"{score:g}" for score in write_record(state).result.scores)
        told = f"{path}: true: matches/{header.match_id}, {header.game}, {scores}"
        if header.start:
            origin = MatchStart.FromString(header.start).origin
            vouched = "logged" if origin.logged else "not logged"
            told += f", played on from version {origin.version} of {origin.name} ({vouched})"
        if erased := write_record(state).erased_seats:
            seats = " and ".join(map(str, erased))
            told += f", the names of seat {seats} were erased"
        return told

    verified, wrong = verify_all(chosen.records, check)
    if wrong:
        return 1
    if chosen.secret_hash is not None and len(verified) != 1:
        raise UsageError("--secret-hash is for one record")
    return 0


def _run_log(chosen: argparse.Namespace) -> int:
    store, data = chosen.store or "sqlite", chosen.data
    if store in ("memory", "sqlite") and data is None:
        raise UsageError("argument --store: name a database; --data names a SQLite log")
    try:
        opened = open_store(Options(store=store, data=data or Path()), Metrics())
        return asyncio.run(_check_log(opened, quiet=chosen.quiet))
    except (ValueError, OSError, Refusal) as error:
        print(f"croupier: {error}", file=sys.stderr)
        return 3


async def _check_log(store: Store, *, quiet: bool) -> int:
    await store.open_to_check()
    console = Console(stderr=True)
    count = damaged = other_rules = 0
    try:
        with Progress(
            TextColumn("{task.completed} matches"), console=console, transient=True
        ) as bar:
            task = bar.add_task("", total=None)
            wrong = await store.check()
            for line in wrong:
                console.out(f"the log is damaged: {line}", highlight=False)
            async for match_id, damage, rules in check_matches(store, Clock()):
                count += 1
                bar.advance(task)
                if damage is not None:
                    damaged += 1
                    said = f"is damaged at version {damage.version}: {damage.what}"
                elif rules is not None:
                    other_rules += 1
                    said = f"has other rules: {rules}"
                else:
                    continue
                console.out(f"matches/{match_id!a} {said}".replace("'", ""), highlight=False)
    finally:
        await store.close()
    if not quiet:
        print(f"{count} matches, {damaged} damaged, {other_rules} under other rules")
    return int(bool(wrong or damaged or other_rules))


def verify_all(
    paths: Sequence[Path], check: Callable[[Path, MatchState], str] = lambda path, state: ""
) -> tuple[list[MatchState], bool]:
    """Verifies all records of some files and directories.

    `check` returns what is printed of a true one, if anything; it may raise ValueError for one.

    Returns those that are true, and whether any was not or could not be read, of which each is
    printed with what is wrong. Raises CommandError for a directory without records.
    """
    verified: list[MatchState] = []
    wrong = False
    try:
        for path in record_files.find(paths):
            try:
                state = verify(record_files.read(path))
                told = check(path, state)
            except ValueError as error:
                print(f"{path}: not true: {error}", file=sys.stderr)
                wrong = True
            except OSError as error:
                print(f"{path}: {error.strerror}", file=sys.stderr)
                wrong = True
            else:
                verified.append(state)
                if told:
                    print(told)
    except ValueError as error:
        raise CommandError(str(error)) from error
    return verified, wrong
