"""A playout policy chooses the actions of the playouts of a search."""

from engine.chance cimport Rng
from engine.game cimport Action, Game, State

cdef enum:
    TO_THE_END = 1 << 30         # A horizon beyond the end of every match.

cdef class PlayoutPolicy:
    """Plays one game cheaply: sensibly by `PlayoutPolicy.of`, at random by `.uniform`."""
    cdef readonly Game game
    # The number of stages after which a playout ends: see `stage`.
    cdef public int horizon
    # A legal action of a seat that must decide, drawn at random. The default draws uniformly.
    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil
    # A number that never falls during a match, such as that of its round. A playout ends when the
    # number has grown by the horizon. The default is always 0, so a playout goes on to the end of
    # the match.
    cdef int stage(self, const State* state) noexcept nogil
    # The expected score of seat 0 in a state where a playout stops before the end of the match.
    # Writes the probability of a draw.
    cdef double estimate(self, const State* state, double* draw) noexcept nogil
    # Plays on by `choose` to the end of the match or for `horizon` stages. Returns the score of
    # seat 0, or its expected score if the match is not over, and writes the probability of a draw.
    # The state then tells no more than whether the match is over and its outcome.
    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil
    # The score of seat 0 in a match that is over. Writes whether it is a draw, as 0 or 1.
    cdef inline double at_end(self, const State* state, double* draw) noexcept nogil:
        cdef double score = self.game.outcome(state, 0)
        draw[0] = score == 0.5
        return score
