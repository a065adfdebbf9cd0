"""What happened: the events of one call, and who may see them."""

from typing import NamedTuple

from libc.string cimport memcpy

ANY_SEAT = -1              # The seat of an event that is nobody's.


class Event(NamedTuple):
    """Something that happened. `values` are small integers whose meaning depends on `kind`."""

    kind: str
    seat: int
    values: tuple
    audience: int

    def seen_by(self, viewer):
        """Whether seat 0 or 1, or SPECTATOR, sees it while the match runs."""
        return bool(self.audience & (1 << viewer))

    @property
    def recorded(self):
        """Whether it belongs to the record, which is read when the match is over."""
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
