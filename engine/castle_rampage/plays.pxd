"""Playing a card of Castle Rampage."""

from engine.castle_rampage.state cimport CastleState
from engine.castle_rampage.tables cimport Tables
from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Action

# Pays for a card, carries out its effect and puts it where it belongs then.
cdef void play(const Tables* tables, CastleState* rampage, int seat, Action action, Rng* rng,
               EventLog* log) noexcept nogil
