"""A hand, or any other multiset of cards of Champion Chess: how many there are of each card."""

from libc.string cimport memset

from engine.champion_chess.state cimport CARDS, KING, NOBLES, PAWN
from engine.integers cimport uint8_t


# How many cards there are.
cdef inline int total(const uint8_t* counts) noexcept nogil:
    cdef int card, n = 0
    for card in range(CARDS):
        n += counts[card]
    return n


cdef inline int nobles(const uint8_t* counts) noexcept nogil:
    cdef int card, n = 0
    for card in range(NOBLES):
        n += counts[card]
    return n


cdef inline bint only_noble_is_king(const uint8_t* hand) noexcept nogil:
    return hand[KING] > 0 and nobles(hand) == hand[KING]


# Writes the cards as a sorted list; its length.
cdef inline int spread(const uint8_t* counts, uint8_t* cards) noexcept nogil:
    cdef int card, _i, n = 0
    for card in range(CARDS):
        for _i in range(counts[card]):
            cards[n] = card
            n += 1
    return n


# Writes the most of each card that can be played together as aid; how many choices that makes.
cdef inline int playable_aid(const uint8_t* hand, uint8_t* most) noexcept nogil:
    cdef int card, choices = 1
    memset(most, 0, CARDS)
    for card in range(PAWN, CARDS):
        most[card] = hand[card] if card == PAWN else hand[card] > 0
        choices *= most[card] + 1
    return choices
