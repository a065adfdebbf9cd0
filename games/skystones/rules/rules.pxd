"""The rules of Skystones, for its sampler and its playout policy."""

from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Action
from engine.integers cimport uint64_t, uint8_t
from games.skystones.rules.state cimport Common, SkystonesState, Square
from games.skystones.rules.tables cimport SkystonesTables

# Takes all cards off a board.
cdef void clear(Square* board) noexcept nogil


cdef class Skystones(SkystonesTables):
    cdef int legal_picks(self, const SkystonesState* stones, int seat,
                         Action* actions) noexcept nogil
    cdef uint64_t pickable(self, const SkystonesState* stones, int seat) noexcept nogil
    cdef void find_pick_limits(self, SkystonesState* stones) noexcept nogil
    cdef int legal_placements(self, const SkystonesState* stones, int seat,
                              Action* actions) noexcept nogil
    cdef void lay_fields(self, SkystonesState* stones, Rng* rng, EventLog* log) noexcept nogil
    cdef void begin_round(self, SkystonesState* stones, int starter, EventLog* log) noexcept nogil
    cdef bint can_form_hand(self, const uint8_t* pile, int missing) noexcept nogil
    cdef int cheapest(self, const uint8_t* pile, int missing, int n, int barred) noexcept nogil
    cdef void pick(self, SkystonesState* stones, const Action* joint, EventLog* log) noexcept nogil
    cdef void find_turn(self, SkystonesState* stones, int seat, EventLog* log) noexcept nogil
    cdef bint can_place(self, const SkystonesState* stones, int seat) noexcept nogil
    cdef int open_elements(self, const Common* common) noexcept nogil
    cdef void place(self, SkystonesState* stones, int seat, int card, int square,
                    EventLog* log) noexcept nogil
    cdef int put(self, Square* board, int seat, int card, int square, uint8_t* taken) noexcept nogil
    cdef void end_round(self, SkystonesState* stones, EventLog* log) noexcept nogil
    cdef int winner(self, const Common* common, uint8_t* chips) noexcept nogil
