"""The match states that a server keeps in memory."""

from collections import OrderedDict

from service.hosting.match_state import MatchState

MAX_CACHED = 1024  # Others are replayed from the log.
# Of all cached matches together; each takes about a kilobyte. A match can have 160,000.
MAX_ENTRIES = 250_000


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
        """Caches a state unless a newer one of the same match is cached.

        `used` says whether a call is the reason.
        """
        match_id = state.header.match_id
        cached = self._states.get(match_id)
        if cached is None or cached.version < state.version:
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
