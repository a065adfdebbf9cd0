"""What rules in Python are given for a call: chance, and the log of events.

Both end with the call: whoever uses them later gets an error.
"""

import math

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc

from engine.chance cimport Rng, rng_below, rng_part, rng_reject, rng_shuffle, rng_weighted
from engine.events cimport NO_SEAT, TO_PUBLIC, TO_RECORD, log_event, log_private, to_seat
from engine.integers cimport uint8_t, uint32_t

cdef enum:
    MAX_VALUES = 255           # Of an event.
    MOST_KINDS = 256           # Of items that differ, in a list that is shuffled.

cdef long long MOST_BELOW = 0xFFFFFFFF


@cython.freelist(8)
cdef class Chance:
    """The chance of one call of the rules: the only source of anything random."""

    cdef Rng* source(self) except NULL:
        if self.rng == NULL:
            raise RuntimeError("chance was used after the call that it was given to")
        return self.rng

    def below(self, long long n):
        """A number from 0 to n - 1, each as likely as the others."""
        if not 0 < n <= MOST_BELOW:
            raise ValueError(f"chance.below needs a number from 1 to 2^32 - 1, not {n}")
        return rng_below(self.source(), <uint32_t> n)

    def shuffle(self, list items not None):
        """Shuffles a list in place. Equal items are one and the same to it."""
        cdef uint8_t* order
        cdef dict numbers = {}
        cdef list kinds = []
        cdef int i, n = len(items)
        cdef Rng* rng = self.source()
        for item in items:
            if item not in numbers:
                numbers[item] = len(kinds)
                kinds.append(item)
        if len(kinds) > MOST_KINDS:
            if rng.script != NULL:
                rng.script.broken = True
            for i in range(n - 1, 0, -1):
                j = rng_below(rng, i + 1)
                items[i], items[j] = items[j], items[i]
            return
        order = <uint8_t*> PyMem_Malloc(n + 1)
        if order == NULL:
            raise MemoryError
        try:
            for i in range(n):
                order[i] = numbers[items[i]]
            rng_shuffle(rng, order, n)
            for i in range(n):
                items[i] = kinds[order[i]]
        finally:
            PyMem_Free(order)

    def take(self, list items not None, int count):
        """Takes so many items out of a list, drawn uniformly; what is left in it has any order.

        The list itself changes: a slice of an array is a copy, from which nothing is taken.
        """
        cdef uint8_t[MOST_KINDS] order
        cdef int i, n = len(items)
        if not 0 <= count <= n or n > MOST_KINDS:
            raise ValueError(f"chance.take can take from 0 to {min(n, MOST_KINDS)}, not {count}")
        for i in range(n):
            order[i] = i
        rng_part(self.source(), order, n, count)
        before = items[:]
        items[:] = [before[order[i]] for i in range(n - count)]
        return [before[order[i]] for i in range(n - count, n)]

    def weighted(self, weights):
        """The index of one of the weights, drawn in proportion to them."""
        cdef list given = [float(weight) for weight in weights]
        cdef double* sums
        cdef double total = 0
        cdef Py_ssize_t i, n = len(given)
        cdef Rng* rng = self.source()
        if n == 0 or not (min(given) >= 0 and 0 < math.fsum(given) < math.inf):
            raise ValueError("chance.weighted needs weights of 0 or more, one of them above 0")
        sums = <double*> PyMem_Malloc(n * sizeof(double))
        if sums == NULL:
            raise MemoryError
        try:
            for i in range(n):
                total += given[i]
                sums[i] = total
            return rng_weighted(rng, sums, n)
        finally:
            PyMem_Free(sums)

    def reject(self):
        """What rejection sampling asks before it draws again. If true, return as it is.

        The engine then goes through all outcomes of chance, and leaves this one out.
        """
        return rng_reject(self.source())


@cython.freelist(8)
cdef class Log:
    """The events of one call of the rules. In a search, nobody reads them: it does nothing."""

    def add(self, str kind not None, values=(), seat=None):
        """Adds an event that all see, with its values, which are numbers from 0 to 255."""
        cdef bytes data
        cdef int number, owner
        if self.log == NULL:
            self.check()
            return
        data = values_of(values)
        number = self.number(kind)
        owner = seat_of(seat)
        log_event(self.log, TO_PUBLIC | TO_RECORD, number, owner,
                  <const uint8_t*> PyBytes_AS_STRING(data), <int> PyBytes_GET_SIZE(data))
        self.check()

    def private(self, str kind not None, values, int seat, shown=(), to=None, hidden_kind=None):
        """Adds an event that only its seat sees in full; all others see the values `shown`.

        `to` are the seats that see it in full, if these are others: () for nobody before the end of
        the match. The others see the kind `hidden_kind`: by default "<kind>_hidden", if the game
        has that kind, else the same one.
        """
        cdef bytes data, others
        cdef int readers = 0, number, hidden_number
        if self.log == NULL:
            self.check()
            return
        for reader in (seat,) if to is None else to:
            readers |= to_seat(seat_of(reader))
        if hidden_kind is None:
            hidden_kind = f"{kind}_hidden" if f"{kind}_hidden" in self.kinds else kind
        data = values_of(values)
        others = values_of(shown)
        number = self.number(kind)
        hidden_number = self.number(hidden_kind)
        seat = seat_of(seat)
        log_private(self.log, readers, seat, number, <const uint8_t*> PyBytes_AS_STRING(data),
                    <int> PyBytes_GET_SIZE(data), hidden_number,
                    <const uint8_t*> PyBytes_AS_STRING(others), <int> PyBytes_GET_SIZE(others))
        self.check()

    cdef int number(self, kind) except -1:
        found = self.kinds.get(kind)
        if found is None:
            raise ValueError(f"event_kinds has no kind {kind}")
        return found

    def check(self):
        """Raises an error if the call is over, or if its events do not fit."""
        if self.over:
            raise RuntimeError("log was used after the call that it was given to")
        if self.log != NULL and self.log.overflowed:
            raise OverflowError("the events of one call do not fit the log")


cdef bytes values_of(values):
    cdef bytes data = bytes([*values])
    if len(data) > MAX_VALUES:
        raise ValueError(f"an event can have {MAX_VALUES} values, not {len(data)}")
    return data


cdef int seat_of(seat) except -1:
    if seat is None:
        return NO_SEAT
    if seat != 0 and seat != 1:
        raise ValueError(f"a seat is 0 or 1, not {seat}")
    return seat


cdef Chance chance_of(Rng* rng):
    cdef Chance chance = Chance.__new__(Chance)
    chance.rng = rng
    return chance


cdef Log log_of(EventLog* log, dict kinds):
    cdef Log made = Log.__new__(Log)
    made.log = log
    made.kinds = kinds
    return made
