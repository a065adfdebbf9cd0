"""Checks that a view of Castle Rampage does not contradict itself. Both raise ViewError."""

from engine.castle_rampage.posterior.hand cimport HandPosterior
from engine.castle_rampage.rules cimport CastleRampage
from engine.castle_rampage.state cimport CastleView

# The check before a posterior goes through the hand history: each number is in its range.
cdef check_ranges(CastleRampage rules, const CastleView* seen)
# The check afterwards: the rest of the deck that a particle leaves has the public numbers of cards.
cdef check_posterior(HandPosterior posterior)
