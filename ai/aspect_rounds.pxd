"""The aspects of the actions of a last look: averages over its worlds."""

from libc.stdint cimport uint64_t

from ai.worker cimport Worker
from engine.aspects cimport MAX_ASPECTS, Aspects
from engine.chance cimport Rng
from engine.game cimport Action, Game, State
from engine.playout_policy cimport PlayoutPolicy

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
    cdef Game game
    cdef PlayoutPolicy policy
    cdef int seat
    cdef State state             # Of the match that is played on.
    cdef Sums* sums              # By action.

    # Whether to watch the round after so many others.
    cdef inline bint watches(self, uint64_t rounds) noexcept nogil:
        return self.count > 0 and (rounds < WATCHED or rounds % RARELY == 0)
    # Plays an action of the seat in a world of a round, and adds up what follows under its number.
    cdef void watch(self, Worker worker, const State* world, uint64_t seed, Action action,
                    int number) noexcept nogil
    cdef Action choose(self, Worker worker, int seat, uint64_t key, Rng* rng) noexcept nogil
