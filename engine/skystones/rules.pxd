"""The tables of Skystones, shared by its rules and by what can be known of the hidden cards."""

from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport SEATS, Action, Game
from engine.integers cimport uint8_t

cdef enum:
    FIRE = 1
    EARTH
    ELECTRO
    WATER
    AIR
    BLOCKED                      # Of a field only.
    ELEMENTS = AIR + 1           # With none, 0.
    ANY_ELEMENT = 0b111110       # As a set of elements.

    NORTH = 0
    EAST
    SOUTH
    WEST
    EDGES
    OPPOSITE = 2                 # `edge ^ OPPOSITE` is the edge that touches it.

    MAX_SIDE = 3
    MAX_SQUARES = MAX_SIDE * MAX_SIDE
    MAX_HAND = 5
    MAX_TYPES = 60
    MAX_CARDS = 90
    MAX_COPIES = 15
    MAX_EDGE = 9
    MAX_TOTAL = EDGES * MAX_EDGE
    MAX_LIMIT = 99
    FIELD_CARDS = 12
    MAX_TITLE = 40

    NONE = 255                   # No card, no square, no seat.

    # Phases
    OVER = 0
    PICK
    PLACE

    # Actions: the kind in the upper four bits, the square in the lowest byte but for PICK_CARD, the
    # card in the next.
    PICK_CARD = 1
    PLACE_CARD
    KIND_SHIFT = 60

    # Events
    DEALT = 1
    DEALT_HIDDEN
    SET_ASIDE
    SET_ASIDE_HIDDEN
    FIELD_LAID
    ROUND_STARTED
    PICKED
    PICKED_HIDDEN
    PLACED
    PASSED
    ROUND_ENDED

cdef struct Placement:
    uint8_t round
    uint8_t seat
    uint8_t card
    uint8_t square

cdef struct Square:
    uint8_t field
    uint8_t card                 # The card + 1; 0: empty.
    uint8_t owner                # Whose chip lies on the card; 0 if there is none.

cdef struct Side:
    uint8_t points
    uint8_t hand_size
    uint8_t pile_size

cdef struct Common:              # What everyone sees.
    uint8_t phase
    uint8_t round                # 1 for the first.
    uint8_t first_starter        # Who placed first in round 1: the results tell the later ones.
    uint8_t starter
    uint8_t turn                 # Who places; the starter in any other phase.
    Square board[MAX_SQUARES]
    Side sides[SEATS]
    uint8_t placement_count
    Placement placements[MAX_CARDS]

cdef struct SkystonesState:               # Laid over a State.
    Common common
    uint8_t hands[SEATS][MAX_TYPES]     # Copies of each card.
    uint8_t piles[SEATS][MAX_TYPES]
    uint8_t aside                # The card that was set aside + 1; 0: none.

cdef struct SkystonesView:               # Laid over a View.
    uint8_t seat
    Common common
    uint8_t hand[MAX_TYPES]     # Zero for a spectator.
    uint8_t pile[MAX_TYPES]

cdef struct Stack:               # A pile or hand with a list of its cards; a pile's by total.
    int size
    uint8_t cards[MAX_TYPES]
    uint8_t copies[MAX_TYPES]   # Of each card, by card.

cdef struct Playout:
    Stack piles[SEATS]
    Stack hands[SEATS]
    int hand_sizes[SEATS]
    int hand_totals[SEATS]
    int starter
    int open_count
    uint8_t open[MAX_SQUARES]   # Empty squares that are not blocked, in any order.
    uint8_t fields[MAX_SQUARES]
    uint8_t cards[MAX_SQUARES]
    uint8_t owners[MAX_SQUARES + 1]     # NONE: an empty square, or beyond the board.

cdef inline bint accepts(int field, int element) noexcept nogil:
    return field == 0 or field == element

# Takes a copy of the i-th card.
cdef void take_at(Stack* stack, int i) noexcept nogil
# Takes the cards off a board.
cdef void clear(Square* board) noexcept nogil
# How many bits are set.
cdef int bits(int n) noexcept nogil


cdef class Skystones(Game):
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
    cdef int legal_picks(self, const SkystonesState* stones, int seat, Action* actions) noexcept nogil
    cdef int legal_placements(self, const SkystonesState* stones, int seat, Action* actions) noexcept nogil
    cdef void lay_fields(self, SkystonesState* stones, Rng* rng, EventLog* log) noexcept nogil
    cdef void begin_round(self, SkystonesState* stones, int starter, EventLog* log) noexcept nogil
    cdef bint can_form_hand(self, const uint8_t* pile, int missing) noexcept nogil
    cdef int cheapest(self, const uint8_t* pile, int missing, int n, int barred) noexcept nogil
    cdef void pick(self, SkystonesState* stones, const Action* joint, EventLog* log) noexcept nogil
    cdef void find_turn(self, SkystonesState* stones, int seat, EventLog* log) noexcept nogil
    cdef bint can_place(self, const SkystonesState* stones, int seat) noexcept nogil
    cdef int open_elements(self, const Common* common) noexcept nogil
    cdef void place(self, SkystonesState* stones, int seat, int card, int square, EventLog* log) noexcept nogil
    cdef int put(self, Square* board, int seat, int card, int square, uint8_t* taken) noexcept nogil
    cdef void end_round(self, SkystonesState* stones, EventLog* log) noexcept nogil
    cdef int winner(self, const Common* common, uint8_t* chips) noexcept nogil
    cdef void stack_up(self, const uint8_t* counts, Stack* stack) noexcept nogil
    cdef int pickable(self, const Stack* pile, int hand_size, int hand_total) noexcept nogil
    cdef void start_playout(self, const SkystonesState* stones, Playout* game) noexcept nogil
    cdef void pick_any(self, Playout* game, int seat, Rng* rng) noexcept nogil
    cdef void put_back(self, Stack* pile, int card, int copies) noexcept nogil
    cdef int playout_choices(self, const Playout* game, int seat, int i) noexcept nogil
    cdef bint playout_can_place(self, const Playout* game, int seat) noexcept nogil
    cdef void place_any(self, Playout* game, int seat, Rng* rng) noexcept nogil
    cdef void end_playout_round(self, Playout* game, Common* common) noexcept nogil
    cdef bint stack_forms_hand(self, const Stack* pile) noexcept nogil
