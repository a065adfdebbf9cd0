"""How likely a model makes the past choices of a seat, for each hand that it may have."""

from engine.integers cimport uint8_t
from games.castle_rampage.play.features cimport CastleRampageFeatures
from games.castle_rampage.play.particles cimport MAX_POOLS
from games.castle_rampage.rules.history cimport History
from games.castle_rampage.rules.state cimport CARDS

cdef struct HandWeights:         # Of the blanks in a hand.
    # How likely the choices so far were with each card in the place of a blank, in proportion: of
    # those kept at the set-up, with how likely a card is to be kept, and of each pool.
    double kept[CARDS]
    double pools[MAX_POOLS][CARDS]
    # How many cards in hand are about so: of those kept, and of each pool.
    double kept_held
    double held[MAX_POOLS]

# The mean of the values of some cards that are weighted.
cdef inline double mean_of(const double* values, const double* weights,
                           const uint8_t* copies) noexcept nogil:
    cdef double sum = 0, all_weights = 0
    cdef int card
    for card in range(1, CARDS):
        sum += copies[card] * weights[card] * values[card]
        all_weights += copies[card] * weights[card]
    return sum / all_weights if all_weights > 0 else 0


# Begins a hand: `kept` of its cards were kept at the set-up, and others come from the first pool.
cdef void begin_hand(HandWeights* weights, CastleRampageFeatures learned, int kept,
                     int others) noexcept nogil
# A pool begins at this place, of which no card is in hand.
cdef void open_pool_of(HandWeights* weights, int pool) noexcept nogil
# A card came from a pool.
cdef void add_drawn_card(HandWeights* weights, int pool) noexcept nogil
# A card left a hand of this size.
cdef void take_card(HandWeights* weights, int hand_size) noexcept nogil
# The seat made the choice of this entry of its history, a DECIDED.
cdef void weigh_choice(HandWeights* weights, CastleRampageFeatures learned, const History* history,
                       int at, int hand_size) noexcept nogil
