"""The rounds of a last look: what the actions that are compared scored, and the sums of that."""

from libc.stdint cimport uint64_t

from ai.memory cimport Arena
from engine.game cimport Action, State

cdef class LookRounds:
    cdef Arena arena
    cdef int count             # Of the actions; 0: nothing is looked at.
    cdef int turn              # The number of the action whose turn it is.
    cdef Action* actions
    cdef State world           # Of the round,
    cdef uint64_t seed         # and its chance.
    cdef double* scores        # Of this round, for the seat that searches,
    cdef double* draws         # and how likely each is a draw.
    cdef uint64_t rounds       # That are finished, and their sums.
    cdef double* totals
    cdef double* draw_totals
    cdef double* products      # Of two scores of a round.

    # Adds what the action scored whose turn it is. A round that is not finished counts for nothing.
    cdef void add(self, double score, double draw) noexcept nogil
