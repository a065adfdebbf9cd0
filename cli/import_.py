"""`croupier import`: adds finished matches to a log, from their records."""

import argparse
import asyncio
from collections.abc import Sequence

from cli import arguments, verify
from cli.arguments import CommandError, Commands
from croupier.v1.match_pb2 import MatchRecord
from service.hosting.match_state import MatchState
from service.hosting.records import write_record
from service.observability.metrics import Metrics
from service.running.server import Options, open_store
from service.store import MatchStatus, Store, chain

# Due so late that no server acts in it, so that no server of the log ends it as idle meanwhile.
_INCOMPLETE = MatchStatus(due=2**53)

OPTIONS = f"""
--store WHERE [sqlite]
    the log, as for `croupier serve`
--data DIR [{arguments.default_data()}]
    the directory of "sqlite"
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "import",
        help="add finished matches to a log, from their records",
        description="Verifies records and adds their matches to a log, as if they had been played "
        "there. A match that the log already holds is left alone. If one record is not true, "
        "nothing is added. No server may be using a SQLite log meanwhile.",
    )
    verify.add_records(parser)
    types = {"WHERE": arguments.store, "DIR": arguments.directory}
    arguments.declare(parser, OPTIONS, types)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Adds the matches and prints how many."""
    arguments.check_data(chosen.store, chosen.data)
    verified, wrong = verify.verify_all(chosen.records)
    if wrong:
        raise CommandError("nothing was imported")
    try:
        asyncio.run(_add_all(Options(store=chosen.store, data=chosen.data), verified))
    except ValueError as error:
        raise CommandError(str(error)) from error
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
    """Adds a match that is over to a log, and returns True; returns False if it is there already.

    A match whose import was interrupted is completed. Raises ValueError if the log holds another
    match of the same id.
    """
    match_id = state.header.match_id
    stored = await store.load(match_id)
    if stored is None:
        added = MatchState.begin(state.header.salted(), new=True)
        await store.create(added.header, _INCOMPLETE)
    else:
        added = MatchState.load(stored)
        if added.over and _without_erased(added, state) == _without_erased(state, added):
            return False
        if not _is_part(added, state):
            raise ValueError(f"the log holds another match named matches/{match_id}")
    for entry in state.entries[added.version :]:
        before = added.head
        added = added.after(entry._replace(course=b"", digest=b""))
        status = MatchStatus(over=True) if added.over else _INCOMPLETE
        if not await store.append(match_id, before, added.entry(added.version), status):
            raise ValueError(f"another process adds to matches/{match_id}")
    return True


def _without_erased(state: MatchState, other: MatchState) -> MatchRecord:
    # The record of a match without the names that were erased in it or in the other one.
    record, seats = write_record(state), state.header.erased_seats | other.header.erased_seats
    for seat, config in enumerate(record.seats):
        if seats >> seat & 1:
            config.ClearField("display_name")
    for entry in record.entries:
        if entry.HasField("seat_joined") and seats >> entry.seat_joined.seat & 1:
            entry.seat_joined.ClearField("display_name")
    record.ClearField("erased_seats")
    record.ClearField("digest")
    return record


def _is_part(added: MatchState, whole: MatchState) -> bool:
    # Whether a match is the other one as far as it goes. Their names have other salts.
    def told(state: MatchState) -> list[object]:
        header = state.header._replace(salt=b"", names_hash=b"", course=b"")
        entries = [
            (*each[:3], each.names[chain.SALT_BYTES :] or each.action)
            for each in state.entries[: added.version]
        ]
        return [header, *entries]

    return not added.over and told(added) == told(whole)
