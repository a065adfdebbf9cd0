"""The log of the events of one call."""

from engine.integers cimport uint8_t

cpdef enum:
    # Who reads an event: any sum of these. The record of a match is read when the match is over.
    TO_SEAT_0 = 1
    TO_SEAT_1 = 2
    TO_SPECTATORS = 4
    TO_RECORD = 8
    TO_PUBLIC = 7          # Everyone, while the match runs.

    NO_SEAT = 255          # Instead of the seat of an event that belongs to neither seat.

cdef struct EventLog:
    # The events of one call, one after the other: audience, kind, seat, number of values, values.
    # The search passes NULL.
    size_t used
    bint overflowed
    uint8_t bytes[8192]

# Say that something happened. A hidden thing is said twice: to those who see it, with its values,
# and to those who only see that it happened, without.
cdef void log_event(EventLog* log, int audience, int kind, int seat,
                    const uint8_t* values, int n) noexcept nogil

# Reads a log; `kinds` are the names of the game's event kinds, by number.
cdef list read_log(dict kinds, const EventLog* log)
