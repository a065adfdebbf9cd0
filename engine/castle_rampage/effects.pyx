"""What happens to the cards of Castle Rampage: they are drawn, discarded, destroyed and shown."""

from libc.string cimport memcpy, memset

from engine.castle_rampage.actions cimport discard_of
from engine.castle_rampage.history cimport add_counts, add_drawn, add_entry, remember_drawn
from engine.castle_rampage.state cimport (
    AT_RANDOM, CARDS, CASTLE, CATAPULT, DESTROYED, DISCARDED, DRAWN, DRAWN_HIDDEN, HAND_SHOWN,
    HIDDEN, LOOKED, LOOKED_HIDDEN, LOST, MAX_DECK, MAX_DISCARDS, NEW_PILE, OF_DISCARDS, OVER, PAID,
    SEEN, SHOWED, SHOWN, SHUFFLED, SHUFFLED_HIDDEN, SPENT, STRUCTURES, TO_PRIEST, UNITS_END,
    CastleState, Common, Own, Side, Stack, counts_as, stack_of, standing,
)
from engine.chance cimport Rng, rng_below, rng_shuffle
from engine.events cimport (
    NO_SEAT, TO_PUBLIC, TO_RECORD, EventLog, log_event, log_private, to_seat,
)
from engine.game cimport SEATS, Action
from engine.integers cimport uint8_t


cdef void shuffle(CastleState* rampage, Rng* rng, EventLog* log) noexcept nogil:
    # The record lists the cards from the top.
    cdef uint8_t cards[MAX_DECK]
    cdef uint8_t n = rampage.common.draw_size
    cdef int i
    rng_shuffle(rng, rampage.draw_pile, n)
    if log == NULL:
        return
    for i in range(n):
        cards[i] = rampage.draw_pile[n - 1 - i]
    log_private(log, 0, NO_SEAT, SHUFFLED, cards, n, SHUFFLED_HIDDEN, &n, 1)


cdef void draw(CastleState* rampage, int seat, int number, Rng* rng, EventLog* log) noexcept nogil:
    cdef Common* common = &rampage.common
    cdef Own* own = &rampage.own[seat]
    cdef uint8_t cards[MAX_DECK]
    cdef int card, n = 0
    while number > 0:
        if common.draw_size == 0:
            # The draws from the old pile are logged before the shuffle of the new one.
            log_drawn(log, seat, cards, n)
            n = 0
            if not reshuffle(rampage, rng, log):
                return
        common.draw_size -= 1
        card = rampage.draw_pile[common.draw_size]
        rampage.draw_pile[common.draw_size] = 0
        own.hand[card] += 1
        common.sides[seat].hand_size += 1
        remember_drawn(own, card)
        add_drawn(&common.sides[seat])
        cards[n] = card
        n += 1
        number -= 1
    log_drawn(log, seat, cards, n)


cdef void log_drawn(EventLog* log, int seat, const uint8_t* cards, uint8_t n) noexcept nogil:
    if n:
        log_private(log, to_seat(seat), seat, DRAWN, cards, n, DRAWN_HIDDEN, &n, 1)


cdef bint reshuffle(CastleState* rampage, Rng* rng, EventLog* log) noexcept nogil:
    # Makes the discard pile the draw pile; returns False if it is empty, too.
    cdef Common* common = &rampage.common
    cdef int card, seat, _copy
    for card in range(1, CARDS):
        for _copy in range(common.discards[card]):
            rampage.draw_pile[common.draw_size] = card
            common.draw_size += 1
    if common.draw_size == 0:
        return False
    for seat in range(SEATS):
        add_entry(&common.sides[seat], NEW_PILE, OF_DISCARDS)
        add_counts(&common.sides[seat], common.discards)
        remember_drawn(&rampage.own[seat], 0)
    memset(common.discards, 0, sizeof(common.discards))
    shuffle(rampage, rng, log)
    return True


cdef void discard_at_random(CastleState* rampage, int seat, int number, Rng* rng,
                            EventLog* log) noexcept nogil:
    cdef Own* own = &rampage.own[seat]
    cdef Side* side = &rampage.common.sides[seat]
    cdef uint8_t cards[MAX_DECK]
    cdef int at, card, n = 0
    while n < number and side.hand_size:
        at = rng_below(rng, side.hand_size)
        card = 0
        while at >= own.hand[card]:
            at -= own.hand[card]
            card += 1
        own.hand[card] -= 1
        side.hand_size -= 1
        rampage.common.discards[card] += 1
        add_entry(side, LOST, card)
        cards[n] = card
        n += 1
    log_discarded(log, seat, AT_RANDOM, cards, n)


