"""The constants of Leduc poker, and the structs that are laid over its states and views."""

from engine.integers cimport uint8_t

cdef enum:
    SUITS = 2
    NO_CARD = 0
    JACK = 1
    QUEEN = 2
    KING = 3
    CARDS = SUITS * KING

cdef enum:
    ROUNDS = 2
    MAX_DECISIONS = 4             # In a round.
    ANTE = 1
    CHECK = 1
    RAISE = 2
    CALL = 3
    FOLD = 4

cdef struct LeducState:
    uint8_t cards[2]              # By seat.
    uint8_t common                # Face down in the first round.
    uint8_t decisions[8]          # Four for each round; 0 for those still to come.

cdef struct LeducView:
    uint8_t seat
    uint8_t cards[2]              # By seat; NO_CARD if the viewer has not seen it.
    uint8_t common                # NO_CARD in the first round.
    uint8_t decisions[8]
