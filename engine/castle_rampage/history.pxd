"""The hand histories of Castle Rampage: written by the rules, read by the sampler."""

from engine.castle_rampage.state cimport (
    CARD_BITS, CARDS, DREW, ENTRY_BITS, ENTRY_MASK, MAX_DRAWN, MAX_ENTRY_VALUE, MAX_HISTORY,
    MAX_RUN, STRUCTURES, CastleState, Own, Side,
)
from engine.integers cimport uint8_t

cdef enum:
    MAX_COUNTED = MAX_HISTORY // 2 + 1    # Entries with counts: each takes at least two bytes.

    # What can be wrong with the bytes of a history
    NO_CARD = 1
    CUT_SHORT

cdef struct Entry:
    uint8_t kind
    uint8_t value
    int at                       # Where its bytes begin.
    int counted                  # Its place in `counts`, for SHOWED and NEW_PILE.

cdef struct History:             # A hand history, taken apart.
    int entry_count
    Entry entries[MAX_HISTORY]
    int counted
    uint8_t counts[MAX_COUNTED * CARDS]
    # If its first entry sums up what was before: the cards in hand, and of each structure how many
    # were destroyed and how many it ever had, by then.
    bint summed_up
    int hand_size
    int tops[STRUCTURES]
    int stack_counts[STRUCTURES]

# Writing. What no longer fits is left out: the history is then full, and is summed up as soon as
# the decision is over.

cdef inline void add_byte(Side* side, int value) noexcept nogil:
    if side.history_length < MAX_HISTORY:
        side.history[side.history_length] = value
        side.history_length += 1

cdef inline void add_entry(Side* side, int kind, int value) noexcept nogil:
    add_byte(side, kind | value << ENTRY_BITS)

# Adds the numbers of cards to an entry.
cdef inline void add_counts(Side* side, const uint8_t* counts) noexcept nogil:
    cdef int card, left
    for card in range(1, CARDS):
        left = counts[card]
        while left > 0:
            add_byte(side, card | (min(left, MAX_RUN) - 1) << CARD_BITS)
            left -= MAX_RUN
    add_byte(side, 0)            # A DECIDED to `add_drawn`, which adds to no number by mistake.

# Adds one more card drawn, in one entry with the draws right before.
cdef inline void add_drawn(Side* side) noexcept nogil:
    cdef uint8_t* last = &side.history[side.history_length - 1]
    if (side.history_length > 0 and last[0] & ENTRY_MASK == DREW
            and last[0] >> ENTRY_BITS < MAX_ENTRY_VALUE):
        last[0] += 1 << ENTRY_BITS
    else:
        add_entry(side, DREW, 1)

# A card that a seat has drawn; 0 for a reshuffle.
cdef inline void remember_drawn(Own* own, int card) noexcept nogil:
    if own.drawn_length < MAX_DRAWN:
        own.drawn[own.drawn_length] = card
        own.drawn_length += 1

# Sums up both histories if one of them, or a seat's memory of its draws, is full.
cdef void sum_up_if_full(CastleState* rampage) noexcept nogil

# Takes a history apart; what is wrong with it at which byte, if anything.
cdef int read_history(const Side* side, History* history, int* at) noexcept nogil
