"""The rules of Skystones, for its sampler and its playout policy."""

cimport cython

from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Action
from engine.integers cimport uint64_t
from games.skystones.rules.state cimport Placement, SkystonesState, Square
from games.skystones.rules.tables cimport SkystonesTables


cdef class Skystones(SkystonesTables):
    cdef int legal_picks(self, const SkystonesState* stones, int seat,
                         Action* actions) noexcept nogil
    cdef int legal_placements(self, const SkystonesState* stones, int seat,
                              Action* actions) noexcept nogil
    cdef void lay_fields(self, SkystonesState* stones, Rng* rng, EventLog* log) noexcept nogil
    cdef void begin_round(self, SkystonesState* stones, int starter, EventLog* log) noexcept nogil
    cdef void pick(self, SkystonesState* stones, const int* cards, EventLog* log) noexcept nogil
    cdef void place(self, SkystonesState* stones, int seat, int card, int at,
                    EventLog* log) noexcept nogil
    cdef void log_placement(self, EventLog* log, const Placement* placement,
                            uint64_t taken) noexcept nogil
    cdef void end_round(self, SkystonesState* stones, EventLog* log) noexcept nogil

    @cython.final
    cdef void find_turn(self, SkystonesState* stones, int seat, EventLog* log) noexcept nogil

    @cython.final
    cdef void show_board(self, const SkystonesState* stones, Square* board) noexcept nogil
