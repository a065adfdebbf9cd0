"""Hands and other multisets of the cards of Champion Chess: the number of each card.

They are an array of bytes, or packed: four bits for each card, as in an action.
"""

from libc.string cimport memset

from engine.game cimport Action
from engine.integers cimport uint64_t, uint8_t
from games.champion_chess.rules.state cimport CARDS, KING, NOBLES, PAWN

cdef enum:
    COUNT_BITS = 4
    NOBLE_BITS = (1 << (COUNT_BITS * NOBLES)) - 1

cdef extern from *:
    int lowest_one "__builtin_ctzll"(uint64_t bits) noexcept nogil


cdef inline uint64_t one_of(int card) noexcept nogil:
    return <uint64_t> 1 << (COUNT_BITS * card)


cdef inline int count_in(uint64_t packed, int card) noexcept nogil:
    return (packed >> (COUNT_BITS * card)) & 15


# The first card of a packed multiset that is not empty.
cdef inline int first_card(uint64_t packed) noexcept nogil:
    return lowest_one(packed) // COUNT_BITS


# A packed multiset without any copy of a card.
cdef inline uint64_t without(uint64_t packed, int card) noexcept nogil:
    return packed & ~(<uint64_t> 15 << (COUNT_BITS * card))


cdef inline uint64_t pack(const uint8_t* counts) noexcept nogil:
    cdef uint64_t packed = 0
    cdef int card
    for card in range(CARDS):
        packed |= <uint64_t> counts[card] << (COUNT_BITS * card)
    return packed


cdef inline void unpack(uint64_t packed, uint8_t* counts) noexcept nogil:
    cdef int card
    for card in range(CARDS):
        counts[card] = count_in(packed, card)


# The packed multiset of an action, or of a key of the belief.
cdef inline uint64_t cards_of(uint64_t packed) noexcept nogil:
    return packed & ((<uint64_t> 1 << (COUNT_BITS * CARDS)) - 1)


# Whether a packed hand holds the cards of another multiset. Neither has more than 7 of a card.
cdef inline bint holds(uint64_t hand, uint64_t cards) noexcept nogil:
    # A card that is short takes the highest of its four bits.
    return ((hand | <uint64_t> 0x888888888888) - cards) & <uint64_t> 0x888888888888 == (
        <uint64_t> 0x888888888888)


# The number of cards of a packed hand.
cdef inline int size_of(uint64_t hand) noexcept nogil:
    # The counts of neighbours are added, then all these sums, in the highest byte.
    cdef uint64_t sums = (hand & <uint64_t> 0x0F0F0F0F0F0F) + (
        hand >> COUNT_BITS & <uint64_t> 0x0F0F0F0F0F0F)
    return <int> (sums * <uint64_t> 0x0101010101010101 >> 56)


# Whether the King is the only noble in a packed hand.
cdef inline bint king_alone(uint64_t hand) noexcept nogil:
    return count_in(hand, KING) > 0 and not without(hand & NOBLE_BITS, KING)


# Writes the cards of a packed multiset as a sorted list. Returns its length.
cdef inline int spread_packed(uint64_t packed, uint8_t* cards) noexcept nogil:
    cdef int card, _i, n = 0
    while packed:
        card = first_card(packed)
        for _i in range(count_in(packed, card)):
            cards[n] = card
            n += 1
        packed = without(packed, card)
    return n


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

# Takes the cards of an action from a hand and writes them as a sorted list. Returns its length.
cdef inline int take_from(uint8_t* hand, Action action, uint8_t* cards) noexcept nogil:
    cdef int i, n = spread_packed(cards_of(action), cards)
    for i in range(n):
        hand[cards[i]] -= 1
    return n
