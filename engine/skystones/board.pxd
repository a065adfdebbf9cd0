"""The board of Skystones in lanes, for what runs millions of times a second.

A word has a lane of seven bits for each of nine squares, so that one operation works on all squares
at once (SWAR: SIMD within a register). A board of two by two uses the lanes that its squares would
have on a board of three by three; nothing ever lies on the others.

An edge of p points takes an edge of q points that it touches if p + (63 - q) sets the highest bit
of a lane. So a board has 63 - q for each edge of its cards, and a card has p in all lanes.
"""

from engine.game cimport SEATS
from engine.integers cimport uint64_t, uint8_t
from engine.skystones.state cimport (
    BLOCKED, EAST, EDGES, ELEMENTS, FIRE, NORTH, OPPOSITE, SOUTH, Square, accepts,
)
from engine.skystones.tables cimport SkystonesTables

cdef extern from *:
    """
    #define SKYSTONES_LANE_ONES 0x0102040810204081ULL
    #define SKYSTONES_WEST_LANES (0x40000200001ULL * 127)
    """
    const uint64_t LANE_ONES "SKYSTONES_LANE_ONES"     # The lowest bit of each lane,
    const uint64_t LANE_TOPS "(SKYSTONES_LANE_ONES << 6)"      # the highest,
    const uint64_t ALL_LANES "(SKYSTONES_LANE_ONES * 127)"     # and all bits.
    const uint64_t WEST_LANES "SKYSTONES_WEST_LANES"   # The lanes of the squares in the west,
    const uint64_t EAST_LANES "(SKYSTONES_WEST_LANES << 14)"   # and of those in the east.

cdef enum:
    LANE_BITS = 7
    LANE = (1 << LANE_BITS) - 1
    MOST = LANE >> 1             # The most that a lane can hold below its highest bit.

cdef struct Board:
    # All bits are set in a lane that belongs to a set of squares.
    uint64_t guards[EDGES]       # 63 less the points of this edge of the card on a square.
    uint64_t owned[SEATS]        # The squares with a chip of each seat.
    uint64_t empty               # The squares that can still take a card.
    uint64_t accepting[ELEMENTS]        # The squares that take each element, if they are empty.


# Moves to each lane what the lane across this edge has: 0 where the board ends.
cdef inline uint64_t across(uint64_t lanes, int edge) noexcept nogil:
    if edge == NORTH:
        return lanes << 3 * LANE_BITS & ALL_LANES
    if edge == EAST:
        return lanes >> LANE_BITS & ~EAST_LANES
    if edge == SOUTH:
        return lanes >> 3 * LANE_BITS
    return lanes << LANE_BITS & ALL_LANES & ~WEST_LANES


cdef inline int count_lanes(uint64_t lanes) noexcept nogil:
    return ((lanes & LANE_ONES) * LANE_ONES >> 8 * LANE_BITS) & LANE


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
