"""Checks that a view of Castle Rampage does not contradict itself. Both raise ViewError."""

from games.castle_rampage.play.posterior cimport HandPosterior
from games.castle_rampage.rules.rules cimport CastleRampage
from games.castle_rampage.rules.state cimport CastleView

# The check before a posterior goes through the hand history: each number is in its range.
cdef check_ranges(CastleRampage rules, const CastleView* seen)
# The check afterwards: the rest of the deck that a particle leaves has the public numbers of cards.
cdef check_posterior(HandPosterior posterior)
