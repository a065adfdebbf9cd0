"""Piles and hands of Skystones, and what can be picked.

A set of types has a bit for each card of the card list. Most card lists have one copy of each card,
and then these sets are all that there is to look at.
"""

from libc.string cimport memcpy, memset

from engine.chance cimport Rng, rng_below, rng_weighted
from engine.integers cimport uint64_t, uint8_t
from games.skystones.rules.state cimport (
    MAX_HAND, MAX_LIMIT, MAX_TOTAL, MAX_TYPES, Picks, Stack,
)
from games.skystones.rules.tables cimport SkystonesTables

cdef extern from *:
    """
    #define SKYSTONES_BYTE_ONES 0x0101010101010101ULL
    #define SKYSTONES_BYTE_TOPS 0x8080808080808080ULL
    """
    int lowest_bit "__builtin_ctzll"(uint64_t word) noexcept nogil
    const uint64_t BYTE_ONES "SKYSTONES_BYTE_ONES"     # The lowest bit of each byte of a word,
    const uint64_t BYTE_TOPS "SKYSTONES_BYTE_TOPS"     # and the highest.


# The types of which there are copies.
cdef inline uint64_t types_in(const uint8_t* copies) noexcept nogil:
    # Eight counts at a time. A count is at most MAX_COPIES, so with 127 more it has its highest bit
    # if it is not 0. The product moves these bits into the highest byte.
    cdef uint64_t word, types = 0
    cdef int first
    for first in range(0, MAX_TYPES, 8):
        first = min(first, MAX_TYPES - 8)
        memcpy(&word, copies + first, 8)
        word = (word + (BYTE_TOPS - BYTE_ONES) & BYTE_TOPS) >> 7
        types |= (word * <uint64_t> 0x0102040810204080 >> 56) << first
    return types


cdef inline void stack_up(const uint8_t* copies, Stack* stack) noexcept nogil:
    stack.types = types_in(copies)
    memcpy(stack.copies, copies, MAX_TYPES)


cdef inline void put_in(Stack* stack, int card) noexcept nogil:
    stack.copies[card] += 1
    stack.types |= <uint64_t> 1 << card


cdef inline void take_out(Stack* stack, int card) noexcept nogil:
    stack.copies[card] -= 1
    stack.types ^= <uint64_t> (stack.copies[card] == 0) << card


# Moves all cards of a hand to a pile.
cdef inline void put_back(Stack* hand, Stack* pile) noexcept nogil:
    cdef int card
    pile.types |= hand.types
    while hand.types:
        card = lowest_bit(hand.types)
        hand.types &= hand.types - 1
        pile.copies[card] += hand.copies[card]
        hand.copies[card] = 0


# The number of bits in each byte of a word.
cdef inline uint64_t bits_by_byte(uint64_t word) noexcept nogil:
    word -= word >> 1 & <uint64_t> 0x5555555555555555
    word = (word & <uint64_t> 0x3333333333333333) + (word >> 2 & <uint64_t> 0x3333333333333333)
    return word + (word >> 4) & <uint64_t> 0x0F0F0F0F0F0F0F0F


cdef inline int count_bits(uint64_t word) noexcept nogil:
    return bits_by_byte(word) * BYTE_ONES >> 56


# The position of the first byte that is greater than n, of bytes that ascend and are below 128.
cdef inline int first_above(uint64_t bytes, int n) noexcept nogil:
    return lowest_bit((bytes | BYTE_TOPS) - (n + 1) * BYTE_ONES & BYTE_TOPS) - 7


# A bit of a word, drawn uniformly.
cdef inline int draw_bit(SkystonesTables tables, uint64_t word, Rng* rng) noexcept nogil:
    # `sums` has in each byte the number of bits up to there.
    cdef uint64_t sums = bits_by_byte(word) * BYTE_ONES
    cdef int n = rng_below(rng, sums >> 56)
    cdef int at = first_above(sums, n)
    return at + tables.bits_of_bytes[word >> at & 255][n - ((sums << 8) >> at & 255)]


