"""What one view tells of the cards that its seat does not see."""

from engine.chance cimport Rng
from engine.game cimport Game, State, View

cdef class Sampler:
    """The worlds that fit one view: what `Sampler.of` makes."""
    cdef readonly Game game
    cdef readonly int seat
    cdef View view
    # Draws a state that would have shown the seat its view, in proportion to how likely it is when
    # the opponent chooses uniformly among his legal actions. Thread-safe.
    cdef void draw(self, State* state, Rng* rng) noexcept nogil
