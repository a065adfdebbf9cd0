"""The set-up and the turns of Castle Rampage, in the order of the rules sheet.

Each card has a function; cards that are played alike share one. An effect comes before the attack.
The function returns the place of the card afterwards: DISCARD, STAY or RETURN. Last come the ways
in which cards move, each with its events.
"""

from libc.string cimport memcpy, memset

from engine.chance cimport Rng, rng_below, rng_shuffle
from engine.events cimport NO_SEAT, TO_PUBLIC, TO_RECORD, EventLog, log_event, log_private, to_seat
from engine.game cimport SEATS, Action
from engine.integers cimport uint8_t
from games.castle_rampage.rules.actions cimport card_of, choice_of, discard_of, set_up_card
from games.castle_rampage.rules.history cimport add_counts, add_drawn, add_entry, remember_drawn
from games.castle_rampage.rules.state cimport *

cdef enum:
    DRAWS = 2                    # Cards drawn at the start of a turn,
    FIRST_DRAWS = 1              # and at the start of the first turn of the match.

    # Places of a card after it was played
    DISCARD = 0                  # The discard pile.
    STAY                         # In front of its owner, as a permanent card.
    RETURN                       # The hand of its owner.

    # Ends of an attack
    SPENT_UP = 0                 # The attacking card was destroyed, or won the match.
    STOPPED                      # A higher defence stopped it.

    LOST_TO_ARCHER = 1
    LOST_TO_SABOTEUR = 2
    DRAWN_BY_AXE_MAN = 1
    DRAWN_BY_SPY = 1             # By a Spy that is played,
    DRAWN_BY_DESTROYED_SPY = 2   # and by a Spy that is destroyed in an attack.
    DRAWN_BY_JESTER = 3

cdef struct Play:                # A card that is being played.
    const Tables* tables
    CastleState* rampage
    int seat
    int other
    int card
    int choice
    Action action
    Rng* rng
    EventLog* log

ctypedef int (*Effect)(const Play*) noexcept nogil


# The set-up and the course of turns

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
    # Puts a hand card under a structure and discards two others if it is an Ogre.
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


# Playing a card

cdef void play(const Tables* tables, CastleState* rampage, int seat, Action action, Rng* rng,
               EventLog* log) noexcept nogil:
    cdef Play played
    cdef int card = card_of(action)
    cdef int fate
    cdef uint8_t values[2]
    played.tables = tables
    played.rampage = rampage
    played.seat = seat
    played.other = 1 - seat
    played.card = card
    played.choice = choice_of(action)
    played.action = action
    played.rng = rng
    played.log = log
    values[0] = card
    values[1] = played.choice
    spend(rampage, seat, card)
    log_event(log, TO_PUBLIC | TO_RECORD, PLAYED, seat, values, 2)
    discard_payment(rampage, seat, action, log)
    fate = EFFECTS[card](&played)
    if fate == DISCARD:
        rampage.common.discards[card] += 1
    elif fate == RETURN:
        rampage.own[seat].hand[card] += 1
        rampage.common.sides[seat].hand_size += 1
        add_entry(&rampage.common.sides[seat], TOOK_BACK, card)
        log_event(log, TO_PUBLIC | TO_RECORD, RETURNED, seat, values, 1)


# Attacks

cdef int attack(const Play* played, int bonus, bint dig) noexcept nogil:
    # An attack goes against the other Gate while cards stand in it, else against the Castle; an
    # attack that digs always goes against the Castle. The top card is revealed. If its defence is
    # higher than the strength, the attacking card is destroyed and the defender goes back on top,
    # face down. If it is equal, both are destroyed. If it is lower, the defender is destroyed, its
    # defence is taken off the strength, and the next card is revealed, in the Castle when the Gate
    # has fallen. Each Catapult of the attacking seat adds 1 to the strength.
    cdef CastleState* rampage = played.rampage
    cdef int other = played.other
    cdef int strength = (played.tables.attack[played.card] + bonus
                         + CATAPULT_BONUS * rampage.common.sides[played.seat].catapults)
    cdef int structure, defender, defence
    cdef Stack* stack
    cdef uint8_t values[4]
    while True:
        structure = CASTLE if dig or not standing(stack_of(rampage, other, GATE)) else GATE
        stack = stack_of(rampage, other, structure)
        defender = stack.cards[stack.top]
        defence = played.tables.defence[structure * CARDS + defender]
        values[0] = structure
        values[1] = defender
        values[2] = defence
        values[3] = strength
        log_event(played.log, TO_PUBLIC | TO_RECORD, REVEALED, other, values, 4)
        if defence > strength:
            stack.known[stack.top] = SHOWN
            log_event(played.log, TO_PUBLIC | TO_RECORD, HELD, other, values, 2)
            return STOPPED
        destroy_top(rampage, other, structure, played.log)
        # The match is over at once when the last card of a Castle is destroyed.
        if rampage.common.phase == OVER or destroyed(played, defender) or defence == strength:
            return SPENT_UP
        strength -= defence


cdef bint destroyed(const Play* played, int defender) noexcept nogil:
    # The effect of a purple card that is destroyed in an attack, and not otherwise: for a Saboteur
    # the attacking seat discards 2 random cards, for a Spy its owner draws 2, and a Bomber destroys
    # the attacking card. Returns whether the attacking card was destroyed.
    if defender == SABOTEUR:
        discard_at_random(played.rampage, played.seat, LOST_TO_SABOTEUR, played.rng, played.log)
    elif defender == SPY:
        draw(played.rampage, played.other, DRAWN_BY_DESTROYED_SPY, played.rng, played.log)
    return defender == BOMBER


