"""The tables of a card list, as the rules, the sampler and the playout policy use them."""

from engine.castle_rampage.state cimport CARDS, MAX_WAYS, SCHEMES, STRUCTURES, UNITS_END
from engine.game cimport Action
from engine.integers cimport uint8_t

cdef struct Way:                 # One way to pay for a scheme.
    Action discards
    uint8_t need[UNITS_END]      # The copies of each unit card among the discards.

cdef struct Tables:
    uint8_t row[CARDS]           # The index of the card in the card list and in `Game.cards`.
    uint8_t copies[CARDS]
    uint8_t defence[STRUCTURES * CARDS]     # By structure, then by card.
    uint8_t attack[CARDS]
    uint8_t bonus[CARDS]
    uint8_t cost[CARDS]
    Way ways[SCHEMES * 2 * MAX_WAYS]        # By scheme, without and with the extra unit.
    int way_count[SCHEMES * 2]
