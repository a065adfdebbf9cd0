"""Who is at a match: the seats of which a stream is open, or was within SECONDS.

Nothing of it is in the log. Servers that share one tell each other whose streams they hold
(`postgresql_listener.py`).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeAlias

from croupier.v1.match_pb2 import SeatPresence

SECONDS = 30.0

# Says whether the other seat of a match is there.
OtherSeat: TypeAlias = Callable[[], SeatPresence]


class Place(NamedTuple):
    """A seat of a match."""

    match_id: str
    seat: int


class Presence:
    """The seats that are at their matches, by this server and by others.

    Time goes by in spans of half of SECONDS. A seat is there if it was in this span or the one
    before: so nobody looks for seats that have gone.
    """

    def __init__(self) -> None:
        self.now: Callable[[], float] = time.monotonic
        self._open: dict[Place, int] = {}  # How many streams this server holds.
        self._span = 0
        self._seen: set[Place] = set()  # In this span,
        self._seen_before: set[Place] = set()  # and in the one before.
        self._heard_since = self.now()
        self._arrived: list[Callable[[Place], None]] = []

    def listen(self, arrived: Callable[[Place], None]) -> Callable[[], None]:
        """Calls a function when a seat is there that was not; returns what ends this."""
        self._arrived.append(arrived)
        return lambda: self._arrived.remove(arrived)

    @contextmanager
    def attend(self, place: Place) -> Iterator[OtherSeat]:
        """While a stream of a seat is open; gives what says whether the other seat is there."""
        self._pass_time()  # What is open now was not before.
        self._open[place] = self._open.get(place, 0) + 1
        self.see(place)
        try:
            yield partial(self.of, Place(place.match_id, 1 - place.seat))
        finally:
            self.see(place)
            self._open[place] -= 1
            if not self._open[place]:
                del self._open[place]

    def see(self, place: Place) -> None:
        """A seat is there now, by whichever server."""
        self._pass_time()
        if place not in self._seen:
            self._seen.add(place)
            if place not in self._seen_before:
                for tell in self._arrived:
                    tell(place)

    def attended(self) -> list[Place]:
        """The seats of which this server holds a stream."""
        return list(self._open)

    def begin_to_hear(self) -> None:
        """Others may have told of seats before, and this server did not hear it."""
        self._heard_since = self.now()

    def of(self, place: Place) -> SeatPresence:
        """Whether a seat is there; not told where this server cannot know that it is not."""
        self._pass_time()
        if place in self._seen or place in self._seen_before:
            return SeatPresence.SEAT_PRESENCE_HERE
        if self.now() - self._heard_since < SECONDS:
            return SeatPresence.SEAT_PRESENCE_UNSPECIFIED
        return SeatPresence.SEAT_PRESENCE_AWAY

    def _pass_time(self) -> None:
        span = int(self.now() // (SECONDS / 2))
        if span != self._span:
            # Streams that are open were so in between, too.
            self._seen_before = self._seen if span == self._span + 1 else set(self._open)
            self._seen, self._span = set(self._open), span
