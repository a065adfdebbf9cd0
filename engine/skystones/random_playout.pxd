"""Random playouts of Skystones, and their form of piles and hands."""

from engine.integers cimport uint8_t
from engine.skystones.state cimport MAX_TYPES
from engine.skystones.tables cimport SkystonesTables

cdef struct Stack:               # A pile or a hand, with a list of its cards; a pile by total.
    int size
    uint8_t cards[MAX_TYPES]
    uint8_t copies[MAX_TYPES]    # By card.

# Fills a stack from the copies of each card.
cdef void stack_up(SkystonesTables tables, const uint8_t* counts, Stack* stack) noexcept nogil
# How many types of a pile can be picked next for a hand of this size and total. These are the
# types with the lowest totals.
cdef int pickable(SkystonesTables tables, const Stack* pile, int hand_size,
                  int hand_total) noexcept nogil
# Removes a copy of the i-th type of a stack.
cdef void take_at(Stack* stack, int i) noexcept nogil
