"""Leases: which server acts in a match in which a server must act.

A match is due when a bot must decide in it, a seat that must has done so ahead, or a clock runs
out. The log schedules every such match: it holds the time from which on any server may take the
match up. A server that writes an entry after which a server must decide sets this time
LEASE_MILLISECONDS ahead. Until then it holds the lease of the match, and decides at once. The
scheduler (`service/hosting/scheduler.py`) renews a lease before it expires, releases it when the
server stops, and takes over matches whose lease has expired. Leases only spare work: two servers
that act in the same match do no harm, since the log takes the entry of one of them.
"""

import logging
from contextlib import suppress

from service.common.tasks import Tasks
from service.hosting.match_state import MatchState
from service.hosting.views import write_update
from service.store import DueMatch, MatchStatus, Store, StoredMatch
from wire.errors import Refusal

LEASE_MILLISECONDS = 5_000
# For how long a match at most is put off in which a bot has failed, or which could not be read.
MAX_RETRY_MILLISECONDS = 600_000
_MAX_LATE_MILLISECONDS = 2 * MAX_RETRY_MILLISECONDS + LEASE_MILLISECONDS

_log = logging.getLogger(__name__)


def is_due(due: int | None, logged: int | None, now: int) -> bool:
    """Whether the log has a match that is due at a time as due then, or at most as put off."""
    # A time that has changed may also be of another type.
    if due is None or not isinstance(logged, int):
        return due == logged
    return due <= logged <= max(due, now) + _MAX_LATE_MILLISECONDS


def correct_due(
    store: Store, tasks: Tasks, state: MatchState, stored: StoredMatch, now: int
) -> None:
    """Corrects when the log has a match as due. No seal covers that, as each lease changes it."""
    match_id, due, logged = state.header.match_id, state.status.due, stored.due
    if state.head != stored.head or is_due(due, logged, now):
        return
    _log.error("match %s is due at %s, and not at %s", match_id, due, logged)

    async def correct() -> bool:
        with suppress(Refusal):  # It is found again when the match is read next.
            if due is not None and isinstance(logged, int):
                await store.reschedule(DueMatch(match_id, logged), due)
        return True

    tasks.finish("due time", correct)


def leased_status(state: MatchState) -> MatchStatus:
    """The status to log with the last entry of a match: the server's decision is under lease."""
    status, feed = state.status, write_update(state)
    due = status.due
    if due is not None and state.server_due:
        due += LEASE_MILLISECONDS
        deadline = state.deadline
        # Another time than that of the next entry, which may be due at the deadline: to renew the
        # lease must not hold that up.
        due = due if deadline is None else min(due, deadline - 1)
    return MatchStatus(status.over, due, feed, state.ahead.write())