# Cards that attack

cdef int play_attacker(const Play* played) noexcept nogil:
    # Knight, Giant, Dragon, Ogre: attack.
    attack(played, 0, False)
    return DISCARD


cdef int play_archer(const Play* played) noexcept nogil:
    # The opponent discards a random card. Attack.
    discard_at_random(played.rampage, played.other, LOST_TO_ARCHER, played.rng, played.log)
    return play_attacker(played)


cdef int play_axe_man(const Play* played) noexcept nogil:
    # Draw 1 card. Attack.
    draw(played.rampage, played.seat, DRAWN_BY_AXE_MAN, played.rng, played.log)
    return play_attacker(played)


cdef int play_mercenary(const Play* played) noexcept nogil:
    # Discard up to 2 cards. Attack, with the bonus for each discard.
    cdef int i, n = 0
    for i in range(MERCENARY_DISCARDS):
        n += discard_of(played.action, i) > 0
    attack(played, n * played.tables.bonus[MERCENARY], False)
    return DISCARD


cdef int play_veteran(const Play* played) noexcept nogil:
    # Attack. If a higher defence stops the Veteran, it returns to the hand instead of being
    # destroyed.
    return RETURN if attack(played, 0, False) == STOPPED else DISCARD


cdef int play_digger(const Play* played) noexcept nogil:
    # Attack the Castle, even if the Gate stands.
    attack(played, 0, True)
    return DISCARD


cdef int play_scheme(const Play* played) noexcept nogil:
    # Attack, with the bonus if the choice is 1: the discards then include the scheme's extra unit.
    # Volley: a Knight and an Archer; the extra unit is an Archer.
    # Charge: a Knight and an Axe Man; the extra unit is a Knight.
    # Skirmish: an Archer and an Axe Man; the extra unit is an Axe Man.
    # Grand Assault: a Knight, an Archer and an Axe Man; the extra unit is a Knight.
    attack(played, played.choice * played.tables.bonus[played.card], False)
    return DISCARD


# Cards that do not attack

cdef int play_bomber(const Play* played) noexcept nogil:
    # Destroy the top card of the opposing Gate, if there is one.
    if standing(stack_of(played.rampage, played.other, GATE)):
        destroy_top(played.rampage, played.other, GATE, played.log)
    return DISCARD


cdef int play_saboteur(const Play* played) noexcept nogil:
    # Destroy a permanent card of the opponent.
    destroy_permanent(played.rampage, played.other, played.choice, played.log)
    return DISCARD


cdef int play_spy(const Play* played) noexcept nogil:
    # Look at the top card of each opposing structure. Draw 1 card.
    look(played.rampage, played.seat, played.log)
    draw(played.rampage, played.seat, DRAWN_BY_SPY, played.rng, played.log)
    return DISCARD


cdef int play_jester(const Play* played) noexcept nogil:
    # Destroy the top card of your own Castle; if it was the last card, the match is lost. Draw 3
    # cards.
    destroy_top(played.rampage, played.seat, CASTLE, played.log)
    if played.rampage.common.phase != OVER:
        draw(played.rampage, played.seat, DRAWN_BY_JESTER, played.rng, played.log)
    return DISCARD


cdef int play_summoner(const Play* played) noexcept nogil:
    # Destroy the top card of both Castles. Your own Castle comes second: if both are empty
    # afterwards, the seat that played the Summoner loses.
    destroy_top(played.rampage, played.other, CASTLE, played.log)
    destroy_top(played.rampage, played.seat, CASTLE, played.log)
    return DISCARD


cdef int play_priest(const Play* played) noexcept nogil:
    # Name a unit. The opponent shows the hand and discards every card that counts as that unit.
    show_hand(played.rampage, played.other, played.choice, played.log)
    return DISCARD


cdef int play_catapult(const Play* played) noexcept nogil:
    # Permanent. Each of your attacks has 1 more strength.
    played.rampage.common.sides[played.seat].catapults += 1
    return STAY


cdef int play_granary(const Play* played) noexcept nogil:
    # Permanent. Draw 1 more card at the start of each of your turns.
    played.rampage.common.sides[played.seat].granaries += 1
    return STAY


cdef Effect[CARDS] EFFECTS
EFFECTS[KNIGHT] = EFFECTS[GIANT] = EFFECTS[DRAGON] = EFFECTS[OGRE] = play_attacker
EFFECTS[ARCHER] = play_archer
EFFECTS[AXE_MAN] = play_axe_man
EFFECTS[MERCENARY] = play_mercenary
EFFECTS[VETERAN] = play_veteran
EFFECTS[DIGGER] = play_digger
EFFECTS[BOMBER] = play_bomber
EFFECTS[SABOTEUR] = play_saboteur
EFFECTS[SPY] = play_spy
EFFECTS[JESTER] = play_jester
EFFECTS[SUMMONER] = play_summoner
EFFECTS[PRIEST] = play_priest
EFFECTS[CATAPULT] = play_catapult
EFFECTS[GRANARY] = play_granary
EFFECTS[VOLLEY] = EFFECTS[CHARGE] = EFFECTS[SKIRMISH] = EFFECTS[GRAND_ASSAULT] = play_scheme


# How cards move

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
    # When the draw pile runs out, the discard pile is shuffled into a new one; when both are
    # empty, drawing stops.
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
    # Discards the whole hand if it has fewer cards.
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
    # Takes a card that a seat has chosen out of its hand.
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
    # The match is over if it was the last card of a Castle.
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
    # Lets a seat see the top card of each structure of the other seat.
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
    # Shows a hand to everyone and discards each card of it that counts as a unit.
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
