"""The log of the events of one call."""

from engine.integers cimport uint8_t

cpdef enum:
    # The readers of an event, any sum of these. The record of a match is read after its end.
    TO_SEAT_0 = 1
    TO_SEAT_1 = 2
    TO_SPECTATORS = 4
    TO_RECORD = 8
    TO_PUBLIC = 7          # Both seats and the spectators.

    NO_SEAT = 255          # Stands for the seat of an event that belongs to neither seat.

cdef struct EventLog:
    # The events of one call, in a row: audience, kind, seat, number of values, values. The search
    # passes NULL instead of a log, and nothing is logged.
    size_t used
    bint overflowed
    uint8_t bytes[8192]

# The seat as a reader.
cdef inline int to_seat(int seat) noexcept nogil:
    return TO_SEAT_0 << seat

# Logs an event with `n` values, for all of `audience`.
cdef void log_event(EventLog* log, int audience, int kind, int seat,
                    const uint8_t* values, int n) noexcept nogil
# Logs a hidden thing twice: for `readers` (0: no seat) and the record as `kind` with its `n`
# values, and for all other readers as `hidden_kind` with `shown_n` values that give nothing away.
cdef void log_private(EventLog* log, int readers, int seat, int kind, const uint8_t* values, int n,
                      int hidden_kind, const uint8_t* shown, int shown_n) noexcept nogil

# The events of a log, as `Event`s. `kinds` are the names of the game's event kinds, by number.
cdef list read_log(dict kinds, const EventLog* log)
