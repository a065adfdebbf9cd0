"""The scheduler: acts in matches in which a server must act.

That is where a bot decides, a seat has decided ahead, or a clock runs.

The log holds which matches are due, and when, so that some server acts in each of them, whether or
not anybody looks at it. A server that writes an entry holds the lease of the match and acts at once
(`service/hosting/leases.py`). The scheduler polls the log for matches that are due:

- a match of its own whose lease is about to expire: it renews the lease;
- another match that is due: it takes the lease, and acts.

When a bot fails, the scheduler moves the time at which the match is due, which ends the lease.

The scheduler does everything within a `BackgroundQuota`, so that calls keep their time on the event
loop, however many matches are due. Only a bot that plays a person decides at once.
"""

import asyncio
import logging
import math
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from croupier.v1.error_pb2 import ErrorReason
from service.common.call import Call, current_call
from service.common.errors import log_failure
from service.common.event_loop import BackgroundQuota
from service.common.tasks import KeptTask, together
from service.hosting.bots import Bots
from service.hosting.clocks import Clock, date
from service.hosting.leases import LEASE_MILLISECONDS, MAX_RETRY_MILLISECONDS
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches
from service.observability import tracing
from service.observability.metrics import OFF_SECONDS, Metrics
from service.store import DueMatch, MatchStatus, Store
from wire.errors import Refusal

POLL_MILLISECONDS = 1_000
# Before the end of a lease: others poll at the end, and a renewal one poll before may come later.
RENEW_MILLISECONDS = 2 * POLL_MILLISECONDS
MAX_TASKS = 256  # For matches that were polled; those of this server's own entries come on top.
MAX_WAITING = 64  # Of the tasks for matches that were polled, those that have not begun.
# When a match is tried again in which a bot has failed, or which could not be read.
MIN_RETRY_MILLISECONDS = 1_000
RETRY_UNREAD_MILLISECONDS = 60_000
RELEASE_SECONDS = 1.0

_log = logging.getLogger(__name__)
_STORE_FAILS = (ErrorReason.ERROR_REASON_STORE_UNAVAILABLE, ErrorReason.ERROR_REASON_STORE_FULL)
_LOST = (ErrorReason.ERROR_REASON_MATCH_NOT_FOUND, ErrorReason.ERROR_REASON_MATCH_DAMAGED)


@dataclass(slots=True, eq=False)
class _Match:
    """What the scheduler knows of a match in which it acts, or which it leaves to others.

    It begins and ends with the task that acts in the match. If this server does not know the rules
    of the match, it stays without a task for as long as the log has the match as due.
    """

    match_id: str
    task: asyncio.Task[None] | None = None
    # When this server's lease expires, which is when the log has the match as due.
    lease: int | None = None
    polled: bool = False  # Whether it was polled, rather than changed by this server.
    waiting: bool = False  # It was polled, and its task has not begun.
    changed: bool = False  # This server has added an entry since the task has looked at it.
    # The match as this server has committed it since then, and what is set then.
    newest: MatchState | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
    urgent: bool = False  # An opponent waits for its bot.
    left_to_others: bool = False  # This server does not know its rules.
    cause: Call | None = None  # The call that has set off what the task does now.


