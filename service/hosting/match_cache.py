"""The match states that a server keeps in memory."""

from collections import OrderedDict

from service.hosting.match_state import MatchState

MAX_CACHED = 1024  # Others are replayed from the log.


class MatchCache:
    """The newest known states of the matches that were used last.

    A match counts as used by calls alone. One in which only the server acts is the first to go, so
    that thousands of such matches do not take the place of those that are played.
    """

    def __init__(self) -> None:
        self._states: OrderedDict[str, MatchState] = OrderedDict()

    def __len__(self) -> int:
        return len(self._states)

    def get(self, match_id: str) -> MatchState | None:
        """The newest known state of a match, if it is cached."""
        return self._states.get(match_id)

    def put(self, state: MatchState, *, used: bool = True) -> None:
        """Caches a state unless a newer one of the same match is cached.

        `used` says whether a call is the reason.
        """
        match_id = state.header.match_id
        cached = self._states.get(match_id)
        if cached is None or cached.version < state.version:
            self._states[match_id] = state
        if used or cached is None:
            self._states.move_to_end(match_id, last=used)
        if len(self._states) > MAX_CACHED:
            self._states.popitem(last=False)

    def drop(self, match_id: str) -> None:
        """Forgets a match."""
        self._states.pop(match_id, None)

    def drop_ended(self, before: int) -> None:
        """Forgets the matches that ended before a time."""
        for match_id, state in list(self._states.items()):
            if state.over and state.time < before:
                del self._states[match_id]
