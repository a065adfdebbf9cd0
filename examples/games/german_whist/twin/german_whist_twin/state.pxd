"""The structs over states and views, with the bytes of those of `german_whist`."""

from engine.integers cimport uint8_t, uint64_t

cdef enum:
    RANKS = 13
    SUITS = 4
    SUIT = (1 << 13) - 1       # The cards of the first suit.
    MAX_CARDS = 52

cdef struct WhistState:
    uint64_t hands[2]
    uint8_t leader
    uint8_t tricks[2]
    uint8_t stock_count
    uint8_t stock[26]
    uint8_t exposed_count
    uint8_t exposed[13]
    uint8_t plays_count
    uint8_t plays[52]

cdef struct WhistView:
    uint8_t seat
    uint8_t trump
    uint8_t leader
    uint8_t tricks[2]
    uint8_t hand_count
    uint8_t hand[13]
    uint8_t exposed_count
    uint8_t exposed[13]
    uint8_t plays_count
    uint8_t plays[52]
