"""Checks a whole log: of each match all that is stored, and a replay from its first entry."""

from collections.abc import AsyncIterator
from typing import NamedTuple

from croupier.v1.error_pb2 import ErrorReason
from service.common.errors import Unreadable
from service.common.event_loop import finish_now
from service.hosting.clocks import Clock
from service.hosting.leases import is_due
from service.hosting.match_state import MatchState
from service.store import Head, Store, StoredMatch, Update
from service.store.chain import Damaged
from service.store.interface import WITH_IDS
from wire.errors import Refusal

PAGE = 500  # Ids that are read at once; of matches, one is in memory at a time.


class Checked(NamedTuple):
    """One match, and what is wrong with it."""

    match_id: str
    damage: Damaged | None = None
    rules: Refusal | None = None  # That its rules are not those under which it was made.


async def check_matches(store: Store, clock: Clock) -> AsyncIterator[Checked]:
    """Checks each match of a log, in order of the ids. Servers may write meanwhile."""
    before = ""
    while ids := await _list_ids(store, before, PAGE):
        for match_id in ids:
            checked = await _check(store, clock, match_id, before)
            if checked is not None:
                yield checked
            before = match_id


async def _list_ids(store: Store, after: str, limit: int) -> list[str]:
    # Of all matches. A table that is damaged must not hide what the others have.
    found: set[str] = set()
    unread = 0
    for table in WITH_IDS:
        try:
            found.update(await store.list_ids(table, after, limit))
        except Unreadable:
            unread += 1
            if unread == len(WITH_IDS):
                raise
    return sorted(found)[:limit]


async def _check(store: Store, clock: Clock, match_id: str, before: str) -> Checked | None:
    # None if it was deleted. What is read in parts may not fit together where it changes meanwhile:
    # what is wrong must be so twice, at the same version.
    seen: object = _check
    while True:
        head: Head | None = None
        try:
            stored = await store.load(match_id)
            if stored is None:
                if match_id not in await _list_ids(store, before, 1):
                    return None
                raise Damaged(
                    match_id, 0, "it has a head or entries, and is not in the table matches"
                )
            head = stored.head
            _check_match(stored, await store.list_told(match_id), clock.now())
        except Damaged as damage:
            checked = Checked(match_id, damage)
        except UnicodeEncodeError:
            return Checked(match_id, Damaged(match_id, 0, "its id was changed"))
        except Refusal as refusal:
            if refusal.reason == ErrorReason.ERROR_REASON_RULES_CHANGED:
                checked = Checked(match_id, rules=refusal)
            elif isinstance(refusal, Unreadable):
                checked = Checked(match_id, Damaged(match_id, 0, "its rows cannot be read"))
            else:
                raise  # The log cannot be read.
        else:
            return Checked(match_id)
        if seen == head:
            return checked
        seen = head


def _check_match(stored: StoredMatch, told: list[Update], now: int) -> None:
    match_id = stored.header.match_id
    for update in told:
        if update.damaged:
            what = "what lists or the feed tell of it was changed"
            raise Damaged(match_id, update.version, what)
    # The snapshot would spare the work that is to be done.
    state = finish_now(MatchState.loading(stored._replace(snapshot=None)))
    if state.version > stored.head.version:
        raise Damaged(match_id, state.version, "it comes after the newest version")
    due = state.status.due
    if not is_due(due, stored.due, now):
        raise Damaged(
            match_id, state.version, f"a server acts at {stored.due}, and should at {due}"
        )
