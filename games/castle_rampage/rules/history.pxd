"""The hand histories of Castle Rampage: written by the rules, read by the sampler."""

from engine.integers cimport uint8_t
from games.castle_rampage.rules.state cimport (
    CARD_BITS, CARDS, DREW, ENTRY_BITS, ENTRY_MASK, MAX_DRAWN, MAX_ENTRY_VALUE, MAX_HISTORY,
    MAX_RUN, STRUCTURES, CastleState, Own, Side,
)

cdef enum:
    MAX_COUNTED = MAX_HISTORY // 2 + 1    # Entries with counts: each takes at least two bytes.

    # Faults of a history
    NO_CARD = 1                  # An entry names or counts what cannot be a card.
    CUT_SHORT                    # The history ends within an entry.

cdef struct Entry:
    uint8_t kind
    uint8_t value
    int at                       # The index of its first byte.
    int counted                  # The row of `counts` that it has, for SHOWED and NEW_PILE.

cdef struct History:             # A hand history, parsed.
    int entry_count
    Entry entries[MAX_HISTORY]
    int counted
    uint8_t counts[MAX_COUNTED * CARDS]
    bint summed_up               # Whether the first entry sums up an older history.
    # If so, the numbers at that moment: of cards in hand, and for each structure of cards destroyed
    # and of cards that it ever had.
    int hand_size
    int tops[STRUCTURES]
    int stack_counts[STRUCTURES]

# Writing. A full history drops further bytes, and `sum_up_if_full` sums it up after the decision.

cdef inline void add_byte(Side* side, int value) noexcept nogil:
    if side.history_length < MAX_HISTORY:
        side.history[side.history_length] = value
        side.history_length += 1

cdef inline void add_entry(Side* side, int kind, int value) noexcept nogil:
    add_byte(side, kind | value << ENTRY_BITS)

# Adds counts of cards to an entry.
cdef inline void add_counts(Side* side, const uint8_t* counts) noexcept nogil:
    cdef int card, left
    for card in range(1, CARDS):
        left = counts[card]
        while left > 0:
            add_byte(side, card | (min(left, MAX_RUN) - 1) << CARD_BITS)
            left -= MAX_RUN
    # The end of the counts. `add_drawn` takes this byte for a DECIDED, so that it never adds to a
    # count by mistake.
    add_byte(side, 0)

# Adds a draw of one card, to the last entry if that is a draw.
cdef inline void add_drawn(Side* side) noexcept nogil:
    cdef uint8_t* last = &side.history[side.history_length - 1]
    if (side.history_length > 0 and last[0] & ENTRY_MASK == DREW
            and last[0] >> ENTRY_BITS < MAX_ENTRY_VALUE):
        last[0] += 1 << ENTRY_BITS
    else:
        add_entry(side, DREW, 1)

# Adds a card to a seat's memory of its draws, or 0 for a reshuffle.
cdef inline void remember_drawn(Own* own, int card) noexcept nogil:
    if own.drawn_length < MAX_DRAWN:
        own.drawn[own.drawn_length] = card
        own.drawn_length += 1

# Sums up both histories if one of them, or a seat's memory of its draws, is full.
cdef void sum_up_if_full(CastleState* rampage) noexcept nogil

# Parses a history. Returns its fault, with the byte of the fault in `at`, or 0.
cdef int read_history(const Side* side, History* history, int* at) noexcept nogil
