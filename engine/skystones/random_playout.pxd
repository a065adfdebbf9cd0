"""Random playouts of Skystones, and the piles and hands that they pick from."""

from engine.chance cimport Rng
from engine.integers cimport uint8_t
from engine.skystones.state cimport MAX_TYPES, SkystonesState
from engine.skystones.tables cimport SkystonesTables

cdef struct Stack:               # A pile or hand with a list of its cards; a pile's by total.
    int size
    uint8_t cards[MAX_TYPES]
    uint8_t copies[MAX_TYPES]   # Of each card, by card.

# Fills a stack from the copies of each card.
cdef void stack_up(SkystonesTables tables, const uint8_t* counts, Stack* stack) noexcept nogil
# How many of a pile's types, from the cheapest on, can be picked for a hand that has these cards.
cdef int pickable(SkystonesTables tables, const Stack* pile, int hand_size,
                  int hand_total) noexcept nogil
# Takes a copy of the i-th type.
cdef void take_at(Stack* stack, int i) noexcept nogil
# Plays to the end, with every decision uniform. Of the state, only the phase and the points, from
# which the outcome is read, are kept up.
cdef void play_at_random(SkystonesTables tables, SkystonesState* stones, Rng* rng) noexcept nogil
