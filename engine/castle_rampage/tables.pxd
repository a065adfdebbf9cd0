"""The tables of a card list, as the rules, the sampler and the playout policy use them."""

from libc.stdint cimport uint16_t

from engine.castle_rampage.state cimport (
    ARCHER, AXE_MAN, CARDS, GIANT, KNIGHT, MAX_WAYS, MERCENARY, SCHEMES, STRUCTURES, UNITS_END,
)
from engine.game cimport Action
from engine.integers cimport uint64_t, uint8_t

cdef enum:
    # One more than the most copies of a unit card with which a scheme is paid for.
    KNIGHTS_NEEDED = 3           # Also of an Archer and of an Axe Man.
    GIANTS_NEEDED = 4
    MERCENARIES_NEEDED = 5
    HOLDINGS = KNIGHTS_NEEDED * KNIGHTS_NEEDED * KNIGHTS_NEEDED * GIANTS_NEEDED * MERCENARIES_NEEDED
    NO_WAY = 0xFFFF

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
    # By holding, then by scheme: the index in `ways` of the first way that the holding can pay,
    # with the extra unit if possible, or NO_WAY.
    uint16_t first_ways[HOLDINGS * SCHEMES]


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

# The unit cards of a hand, as far as a scheme can need them.
cdef inline int holding_of(const uint8_t* counts) noexcept nogil:
    cdef int holding = min(counts[MERCENARY], MERCENARIES_NEEDED - 1)
    holding = holding * GIANTS_NEEDED + min(counts[GIANT], GIANTS_NEEDED - 1)
    holding = holding * KNIGHTS_NEEDED + min(counts[AXE_MAN], KNIGHTS_NEEDED - 1)
    holding = holding * KNIGHTS_NEEDED + min(counts[ARCHER], KNIGHTS_NEEDED - 1)
    return holding * KNIGHTS_NEEDED + min(counts[KNIGHT], KNIGHTS_NEEDED - 1)
