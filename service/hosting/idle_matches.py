"""Idle matches: matches without a clock in which nothing happens any more are ended.

Without a clock nothing is ever due where a seat owes a decision or its entropy, so such a match
would run for ever, and no retention would delete it. No schedule has these matches, and a decision
costs no more for them: the log is swept for those whose last entry is too old.
"""

import asyncio

from croupier.v1.error_pb2 import ErrorReason
from service.clock import Clock
from service.errors import Refusal, log_failure
from service.hosting.loop_share import LoopShare
from service.hosting.matches import Matches
from service.hosting.sweep import Sweep
from service.store import IdleMatch

BATCH = 100  # Matches that are listed at a time.
MIN_SWEEP_SECONDS = 0.1
MAX_SWEEP_SECONDS = 600.0  # Between sweeps, or less where matches may be idle for a short time.

# A match of other rules, or one that was deleted meanwhile.
_NOT_HERE = (ErrorReason.ERROR_REASON_RULES_CHANGED, ErrorReason.ERROR_REASON_MATCH_NOT_FOUND)


class IdleMatches(Sweep):
    """Ends matches in the background in which nothing has happened for some time."""

    def __init__(self, matches: Matches, share: LoopShare, seconds: float, clock: Clock) -> None:
        """`seconds` is for how long a match may be idle."""
        pause = min(MAX_SWEEP_SECONDS, max(seconds / 10, MIN_SWEEP_SECONDS))
        super().__init__("ending idle matches", pause)
        self._matches = matches
        self._share = share
        self._seconds = seconds
        self._clock = clock

    async def sweep(self) -> None:
        """Ends all matches that have been idle for too long by now."""
        before = self._clock.now() - round(1000 * self._seconds)
        last: IdleMatch | None = None
        while found := await self._matches.list_idle(before, last, BATCH):
            # Some at once, so that they share a commit.
            await asyncio.gather(
                *(self._share.run(self._end, idle.match_id, before) for idle in found)
            )
            last = found[-1]

    async def _end(self, match_id: str, before: int) -> None:
        try:
            await self._matches.end_idle(match_id, before)
        except Refusal as refusal:
            if refusal.reason not in _NOT_HERE:
                raise
        # A match that cannot be read must not take the others along.
        except Exception as error:
            log_failure("ending an idle match", error)
