"""What rules in Python are given for a call: chance, and the log of events."""

from engine.chance cimport Rng
from engine.events cimport EventLog

cdef class Chance:
    cdef Rng* rng              # NULL: the call is over.
    cdef Rng* source(self) except NULL

cdef class Log:
    cdef EventLog* log         # NULL in a search, which reads no events.
    cdef bint over             # Whether the call is over.
    cdef dict kinds            # The numbers of the kinds of events, by name.
    cdef int number(self, kind) except -1

cdef Chance chance_of(Rng* rng)
cdef Log log_of(EventLog* log, dict kinds)