cdef void discard_payment(CastleState* rampage, int seat, Action action,
                          EventLog* log) noexcept nogil:
    cdef uint8_t cards[MAX_DISCARDS]
    cdef int i, card, n = 0
    for i in range(MAX_DISCARDS):
        card = discard_of(action, i)
        if card:
            spend(rampage, seat, card)
            rampage.common.discards[card] += 1
            cards[n] = card
            n += 1
    log_discarded(log, seat, PAID, cards, n)


cdef void spend(CastleState* rampage, int seat, int card) noexcept nogil:
    rampage.own[seat].hand[card] -= 1
    rampage.common.sides[seat].hand_size -= 1
    add_entry(&rampage.common.sides[seat], SPENT, card)


cdef void log_discarded(EventLog* log, int seat, int reason, const uint8_t* cards,
                        int n) noexcept nogil:
    cdef uint8_t values[1 + MAX_DECK]
    if n:
        values[0] = reason
        memcpy(values + 1, cards, n)
        log_event(log, TO_PUBLIC | TO_RECORD, DISCARDED, seat, values, 1 + n)


cdef void put_under(CastleState* rampage, int seat, int structure, int card,
                    int known) noexcept nogil:
    cdef Stack* stack = stack_of(rampage, seat, structure)
    stack.cards[stack.count] = card
    stack.known[stack.count] = known
    stack.count += 1


cdef void destroy_top(CastleState* rampage, int seat, int structure, EventLog* log) noexcept nogil:
    cdef Stack* stack = stack_of(rampage, seat, structure)
    cdef uint8_t values[2]
    values[0] = structure
    values[1] = stack.cards[stack.top]
    stack.known[stack.top] = SHOWN
    stack.top += 1
    rampage.common.discards[values[1]] += 1
    log_event(log, TO_PUBLIC | TO_RECORD, DESTROYED, seat, values, 2)
    if structure == CASTLE and standing(stack) == 0:
        rampage.common.phase = OVER
        rampage.common.winner = 1 - seat


cdef void destroy_permanent(CastleState* rampage, int seat, int card, EventLog* log) noexcept nogil:
    cdef uint8_t values[2]
    values[0] = STRUCTURES       # The card lay in no structure.
    values[1] = card
    if card == CATAPULT:
        rampage.common.sides[seat].catapults -= 1
    else:
        rampage.common.sides[seat].granaries -= 1
    rampage.common.discards[card] += 1
    log_event(log, TO_PUBLIC | TO_RECORD, DESTROYED, seat, values, 2)


cdef void look(CastleState* rampage, int seat, EventLog* log) noexcept nogil:
    cdef Stack* stack
    cdef uint8_t values[STRUCTURES]
    cdef int structure
    for structure in range(STRUCTURES):
        stack = stack_of(rampage, 1 - seat, structure)
        values[structure] = 0
        if standing(stack):
            values[structure] = stack.cards[stack.top]
            if stack.known[stack.top] == HIDDEN:
                stack.known[stack.top] = SEEN
    log_private(log, to_seat(seat), seat, LOOKED, values, STRUCTURES, LOOKED_HIDDEN, NULL, 0)


cdef void show_hand(CastleState* rampage, int seat, int unit, EventLog* log) noexcept nogil:
    cdef Own* own = &rampage.own[seat]
    cdef Side* side = &rampage.common.sides[seat]
    cdef uint8_t cards[MAX_DECK]
    cdef int card, _copy, n = 0
    add_entry(side, SHOWED, unit)
    add_counts(side, own.hand)
    for card in range(CARDS):
        for _copy in range(own.hand[card]):
            cards[n] = card
            n += 1
    log_event(log, TO_PUBLIC | TO_RECORD, HAND_SHOWN, seat, cards, n)
    n = 0
    for card in range(1, UNITS_END):
        if counts_as(card, unit):
            for _copy in range(own.hand[card]):
                cards[n] = card
                n += 1
            rampage.common.discards[card] += own.hand[card]
            side.hand_size -= own.hand[card]
            own.hand[card] = 0
    log_discarded(log, seat, TO_PRIEST, cards, n)
