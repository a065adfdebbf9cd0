"""Watches: who follows a match is handed each new state of it as soon as this server knows it."""

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from service.hosting.match_state import MatchState


class Watch:
    """What one caller has been handed of a match: the newest state."""

    def __init__(self) -> None:
        self._newest: MatchState | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._closed = False

    def hand(self, state: MatchState) -> None:
        """Hands over a state, unless a newer one was."""
        newest = self._newest
        if newest is None or newest.version < state.version:
            self._newest = state
            self._wake()

    def forget(self) -> None:
        """Forgets what was handed over."""
        self._newest = None

    def close(self) -> None:
        """Ends all waiting."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    @property
    def handed(self) -> MatchState | None:
        """The newest state that was handed over, if any was."""
        return self._newest

    def newest(self, state: MatchState) -> MatchState:
        """The newest known state, which may be `state`."""
        newest = self._newest
        return state if newest is None or newest.version <= state.version else newest

    async def newer(self, state: MatchState) -> MatchState:
        """A state that is newer than `state`, once there is one; or `state`, if this was closed."""
        while True:
            newest = self._newest
            if newest is not None and newest.version > state.version:
                return newest
            if self._closed:
                return state
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting


class Watches:
    """All watches of a server."""

    def __init__(self) -> None:
        self._watches: dict[str, set[Watch]] = {}
        self._closed = False

    @contextmanager
    def watch(self, match_id: str) -> Iterator[Watch]:
        """Watches a match. What is read of it after this was entered misses no later state."""
        watch = Watch()
        if self._closed:
            watch.close()
        watches = self._watches.setdefault(match_id, set())
        watches.add(watch)
        try:
            yield watch
        finally:
            watches.remove(watch)
            if not watches:
                del self._watches[match_id]

    def watched(self) -> Collection[str]:
        """The ids of the matches that are watched."""
        return self._watches.keys()

    def known(self, match_id: str) -> MatchState | None:
        """The newest state that those who watch a match have, if one of them has any."""
        handed = (watch.handed for watch in self._watches.get(match_id, ()))
        states = [state for state in handed if state is not None]
        return max(states, key=lambda state: state.version, default=None)

    def forget(self, match_id: str) -> None:
        """Forgets what those who watch a match have: the log no longer has it."""
        for watch in self._watches.get(match_id, ()):
            watch.forget()

    def publish(self, state: MatchState) -> None:
        """Hands a state, which is in the log, to those who watch its match."""
        for watch in self._watches.get(state.header.match_id, ()):
            watch.hand(state)

    def close(self) -> None:
        """Ends all waiting."""
        self._closed = True
        for watches in self._watches.values():
            for watch in watches:
                watch.close()
