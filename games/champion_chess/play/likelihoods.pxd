"""How likely a model makes the choices of one turn, for every hand that may have made them."""

from engine.integers cimport uint8_t
from games.champion_chess.play.features cimport SETS, ChampionChessFeatures, Circumstances
from games.champion_chess.rules.state cimport CARDS, KING, MAX_HAND, NOBLES

cdef enum:
    MAX_FOES = 3                 # Champions that the other seat may have had.

cdef struct AidChances:          # Against one champion.
    int sums[SETS]               # The weighted features of each set, if no card can be played,
    int slopes[SETS]             # and what each card that can be played adds to that.
    bint known[MAX_HAND + 1]
    double likely[MAX_HAND + 1][SETS]   # In proportion, by how many cards can be played.
    double totals[SETS]          # Of the sets that a set of playable cards contains; 0: unknown.


cdef class TurnLikelihoods:
    cdef ChampionChessFeatures features
    cdef Circumstances at
    cdef double champions[NOBLES][2][MAX_HAND + 1]  # By whether there are several, and aid in hand.
    cdef double castles
    cdef AidChances aid[MAX_FOES]
    cdef int foes
    cdef int aid_shown           # The set that was played.
    cdef uint8_t discarded[CARDS]
    cdef bint discards_known[MAX_HAND + 1][MAX_HAND + 1]
    # By the nobles and the aid in hand: the probability of the discards of a card by copies held.
    cdef double discards[MAX_HAND + 1][MAX_HAND + 1][CARDS][MAX_HAND + 1]

    # Begins a turn, with what the seat has left at its champion.
    cdef void begin(self, int nobles_left, int aid_left) noexcept nogil
    # The aid of the turn, and the opposing champion; -1: unknown.
    cdef void show_aid(self, int champion, int against, const uint8_t* cards) noexcept nogil
    cdef void show_discards(self, int deck_size, int nobles_left,
                            const uint8_t* cards) noexcept nogil
    # The probabilities of what was shown. `choices` is how many legal actions the hand has.
    cdef double of_champion(self, const uint8_t* hand, int card, bint castled, bint may_castle,
                            int choices) noexcept nogil
    cdef double of_aid(self, const uint8_t* hand, int choices) noexcept nogil
    cdef double of_discards(self, const uint8_t* hand, int choices) noexcept nogil

    cdef void fill_aid(self, AidChances* chances) noexcept nogil
    cdef double total_of(self, AidChances* chances, int playable, int size) noexcept nogil
    cdef void fill_discards(self, int of_nobles, int aid) noexcept nogil
