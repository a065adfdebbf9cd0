"""What is learned of Champion Chess: what describes its decisions, and the weights of a model."""

from engine.chance cimport Rng
from engine.features cimport Features
from engine.game cimport Action
from engine.integers cimport uint64_t, uint8_t
from games.champion_chess.rules.rules cimport ChampionChess
from games.champion_chess.rules.state cimport CARDS, MAX_HAND, NOBLES, PAWN, ChessState

cdef enum:
    # Of a champion. A feature for each noble comes first.
    CASTLES = NOBLES             # The King castles, which counts as no noble.
    SEVERAL                      # The hand holds another copy.
    QUEEN_AID                    # For the Queen: the aid in hand,
    QUEEN_LEFT                   # and the nobles that are left to the seat.
    KING_LEFT                    # These for the King.
    CHAMPION_FEATURES

    # Of aid. A feature for each kind of aid comes first.
    NO_AID = CARDS - NOBLES
    ONE_CARD
    AHEAD                        # In one, two or three categories.
    BEYOND = AHEAD + 3           # Whether the middle one of the three leads is above each of MARKS.
    MARKS = 10
    KING_CARDS = BEYOND + MARKS  # Cards where the own King fights,
    AGAINST_KING_CARDS           # and where he is the opponent.
    KING_WINS                    # The same for whether the seat is ahead in two categories.
    AGAINST_KING_WINS
    KINGS_6                      # A King fights, and the middle lead is above 6,
    KINGS_12                     # or above 12.
    LEAST                        # The least lead,
    GREATEST                     # and the greatest.
    WASTED                       # Points in categories in which the seat is still not ahead.
    SURPLUS                      # Points in categories in which it was ahead before.
    QUEEN_CARDS
    QUEEN_WINS
    QUEEN_NO_AID
    AGAINST_QUEEN_CARDS
    AGAINST_QUEEN_WINS
    AGAINST_QUEEN_NO_AID
    LEFT_CARDS                   # For each card, the nobles that are left to the seat.
    LEFT_WINS
    AID_LEFT_CARDS               # For each card, the aid that is left to the seat.
    # These go with how many cards the seat could play: see `describe_aid`.
    PLAYABLE_CARDS
    PLAYABLE_WINS
    PLAYABLE_NO_AID
    AID_FEATURES

    # Of discards; each is the sum over the cards. A feature for each card comes first.
    OF_SEVERAL = CARDS           # Aid of which the hand holds several copies.
    BY_NOBLES                    # Nobles by how many nobles are in hand, and aid by that number.
    BY_AID = BY_NOBLES + 2       # Both by how much aid is in hand,
    BY_DECK = BY_AID + 2         # by the size of the deck,
    BY_LEFT = BY_DECK + 2        # and by the nobles that are left to the seat.
    KING_BY_LEFT = BY_LEFT + 2   # The King by these, and by the other nobles in hand.
    KING_BY_NOBLES
    DISCARD_FEATURES

    # Sets of aid: how many Pawns, then a bit for each other kind.
    KINDS = CARDS - PAWN - 1     # Of aid that can be played once.
    SETS = (MAX_HAND + 1) << KINDS
    KIND_BITS = (1 << KINDS) - 1

cdef struct Circumstances:       # What the opponent knows of a seat that decides.
    int nobles_left              # Not defeated.
    int aid_left
    int deck_size
    int champion                 # Of the seat and of the other one, in the Aid phase.
    int against

cdef class ChampionChessFeatures(Features):
    cdef ChampionChess rules
    cdef int champion_weights[CHAMPION_FEATURES]
    cdef int aid_weights[AID_FEATURES]
    cdef int discard_weights[DISCARD_FEATURES]
    # For playouts: how likely a set of aid is by both champions, in proportion, before what the
    # seat has left and can play; and twice its size, plus 1 if it wins against the champion alone.
    cdef double sets[NOBLES][NOBLES][SETS]
    cdef uint8_t shapes[NOBLES][NOBLES][SETS]
    cdef Circumstances circumstances(self, const ChessState* chess, int seat) noexcept nogil
    # An action of a seat that must decide, drawn as the weights say.
    cdef Action choose(self, const ChessState* chess, int seat, Rng* rng) noexcept nogil
    cdef Action choose_champion(self, const ChessState* chess, int seat, Rng* rng) noexcept nogil
    cdef Action choose_aid(self, const ChessState* chess, int seat, Rng* rng) noexcept nogil
    cdef Action choose_discards(self, const ChessState* chess, int seat, Rng* rng) noexcept nogil
    cdef void fill_sets(self) noexcept nogil
    cdef void describe_champion(self, const Circumstances* at, int held, int aid, int noble,
                                bint castles, int* row) noexcept nogil
    # `playable` is the number of cards that the seat could play. All features but PLAYABLE_* are
    # the same for each number, and those are proportional to it.
    cdef void describe_aid(self, const Circumstances* at, int playable, uint64_t cards,
                           int* row) noexcept nogil
    # Of `n` copies of a card, of which the hand holds `held`: adds its part to the row.
    cdef void describe_discard(self, const Circumstances* at, int of_nobles, int aid, int card,
                               int held, int n, int* row) noexcept nogil

cdef extern from *:
    int ones_in "__builtin_popcount"(unsigned int bits) noexcept nogil

# The set of the aid in some cards, and how many cards it has.
cdef inline int set_of(const uint8_t* cards) noexcept nogil:
    cdef int kind, found = cards[PAWN] << KINDS
    for kind in range(KINDS):
        found |= (cards[PAWN + 1 + kind] > 0) << kind
    return found
cdef inline int size_of_set(int set) noexcept nogil:
    return (set >> KINDS) + ones_in(set & KIND_BITS)
# The cards of a set, packed.
cdef uint64_t cards_of_set(int set) noexcept nogil
