"""The set-up and the turns of Castle Rampage."""

from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Action
from games.castle_rampage.rules.state cimport CastleState, Tables

cdef enum:
    CATAPULT_BONUS = 1           # To the strength of each attack.
    MERCENARY_DISCARDS = 2       # Cards that a Mercenary may be paid for with.

# Draws the starter by lot and deals the first set-up, in a state that is all 0.
cdef void begin(CastleState* rampage, const Tables* tables, Rng* rng, EventLog* log) noexcept nogil
# Carries out the set-up of both seats, and then deals the next one or begins the first turn.
cdef void set_up(CastleState* rampage, const Action* joint, int set_ups, Rng* rng,
                 EventLog* log) noexcept nogil
# Puts a hand card under a structure and discards two others if it is an Ogre.
cdef void strengthen(CastleState* rampage, int seat, Action action, EventLog* log) noexcept nogil
# Ends the turn and begins the next; ends the match in a draw if that was its last turn.
cdef void end_turn(CastleState* rampage, int turn_limit, Rng* rng, EventLog* log) noexcept nogil
# Pays for a card and carries out its effect. The card is then discarded, stays in play or returns
# to the hand.
cdef void play(const Tables* tables, CastleState* rampage, int seat, Action action, Rng* rng,
               EventLog* log) noexcept nogil
