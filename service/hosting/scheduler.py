"""The scheduler: acts in matches in which a server must act, because a bot decides or a clock runs.

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
from collections.abc import Iterable, Sequence
from contextlib import suppress

from croupier.v1.error_pb2 import ErrorReason
from service.common.call import Call, current_call
from service.common.errors import Refusal, log_failure
from service.common.event_loop import BackgroundQuota
from service.common.tasks import KeptTask
from service.hosting.bots import Bots
from service.hosting.clocks import Clock
from service.hosting.leases import LEASE_MILLISECONDS
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches
from service.observability import tracing
from service.observability.metrics import Metrics
from service.store import DueMatch, MatchStatus, Store

POLL_MILLISECONDS = 1_000
MAX_TASKS = 256  # For matches that were polled; those of this server's own entries come on top.
MAX_WAITING = 64  # Of the tasks for matches that were polled, those that have not begun.
# When a match is tried again in which a bot has failed, or which could not be read.
MIN_RETRY_MILLISECONDS = 1_000
MAX_RETRY_MILLISECONDS = 600_000
RETRY_UNREAD_MILLISECONDS = 60_000
RELEASE_SECONDS = 1.0

_STORE_FAILS = (ErrorReason.ERROR_REASON_STORE_UNAVAILABLE, ErrorReason.ERROR_REASON_STORE_FULL)


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
        self._tasks: dict[str, asyncio.Task[None]] = {}
        # When the leases of this server expire, which is when the log has the matches as due.
        self._leases: dict[str, int] = {}
        # Held while leases are renewed or ended: meanwhile it is not known what the log has.
        self._lease_lock = asyncio.Lock()
        # Due matches of rules that this server does not know: others act in them.
        self._left_to_others: set[str] = set()
        self._waiting: set[str] = set()  # Matches that were polled, whose tasks have not begun.
        self._urgent: set[str] = set()  # Matches in which an opponent waits for a bot.
        # Matches with a task that have changed since the task has looked at them.
        self._changed: set[str] = set()
        # The calls that have set off what the tasks do now.
        self._causes: dict[str, Call | None] = {}
        self._backlog = False  # Whether more matches are due than there was room for.
        self._wake = asyncio.Event()
        self._next_poll = 0
        self._polling: KeptTask | None = None

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
        leased = [DueMatch(match_id, at) for match_id, at in self._leases.items()]
        self._polling.close()
        tasks = [self._polling.task, *self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=RELEASE_SECONDS)
        # A lease that cannot be released expires.
        releasing = self._background.spawn("lease", self._release, leased)
        await asyncio.wait([releasing], timeout=RELEASE_SECONDS)

    async def _release(self, leased: Iterable[DueMatch]) -> None:
        now = self._clock.now()
        with suppress(Refusal):
            await self._reschedule_all([(due, min(now, due.at)) for due in leased])

    def _committed_late(self, state: MatchState, status: MatchStatus) -> None:
        # The entry was on its way when this was closed, or a call is still answered.
        if status.due is not None and state.bot_due is not None:
            due = DueMatch(state.header.match_id, status.due)
            self._background.spawn("lease", self._release, [due])

    # What follows from an entry of this server

    def _committed(self, state: MatchState, status: MatchStatus) -> None:
        match_id, due = state.header.match_id, status.due
        self._leases.pop(match_id, None)
        if match_id in self._tasks:
            self._changed.add(match_id)
        if due is None:
            return
        if state.bot_due is not None:
            self._leases[match_id] = due
            # A bot's own decision goes on with what has set it off, or with a call that came since.
            if not _is_by_bot(state):
                self._causes[match_id] = current_call.get()
            if state.attended:
                self._urgent.add(match_id)
            else:
                self._urgent.discard(match_id)
            if match_id not in self._tasks:
                self._start_task(match_id)
        elif due < self._next_poll:
            self._next_poll = due
            self._wake.set()

    def _start_task(self, match_id: str) -> None:
        self._tasks[match_id] = self._background.spawn(
            "due match", self._act, match_id, about=match_id
        )

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
        room = max(0, min(MAX_TASKS - len(self._tasks), MAX_WAITING - len(self._waiting)))
        # One more than there is room for, to know when the next one is due or that there is a
        # backlog. Matches of this server whose leases are about to expire, and those that it leaves
        # to others, come on top.
        limit = room + 1 + len(self._expiring(now)) + len(self._left_to_others)
        listed = await self._store.list_due(now + POLL_MILLISECONDS, limit)
        self._left_to_others.intersection_update(each.match_id for each in listed)
        found = [each for each in listed if each.match_id not in self._left_to_others]
        self._metrics.overdue.set(max((now - due.at for due in found), default=0) / 1000)
        expires = now + LEASE_MILLISECONDS
        async with self._lease_lock:
            wanted = self._to_lease(found, now, room)
            leased = await self._reschedule_all([(due, expires) for due in wanted])
            for due in leased:
                self._leases[due.match_id] = expires
                if due.match_id not in self._tasks:
                    self._waiting.add(due.match_id)
                    self._start_task(due.match_id)
            for lost in set(wanted).difference(leased):
                # Unless an entry of this server, whose lease is a new one, has come meanwhile.
                if self._leases.get(lost.match_id) == lost.at:
                    del self._leases[lost.match_id]
        if self._backlog and len(leased) < len(wanted):
            # Another server was quicker, and there is work for both.
            self._wake.set()

    def _to_lease(self, found: Iterable[DueMatch], now: int, room: int) -> list[DueMatch]:
        # The matches whose lease this server renews or takes.
        wanted = self._expiring(now)
        self._backlog = False
        for due in found:
            if due.match_id in self._tasks:
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

    def _expiring(self, now: int) -> list[DueMatch]:
        # The leases of this server that must be renewed by now, before others take them over.
        soon = now + POLL_MILLISECONDS
        return [DueMatch(match_id, at) for match_id, at in self._leases.items() if at <= soon]

    async def _reschedule_all(self, wanted: Sequence[tuple[DueMatch, int]]) -> list[DueMatch]:
        # All at once, so that they share a commit. Returns those that had not changed meanwhile.
        dues = [due for due, _ in wanted]
        done = await asyncio.gather(*(self._store.reschedule(due, at) for due, at in wanted))
        return [due for due, succeeded in zip(dues, done, strict=True) if succeeded]

    # One match

    async def _act(self, match_id: str) -> None:
        try:
            while True:
                next_try = await self._act_while_due(match_id)
                if next_try is not None:
                    await self._end_lease(match_id, next_try)
                if match_id not in self._changed:
                    break
        finally:
            self._leases.pop(match_id, None)
            self._changed.discard(match_id)
            self._waiting.discard(match_id)
            self._urgent.discard(match_id)
            self._causes.pop(match_id, None)
            del self._tasks[match_id]
            self._poll_backlog()

    def _poll_backlog(self) -> None:
        # As soon as there is room for more of the matches that are due.
        has_room = len(self._tasks) <= MAX_TASKS // 2 and len(self._waiting) <= MAX_WAITING // 2
        if self._backlog and has_room:
            self._wake.set()

    async def _act_while_due(self, match_id: str) -> int | None:
        # Returns when the match is due next; None: as the log has it.
        state: MatchState | None = None
        try:
            while True:
                self._changed.discard(match_id)
                urgent = match_id in self._urgent
                look = self._quota.run_now if urgent else self._quota.run
                state = await look(self._look_at, match_id)
                seat = state.bot_due
                if seat is None:
                    # The log had it as due, though it is not; the match itself knows better.
                    return state.status.due or self._clock.now() + MAX_RETRY_MILLISECONDS
                self._resume_cause(match_id)
                begin = self._quota.run_now if urgent else self._quota.begin
                if state.deadline is None:
                    await begin(self._bots.decide, state, seat)
                    continue
                expiring = self._background.spawn("clock", self._expire_on, state, about=match_id)
                try:
                    await begin(self._bots.decide, state, seat)
                finally:
                    expiring.cancel()
        except Refusal as refusal:
            # When the log fails, the match is tried again as if this server had gone.
            if refusal.reason in _STORE_FAILS:
                return None
            # It is due at once for a server of another release, which may be there.
            if refusal.reason == ErrorReason.ERROR_REASON_RULES_CHANGED:
                self._left_to_others.add(match_id)
                return self._clock.now()
            self._failed(state, refusal)
        # A match whose bot fails must not take the others along.
        except Exception as error:
            self._failed(state, error)
        return self._next_try(state)

    async def _expire_on(self, state: MatchState) -> None:
        # The clock of the other seat does not wait for a bot that decides at the same time.
        never = asyncio.Event()
        while state.deadline is not None:
            await self._clock.sleep(state.deadline, never)
            try:
                state = await self._quota.run(self._matches.expire, state.header.match_id)
            except Refusal as refusal:
                if refusal.reason not in _STORE_FAILS:
                    return
                await self._clock.sleep(self._clock.now() + MIN_RETRY_MILLISECONDS, never)

    def _resume_cause(self, match_id: str) -> None:
        # What follows belongs to the call that has set it off, for the log and for traces.
        cause = self._causes.get(match_id)
        current_call.set(cause)
        if cause is not None and cause.span is not None:
            tracing.resume(cause.span)

    async def _look_at(self, match_id: str) -> MatchState:
        self._waiting.discard(match_id)
        self._poll_backlog()
        return await self._matches.expire(match_id)

    async def _end_lease(self, match_id: str, next_try: int) -> None:
        # Makes the match due at another time, for all servers.
        if match_id not in self._leases:
            return
        async with self._lease_lock:
            # Meanwhile an entry may have rescheduled the match itself, or another server has it.
            if match_id in self._leases and match_id not in self._changed:
                with suppress(Refusal):
                    due = DueMatch(match_id, self._leases[match_id])
                    await self._store.reschedule(due, next_try)

    def _failed(self, state: MatchState | None, error: Exception) -> None:
        deleted = ErrorReason.ERROR_REASON_MATCH_NOT_FOUND
        if isinstance(error, Refusal) and error.reason == deleted:
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
