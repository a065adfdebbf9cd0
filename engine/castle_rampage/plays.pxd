"""Playing a card of Castle Rampage."""

from engine.castle_rampage.state cimport CastleState
from engine.castle_rampage.tables cimport Tables
from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Action

cdef enum:
    CATAPULT_BONUS = 1           # To the strength of each attack.
    MERCENARY_DISCARDS = 2       # Cards that a Mercenary may be paid for with.

# Pays for a card and carries out its effect. The card is then discarded, stays in play or returns
# to the hand.
cdef void play(const Tables* tables, CastleState* rampage, int seat, Action action, Rng* rng,
               EventLog* log) noexcept nogil
