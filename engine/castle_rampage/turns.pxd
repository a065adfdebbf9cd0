"""The set-up of Castle Rampage and the course of its turns."""

from engine.castle_rampage.state cimport CastleState
from engine.castle_rampage.tables cimport Tables
from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Action

# Draws the starter and deals the first set-up, in a state that is all 0.
cdef void begin(CastleState* rampage, const Tables* tables, Rng* rng, EventLog* log) noexcept nogil
# Carries out the set-up of both seats; then the next one is dealt, or the first turn begins.
cdef void set_up(CastleState* rampage, const Action* joint, int set_ups, Rng* rng,
                 EventLog* log) noexcept nogil
# Puts a hand card under a structure.
cdef void strengthen(CastleState* rampage, int seat, Action action, EventLog* log) noexcept nogil
# Ends the turn, and the match if it was the last turn.
cdef void end_turn(CastleState* rampage, int turn_limit, Rng* rng, EventLog* log) noexcept nogil
