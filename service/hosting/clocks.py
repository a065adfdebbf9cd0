"""The clocks of a match, computed from when its entries were made and from nothing else.

Times are milliseconds since 1970, as in the log. So every server that reads it, whenever it does,
finds the same deadlines.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from google.protobuf.duration_pb2 import Duration

from croupier.v1 import clock_pb2

_KEPT = 256


class Control(NamedTuple):
    """How long the open seats may take, in milliseconds; None for no limit."""

    per_decision: int | None
    per_match: int | None
    increment: int
    forfeits: bool  # When its time is up; else an action is played for it.


@lru_cache(maxsize=_KEPT)
def read_control(data: bytes) -> Control | None:
    """The time control out of the header of a match, if it has one."""
    if not data:
        return None
    message = clock_pb2.TimeControl.FromString(data)
    return Control(
        _read(message.per_decision) if message.HasField("per_decision") else None,
        _read(message.per_match) if message.HasField("per_match") else None,
        _read(message.increment),
        message.on_expiry != clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION,
    )


def _read(duration: Duration) -> int:
    return int(duration.ToMilliseconds())


class Clocks(NamedTuple):
    """The clocks of both seats after some entries of a match. They never change."""

    control: Control
    left: tuple[int | None, ...]  # For the match, when the seat's last decision was made.
    since: tuple[int, ...]  # When what a seat owes began to be owed.

    @staticmethod
    def start(control: Control, at: int) -> "Clocks":
        """As the match begins."""
        return Clocks(control, (control.per_match,) * 2, (at, at))

    def deadline(self, seat: int) -> int:
        """When the time of a seat that owes a decision is up."""
        limits = (self.control.per_decision, self.left[seat])
        return self.since[seat] + min(limit for limit in limits if limit is not None)

    def expired(self, seats: Iterable[int], at: int) -> tuple[int, ...]:
        """Of seats that owe decisions those whose time was up first, if it was by then."""
        deadlines = {seat: self.deadline(seat) for seat in seats}
        first = min(deadlines.values(), default=at + 1)
        return tuple(seat for seat, deadline in deadlines.items() if deadline == first <= at)

    def after(self, seat: int, at: int) -> "Clocks":
        """After a decision of a seat, or one that was made for it."""
        left = list(self.left)
        before = left[seat]
        if before is not None:
            left[seat] = max(0, before - (at - self.since[seat])) + self.control.increment
        return self._replace(left=tuple(left))

    def restarted(self, seats: Iterable[int], at: int) -> "Clocks":
        """When what some seats owe has changed."""
        since = list(self.since)
        for seat in seats:
            since[seat] = at
        return self._replace(since=tuple(since))

    def left_at(self, seat: int, at: int, *, owes: bool) -> int | None:
        """What a seat has left for the match at a time."""
        left = self.left[seat]
        return None if left is None else max(0, left - (at - self.since[seat] if owes else 0))
