"""Aspects: quantities of a game that people talk about, by which a hint says why."""

from engine.game cimport Game, State

cdef enum:
    MAX_ASPECTS = 8              # Of one game.

cdef class Aspects:
    """What follows from a decision of a seat, up to a horizon that the game names."""
    cdef readonly Game game
    # Writes the value of each aspect, as far as it is known in the state `now`, which has followed
    # from `begin`, where `seat` decided; it is called after each decision. All values are 0 before,
    # and stay as they were written. Returns whether the horizon is reached, and no value would
    # change any more. A match that is over is always at the horizon.
    cdef bint follow(self, const State* begin, const State* now, int seat,
                     double* values) noexcept nogil
