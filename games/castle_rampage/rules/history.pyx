"""Hand histories: what everyone has seen of a hand since the first turn, entry by entry.

The sampler goes through the history of the opponent's hand to infer what the hand may hold. An
entry is one byte, with the kind in its low three bits and a value in the other five. The value is a
card, a structure, a unit or the number of cards drawn: see the kinds in
games/castle_rampage/rules/state.pxd.

The kinds SHOWED and NEW_PILE continue with counts of cards: one byte for each run of at most eight
equal cards, with the card in the low five bits and the length of the run less one in the high bits,
and a 0 after the last run.

*Room.* A history has MAX_HISTORY bytes, and a seat remembers MAX_DRAWN of its draws. With the
default list, the histories of 150 random matches took at most 987 bytes; 29 of those matches had
200 turns. No room is enough for every card list, because a turn may draw twenty cards, or play the
same card over and over. A full history does not end the match: it is summed up in one entry. This
entry says how many cards the hand holds, which cards of the structures stand, and what a draw pile
would be made of if all cards were in it that are neither discarded nor in play. The seat's memory
of its draws then begins with the cards in its hand and structures. Both histories are summed up at
once, because the sampler reads each together with the draws of the other seat.

Summing up forgets what the full history told of single cards. The sampler then takes every card
that its seat does not see to be equally likely to lie anywhere unseen. Both seats can compute the
new histories, so these give nothing away.
"""

from libc.string cimport memset

from engine.game cimport SEATS
from games.castle_rampage.rules.state cimport (
    CARD_MASK, MAX_DECK, NEW_PILE, SHOWED, SUMMED_UP, Stack,
)


cdef void sum_up_if_full(CastleState* rampage) noexcept nogil:
    cdef int seat
    for seat in range(SEATS):
        if (rampage.common.sides[seat].history_length == MAX_HISTORY
                or rampage.own[seat].drawn_length == MAX_DRAWN):
            sum_up(rampage)
            return


cdef void sum_up(CastleState* rampage) noexcept nogil:
    cdef Own* own
    cdef Side* side
    cdef const Stack* stack
    cdef uint8_t counts[CARDS]
    cdef int seat, structure, card, i, _copy
    memset(counts, 0, sizeof(counts))
    for i in range(rampage.common.draw_size):
        counts[rampage.draw_pile[i]] += 1
    for seat in range(SEATS):
        own = &rampage.own[seat]
        own.drawn_length = 0
        memset(own.drawn, 0, sizeof(own.drawn))
        for card in range(1, CARDS):
            counts[card] += own.hand[card]
            for _copy in range(own.hand[card]):
                remember_drawn(own, card)
        for structure in range(STRUCTURES):
            stack = &rampage.stacks[seat * STRUCTURES + structure]
            for i in range(stack.top, stack.count):
                counts[stack.cards[i]] += 1
                remember_drawn(own, stack.cards[i])
    for seat in range(SEATS):
        side = &rampage.common.sides[seat]
        side.history_length = 0
        memset(side.history, 0, sizeof(side.history))
        add_entry(side, NEW_PILE, SUMMED_UP)
        add_byte(side, side.hand_size)
        for structure in range(STRUCTURES):
            stack = &rampage.stacks[seat * STRUCTURES + structure]
            add_byte(side, stack.top)
            add_byte(side, stack.count)
        add_counts(side, counts)


cdef int read_history(const Side* side, History* history, int* at) noexcept nogil:
    cdef Entry* entry
    cdef int i, next_byte = 0, fault
    history.entry_count = history.counted = 0
    history.summed_up = False
    while next_byte < side.history_length:
        at[0] = next_byte
        entry = &history.entries[history.entry_count]
        history.entry_count += 1
        entry.at = next_byte
        entry.kind = side.history[next_byte] & ENTRY_MASK
        entry.value = side.history[next_byte] >> ENTRY_BITS
        next_byte += 1
        if entry.kind == NEW_PILE and entry.value == SUMMED_UP and entry.at == 0:
            if next_byte + 1 + 2 * STRUCTURES > side.history_length:
                return CUT_SHORT
            history.summed_up = True
            history.hand_size = side.history[next_byte]
            for i in range(STRUCTURES):
                history.tops[i] = side.history[next_byte + 1 + 2 * i]
                history.stack_counts[i] = side.history[next_byte + 2 + 2 * i]
            next_byte += 1 + 2 * STRUCTURES
        elif entry.kind == NEW_PILE and entry.value:
            return NO_CARD
        if entry.kind == SHOWED or entry.kind == NEW_PILE:
            entry.counted = history.counted
            history.counted += 1
            fault = read_counts(side, &next_byte, history.counts + entry.counted * CARDS)
            if fault:
                return fault
            if entry.kind == NEW_PILE and next_byte == entry.at + 2:
                return NO_CARD   # A new draw pile holds at least one card.
    return 0


cdef int read_counts(const Side* side, int* at, uint8_t* counts) noexcept nogil:
    cdef int card, size = 0
    memset(counts, 0, CARDS)
    while at[0] < side.history_length:
        card = side.history[at[0]] & CARD_MASK
        size += (side.history[at[0]] >> CARD_BITS) + 1
        at[0] += 1
        if card == 0:
            return 0 if side.history[at[0] - 1] == 0 else NO_CARD
        if card >= CARDS or size > MAX_DECK:
            return NO_CARD
        counts[card] += (side.history[at[0] - 1] >> CARD_BITS) + 1
    return CUT_SHORT
