"""The aspects of the actions of a last look: averages over its worlds."""

from libc.stdint cimport uint64_t

from ai.memory cimport Arena
from engine.aspects cimport MAX_ASPECTS, Aspects
from engine.game cimport State

cdef enum:
    WATCHED = 8                  # The first rounds of a look, which are all watched:
    RARELY = 64                  # of the later ones, one in so many.

cdef struct Sums:                # Of an action,
    uint64_t count               # of the times that it was watched,
    double scores                # of the scores, and for each aspect
    double[MAX_ASPECTS] totals   # of the values,
    double[MAX_ASPECTS] squares  # of their squares,
    double[MAX_ASPECTS] products    # and of their products with the scores.

cdef class AspectRounds:
    cdef readonly int count      # Of the aspects; 0: there is nothing to watch.
    cdef Aspects aspects
    cdef int seat
    cdef const State* world      # Where the seat decides.
    cdef double[MAX_ASPECTS] values     # Of what has followed so far,
    cdef bint reached            # and whether that is up to the horizon.
    cdef Sums* sums              # By action.

    # Begins a look at so many actions.
    cdef look(self, int actions, Arena arena)
    # Whether to watch the round after so many others.
    cdef inline bint watches(self, uint64_t rounds) noexcept nogil:
        return self.count > 0 and (rounds < WATCHED or rounds % RARELY == 0)
    # Begins to watch an action in a world, which stays as it is meanwhile.
    cdef void begin(self, const State* world) noexcept nogil
    # Sees a state that has followed.
    cdef void follow(self, const State* state) noexcept nogil
    # Adds up what the action of this number has shown, with the score of seat 0 in the end.
    cdef void end(self, int action, double score) noexcept nogil
