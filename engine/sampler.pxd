"""A sampler draws the worlds, full states, that fit one view."""

from engine.chance cimport Rng
from engine.game cimport Game, State, View

cdef class Sampler:
    """Draws worlds that fit one view. `Sampler.of` makes the one of the view's game."""
    cdef readonly Game game
    cdef readonly int seat
    cdef readonly object model   # A Model (engine/model.py), or None.
    cdef View view
    # Draws a world into a state that is all 0 or an earlier state of the game: a state that would
    # have shown the seat exactly this view. Each such state is drawn in proportion to its
    # probability when the opponent chooses uniformly among its legal actions, or as the model says.
    # Thread-safe.
    cdef void draw(self, State* state, Rng* rng) noexcept nogil
    cdef check_whole(self)
