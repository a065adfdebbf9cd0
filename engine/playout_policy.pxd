"""How to play a game sensibly and cheaply."""

from engine.chance cimport Rng
from engine.game cimport Action, Game, State

cdef class PlayoutPolicy:
    """How to play sensibly and cheaply in playouts: what `PlayoutPolicy.of` makes."""
    cdef readonly Game game
    # How many stages a playout goes on for: see `stage`.
    cdef int horizon
    # A legal action of a seat that must decide, chosen with some chance. The default is uniform.
    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil
    # A number that never falls while a match goes on, such as its round: a playout ends when it
    # has grown by the horizon. The default is 0, so that all matches are played to the end.
    cdef int stage(self, const State* state) noexcept nogil
    # What seat 0 can expect to score where a playout has ended, and the probability of a draw.
    cdef double estimate(self, const State* state, double* draw) noexcept nogil
    # Plays on by `choose`, to the end or for `horizon` stages; what seat 0 has scored, or can
    # expect to, and the probability of a draw.
    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil
