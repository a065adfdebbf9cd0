"""Telling servers of matches that have changed."""

from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple


class Listener(NamedTuple):
    """Whoever wants to hear of changed matches."""

    # Called with the id of a match and a number of entries that it has. It may come again, or
    # late; it does not wait and does not raise.
    hear: Callable[[str, int], None]
    # The ids of the matches of which it must hear.
    watched: Callable[[], Collection[str]]


class Changes:
    """The listeners of a store, in one event loop."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Adds a listener; returns what removes it."""
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    def tell(self, match_id: str, version: int) -> None:
        """Tells that a match has so many entries."""
        for listener in self._listeners:
            listener.hear(match_id, version)

    def watched(self) -> set[str]:
        """The matches of which somebody must hear."""
        return {match_id for listener in self._listeners for match_id in listener.watched()}
