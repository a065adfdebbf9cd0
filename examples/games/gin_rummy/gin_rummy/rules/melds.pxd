"""Melding, for the rules, the sampler and the playout policies: see melds.pyx."""

from engine.integers cimport uint64_t
from gin_rummy.rules.state cimport MAX_RANKS

cdef extern from *:
    int lowest_one "__builtin_ctzll"(uint64_t bits) noexcept nogil

cdef struct Melding:
    uint64_t sets                # The cards that are melded in sets,
    uint64_t runs                # and in runs.
    uint64_t laid_off            # On the melds of the opponent.
    int deadwood                 # The value of all others.


# The bit of a card in a set of cards.
cdef inline uint64_t bit(int card) noexcept nogil:
    return <uint64_t> 1 << (card - 1 + 3 * ((card - 1) // MAX_RANKS))


# The card at a place of a set of cards.
cdef inline int card_at(int place) noexcept nogil:
    return place + 1 - 3 * (place >> 4)


cdef inline int count(uint64_t cards) noexcept nogil:
    # Without the instruction for it, which not every machine has, GCC calls a slower function.
    cards -= cards >> 1 & <uint64_t> 0x5555555555555555
    cards = (cards & <uint64_t> 0x3333333333333333) + (
        cards >> 2 & <uint64_t> 0x3333333333333333)
    cards = cards + (cards >> 4) & <uint64_t> 0x0F0F0F0F0F0F0F0F
    return <int> (cards * <uint64_t> 0x0101010101010101 >> 56)


# The sum of the values of cards.
cdef int value(uint64_t cards) noexcept nogil
# The cards that are part of a run or a set of at least three of these.
cdef uint64_t meldable(uint64_t cards) noexcept nogil
# The least deadwood of cards.
cdef int deadwood(uint64_t cards) noexcept nogil
# The least deadwood of cards; writes the cards that it consists of.
cdef int unmelded(uint64_t cards, uint64_t* loose) noexcept nogil
# Those of the cards `among` whose discard leaves at most `limit` deadwood.
cdef uint64_t knocking(uint64_t cards, uint64_t among, int limit) noexcept nogil
# How a knocker melds. `deck` has all cards of the game.
cdef void meld(uint64_t cards, uint64_t deck, Melding* best) noexcept nogil
# How the opponent melds and lays off on the melds of the knocker.
cdef void lay_off(uint64_t cards, uint64_t deck, const Melding* shown,
                  Melding* best) noexcept nogil
