"""What a ruleset of Skystones comes to."""

from engine.game cimport Game
from engine.integers cimport uint8_t
from engine.skystones.state cimport EDGES, MAX_SQUARES, MAX_TYPES


cdef class SkystonesTables(Game):
    cdef int special_fields
    cdef int squares
    cdef int hand_size
    cdef int hand_limit
    cdef int types
    cdef int deck_size
    cdef int pile_size           # At the start.
    cdef uint8_t copies[MAX_TYPES]
    cdef uint8_t elements[MAX_TYPES]
    cdef uint8_t edges[MAX_TYPES][EDGES]
    cdef uint8_t totals[MAX_TYPES]
    cdef uint8_t by_total[MAX_TYPES]    # The cards by ascending total.
    cdef uint8_t rank[MAX_TYPES]        # Where a card stands in `by_total`.
    cdef uint8_t beside[MAX_SQUARES][EDGES]     # The square at each edge; MAX_SQUARES: none.


    cdef set_board(self, int side)
    cdef set_cards(self, specs)
