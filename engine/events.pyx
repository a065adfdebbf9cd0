"""Events: what happened in one call, and who may read it."""

from typing import NamedTuple

from libc.string cimport memcpy

ANY_SEAT = -1              # The seat of an event that belongs to neither seat.


class Event(NamedTuple):
    """Something that happened.

    `values` are integers from 0 to 255 whose meaning depends on `kind`. `audience` is a sum of the
    TO_ constants.
    """

    kind: str
    seat: int
    values: tuple
    audience: int

    def seen_by(self, viewer):
        """Whether a viewer (seat 0, seat 1 or SPECTATOR) sees it while the match runs."""
        return bool(self.audience & (1 << viewer))

    def tells(self, seat):
        """Whether it tells a seat something that is not about itself."""
        # What no record has only stands for something hidden, which another event tells.
        return self.seat != seat and self.recorded and self.seen_by(seat)

    @property
    def recorded(self):
        """Whether it belongs to the record, which is read after the end of the match."""
        return bool(self.audience & TO_RECORD)


cdef void log_event(EventLog* log, int audience, int kind, int seat,
                    const uint8_t* values, int n) noexcept nogil:
    cdef uint8_t* at
    if log == NULL:
        return
    if log.used + 4 + n > sizeof(log.bytes):
        log.overflowed = True
        return
    at = log.bytes + log.used
    at[0] = <uint8_t> audience
    at[1] = <uint8_t> kind
    at[2] = <uint8_t> seat
    at[3] = <uint8_t> n
    if n > 0:
        memcpy(at + 4, values, n)
    log.used += 4 + n


cdef void log_private(EventLog* log, int readers, int seat, int kind, const uint8_t* values, int n,
                      int hidden_kind, const uint8_t* shown, int shown_n) noexcept nogil:
    log_event(log, readers | TO_RECORD, kind, seat, values, n)
    log_event(log, TO_PUBLIC & ~readers, hidden_kind, seat, shown, shown_n)


cdef list read_log(dict kinds, const EventLog* log):
    cdef size_t at = 0
    cdef int n
    cdef list events = []
    if log.overflowed:
        raise AssertionError("the events of one action do not fit the log")
    while at < log.used:
        n = log.bytes[at + 3]
        seat = log.bytes[at + 2]
        events.append(Event(kinds[log.bytes[at + 1]].partition(":")[0],
                            ANY_SEAT if seat == NO_SEAT else seat,
                            tuple([log.bytes[at + 4 + i] for i in range(n)]), log.bytes[at]))
        at += 4 + n
    return events
