"""`croupier verify`, `export` and `import`: records as files, and whether they are true."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from cli import record_files
from croupier.client import Client, CroupierError, Operator
from croupier.v1 import match_pb2
from service.api.tokens import read_operator_token
from service.errors import Refusal
from service.hosting.match_state import MatchState
from service.hosting.record_verification import RecordError, verify
from service.hosting.records import write_record
from service.metrics import Metrics
from service.server import Options, open_store
from service.store import MatchStatus, Store

ABOUT_VERIFY = """\
Checks records of finished matches. From its secret a record's deal and every shuffle
are drawn again, every action is replayed through the rules, and every field is compared
with what comes out; so any change of the record is found, and named.

The hash of the secret was published when the match was created, as secret_hash. With
--secret-hash, the record must be that of the match which was announced so: without it,
the record may be true in itself and still be of another secret."""

EXIT = "Exit status: 0 if all records are true, 1 if one is not or cannot be read."


def add_parsers(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    *,
    address: str,
    data: Path,
) -> None:
    """Adds the three commands; `address` and `data` are what they take if nothing is said."""
    raw = argparse.RawDescriptionHelpFormatter
    verify = commands.add_parser(
        "verify",
        help="check records of finished matches",
        description=ABOUT_VERIFY,
        epilog=EXIT,
        formatter_class=raw,
    )
    _add_records(verify)
    verify.add_argument(
        "--secret-hash",
        metavar="HEX",
        type=_hash,
        help="the secret_hash of CreateMatch, in hexadecimal digits; for one record",
    )
    verify.add_argument("-q", "--quiet", action="store_true", help="name only what is wrong")
    verify.set_defaults(run=_verify)

    export = commands.add_parser(
        "export",
        help="write records of finished matches to files",
        description="Asks a server for records of matches that are over, and writes each to a file "
        "named by the id of the match. For the operator of the server.",
    )
    which = export.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "matches", metavar="MATCH", nargs="*", default=[], help='names: "matches/..."'
    )
    which.add_argument("--all", action="store_true", help="all matches that are over")
    export.add_argument(
        "--output", metavar="DIR", type=Path, required=True, help="where to; it is made"
    )
    export.add_argument(
        "--format", choices=tuple(record_files.SUFFIXES), default="json", help="default: json"
    )
    export.add_argument(
        "--server", metavar="HOST:PORT", default=address, help=f"default: {address}"
    )
    export.add_argument(
        "--operator-token-file",
        metavar="FILE",
        type=Path,
        required=True,
        help="the file that the server was started with",
    )
    export.set_defaults(run=_export)

    importing = commands.add_parser(
        "import",
        help="add finished matches to a log, from their records",
        description="Verifies records and adds their matches to a log, where they are as if they "
        "had been played there. A match that is there already is left alone. If one record is not "
        "true, nothing is added. A SQLite log must not be in use by a server.",
    )
    _add_records(importing)
    importing.add_argument(
        "--store", metavar="WHERE", default="sqlite", help="as for `croupier serve`"
    )
    importing.add_argument("--data", metavar="DIR", type=Path, default=data, help="likewise")
    importing.set_defaults(run=_import)


def _add_records(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "records",
        metavar="RECORD",
        nargs="+",
        type=Path,
        help="a file as `croupier export` writes it, JSON or binary, or a directory of such files",
    )


def _hash(text: str) -> bytes:
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if len(data) != 32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a hash: 64 hexadecimal digits")
    return data


# verify


def _verify(chosen: argparse.Namespace) -> int:
    def check(path: Path, state: MatchState) -> None:
        if chosen.secret_hash not in (None, state.header.secret_hash):
            raise RecordError("secret_hash", "is not the one that was announced")
        if not chosen.quiet:
            header = state.header
            scores = "-".join(f"{score:g}" for score in write_record(state).result.scores)
            print(f"{path}: true: matches/{header.match_id}, {header.game}, {scores}")

    verified = _read_all(chosen.records, check)
    if verified is None:
        return 1
    if chosen.secret_hash is not None and len(verified) != 1:
        return _fail("--secret-hash is for one record")
    return 0


def _read_all(
    paths: Sequence[Path], then: Callable[[Path, MatchState], None] = lambda path, state: None
) -> list[MatchState] | None:
    # None if one is not true; all of those are told.
    verified: list[MatchState] = []
    wrong = False
    try:
        for path in record_files.find(paths):
            try:
                state = verify(record_files.read(path))
                then(path, state)
                verified.append(state)
            except ValueError as error:
                print(f"{path}: not true: {error}", file=sys.stderr)
                wrong = True
            except OSError as error:
                print(f"{path}: {error.strerror}", file=sys.stderr)
                wrong = True
    except ValueError as error:
        _fail(str(error))
        return None
    return None if wrong else verified


# export


def _export(chosen: argparse.Namespace) -> int:
    try:
        chosen.output.mkdir(parents=True, exist_ok=True)
        with Client(chosen.server) as client:
            operator = Operator(client, read_operator_token(chosen.operator_token_file))
            count = 0
            for match in _named(chosen, operator):
                try:
                    record = operator.record(match)
                except CroupierError as error:
                    # It was deleted since it was listed.
                    if chosen.all and error.reason == "MATCH_NOT_FOUND":
                        continue
                    raise
                path = record_files.write(record, chosen.output, chosen.format)
                count += 1
                if not chosen.all:
                    print(path)
            if chosen.all:
                print(f"{count} records in {chosen.output}")
    except CroupierError as error:
        return _fail(f"{chosen.server}: {error}")
    except (OSError, ValueError) as error:
        return _fail(str(error))
    return 0


def _named(chosen: argparse.Namespace, operator: Operator) -> Sequence[str]:
    if chosen.all:
        # First the whole list, as the records may take longer than a page lasts.
        listed = operator.matches(state=match_pb2.MATCH_STATE_OVER)
        return [summary.match for summary in listed]
    return [f"matches/{name.removeprefix('matches/')}" for name in chosen.matches]


# import


def _import(chosen: argparse.Namespace) -> int:
    verified = _read_all(chosen.records)
    if verified is None:
        return _fail("nothing was imported")
    try:
        asyncio.run(_add_all(Options(store=chosen.store, data=chosen.data), verified))
    except (OSError, ValueError, Refusal) as error:
        return _fail(str(error))
    return 0


async def _add_all(options: Options, verified: Sequence[MatchState]) -> None:
    store = open_store(options, Metrics())
    await store.open()
    try:
        count = sum([await add(store, state) for state in verified])
        print(f"{count} matches imported, {len(verified) - count} were there already")
    finally:
        await store.close()


async def add(store: Store, state: MatchState) -> bool:
    """Adds a match that is over to a log, unless it is there; whether it did.

    Raises ValueError if another match of the same id is there. What was begun before is finished.
    """
    header, entries = state.header, state.entries
    stored = await store.load(header.match_id)
    if stored is None:
        await store.create(header, MatchStatus())
        begun = 0
    elif stored.header == header and stored.entries == list(entries[: len(stored.entries)]):
        begun = len(stored.entries)
    elif write_record(MatchState.load(stored)) == write_record(state):
        return False
    else:
        raise ValueError(f"there is another match of the name matches/{header.match_id}")
    for version in range(begun, len(entries)):
        over = MatchStatus(over=version + 1 == len(entries))
        if not await store.append(header.match_id, version, entries[version], over):
            raise ValueError(f"somebody else adds to matches/{header.match_id}")
    return begun < len(entries)


def _fail(message: str) -> int:
    print(f"croupier: {message}", file=sys.stderr)
    return 1
