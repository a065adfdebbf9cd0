"""The constants of Champion Chess, and the structs that are laid over its states and views."""

from engine.game cimport SEATS
from engine.integers cimport uint8_t

cdef enum:
    KING, QUEEN, BISHOP, ROOK, KNIGHT                    # Nobles
    PAWN, STEED, ARMOR, SWORD, FEINT, SHIELD, MAGIC      # Aid
    CARDS
    NOBLES = KNIGHT + 1

    MAX_HAND = 7
    MAX_DECK = 80
    MAX_NOBLES = 30
    MAX_COPIES = 15
    MAX_POINTS = 30

    # Phases
    OVER = 0
    CHAMPION
    AID
    END

    # Actions: the upper four bits are the kind. Below are the counts of the cards, four bits each;
    # for PLAY_CHAMPION the noble instead, and the flag CASTLE.
    PLAY_CHAMPION = 1
    PLAY_AID
    DISCARD_TO_RESERVE
    KIND_SHIFT = 60
    CASTLE = 1 << 8

    # Events
    DRAWN = 1
    DRAWN_HIDDEN
    SHUFFLED
    SHUFFLED_HIDDEN
    MULLIGAN
    CHAMPION_REVEALED
    AID_REVEALED
    CHALLENGE_DECIDED
    DISCARDED

    # What the other seat knows of a seat's first time to castle
    UNUSED = 0
    USED
    UNKNOWN

    # At a point where the hand is certain, a memory of more than MEMORY_CUT turns is cut. Between
    # two such points each turn takes a noble from the deck, so a memory has at most
    # MEMORY_CUT + 1 + MAX_NOBLES turns.
    MEMORY_TURNS = 48
    MEMORY_CUT = 16

cdef struct Turn:                # What a side showed in one turn, or in a mulligan.
    uint8_t mulligan             # The whole hand was shown and went to the reserve, as discards.
    uint8_t champion             # The card that fought: a Rook if the seat castled.
    uint8_t castled
    uint8_t won
    uint8_t aid_count
    uint8_t discard_count
    uint8_t cards[MAX_HAND]      # The aid, then the discards.

cdef struct Memory:
    uint8_t hand[CARDS]          # All at the point where the hand was certain.
    uint8_t deck[CARDS]
    uint8_t reserve[CARDS]
    uint8_t castling             # UNUSED, USED or UNKNOWN.
    uint8_t size
    Turn turns[MEMORY_TURNS]     # Since that point. In the END phase the last has no discards yet.

cdef struct Side:                # What both seats see of a side.
    uint8_t hand_size
    uint8_t deck_size
    uint8_t reserve[CARDS]
    uint8_t defeated[CARDS]
    uint8_t champion             # On the table in the AID phase: the card + 1; otherwise 0.
    uint8_t castled              # Whether the champion came by castling.
    Memory memory

cdef struct Own:                 # What only the seat itself sees.
    uint8_t hand[CARDS]
    uint8_t castling_used

cdef struct ChessState:          # Laid over a State.
    uint8_t phase
    uint8_t challenge            # The number of the turn, from 1.
    uint8_t half_points          # Of seat 0 after the end: 2 for a win, 1 a draw, 0 a loss.
    Side side[SEATS]
    Own own[SEATS]
    uint8_t deck[SEATS][MAX_DECK]    # The top card last; nobody sees the order.

cdef struct ChessView:           # Laid over a View.
    uint8_t seat
    uint8_t phase
    uint8_t challenge
    uint8_t half_points
    Side side[SEATS]
    Own own                      # Zero for a spectator.
    uint8_t known[SEATS][CARDS]  # Certain to be in each hand: it follows from the memories.
