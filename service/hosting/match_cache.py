"""The matches that a server has in memory: those that were used last, and those that are watched.

Callers who follow a match are handed each new state of it as soon as this server knows it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from croupier.v1.error_pb2 import ErrorReason
from service.common.event_loop import Turns
from service.hosting.match_state import MatchState
from wire.errors import Refusal

MAX_CACHED = 1024  # Others are replayed from the log.
# Of all cached matches together; each takes about a kilobyte. A match can have 160,000.
MAX_ENTRIES = 250_000
FEW = 8  # Those who follow a match and go on in the same turn of the event loop.


class MatchCache:
    """The newest known states of the matches that were used last.

    A match counts as used by calls alone. One in which only the server acts is the first to go, so
    that thousands of such matches do not take the place of those that are played.
    """

    def __init__(self) -> None:
        self._states: OrderedDict[str, MatchState] = OrderedDict()
        self._entries = 0

    def __len__(self) -> int:
        return len(self._states)

    def get(self, match_id: str) -> MatchState | None:
        """The newest known state of a match, if it is cached."""
        return self._states.get(match_id)

    def put(self, state: MatchState, *, used: bool = True) -> None:
        """Caches a state, which the log has, unless one that has come of it is cached.

        `used` says whether a call is the reason.
        """
        match_id = state.header.match_id
        cached = self._states.get(match_id)
        # What seats have decided ahead changes without a version. Which is newer, the log knows.
        if (
            cached is None
            or not cached.follows(state)
            or (cached.version == state.version and cached.ahead != state.ahead)
            or state.lacks_names_of(cached)
        ):
            self._states[match_id] = state
            self._entries += state.version - (0 if cached is None else cached.version)
        if used or cached is None:
            self._states.move_to_end(match_id, last=used)
        while len(self._states) > MAX_CACHED or self._entries > MAX_ENTRIES:
            _, dropped = self._states.popitem(last=False)
            self._entries -= dropped.version

    def drop(self, match_id: str) -> None:
        """Forgets a match."""
        dropped = self._states.pop(match_id, None)
        if dropped is not None:
            self._entries -= dropped.version

    def drop_ended(self, before: int) -> None:
        """Forgets the matches that ended before a time."""
        for match_id, state in list(self._states.items()):
            if state.over and state.time < before:
                self.drop(match_id)


class SetBack(Refusal):
    """The log has lost versions of a match that a caller has seen."""

    def __init__(self, state: MatchState) -> None:
        """`state` is the match as the log has it now."""
        super().__init__(
            ErrorReason.ERROR_REASON_VERSION_IN_FUTURE,
            f"the match is at version {state.version}, by another course than before",
            metadata={"current_version": str(state.version)},
        )


class Crowd:
    """Those who follow one match: what they all wait for must not let anybody else wait."""

    def __init__(self) -> None:
        self.watches: set[Watch] = set()
        self.new: set[Watch] = set()  # Which were not handed what the others were.
        self.told: MatchState | None = None
        self._turns = Turns()

    async def turn(self, seat: int | None) -> None:
        """Returns when one of them may go on; at once where they are few.

        Who follows for a seat waits for none of the others.
        """
        if len(self.watches) > FEW:
            await self._turns.come(seat)


class Watch:
    """One caller that follows a match, and the newest state that it was handed."""

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.seat: int | None = None  # Who is told at once of what concerns this seat alone.
        self._newest: MatchState | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._nudged = False
        self._closed = False
        self._late = False  # Whether it was waited long enough.
        self._set_back = False
        self._lost: Refusal | None = None
        self.changed = asyncio.Event()  # Set with whatever ends a wait but time.

    def hand(self, state: MatchState) -> None:
        """Hands over a state, which the log has, unless one that has come of it was."""
        newest = self._newest
        same = newest is not None and newest.version == state.version
        if newest is None or not newest.follows(state) or (same and state.lacks_names_of(newest)):
            self._newest = state
            self._wake()
        elif newest.version == state.version and newest.ahead != state.ahead:
            self._hand_cancelled(newest, state)

    def _hand_cancelled(self, newest: MatchState, state: MatchState) -> None:
        # Without a version, what was decided ahead is only ever cancelled: else this one is older.
        # Nobody but the seat may notice, so nobody else is woken.
        if all(
            ahead in (b"", before) for ahead, before in zip(state.ahead, newest.ahead, strict=True)
        ):
            self._newest = state
            if self.seat is not None and state.ahead[self.seat] != newest.ahead[self.seat]:
                self.nudge()

    def nudge(self) -> None:
        """Ends the waiting for a newer state, now or the next time, though there may be none."""
        self._nudged = True
        self._wake()

    def forget(self) -> None:
        """Forgets what was handed over, if anything was: the log has lost it.

        What comes next ends all waiting.
        """
        self._set_back = self._set_back or self._newest is not None
        self._newest = None

    def lose(self, refusal: Refusal) -> None:
        """Ends all waiting with an error if what was handed over was forgotten."""
        if self._set_back:
            self._lost = refusal
            self._wake()

    def close(self) -> None:
        """Ends all waiting."""
        self._closed = True
        self._wake()

    def _expire(self) -> None:
        self._late = True
        self._wake()

    @property
    def closed(self) -> bool:
        """Whether this was closed; raises Refusal if the log has lost the match."""
        if self._lost is not None:
            raise self._lost
        return self._closed

    def _wake(self) -> None:
        self.changed.set()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    @property
    def handed(self) -> MatchState | None:
        """The newest state that was handed over, if any was."""
        return self._newest

    def newest(self, state: MatchState) -> MatchState:
        """The newest known state, which may be `state`, unless the log has lost that."""
        newest = self._newest
        if newest is None or newest is state:  # As most often.
            return state
        return state if state.follows(newest) and not self._set_back else newest

    def next(self, state: MatchState) -> MatchState:
        """As `newest`; raises SetBack if that has not come of `state`."""
        newest = self.newest(state)
        if newest is not state and not newest.follows(state):
            raise SetBack(newest)
        return newest

    async def newer(self, state: MatchState, timeout: float | None = None) -> MatchState:
        """A state that has come of `state`, once there is one.

        Returns `state` if this was closed or nudged, or after `timeout` seconds. Raises SetBack if
        the log has lost `state`, and another Refusal if it has lost the match.
        """
        await self._wait(lambda: self._nudged or self.newest(state) is not state, timeout)
        self._nudged = False
        return self.next(state)

    def refreshed(self, state: MatchState) -> MatchState:
        """The same version of the match, with what was decided ahead as far as it is known."""
        newest = self._newest
        same = newest is not None and newest.version == state.version and newest.follows(state)
        return newest if newest is not None and same else state

    async def any(self, timeout: float | None = None) -> MatchState | None:
        """Any state, once there is one; None if this was closed, or after `timeout` seconds."""
        await self._wait(lambda: self._newest is not None, timeout)
        return self._newest

    async def _wait(self, is_over: Callable[[], bool], timeout: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._late = waited = False
        # Not `asyncio.timeout`, which would cost an action a thirtieth of all that it takes.
        timer = None if timeout is None else loop.call_later(timeout, self._expire)
        try:
            while not (self._closed or self._late or self._lost or is_over()):
                waited = True
                self._waiting = loop.create_future()
                await self._waiting
        finally:
            if timer is not None:
                timer.cancel()
        if waited:
            await self.crowd.turn(self.seat)
        if self._lost is not None:
            raise self._lost


class Watches:
    """All watches of a server."""

    def __init__(self) -> None:
        self._crowds: dict[str, Crowd] = {}
        self._closed = False

    @contextmanager
    def watch(self, match_id: str) -> Iterator[Watch]:
        """Watches a match. What is read of it after this was entered misses no later state."""
        crowd = self._crowds.setdefault(match_id, Crowd())
        watch = Watch(crowd)
        if self._closed:
            watch.close()
        crowd.watches.add(watch)
        crowd.new.add(watch)
        try:
            yield watch
        finally:
            crowd.watches.remove(watch)
            crowd.new.discard(watch)
            if not crowd.watches:
                del self._crowds[match_id]

    def watched(self) -> Collection[str]:
        """The ids of the matches that are watched."""
        return self._crowds.keys()

    def known(self, match_id: str) -> MatchState | None:
        """The newest state that those who watch a match have, if one of them has any."""
        handed = (watch.handed for watch in self._of(match_id))
        states = [state for state in handed if state is not None]
        return max(states, key=lambda state: state.version, default=None)

    def forget(self, match_id: str) -> None:
        """Forgets what those who watch a match have: the log no longer has it."""
        for watch in self._of(match_id):
            watch.forget()
        if match_id in self._crowds:
            self._crowds[match_id].told = None

    def lose(self, match_id: str, refusal: Refusal) -> None:
        """Ends the waiting of those who had a match: the log no longer has it."""
        for watch in self._of(match_id):
            watch.lose(refusal)

    def nudge(self, match_id: str, seat: int) -> None:
        """Nudges those who watch a match for a seat."""
        for watch in self._of(match_id):
            if watch.seat == seat:
                watch.nudge()

    def publish(self, state: MatchState) -> None:
        """Hands a state, which is in the log, to those who watch its match."""
        crowd = self._crowds.get(state.header.match_id)
        if crowd is None:
            return
        # Most reads find what is known: they must not cost more the more others wait.
        for watch in crowd.new if state is crowd.told else crowd.watches:
            watch.hand(state)
        crowd.new.clear()
        crowd.told = state

    def close(self) -> None:
        """Ends all waiting."""
        self._closed = True
        for match_id in self._crowds:
            for watch in self._of(match_id):
                watch.close()

    def _of(self, match_id: str) -> Collection[Watch]:
        crowd = self._crowds.get(match_id)
        return () if crowd is None else crowd.watches
