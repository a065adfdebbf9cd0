"""The constants of Kuhn poker, and the structs that are laid over its states and views."""

from engine.integers cimport uint8_t

cdef enum:
    CARDS = 3
    NO_CARD = 0
    JACK = 1
    QUEEN = 2
    KING = 3

cdef enum:
    MAX_DECISIONS = 3
    CHECK = 1
    BET = 2
    CALL = 3
    FOLD = 4

cdef struct KuhnState:
    uint8_t cards[2]              # By seat.
    uint8_t decisions[3]          # In order; 0 for those still to come.

cdef struct KuhnView:
    uint8_t seat
    uint8_t cards[2]              # By seat; NO_CARD if the viewer has not seen it.
    uint8_t decisions[3]
