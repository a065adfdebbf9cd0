"""Clocks: the one that servers go by, and those of a match.

The clocks of a match are computed from the times of its entries and from nothing else. So every
server that reads the log finds the same deadlines, whenever it reads it. Times are milliseconds
since 1970, as in the log.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from google.protobuf.duration_pb2 import Duration

from croupier.v1 import clock_pb2

_MAX_CACHED = 256  # Time controls.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # The first is Linux's.


class Clock:
    """The time, in milliseconds since 1970, UTC."""

    def now(self) -> int:
        """The time now."""
        return time.time_ns() // 1_000_000

    def steady(self) -> float:
        """Seconds of a clock that nobody sets, and that goes on while the machine sleeps."""
        return time.clock_gettime(_STEADY)

    async def sleep(self, until: int, wake: asyncio.Event) -> None:
        """Returns at a time, or earlier when `wake` is set."""
        # Not wait_for: woken and cancelled at the same moment, it loses the cancellation.
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0, until - self.now()) / 1000):
                await wake.wait()


def date(at: int) -> str:
    """A time as lines for the operator show it."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="seconds")


class Control(NamedTuple):
    """How long the open seats may take, in milliseconds; None for no limit."""

    per_decision: int | None
    per_match: int | None
    increment: int
    forfeits: bool  # Whether a seat forfeits when its time is up; else an action is played for it.
    max_default_actions: int  # In a row for one seat; 0 for no limit.


@lru_cache(maxsize=_MAX_CACHED)
def read_control(data: bytes) -> Control | None:
    """The time control in the header of a match, if it has one."""
    if not data:
        return None
    message = clock_pb2.TimeControl.FromString(data)
    return Control(
        _read(message.per_decision) if message.HasField("per_decision") else None,
        _read(message.per_match) if message.HasField("per_match") else None,
        _read(message.increment),
        message.on_expiry != clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION,
        message.max_default_actions,
    )


def _read(duration: Duration) -> int:
    return int(duration.ToMilliseconds())


class Clocks(NamedTuple):
    """The clocks of both seats after some entries of a match. They never change."""

    control: Control
    left: tuple[int | None, ...]  # By seat: for the match, when its last decision was made.
    since: tuple[int, ...]  # By seat: when it began to owe its decision.

    @staticmethod
    def start(control: Control, at: int) -> "Clocks":
        """The clocks when the match begins."""
        return Clocks(control, (control.per_match,) * 2, (at, at))

    def deadline(self, seat: int) -> int:
        """When the time is up of a seat that owes a decision."""
        limits = (self.control.per_decision, self.left[seat])
        return self.since[seat] + min(limit for limit in limits if limit is not None)

    def expired(self, seats: Iterable[int], at: int) -> tuple[int, ...]:
        """Of seats that owe decisions, those whose time was up first, if it was up by `at`."""
        deadlines = {seat: self.deadline(seat) for seat in seats}
        first = min(deadlines.values(), default=at + 1)
        return tuple(seat for seat, deadline in deadlines.items() if deadline == first <= at)

    def after(self, seat: int, at: int) -> "Clocks":
        """The clocks after a decision of a seat, or a decision that was made for it."""
        left = list(self.left)
        before = left[seat]
        if before is not None:
            left[seat] = max(0, before - (at - self.since[seat])) + self.control.increment
        return self._replace(left=tuple(left))

    def restarted(self, seats: Iterable[int], at: int) -> "Clocks":
        """The clocks when some seats begin to owe a new decision."""
        since = list(self.since)
        for seat in seats:
            since[seat] = at
        return self._replace(since=tuple(since))

    def paused(self, milliseconds: int) -> "Clocks":
        """The clocks after a time in which they stood still."""
        return self._replace(since=tuple(since + milliseconds for since in self.since))

    def taken_back(
        self, owing: Sequence[int], made: Sequence[int], spent: Sequence[int], at: int
    ) -> "Clocks":
        """The clocks when decisions are taken back, while some seats owe one.

        By seat, `made` is how many these are, and `spent` how long the first of them took or
        takes. What was used stays used, also for the decision that is owed again; no
        increment is kept.
        """
        left = [self.left_at(seat, at, owes=seat in owing) for seat in (0, 1)]
        for seat, now in enumerate(left):
            if now is not None:
                left[seat] = max(0, now - self.control.increment * made[seat]) + spent[seat]
        return self._replace(left=tuple(left), since=(at - spent[0], at - spent[1]))

    def left_at(self, seat: int, at: int, *, owes: bool) -> int | None:
        """The milliseconds that a seat has left for the match at a time; None for no limit."""
        left = self.left[seat]
        return None if left is None else max(0, left - (at - self.since[seat] if owes else 0))
