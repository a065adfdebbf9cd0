"""The rules of Leduc poker, for its sampler and for Kuhn poker."""

from engine.chance cimport Rng
from engine.game cimport Game
from engine.integers cimport uint8_t

cdef enum:
    # Kinds of events
    DEALT = 1
    DECIDED = 2
    TURNED_UP = 3
    SHOWN = 4

cdef class LeducPoker(Game):
    cdef int suits
    cdef int rounds
    cdef int max_raises        # In a round.
    cdef int raise_by          # In the first round; twice that in the second.
    cdef int max_loss          # The most that a seat can lose.

# Takes one of the first `n` cards of a deck at random. The last of these moves to its place.
cdef uint8_t take(uint8_t* deck, int n, Rng* rng) noexcept nogil
