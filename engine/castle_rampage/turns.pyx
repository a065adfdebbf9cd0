"""The set-up of Castle Rampage and the course of its turns."""

from libc.string cimport memset

from engine.castle_rampage.actions cimport card_of, choice_of, set_up_card
from engine.castle_rampage.effects cimport discard_payment, draw, log_drawn, put_under, shuffle
from engine.castle_rampage.history cimport add_entry, remember_drawn
from engine.castle_rampage.state cimport (
    CARDS, CARDS_SET_UP, CARDS_SET_UP_HIDDEN, DEAL, HIDDEN, MAX_DECK, OGRE, OVER, PLACED,
    PLACED_UNDER, SET_UP, SHOWN, STARTER_DRAWN, STRENGTHENED, STRENGTHENED_HIDDEN, STRUCTURES,
    TURN, TURN_STARTED, CastleState, Common, Own, is_purple,
)
from engine.castle_rampage.tables cimport Tables
from engine.chance cimport Rng, rng_below
from engine.events cimport (
    NO_SEAT, TO_PUBLIC, TO_RECORD, EventLog, log_event, log_private, to_seat,
)
from engine.game cimport SEATS, Action
from engine.integers cimport uint8_t

cdef enum:
    DRAWS = 2                    # Cards drawn at the start of a turn,
    FIRST_DRAWS = 1              # and at the start of the first turn of the match.


cdef void begin(CastleState* rampage, const Tables* tables, Rng* rng,
                EventLog* log) noexcept nogil:
    cdef Common* common = &rampage.common
    cdef int card, _copy
    common.phase = SET_UP
    common.active = rng_below(rng, SEATS)
    common.winner = NO_SEAT
    log_event(log, TO_PUBLIC | TO_RECORD, STARTER_DRAWN, common.active, NULL, 0)
    for card in range(CARDS):
        for _copy in range(tables.copies[card]):
            rampage.draw_pile[common.draw_size] = card
            common.draw_size += 1
    shuffle(rampage, rng, log)
    deal_set_up(rampage, rng, log)


cdef void deal_set_up(CastleState* rampage, Rng* rng, EventLog* log) noexcept nogil:
    # Deals five cards to each seat. Purple cards are replaced, and shuffled back. The draw pile is
    # shuffled even if none came up, so that the shuffle gives nothing away.
    cdef Common* common = &rampage.common
    cdef uint8_t cards[DEAL]
    cdef uint8_t purple[MAX_DECK]
    cdef int seat, i, n, card, aside = 0
    for seat in range(SEATS):
        n = 0
        while n < DEAL:
            common.draw_size -= 1
            card = rampage.draw_pile[common.draw_size]
            rampage.draw_pile[common.draw_size] = 0
            if is_purple(card):
                purple[aside] = card
                aside += 1
            else:
                cards[n] = card
                n += 1
                rampage.own[seat].hand[card] += 1
                remember_drawn(&rampage.own[seat], card)
        common.sides[seat].hand_size = DEAL
        log_drawn(log, seat, cards, DEAL)
    for i in range(aside):
        rampage.draw_pile[common.draw_size] = purple[i]
        common.draw_size += 1
    shuffle(rampage, rng, log)


cdef void set_up(CastleState* rampage, const Action* joint, int set_ups, Rng* rng,
                 EventLog* log) noexcept nogil:
    cdef Common* common = &rampage.common
    cdef Own* own
    cdef uint8_t cards[DEAL]
    cdef int seat, i
    for seat in range(SEATS):
        own = &rampage.own[seat]
        for i in range(DEAL):
            cards[i] = set_up_card(joint[seat], i)
        for i in range(STRUCTURES * PLACED):
            put_under(rampage, seat, i // PLACED, cards[i], HIDDEN)
        log_private(log, to_seat(seat), seat, CARDS_SET_UP, cards, DEAL,
                    CARDS_SET_UP_HIDDEN, NULL, 0)
        memset(own.hand, 0, sizeof(own.hand))
        if common.set_ups + 1 == set_ups:
            own.hand[cards[DEAL - 1]] += 1
            own.hand[own.kept] += own.kept > 0
            own.kept = 0
            common.sides[seat].hand_size = set_ups
        else:
            own.kept = cards[DEAL - 1]
    common.set_ups += 1
    if common.set_ups < set_ups:
        deal_set_up(rampage, rng, log)
    else:
        common.phase = TURN
        start_turn(rampage, common.active, rng, log)


cdef void start_turn(CastleState* rampage, int seat, Rng* rng, EventLog* log) noexcept nogil:
    cdef Common* common = &rampage.common
    cdef uint8_t turn
    common.turn += 1
    common.active = seat
    common.strengthened = False
    common.decisions = 0
    turn = common.turn
    log_event(log, TO_PUBLIC | TO_RECORD, TURN_STARTED, seat, &turn, 1)
    draw(rampage, seat, (FIRST_DRAWS if turn == 1 else DRAWS) + common.sides[seat].granaries,
         rng, log)


cdef void strengthen(CastleState* rampage, int seat, Action action, EventLog* log) noexcept nogil:
    cdef int card = card_of(action)
    cdef int structure = choice_of(action)
    cdef bint ogre = card == OGRE        # Everyone knows an Ogre by its discards.
    cdef uint8_t values[2]
    values[0] = structure
    values[1] = card
    discard_payment(rampage, seat, action, log)
    rampage.own[seat].hand[card] -= 1
    rampage.common.sides[seat].hand_size -= 1
    rampage.common.strengthened = True
    put_under(rampage, seat, structure, card, SHOWN if ogre else HIDDEN)
    add_entry(&rampage.common.sides[seat], PLACED_UNDER, structure)
    if ogre:
        log_event(log, TO_PUBLIC | TO_RECORD, STRENGTHENED, seat, values, 2)
    else:
        log_private(log, to_seat(seat), seat, STRENGTHENED, values, 2,
                    STRENGTHENED_HIDDEN, values, 1)


cdef void end_turn(CastleState* rampage, int turn_limit, Rng* rng, EventLog* log) noexcept nogil:
    if rampage.common.turn == turn_limit:
        rampage.common.phase = OVER
    else:
        start_turn(rampage, 1 - rampage.common.active, rng, log)