class Scheduler:
    """Acts in all matches that are due, in each by a task of its own while it is due."""

    def __init__(
        self,
        store: Store,
        matches: Matches,
        bots: Bots,
        metrics: Metrics,
        clock: Clock,
        quota: BackgroundQuota,
    ) -> None:
        self._store = store
        self._matches = matches
        self._bots = bots
        self._metrics = metrics
        self._background = metrics.tasks
        self._clock = clock
        self._quota = quota
        self._known: dict[str, _Match] = {}
        self._polled = 0  # How many of these were polled and have a task,
        self._waiting = 0  # and how many wait; counting them after each task would be quadratic.
        # Held while leases are renewed or ended: meanwhile it is not known what the log has.
        self._lease_lock = asyncio.Lock()
        self._backlog = False  # Whether more matches are due than there was room for.
        self._wake = asyncio.Event()
        self._next_poll = 0
        self._read = time.monotonic()
        self._ahead = clock.now() / 1000 - clock.steady()
        self._polling: KeptTask | None = None

    @property
    def idle_seconds(self) -> float:
        """How long ago it has last read what is due."""
        return time.monotonic() - self._read

    def start(self) -> None:
        """Acts in the matches that are due, until it is closed."""
        self._matches.commit_listener = self._committed
        self._polling = self._background.keep("due matches", self._poll_on, needed=True)

    async def close(self) -> None:
        """Stops, and releases all leases to other servers; nothing that was decided is lost."""
        if self._polling is None:
            return
        # What is being renewed must be known to be released.
        with suppress(TimeoutError):
            async with asyncio.timeout(RELEASE_SECONDS), self._lease_lock:
                pass
        self._matches.commit_listener = self._committed_late
        leased = self._leases(math.inf)
        self._polling.close()
        tasks = [self._polling.task, *(each.task for each in self._known.values() if each.task)]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=RELEASE_SECONDS)
        # A lease that cannot be released expires.
        releasing = self._background.finish("lease", self._release, leased)
        await asyncio.wait([releasing], timeout=RELEASE_SECONDS)
        releasing.cancel()

    async def _release(self, leased: Iterable[DueMatch]) -> bool:
        now = self._clock.now()
        await self._reschedule_all([(due, min(now, due.at)) for due in leased])
        return True

    def _committed_late(self, state: MatchState, status: MatchStatus) -> None:
        # The entry was on its way when this was closed, or a call is still answered.
        if status.due is not None and state.server_due:
            due = DueMatch(state.header.match_id, status.due)
            self._background.finish("lease", self._release, [due])

    # What follows from an entry of this server

    def _committed(self, state: MatchState, status: MatchStatus) -> None:
        match_id, due = state.header.match_id, status.due
        match = self._known.get(match_id)
        if match is not None:
            match.changed, match.lease = True, None
            match.newest = state
            match.news.set()
            if match.task is None:  # It was left to others, but this server does know its rules.
                del self._known[match_id]
        if due is None:
            return
        if state.server_due:
            if match is None or match.task is None:
                match = self._start(match_id)
            match.lease = due
            match.urgent = state.attended
            # A bot's own decision goes on with what has set it off, or with a call that came since.
            if not _is_by_bot(state):
                match.cause = current_call.get()
        elif due < self._next_poll:
            self._next_poll = due
            self._wake.set()

    # The life of what is known of a match

    def _start(self, match_id: str, *, polled: bool = False) -> _Match:
        match = self._known[match_id] = _Match(match_id, polled=polled, waiting=polled)
        self._polled += polled
        self._waiting += polled
        match.task = self._background.finish("due match", self._act, match, about=match_id)
        return match

    def _begun(self, match: _Match) -> None:
        self._waiting -= match.waiting
        match.waiting = False
        self._poll_backlog()

    def _end(self, match: _Match) -> None:
        self._polled -= match.polled
        match.task = match.lease = None
        if not match.left_to_others:
            del self._known[match.match_id]
        self._begun(match)

    def _poll_backlog(self) -> None:
        # As soon as there is room for more of the matches that are due.
        has_room = self._polled <= MAX_TASKS // 2 and self._waiting <= MAX_WAITING // 2
        if self._backlog and has_room:
            self._wake.set()

    # Polling the log

    async def _poll_on(self) -> None:
        while True:
            self._wake.clear()
            self._next_poll = self._clock.now() + POLL_MILLISECONDS
            with suppress(Refusal):  # The store logs its own failures; it is polled again.
                await self._quota.begin(self._poll)
            await self._clock.sleep(self._next_poll, self._wake)

    async def _poll(self) -> None:
        now = self._clock.now()
        jump = now / 1000 - self._clock.steady() - self._ahead
        if abs(jump) > OFF_SECONDS:
            _log.warning("the clock was set by %+.0f seconds, to %s", jump, date(now))
            self._ahead += jump
        room = max(0, min(MAX_TASKS - self._polled, MAX_WAITING - self._waiting))
        # One more than there is room for, to know when the next one is due or that there is a
        # backlog. Matches of this server whose leases are about to expire, and those that it leaves
        # to others, come on top.
        limit = room + 1 + len(self._leases(now + POLL_MILLISECONDS)) + len(self._left())
        listed = await self._store.list_due(now + POLL_MILLISECONDS, limit)
        self._read = time.monotonic()
        left = self._left()
        for match_id in left.difference(each.match_id for each in listed):
            del self._known[match_id]
        found = [each for each in listed if each.match_id not in left]
        self._metrics.overdue.set(max((now - due.at for due in found), default=0) / 1000)
        expires = now + LEASE_MILLISECONDS
        async with self._lease_lock:
            wanted = self._to_lease(found, now, room)
            done = await self._reschedule_all([(due, expires) for due in wanted])
            for due, succeeded in zip(wanted, done, strict=True):
                match = self._known.get(due.match_id)
                if match is None:
                    if succeeded:
                        self._start(due.match_id, polled=True).lease = expires
                # Unless an entry of this server, whose lease is a new one, has come meanwhile.
                elif match.lease == due.at:
                    match.lease = expires if succeeded else None
        if self._backlog and False in done:
            # Another server was quicker, and there is work for both.
            self._wake.set()

    def _left(self) -> set[str]:
        # The matches that are left to other servers.
        return {each.match_id for each in self._known.values() if each.task is None}

    def _to_lease(self, found: Iterable[DueMatch], now: int, room: int) -> list[DueMatch]:
        # The matches whose lease this server renews or takes.
        wanted = self._leases(now + RENEW_MILLISECONDS)
        self._backlog = False
        for due in found:
            if due.match_id in self._known:
                continue
            if due.at > now:
                self._next_poll = min(self._next_poll, due.at)
                break
            elif room > 0:
                wanted.append(due)
                room -= 1
            else:
                self._backlog = True
        return wanted

    def _leases(self, until: float) -> list[DueMatch]:
        # The leases of this server that expire by a time.
        return [
            DueMatch(each.match_id, each.lease)
            for each in self._known.values()
            if each.lease is not None and each.lease <= until
        ]

    async def _reschedule_all(self, wanted: Sequence[tuple[DueMatch, int]]) -> list[bool | None]:
        # All at once, so that they share a commit. Returns which had not changed meanwhile, and
        # None where the log refuses: the others may have been carried out.
        return await together(*(self._reschedule(due, at) for due, at in wanted))

    async def _reschedule(self, due: DueMatch, at: int) -> bool | None:
        try:
            return await self._store.reschedule(due, at)
        except Refusal:
            return None
        # Whatever is wrong with one match must not keep this server from all others.
        except Exception as error:
            self._background.failed("lease", error, due.match_id)
            return None

    # One match

    async def _act(self, match: _Match) -> bool:
        while True:
            next_try = await self._act_while_due(match)
            if next_try is not None:
                await self._end_lease(match, next_try)
            if not match.changed:
                break
        self._end(match)
        return True

    async def _act_while_due(self, match: _Match) -> int | None:
        # Returns when the match is due next; None: as the log has it.
        state: MatchState | None = None
        try:
            while True:
                match.changed, match.left_to_others, match.newest = False, False, None
                urgent = match.urgent
                look = self._quota.run_now if urgent else self._quota.run
                state = await look(self._look_at, match)
                seat = state.bot_due
                if seat is None:
                    # The log had it as due, though it is not; the match itself knows better.
                    return state.status.due or self._clock.now() + MAX_RETRY_MILLISECONDS
                _resume(match.cause)
                begin = self._quota.run_now if urgent else self._quota.begin
                expiring = state.clocks and self._background.finish(
                    "clock", self._expire_on, match, state, about=match.match_id
                )
                try:
                    counts = await begin(self._bots.decide, state, seat)
                finally:
                    if expiring is not None:
                        expiring.cancel()
                if not counts:
                    return None  # The server whose entry was first has the lease, and decides.
        except Refusal as refusal:
            # When the log fails, the match is tried again as if this server had gone.
            if refusal.reason in _STORE_FAILS:
                return None
            # It is due at once for a server of another release, which may be there.
            if refusal.reason == ErrorReason.ERROR_REASON_RULES_CHANGED:
                match.left_to_others = True
                _log.info("match %s is left to other servers: %s", match.match_id, refusal)
                return self._clock.now()
            self._failed(state, refusal)
        # A match whose bot fails must not take the others along.
        except Exception as error:
            self._failed(state, error)
        return self._next_try(state)

    async def _expire_on(self, match: _Match, state: MatchState) -> bool:
        # The clock of the other seat does not wait for a bot that decides at the same time. It may
        # begin to run meanwhile, when a pause ends or a decision is taken back.
        while True:
            match.news.clear()
            state, match.newest = match.newest or state, None
            never = self._clock.now() + MAX_RETRY_MILLISECONDS
            await self._clock.sleep(state.deadline or never, match.news)
            if match.news.is_set():
                continue
            try:
                state = await self._quota.run(self._matches.settle, match.match_id)
            except Refusal as refusal:
                if refusal.reason not in _STORE_FAILS:
                    return True
                await self._clock.sleep(self._clock.now() + MIN_RETRY_MILLISECONDS, match.news)

    async def _look_at(self, match: _Match) -> MatchState:
        self._begun(match)
        return await self._matches.settle(match.match_id)

    async def _end_lease(self, match: _Match, next_try: int) -> None:
        # Makes the match due at another time, for all servers.
        if match.lease is None:
            return
        async with self._lease_lock:
            # Meanwhile an entry may have rescheduled the match itself, or another server has it.
            if match.lease is not None and not match.changed:
                with suppress(Refusal):
                    await self._store.reschedule(DueMatch(match.match_id, match.lease), next_try)

    def _failed(self, state: MatchState | None, error: Exception) -> None:
        if isinstance(error, Refusal) and error.reason in _LOST:
            return
        self._metrics.bot_failures.inc()
        log_failure("a bot", error)

    def _next_try(self, state: MatchState | None) -> int:
        # When the match has waited twice as long as it has now: so no server needs to remember how
        # often it was tried. A match that cannot be read may have been deleted.
        now = self._clock.now()
        if state is None:
            return now + RETRY_UNREAD_MILLISECONDS
        waited = now - state.time
        at = now + min(max(waited, MIN_RETRY_MILLISECONDS), MAX_RETRY_MILLISECONDS)
        deadline = state.deadline
        return at if deadline is None or deadline <= now else min(at, deadline)


def _is_by_bot(state: MatchState) -> bool:
    # Whether a bot has made the newest version.
    return state.version > 0 and state.header.bots[state.entry(state.version).seat] != 0


def _resume(cause: Call | None) -> None:
    # What follows belongs to the call that has set it off, for the log and for traces.
    current_call.set(cause)
    if cause is not None and cause.span is not None:
        tracing.resume(cause.span)
