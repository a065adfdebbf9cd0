"""The accounts of principals that several processes of one server share, in common memory.

All processes read and change the same numbers, so a principal has its budgets once, however its
connections are spread. The memory is a table of places for accounts, found by the hash of the
principal's name, and a further table for each process of what it holds: when a process is killed,
what it held is given back by clearing its table.

A lock of the system on the memory's file makes changes of several numbers one. The system ends the
lock of a process that dies. A process that is stopped while it has the lock must not stop the
others: they wait for it for LOCK_SECONDS at most and then go on without it. What can go wrong then
is that one use of a budget is not counted.
"""

import fcntl
import hashlib
import mmap
import os
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache

from service.admission.budgets import WINDOWS, Account, Accounts, Budget, OwnAccounts
from service.admission.principals import Principal

PLACES = 1 << 16
PROBES = 32  # Places in which an account may be; beyond them each process counts for itself.
LOCK_SECONDS = 0.002

_KEY_BYTES = 16
_KEY = struct.Struct(f"{_KEY_BYTES}s")
_TIME = struct.Struct("d")
_COUNT = struct.Struct("I")
_TIMES = {budget: number for number, budget in enumerate(WINDOWS)}
_REFUSED = len(_TIMES)
_HELD = {
    budget: number for number, budget in enumerate(each for each in Budget if each not in WINDOWS)
}
_ALL_TIMES = struct.Struct(f"{_REFUSED + 1}d")
_ALL_COUNTS = struct.Struct(f"{len(_HELD)}I")
_PLACE_BYTES = _KEY.size + _ALL_TIMES.size
_FREE = bytes(_KEY_BYTES)


def create(processes: int) -> int:
    """Returns a file for the accounts of some processes, which only they can open."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("croupier-accounts")
    else:
        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    os.ftruncate(file, PLACES * (_PLACE_BYTES + processes * _ALL_COUNTS.size))
    return file


def give_back(file: int, process: int) -> None:
    """Gives back what a process held that has ended."""
    size = PLACES * _ALL_COUNTS.size
    os.pwrite(file, bytes(size), PLACES * _PLACE_BYTES + process * size)


class _SharedAccount:
    """The usage of one principal, at a place in the common memory."""

    __slots__ = ("_counts", "_memory", "_own", "_place")

    def __init__(self, memory: mmap.mmap, place: int, counts: Sequence[int], own: int) -> None:
        """`place` and `counts` are offsets; `own` is the one of this process among these."""
        self._memory = memory
        self._place = place
        self._counts = counts
        self._own = own

    def full_at(self, budget: Budget) -> float:
        return self._time(_TIMES[budget])

    def set_full_at(self, budget: Budget, at: float) -> None:
        self._set_time(_TIMES[budget], at)

    @property
    def refused_until(self) -> float:
        """When the refusals so far have come."""
        return self._time(_REFUSED)

    @refused_until.setter
    def refused_until(self, at: float) -> None:
        self._set_time(_REFUSED, at)

    def held(self, budget: Budget) -> int:
        offset = _COUNT.size * _HELD[budget]
        return sum(_COUNT.unpack_from(self._memory, at + offset)[0] for at in self._counts)

    def hold(self, budget: Budget, more: int) -> None:
        at = self._own + _COUNT.size * _HELD[budget]
        (held,) = _COUNT.unpack_from(self._memory, at)
        _COUNT.pack_into(self._memory, at, held + more)

    def _time(self, number: int) -> float:
        at: float = _TIME.unpack_from(self._memory, self._place + _KEY.size + number * _TIME.size)[
            0
        ]
        return at

    def _set_time(self, number: int, at: float) -> None:
        _TIME.pack_into(self._memory, self._place + _KEY.size + number * _TIME.size, at)


class SharedAccounts:
    """The accounts in the common memory, as one of the processes sees them."""

    def __init__(
        self,
        file: int,
        process: int,
        processes: int,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`process` is the number of this one of several processes, whose clock is the same."""
        self._now = now
        self._file = file
        self._process = process
        self._processes = processes
        self._memory = mmap.mmap(file, 0)
        self._lock = _Lock(file)
        self._digest = lru_cache(PLACES)(_digest)
        # Places that were looked up since the lock was taken: nobody else may have them meanwhile.
        self._in_use: set[int] = set()
        # For principals for which the common memory has no room.
        self._own: Accounts = OwnAccounts()

    def lock(self) -> AbstractContextManager[object]:
        self._in_use.clear()
        return self._lock

    def make_room(self, now: float) -> None:
        self._own.make_room(now)

    def account(self, principal: Principal) -> Account:
        place = self._find(self._digest(principal))
        if place is None:
            return self._own.account(principal)
        counts = self._counts(place)
        return _SharedAccount(self._memory, place * _PLACE_BYTES, counts, counts[self._process])

    def _find(self, digest: bytes) -> int | None:
        # The place that has the account, or else one that has it from now on.
        first = int.from_bytes(digest[:4], "little")
        for place in self._window(first):
            (key,) = _KEY.unpack_from(self._memory, place * _PLACE_BYTES)
            if key == digest:
                break
            if key == _FREE:
                # No account is beyond it, since no place becomes free again.
                _KEY.pack_into(self._memory, place * _PLACE_BYTES, digest)
                break
        else:
            idle = (place for place in self._window(first) if self._is_idle(place))
            found = next(idle, None)
            if found is None:
                return None
            place = found
            at = place * _PLACE_BYTES
            _ALL_TIMES.pack_into(self._memory, at + _KEY.size, *[0.0] * (_REFUSED + 1))
            _KEY.pack_into(self._memory, at, digest)
        self._in_use.add(place)
        return place

    @staticmethod
    def _window(first: int) -> Iterator[int]:
        return ((first + probe) % PLACES for probe in range(PROBES))

    def _is_idle(self, place: int) -> bool:
        if place in self._in_use:
            return False
        times = _ALL_TIMES.unpack_from(self._memory, place * _PLACE_BYTES + _KEY.size)
        return max(times) <= self._now() and not any(
            any(_ALL_COUNTS.unpack_from(self._memory, at)) for at in self._counts(place)
        )

    def _counts(self, place: int) -> list[int]:
        first = PLACES * _PLACE_BYTES + place * _ALL_COUNTS.size
        size = PLACES * _ALL_COUNTS.size
        return [first + process * size for process in range(self._processes)]


class _Lock:
    """A lock among processes, which ends with the process that has it."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._has = False

    def __enter__(self) -> None:
        self._has = self._take()
        if self._has:
            return
        until = time.monotonic() + LOCK_SECONDS
        while not self._has and time.monotonic() < until:
            os.sched_yield()
            self._has = self._take()

    def __exit__(self, *_: object) -> None:
        if self._has:
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def _take(self) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def _digest(principal: Principal) -> bytes:
    return hashlib.blake2b(str(principal).encode(), digest_size=_KEY_BYTES).digest()
