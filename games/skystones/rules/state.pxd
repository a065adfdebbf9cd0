"""The constants of Skystones, and the structs that are laid over its states and views."""

from engine.game cimport SEATS
from engine.integers cimport uint64_t, uint8_t

cdef enum:
    FIRE = 1
    EARTH
    ELECTRO
    WATER
    AIR
    BLOCKED                      # Special fields only.
    ELEMENTS = AIR + 1           # 0 is no element.
    ANY_ELEMENT = 0b111110       # As a set of elements.

    NORTH = 0
    EAST
    SOUTH
    WEST
    EDGES
    OPPOSITE = 2                 # `edge ^ OPPOSITE` is the edge that touches `edge`.

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

    # An action has its kind in the upper four bits. The lowest byte of PICK_CARD is the card; the
    # lowest byte of PLACE_CARD is the square, and the next one the card.
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

cdef struct Side:
    uint8_t points
    uint8_t hand_size
    uint8_t pile_size

cdef struct Common:              # What everyone sees, besides the board.
    uint8_t phase
    uint8_t round                # From 1.
    uint8_t first_starter        # Of round 1; the results of the rounds tell all later starters.
    uint8_t starter
    uint8_t turn                 # The seat that places; the starter in any other phase.
    Side sides[SEATS]
    uint8_t placement_count
    Placement placements[MAX_CARDS]

cdef struct Board:               # In lanes: games/skystones/rules/board.pxd says more.
    uint64_t guards[EDGES]       # 63 less the points of this edge of the card on a square; else 0.
    # The squares with a chip of each seat. The placements of this round tell which cards lie there.
    uint64_t chips[SEATS]
    uint64_t empty               # The squares that can still take a card.
    # The squares that take each element, if they are empty: by their special fields. The first set
    # has all that are not blocked.
    uint64_t accepting[ELEMENTS]

cdef struct Stack:               # A pile or a hand.
    uint64_t types               # As a set: those with at least one copy.
    uint8_t copies[MAX_TYPES]    # By card.

cdef struct Picks:               # What a seat can pick, in the picking phase.
    int missing                  # Cards of the hand.
    int total                    # The sum of the totals of the hand.
    # The lowest sum of the totals of so many cards of the pile, for fewer than are missing; else 0.
    int lowest[MAX_HAND + 1]

cdef struct SkystonesState:      # Laid over a State.
    Common common
    Board board
    Stack hands[SEATS]
    Stack piles[SEATS]
    uint8_t aside                # The card that was set aside + 1; 0: none.
    Picks picks[SEATS]           # It follows from the rest.

cdef struct Square:              # As a view shows it.
    uint8_t field
    uint8_t card                 # The card + 1; 0: empty.
    uint8_t owner                # The seat whose chip lies on the card; 0: no card.

cdef struct SkystonesView:       # Laid over a View.
    uint8_t seat
    Common common
    Square board[MAX_SQUARES]
    uint8_t hand[MAX_TYPES]      # Zero for a spectator.
    uint8_t pile[MAX_TYPES]
