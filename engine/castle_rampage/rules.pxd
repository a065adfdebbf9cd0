"""The rules of Castle Rampage, as its sampler and its playout policy use them."""

from engine.castle_rampage.state cimport (
    CARDS, MAX_WAYS, SCHEMES, STRUCTURES, UNITS_END, CastleState,
)
from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Action, Game
from engine.integers cimport uint8_t

cdef struct Way:                 # To pay for a scheme.
    Action discards
    uint8_t need[UNITS_END]      # Of each unit card.


cdef class CastleRampage(Game):
    cdef int set_ups
    cdef int turn_limit
    cdef uint8_t row[CARDS]      # In the card list, and in `cards`.
    cdef uint8_t copies[CARDS]
    cdef uint8_t defence[STRUCTURES * CARDS]     # By structure, then by card.
    cdef uint8_t attack[CARDS]
    cdef uint8_t bonus[CARDS]
    cdef uint8_t cost[CARDS]
    cdef Way ways[SCHEMES * 2 * MAX_WAYS]       # By scheme, without and with the extra unit.
    cdef int way_count[SCHEMES * 2]

    # Writes what a hand can do in a turn, ascending, unless `actions` is NULL; how many.
    cdef int turn_actions(self, const uint8_t* hand, int flags, Action* actions) noexcept nogil
    cdef int with_units(self, const uint8_t* hand, int scheme, Action* actions,
                        int n) noexcept nogil
    cdef set_cards(self, specs)
    cdef set_ways(self)
    cdef void set_up(
        self, CastleState* rampage, const Action* joint, Rng* rng, EventLog* log
    ) noexcept nogil
    # Takes care of histories that are full, after a decision.
    cdef void make_room(self, CastleState* rampage) noexcept nogil
    cdef void end_turn(self, CastleState* rampage, Rng* rng, EventLog* log) noexcept nogil
    cdef void play(
        self, CastleState* rampage, int seat, Action action, Rng* rng, EventLog* log
    ) noexcept nogil
    # Carries an attack out; what became of the attacking card.
    cdef int attack_with(self, CastleState* rampage, int seat, int card, int strength, Rng* rng,
                         EventLog* log) noexcept nogil
