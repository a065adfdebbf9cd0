"""Leases: which server acts in a match in which a server must act.

A match is due when a bot must decide in it, a seat that must has done so ahead, or a clock runs
out. The log schedules every such match: it holds the time from which on any server may take the
match up. A server that writes an entry after which a server must decide sets this time
LEASE_MILLISECONDS ahead. Until then it holds the lease of the match, and decides at once. The
scheduler (`service/hosting/scheduler.py`) renews a lease before it expires, releases it when the
server stops, and takes over matches whose lease has expired. Leases only spare work: two servers
that act in the same match do no harm, since the log takes the entry of one of them.
"""

from service.hosting.match_state import MatchState
from service.hosting.views import write_update
from service.store import MatchStatus

LEASE_MILLISECONDS = 5_000
# For how long a match at most is put off in which a bot has failed, or which could not be read.
MAX_RETRY_MILLISECONDS = 600_000
_MAX_LATE_MILLISECONDS = 2 * MAX_RETRY_MILLISECONDS + LEASE_MILLISECONDS


def is_due(due: int | None, logged: int | None, now: int) -> bool:
    """Whether the log has a match that is due at a time as due then, or at most as put off."""
    if due is None or logged is None:
        return due == logged
    return due <= logged <= max(due, now) + _MAX_LATE_MILLISECONDS


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
