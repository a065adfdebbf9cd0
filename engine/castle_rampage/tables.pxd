"""The tables of a card list, as the rules, the sampler and the playout policy use them."""

from engine.castle_rampage.state cimport CARDS, KNIGHT, MAX_WAYS, SCHEMES, STRUCTURES, UNITS_END
from engine.game cimport Action
from engine.integers cimport uint64_t, uint8_t

cdef struct Way:                 # One way to pay for a scheme.
    Action discards
    uint64_t units               # The copies of each unit card among the discards: see `units_of`.

cdef struct Tables:
    uint8_t row[CARDS]           # The index of the card in the card list and in `Game.cards`.
    uint8_t copies[CARDS]
    uint8_t defence[STRUCTURES * CARDS]     # By structure, then by card.
    uint8_t attack[CARDS]
    uint8_t bonus[CARDS]
    uint8_t cost[CARDS]
    Way ways[SCHEMES * 2 * MAX_WAYS]        # By scheme, without and with the extra unit.
    int way_count[SCHEMES * 2]


# The copies of each unit card, a byte each. No hand holds 128 copies, so the high bits are free.
cdef inline uint64_t units_of(const uint8_t* counts) noexcept nogil:
    cdef uint64_t units = 0
    cdef int card
    for card in range(KNIGHT, UNITS_END):
        units |= <uint64_t> counts[card] << (8 * (card - KNIGHT))
    return units

# Whether a hand with these units can pay in this way: no byte of the difference borrows.
cdef inline bint can_pay(uint64_t units, const Way* way) noexcept nogil:
    cdef uint64_t high = <uint64_t> 0x8080808080808080
    return ((units | high) - way.units) & high == high
