"""Whether a view of Castle Rampage contradicts itself. Both raise ViewError."""

from engine.castle_rampage.account cimport HandAccount
from engine.castle_rampage.rules cimport CastleRampage
from engine.castle_rampage.state cimport CastleView

# Before its hand history is gone through: each number is in its range.
cdef check_ranges(CastleRampage rules, const CastleView* seen)
# Afterwards: what a guess leaves is in the numbers that everyone sees, and of the deck's cards.
cdef check_account(HandAccount account)
