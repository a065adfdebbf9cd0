"""The board of Skystones in lanes, with the rule of flipping as in rules.pyx, for fast playouts.

The lanes are those of games/skystones/rules/lanes.pxd.

A board has 63 - q for each edge of q points of its cards, and a card has p in all lanes.
"""

from engine.game cimport SEATS
from engine.integers cimport uint64_t
from games.skystones.rules.lanes cimport LANE, LANE_BITS, LANE_ONES, LANE_TOPS, MOST, across
from games.skystones.rules.state cimport EDGES, ELEMENTS, FIRE, OPPOSITE, Square, accepts
from games.skystones.rules.tables cimport SkystonesTables

cdef struct Board:
    # All bits are set in a lane that belongs to a set of squares.
    uint64_t guards[EDGES]       # 63 less the points of this edge of the card on a square.
    uint64_t owned[SEATS]        # The squares with a chip of each seat.
    uint64_t empty               # The squares that can still take a card.
    uint64_t accepting[ELEMENTS]        # The squares that take each element, if they are empty.


# Clears a board.
cdef inline void clear_board(Board* board) noexcept nogil:
    cdef int edge, element
    for edge in range(EDGES):
        board.guards[edge] = 0
    board.owned[0] = board.owned[1] = 0
    board.empty = 0
    for element in range(FIRE, ELEMENTS):
        board.empty |= board.accepting[element]


# Lays a card on an empty square, whose lane begins at this bit. It takes nothing.
cdef inline void lay_card(SkystonesTables tables, Board* board, int seat, int card,
                          int at) noexcept nogil:
    cdef uint64_t lane = <uint64_t> LANE << at
    cdef int edge
    for edge in range(EDGES):
        board.guards[edge] |= MOST * LANE_ONES - tables.points[card][edge] & lane
    board.owned[seat] |= lane
    board.empty &= ~lane


# Fills a board from squares.
cdef inline void set_up_board(SkystonesTables tables, const Square* squares,
                              Board* board) noexcept nogil:
    cdef int square, element
    cdef uint64_t lane
    for element in range(FIRE, ELEMENTS):
        board.accepting[element] = tables.on_board
    if tables.special_fields:
        for square in range(tables.squares):
            lane = <uint64_t> LANE << tables.lanes[square]
            for element in range(FIRE, ELEMENTS):
                if not accepts(squares[square].field, element):
                    board.accepting[element] &= ~lane
    clear_board(board)
    for square in range(tables.squares):
        if squares[square].card:
            lay_card(tables, board, squares[square].owner, squares[square].card - 1,
                     tables.lanes[square])


# Writes for each edge what a card of this seat has to exceed there on each square, as a guard: 0
# where the edge does not touch a card of the opponent.
cdef inline void face(const Board* board, int seat, uint64_t* facing) noexcept nogil:
    cdef int edge
    for edge in range(EDGES):
        facing[edge] = across(board.guards[edge ^ OPPOSITE] & board.owned[1 - seat], edge)


# Puts a card on an empty square. It takes cards of the opponent, who is `facing` the seat.
cdef inline void put(SkystonesTables tables, Board* board, const uint64_t* facing, int seat,
                     int card, int at) noexcept nogil:
    cdef uint64_t lane = <uint64_t> LANE << at
    cdef uint64_t taken = 0
    cdef int edge
    for edge in range(EDGES):
        taken |= across(tables.points[card][edge] + facing[edge] & LANE_TOPS & lane,
                        edge ^ OPPOSITE)
    taken = (taken << 1) - (taken >> LANE_BITS - 1)
    lay_card(tables, board, seat, card, at)
    board.owned[seat] |= taken
    board.owned[1 - seat] &= ~taken
