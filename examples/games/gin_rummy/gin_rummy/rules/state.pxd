"""The constants of Gin Rummy, and the structs that are laid over its states and views."""

from engine.game cimport SEATS
from engine.integers cimport uint8_t, uint64_t

cdef enum:
    MAX_RANKS = 13
    MAX_SUITS = 4
    MAX_DECK = MAX_RANKS * MAX_SUITS
    MAX_HAND = 10
    MAX_HELD = MAX_HAND + 1      # Between drawing and discarding.
    LEFT_OVER = 2                # A discard that leaves so many cards in the stock ends the hand.
    # Two seats that took each other's discards for ever would never empty the stock, so a hand
    # also ends with this discard. Chance play needs 58 turns, and sensible play some 20.
    MAX_TURNS = 100
    MAX_HANDS = 20               # Of a match to a target.
    # A winner below it gets at most 125 more, for gin against ten court cards: 249 fit a byte.
    MAX_TARGET = 125
    MAX_KNOCK_LIMIT = 50
    GIN_BONUS = 25
    UNDERCUT_BONUS = 25

    NO_CARD = 0                  # Cards are numbered from 1, suit by suit, as in the schema.

    # An action: its kind, and in the lower eight bits its card.
    CARD_BITS = 8
    PASS = 1
    DRAW_STOCK
    TAKE_DISCARD
    DISCARD
    KNOCK

    # Phases
    OVER = 0
    OFFERED                      # Take the first card of the discard pile, or pass.
    TO_DRAW
    TO_DISCARD

    # Where the card of a turn came from
    STOCK = 1
    PILE

    # How a hand ended
    OPEN = 0
    UNDECIDED
    KNOCKED                      # The knocker wins.
    GIN
    UNDERCUT                     # The opponent of the knocker wins.

    # Events
    SHUFFLED = 1
    SHUFFLED_HIDDEN
    DEALT
    DEALT_HIDDEN
    TURNED_UP
    PASSED
    DRAWN
    DRAWN_HIDDEN
    TAKEN
    DISCARDED
    KNOCKED_WITH
    MELDED
    LAID_OFF
    HAND_ENDED

cdef struct Turn:
    uint8_t seat
    uint8_t source               # STOCK or PILE.
    uint8_t card                 # The card that was discarded.

cdef struct Common:              # What everyone sees.
    uint8_t phase
    uint8_t hand_number          # From 1.
    uint8_t dealer
    uint8_t to_play              # The seat whose turn it is, or was.
    uint8_t upcard               # The first card of the discard pile.
    uint8_t passes               # How often it was refused.
    uint8_t stock_size
    uint8_t taken                # From the discard pile in this turn; NO_CARD if from the stock.
    uint8_t result
    uint8_t turns_count
    uint8_t pile_count
    uint8_t pile[MAX_DECK]       # The discard pile, the top card last.
    Turn turns[MAX_TURNS]        # Of this hand, in order.
    uint8_t deadwood[SEATS]      # After a knock, laid off cards taken out.
    uint8_t points[SEATS]

cdef struct GinState:            # Laid over a State.
    # A set of cards has bit 16 * suit + rank, with ranks from 0.
    uint64_t hands[SEATS]
    # The cards in a hand that everyone has seen: taken from the discard pile.
    uint64_t known[SEATS]
    Common common
    uint8_t stock[MAX_DECK]      # The top card last.

cdef struct Side:                # What a viewer knows of the cards of a seat.
    uint8_t known_count
    uint8_t known[MAX_HELD]      # Taken from the discard pile, and still in hand; ascending.
    uint8_t shown_count
    uint8_t shown[MAX_HELD]      # The hand, once it is shown; ascending.

cdef struct GinView:             # Laid over a View.
    uint8_t seat
    uint8_t hand_count
    uint8_t hand[MAX_HELD]       # The viewer's own, ascending; none for a spectator.
    Side sides[SEATS]
    Common common
