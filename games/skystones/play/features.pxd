"""What is learned of Skystones: what describes its decisions, and what a model's weights give."""

from engine.features cimport Features
from engine.integers cimport uint8_t
from engine.net cimport Inputs
from games.skystones.rules.rules cimport Skystones
from games.skystones.rules.state cimport MAX_TYPES, Board, Common

cdef enum:
    # Of a card to pick. A feature for each card comes first.
    PICK_TOTAL = 0
    PICK_STRONGEST
    PICK_ZEROS
    PICK_SHAPES                  # How many describe the shape of a card. They come once for each of
    STARTS = 0                   # these circumstances of the round.
    LEADS
    LATE
    CIRCUMSTANCES
    PICK_FEATURES = MAX_TYPES + PICK_SHAPES * CIRCUMSTANCES

    # Of a placement.
    TAKEN = 0                    # Cards that it takes,
    TAKES_SEVERAL                # and whether they are two or more.
    OWN                          # Edges that touch cards of its own seat,
    HELD                         # or cards of the other seat that it does not take.
    CLOSED                       # Edges at the border or at a blocked square.
    OPEN                         # Open edges of 0, 1, 2 and 3 or more points.
    OPEN_KINDS = 4
    TOTAL = OPEN + OPEN_KINDS    # Of the card,
    EARLY_TOTAL                  # while more than EARLY squares are empty.
    PLACE_FEATURES
    EARLY = 4                    # For EARLY_TOTAL.

    # Inputs of the net for the start of a round, for each number of rounds to come:
    MOST_LEFT = 3                # (which is that one or more)
    LEFT = 0                     # whether it is that one,
    LEAD                         # the lead of the seat that starts, in points of the match,
    STRENGTH                     # and that of the totals of its pile.
    BY_LEFT = STRENGTH + 1
    LEAD_IS = MOST_LEFT * BY_LEFT    # Whether the lead is -MOST_LEAD or less ... MOST_LEAD or more.
    MOST_LEAD = 4
    LEADS_TOLD = 2 * MOST_LEAD + 1

    USUAL_TOTALS = 141           # The sum of the totals of the usual cards.
    USUAL_CARDS = 45
    FEWEST_CARDS = 42            # With fewer, or more than usual, there can be other rounds.

    SIGNS = 3
    ROUNDS = 4

# How many more rounds there are for about so many cards of each pile.
cdef inline int rounds_left(int cards) noexcept nogil:
    return (2 * cards - 4) // 9


cdef class SkystonesFeatures(Features):
    cdef Skystones rules
    # Whether a match has four rounds of nine cards, so that none is tied. The net was learned of
    # such matches: it knows which leads can still become a draw.
    cdef bint usual_rounds
    cdef double by_mean          # The usual mean of the totals by that of this card list.
    # How likely each card is to be picked, in proportion, by the circumstances of the round.
    cdef double picks[2][SIGNS][ROUNDS][MAX_TYPES]
    cdef int place_weights[PLACE_FEATURES]
    # The likelihoods of the cards in this round, for the picks of a seat.
    cdef const double* picks_of(self, const Common* common, int seat) noexcept nogil
    # How likely a placement is, in proportion to the others of its decision.
    cdef double placement(self, const Board* board, int seat, int card, int at) noexcept nogil
    # Adds the inputs for the start of a round with so many cards left to each seat.
    cdef void describe_round(self, const uint8_t* own, const uint8_t* other, int lead, int left,
                             Inputs* inputs) noexcept nogil
    cdef set_picks(self, weights)
    cdef void describe_pick(self, int starts, int lead, int round, int card,
                            int* row) noexcept nogil
    cdef void describe_placement(self, const Board* board, int seat, int card, int at,
                                 int* row) noexcept nogil