# The copies of some types in a stack.
cdef inline int count_copies(SkystonesTables tables, const Stack* stack,
                             uint64_t types) noexcept nogil:
    cdef int n = 0
    types &= stack.types
    if tables.all_single:
        return count_bits(types)
    while types:
        n += stack.copies[lowest_bit(types)]
        types &= types - 1
    return n


# Writes the lowest sums of the totals of 0 to n cards. They are above any limit where there are
# fewer cards.
cdef inline void find_lowest_sums(SkystonesTables tables, const Stack* stack, int n,
                                  int* sums) noexcept nogil:
    cdef int found = 0, level = 0, left, total
    sums[0] = 0
    while found < n:
        left = n
        total = MAX_LIMIT + 1
        if level < tables.level_count:
            left = count_copies(tables, stack, tables.levels[level])
            total = tables.level_totals[level]
            level += 1
        while left > 0 and found < n:
            sums[found + 1] = sums[found] + total
            found += 1
            left -= 1


cdef inline int sum_of(SkystonesTables tables, const Stack* stack) noexcept nogil:
    # The sum of the totals of all cards.
    cdef uint64_t types = stack.types
    cdef int card, sum = 0
    while types:
        card = lowest_bit(types)
        types &= types - 1
        sum += stack.copies[card] * tables.totals[card]
    return sum


# Starts the picks that complete a hand of so many cards. Returns whether they can keep within the
# limit.
cdef inline bint start_picks(SkystonesTables tables, const Stack* pile, const Stack* hand,
                             int hand_size, Picks* picks) noexcept nogil:
    cdef int least
    memset(picks, 0, sizeof(Picks))
    picks.total = sum_of(tables, hand)
    picks.missing = tables.hand_size - hand_size
    find_lowest_sums(tables, pile, picks.missing, picks.lowest)
    least = picks.total + picks.lowest[picks.missing]
    picks.lowest[picks.missing] = 0
    return least <= tables.hand_limit


# The cards whose totals are below this can be picked next.
cdef inline int pick_limit(SkystonesTables tables, const Picks* picks) noexcept nogil:
    # The highest legal total is what the limit leaves when the cheapest cards complete the hand. A
    # card that is itself one of these is legal too, since the hand can be completed.
    if picks.missing == 0:
        return 0
    return max(0, min(tables.hand_limit - picks.total - picks.lowest[picks.missing - 1],
                      MAX_TOTAL) + 1)


# The cards that can be picked: those with which the hand can be completed within the limit.
cdef inline uint64_t pickable(SkystonesTables tables, const Stack* pile,
                              const Picks* picks) noexcept nogil:
    return pile.types & tables.below[pick_limit(tables, picks)]


# Picks a card: from pile to hand.
cdef inline void pick_card(SkystonesTables tables, Stack* pile, Stack* hand, Picks* picks,
                           int card) noexcept nogil:
    cdef int i, total = tables.totals[card]
    take_out(pile, card)
    put_in(hand, card)
    picks.total += total
    picks.missing -= 1
    # If the card was one of the cheapest, the next one takes its place.
    for i in range(MAX_HAND - 1):
        picks.lowest[i] = max(picks.lowest[i], picks.lowest[i + 1] - total)
    picks.lowest[picks.missing] = 0


# A type of a set, drawn in proportion to likelihoods.
cdef inline int draw_likely(uint64_t types, const double* likelihoods, Rng* rng) noexcept nogil:
    cdef double sums[MAX_TYPES]
    cdef uint8_t cards[MAX_TYPES]
    cdef double sum = 0
    cdef int n = 0
    while types:
        cards[n] = lowest_bit(types)
        sum += likelihoods[cards[n]]
        sums[n] = sum
        types &= types - 1
        n += 1
    return cards[rng_weighted(rng, sums, n)]


# A card of a set, drawn uniformly (NULL) or in proportion to likelihoods.
cdef inline int draw_card(SkystonesTables tables, uint64_t types, const double* likelihoods,
                          Rng* rng) noexcept nogil:
    return (draw_bit(tables, types, rng) if likelihoods == NULL
            else draw_likely(types, likelihoods, rng))
