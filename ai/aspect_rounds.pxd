"""The aspects of the actions of a last look: averages over its worlds."""

from libc.stdint cimport uint64_t

from ai.memory cimport Arena
from engine.aspects cimport MAX_ASPECTS, Aspects
from engine.game cimport Game, State
from engine.playout_policy cimport PlayoutPolicy

cdef enum:
    WATCHED = 8                 # The first rounds of a look, which are all watched:
    RARELY = 16                  # of the later ones, one in so many.

cdef struct Sums:                # Of an action, for each aspect, over the rounds:
    double[MAX_ASPECTS] totals   # of the values,
    double[MAX_ASPECTS] squares  # of their squares,
    double[MAX_ASPECTS] products    # and of their products with the scores,
    double scores                # and of the scores.

cdef struct Values:
    double[MAX_ASPECTS] of

cdef class AspectRounds:
    cdef readonly int count      # Of the aspects; 0: there is nothing to watch.
    cdef Aspects aspects
    cdef Game game
    cdef PlayoutPolicy policy
    cdef int seat
    cdef const State* begin      # The world of the round.
    cdef Values now              # Of the action whose turn it is.
    cdef bint reached            # The horizon.
    cdef State state             # What is played on.
    cdef Values* values          # By action, of this round.
    cdef uint64_t rounds         # That were watched.
    cdef Sums* sums              # By action.

    # Begins a look at so many actions.
    cdef look(self, int actions, Arena arena)
    # Whether to watch the round after so many others.
    cdef inline bint watches(self, uint64_t rounds) noexcept nogil:
        return self.count > 0 and (rounds < WATCHED or rounds % RARELY == 0)
    # Begins to watch what follows from an action in a world, which stays as it is meanwhile.
    cdef void begin_turn(self, const State* world) noexcept nogil
    # Sees a state that has followed.
    cdef inline void see(self, const State* state) noexcept nogil:
        if not self.reached:
            self.reached = self.aspects.follow(self.begin, state, self.seat, self.now.of)
    # Plays on from a state to the horizon.
    cdef void play_on(self, const State* state, uint64_t seed) noexcept nogil
    # Keeps the values of the action of a turn.
    cdef void end_turn(self, int turn) noexcept nogil
    # Adds up a round, from the scores of so many actions.
    cdef void end_round(self, const double* scores, int actions) noexcept nogil
