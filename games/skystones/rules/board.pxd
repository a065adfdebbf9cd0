"""The board of Skystones: where a card can be placed, and which cards it takes.

A square is a lane (games/skystones/rules/lanes.pxd), and `at` is the first bit of its lane. All
bits are set in a lane that belongs to a set of squares.
"""

from engine.integers cimport uint64_t
from games.skystones.rules.lanes cimport (
    LANE, LANE_BITS, LANE_ONES, LANE_TOPS, MOST, across, count_lanes,
)
from games.skystones.rules.state cimport (
    BLOCKED, EDGES, ELEMENTS, FIRE, NONE, OPPOSITE, Board,
)
from games.skystones.rules.tables cimport SkystonesTables


# Takes all cards off the board.
cdef inline void clear_board(Board* board) noexcept nogil:
    cdef int edge
    for edge in range(EDGES):
        board.guards[edge] = 0
    board.chips[0] = board.chips[1] = 0
    board.empty = board.accepting[0]


# Makes a board without special fields.
cdef inline void set_up_board(SkystonesTables tables, Board* board) noexcept nogil:
    cdef int element
    for element in range(ELEMENTS):
        board.accepting[element] = tables.on_board
    clear_board(board)


# Lays a special field on an empty square. A blocked square takes no card; a square with an element
# takes only cards of that element.
cdef inline void lay_field(Board* board, int at, int field) noexcept nogil:
    cdef uint64_t lane = <uint64_t> LANE << at
    cdef int element
    for element in range(FIRE, ELEMENTS):
        if element != field:
            board.accepting[element] &= ~lane
    if field == BLOCKED:
        board.accepting[0] &= ~lane
        board.empty &= ~lane


# The special field on a square; 0: none.
cdef inline int field_on(const Board* board, int at) noexcept nogil:
    cdef int element, field = BLOCKED, taken = 0
    for element in range(FIRE, ELEMENTS):
        if board.accepting[element] >> at & 1:
            field = element
            taken += 1
    return field if taken < 2 else 0


# The empty squares that take a card of an element.
cdef inline uint64_t open_to(const Board* board, int element) noexcept nogil:
    return board.empty & board.accepting[element]


# The set of elements that at least one empty square takes.
cdef inline int open_elements(const Board* board) noexcept nogil:
    cdef int element, open = 0
    for element in range(FIRE, ELEMENTS):
        open |= (open_to(board, element) != 0) << element
    return open


# Whether a seat with this hand, as a set of types, can place a card.
cdef inline bint can_place(SkystonesTables tables, const Board* board,
                           uint64_t hand) noexcept nogil:
    cdef int element
    if not tables.special_fields:
        return hand != 0 and board.empty != 0
    for element in range(FIRE, ELEMENTS):
        if hand & tables.of_element[element] and open_to(board, element):
            return True
    return False


# The squares of the cards that a card takes: every card of the opponent beside it whose touching
# edge has fewer points than its own.
cdef inline uint64_t taken_by(SkystonesTables tables, const Board* board, int seat, int card,
                              int at) noexcept nogil:
    cdef uint64_t lane = <uint64_t> LANE << at
    cdef uint64_t taken = 0
    cdef int edge
    for edge in range(EDGES):
        taken |= (tables.points[card][edge] + board.guards[edge ^ OPPOSITE]
                  & across(lane, edge ^ OPPOSITE))
    taken &= LANE_TOPS & board.chips[1 - seat]
    return (taken << 1) - (taken >> LANE_BITS - 1)


# Lays a card with a chip of a seat on an empty square. It takes nothing.
cdef inline void lay_card(SkystonesTables tables, Board* board, int seat, int card,
                          int at) noexcept nogil:
    cdef uint64_t lane = <uint64_t> LANE << at
    cdef int edge
    for edge in range(EDGES):
        board.guards[edge] |= MOST * LANE_ONES - tables.points[card][edge] & lane
    board.chips[seat] |= lane
    board.empty &= ~lane


# Puts a card on an empty square. Returns the squares of the cards that it takes; these take nothing
# in turn.
cdef inline uint64_t put(SkystonesTables tables, Board* board, int seat, int card,
                         int at) noexcept nogil:
    cdef uint64_t taken = taken_by(tables, board, seat, card, at)
    lay_card(tables, board, seat, card, at)
    board.chips[seat] |= taken
    board.chips[1 - seat] &= ~taken
    return taken


# The seat with more chips, or NONE.
cdef inline int winner(const Board* board) noexcept nogil:
    cdef int lead = count_lanes(board.chips[0]) - count_lanes(board.chips[1])
    return NONE if lead == 0 else lead < 0
