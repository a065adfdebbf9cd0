"""Hands and other multisets of the cards of Champion Chess, as the number of each card."""

from libc.string cimport memset

from engine.champion_chess.state cimport CARDS, KING, NOBLES, PAWN
from engine.integers cimport uint8_t


# The number of cards.
cdef inline int total(const uint8_t* counts) noexcept nogil:
    cdef int card, n = 0
    for card in range(CARDS):
        n += counts[card]
    return n


# The number of nobles.
cdef inline int nobles(const uint8_t* counts) noexcept nogil:
    cdef int card, n = 0
    for card in range(NOBLES):
        n += counts[card]
    return n


cdef inline bint only_noble_is_king(const uint8_t* hand) noexcept nogil:
    return hand[KING] > 0 and nobles(hand) == hand[KING]


# Writes the cards as a sorted list. Returns its length.
cdef inline int spread(const uint8_t* counts, uint8_t* cards) noexcept nogil:
    cdef int card, _i, n = 0
    for card in range(CARDS):
        for _i in range(counts[card]):
            cards[n] = card
            n += 1
    return n


# Writes how many copies of each card can be played as aid in one turn. Returns the number of
# choices that this allows.
cdef inline int playable_aid(const uint8_t* hand, uint8_t* most) noexcept nogil:
    cdef int card, choices = 1
    memset(most, 0, CARDS)
    for card in range(PAWN, CARDS):
        most[card] = hand[card] if card == PAWN else hand[card] > 0
        choices *= most[card] + 1
    return choices
