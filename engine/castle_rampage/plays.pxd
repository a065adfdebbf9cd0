"""Playing a card of Castle Rampage."""

from engine.castle_rampage.state cimport CastleState
from engine.castle_rampage.tables cimport Tables
from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Action

# Pays for a card and carries out its effect. The card is then discarded, stays in play or returns
# to the hand.
cdef void play(const Tables* tables, CastleState* rampage, int seat, Action action, Rng* rng,
               EventLog* log) noexcept nogil
