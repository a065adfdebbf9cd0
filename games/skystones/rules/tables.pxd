"""The tables that a ruleset of Skystones gives."""

from engine.game cimport Game
from engine.integers cimport uint64_t, uint8_t
from games.skystones.rules.state cimport (
    EDGES, ELEMENTS, MAX_SQUARES, MAX_TOTAL, MAX_TYPES,
)


cdef class SkystonesTables(Game):
    cdef int special_fields
    cdef int squares
    cdef int hand_size
    cdef int hand_limit
    cdef int types
    cdef int deck_size
    cdef int pile_size           # Of each seat, when dealt.
    cdef uint8_t copies[MAX_TYPES]
    cdef uint8_t elements[MAX_TYPES]
    cdef uint8_t edges[MAX_TYPES][EDGES]
    cdef uint8_t totals[MAX_TYPES]
    cdef uint8_t by_total[MAX_TYPES]    # The cards by ascending total.

    # For games/skystones/rules/stack.pxd, as sets of types:
    cdef bint all_single         # Whether there is one copy of each card.
    cdef uint64_t of_element[ELEMENTS]
    cdef uint64_t below[MAX_TOTAL + 2]          # The cards whose totals are below this.
    cdef int level_count         # The totals that there are, ascending,
    cdef uint8_t level_totals[MAX_TOTAL + 1]
    cdef uint64_t levels[MAX_TOTAL + 1]         # and their cards.

    cdef uint8_t bits_of_bytes[256][8]          # The positions of the bits that each byte has.

    # For games/skystones/rules/board.pxd:
    cdef uint64_t points[MAX_TYPES][EDGES]      # The points of each edge, in all lanes.
    cdef uint64_t on_board       # The lanes of all squares.
    cdef uint8_t lanes[MAX_SQUARES]     # The first bit of the lane of each square,
    cdef uint8_t squares_at[64]         # and the square whose lane begins at a bit.

    cdef set_board(self, int side)
    cdef set_cards(self, specs)
    cdef set_bits(self)
