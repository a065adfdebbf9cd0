"""The tables that a ruleset of Skystones gives: its board and its cards."""

from engine.game cimport Game
from engine.integers cimport uint8_t
from engine.skystones.state cimport EDGES, MAX_SQUARES, MAX_TYPES, OPPOSITE


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
    cdef uint8_t rank[MAX_TYPES]        # The index of a card in `by_total`.
    cdef uint8_t beside[MAX_SQUARES][EDGES]     # The square at each edge; MAX_SQUARES: none.

    cdef set_board(self, int side)
    cdef set_cards(self, specs)


# Whether the edge of a card that has just been placed takes the card that it touches.
cdef inline bint takes(SkystonesTables tables, int card, int edge, int other) noexcept nogil:
    return tables.edges[card][edge] > tables.edges[other][edge ^ OPPOSITE]
