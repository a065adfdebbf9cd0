"""Checks that a view of Castle Rampage does not contradict itself. Both raise ViewError."""

from engine.castle_rampage.account cimport HandAccount
from engine.castle_rampage.rules cimport CastleRampage
from engine.castle_rampage.state cimport CastleView

# The check before an account goes through the hand history: each number is in its range.
cdef check_ranges(CastleRampage rules, const CastleView* seen)
# The check afterwards: the rest of the deck that a guess leaves has the public numbers of cards.
cdef check_account(HandAccount account)
