"""What the server itself must do in a match: its bots decide, and its clocks run out.

What is due stands in the agenda of the log, so that it is done whoever looks at the match, and by
whichever server is up. The server that writes an entry does what follows from it at once; it has
until the match is due by the agenda, and says so in time if it needs longer. From then on, whoever
changes the agenda first may go on. Two that do the same do no harm: the log takes one of them.

A match in which nothing is due costs nothing here.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress

from croupier.v1.error_pb2 import ErrorReason
from service.clock import Clock
from service.errors import Refusal, log_failure
from service.hosting.bots import Bots
from service.hosting.match_state import MatchState
from service.hosting.matches import TAKEN_OVER_AFTER, Matches
from service.metrics import Metrics
from service.store import Due, MatchStatus, Store

LOOK_EVERY = 1_000  # Milliseconds.
MAX_AT_ONCE = 256  # Matches that are taken from the agenda; more go on by themselves.
MIN_RETRY = 1_000
MAX_RETRY = 600_000
RETRY_UNREAD = 60_000
RELEASE_SECONDS = 1.0

_LOG_FAILS = (ErrorReason.ERROR_REASON_STORE_UNAVAILABLE, ErrorReason.ERROR_REASON_STORE_FULL)
_NOT_HERE = (ErrorReason.ERROR_REASON_RULES_CHANGED, ErrorReason.ERROR_REASON_MATCH_NOT_FOUND)


class Scheduler:
    """Does what is due in all matches, each in a task of its own while something is."""

    def __init__(
        self, store: Store, matches: Matches, bots: Bots, metrics: Metrics, clock: Clock
    ) -> None:
        self._store = store
        self._matches = matches
        self._bots = bots
        self._metrics = metrics
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}
        # When the agenda has the matches of the tasks; until then they are left to this server.
        self._until: dict[str, int] = {}
        # Held while the agenda is asked for more time, or told when to try again: what it has is
        # known only before and after.
        self._agreeing = asyncio.Lock()
        # Those that have changed since their task has looked.
        self._changed: set[str] = set()
        self._more = False  # Whether more is due than there was room for.
        self._wake = asyncio.Event()
        self._next_look = 0
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Does what is due, until it is closed."""
        self._matches.on_commit = self._committed
        self._looking = asyncio.create_task(self._look_on())

    async def close(self) -> None:
        """Stops, and leaves to others what is under way; nothing that was decided is lost."""
        if self._looking is None:
            return
        self._matches.on_commit = lambda state, status: None
        left = [Due(match_id, at) for match_id, at in self._until.items()]
        tasks = [self._looking, *self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=RELEASE_SECONDS)
        # What cannot be said is found out when the time of this server is over.
        await asyncio.wait([asyncio.create_task(self._release(left))], timeout=RELEASE_SECONDS)

    async def _release(self, left: Iterable[Due]) -> None:
        now = self._clock.now()
        await self._postpone_all([(due, min(now, due.at)) for due in left])

    # What follows from an entry of this server

    def _committed(self, state: MatchState, status: MatchStatus) -> None:
        match_id, due = state.header.match_id, status.due
        self._until.pop(match_id, None)
        if match_id in self._tasks:
            self._changed.add(match_id)
        if due is None:
            return
        if state.bot_due is not None:
            self._until[match_id] = due
            if match_id not in self._tasks:
                self._begin(match_id)
        elif due < self._next_look:
            self._next_look = due
            self._wake.set()

    def _begin(self, match_id: str) -> None:
        self._tasks[match_id] = asyncio.create_task(self._act(match_id))

    # The agenda

    async def _look_on(self) -> None:
        while True:
            self._wake.clear()
            self._next_look = self._clock.now() + LOOK_EVERY
            try:
                await self._look()
            except Refusal:
                pass  # The log fails, and says so itself; it is asked again.
            # Whatever it is, the other matches must go on.
            except Exception as error:
                log_failure("looking what is due", error)
            await self._clock.sleep(self._next_look, self._wake)

    async def _look(self) -> None:
        now = self._clock.now()
        found = await self._store.due(now + LOOK_EVERY, 2 * MAX_AT_ONCE)
        self._metrics.overdue(max((now - due.at for due in found), default=0) / 1000)
        until = now + TAKEN_OVER_AFTER
        async with self._agreeing:
            wanted = self._wanted(found, now)
            ours = await self._postpone_all([(due, until) for due in wanted])
            for due in ours:
                self._until[due.match_id] = until
                if due.match_id not in self._tasks:
                    self._begin(due.match_id)
        if self._more and len(ours) < len(wanted):
            # Another server was quicker; there is work for both.
            self._wake.set()

    def _wanted(self, found: Iterable[Due], now: int) -> list[Due]:
        # Those that this server asks for, or asks for more time for.
        room = MAX_AT_ONCE - len(self._tasks)
        self._more = False
        wanted = []
        for due in found:
            if due.match_id in self._tasks:
                # It takes long; said before others take it over.
                wanted.append(due)
            elif due.at > now:
                self._next_look = min(self._next_look, due.at)
                break
            elif room > 0:
                wanted.append(due)
                room -= 1
            else:
                self._more = True
        return wanted

    async def _postpone_all(self, wanted: Sequence[tuple[Due, int]]) -> list[Due]:
        # Together, so that they share a commit; those that have not changed meanwhile.
        dues = [due for due, _ in wanted]
        done = await asyncio.gather(*(self._store.postpone(due, to) for due, to in wanted))
        return [due for due, ours in zip(dues, done, strict=True) if ours]

    # One match

    async def _act(self, match_id: str) -> None:
        try:
            while True:
                put_off_to = await self._do_what_is_due(match_id)
                if put_off_to is not None:
                    await self._put_off(match_id, put_off_to)
                if match_id not in self._changed:
                    break
        finally:
            self._until.pop(match_id, None)
            self._changed.discard(match_id)
            del self._tasks[match_id]
            if self._more and len(self._tasks) <= MAX_AT_ONCE // 2:
                self._wake.set()

    async def _do_what_is_due(self, match_id: str) -> int | None:
        # Returns when to look at the match again; None: when the agenda says.
        state: MatchState | None = None
        try:
            while True:
                self._changed.discard(match_id)
                state = await self._matches.expire(match_id)
                seat = state.bot_due
                if seat is None:
                    # By the agenda something was due; it knows better when it is.
                    return state.status.due or self._clock.now() + MAX_RETRY
                await self._bots.decide(state, seat)
        except Refusal as refusal:
            # When the log fails, it is tried again as if this server had gone.
            if refusal.reason in _LOG_FAILS:
                return None
            self._failed(state, refusal)
        # A match whose bot fails must not take the others along.
        except Exception as error:
            self._failed(state, error)
        return self._next_try(state)

    async def _put_off(self, match_id: str, to: int) -> None:
        if match_id not in self._until:
            return
        async with self._agreeing:
            # A change has told the agenda itself.
            if match_id not in self._changed:
                with suppress(Refusal):
                    await self._store.postpone(Due(match_id, self._until[match_id]), to)

    def _failed(self, state: MatchState | None, error: Exception) -> None:
        if isinstance(error, Refusal) and error.reason in _NOT_HERE:
            return
        self._metrics.bot_failed()
        log_failure("a bot", error)

    def _next_try(self, state: MatchState | None) -> int:
        # When it has waited twice as long as it has now: so no server needs to remember how often
        # it was tried. A match that cannot be read may be one for another server.
        now = self._clock.now()
        if state is None:
            return now + RETRY_UNREAD
        at = now + min(max(now - state.time, MIN_RETRY), MAX_RETRY)
        deadline = state.deadline
        return at if deadline is None or deadline <= now else min(at, deadline)
