"""The legal actions of Castle Rampage."""

from games.castle_rampage.rules.state cimport *

cdef struct Held:                # A hand whose cards are listed.
    int kinds
    uint8_t cards[CARDS]         # The different cards, ascending,
    uint8_t left[CARDS]          # and by card, the copies that an action can discard.


cdef int set_up_actions(const uint8_t* hand, Action* actions) noexcept nogil:
    # An action for every order of the five cards that were dealt, by depth-first search.
    cdef uint8_t cards[DEAL]     # The different cards,
    cdef uint8_t left[DEAL]      # and the copies of each that have no place yet.
    cdef int place[DEAL]         # The index in `cards` at each depth; -1 for none yet.
    cdef Action started[DEAL]    # The action with the cards of the lower depths.
    cdef int kinds = 0, n = 0, depth = 0, card, i
    cdef Action action
    for card in range(1, CARDS):
        if hand[card] and kinds < DEAL:
            cards[kinds] = card
            left[kinds] = hand[card]
            kinds += 1
    place[0] = -1
    started[0] = action_base(SET_UP_CARDS, 0, 0)
    while depth >= 0:
        i = place[depth]
        if i >= 0:
            left[i] += 1
        i += 1
        while i < kinds and left[i] == 0:
            i += 1
        if i == kinds:
            depth -= 1
            continue
        place[depth] = i
        left[i] -= 1
        action = started[depth] | <Action> cards[i] << (CARD_BITS * (DEAL - 1 - depth))
        if depth == DEAL - 1:
            actions[n] = action
            n += 1
        else:
            depth += 1
            place[depth] = -1
            started[depth] = action
    return n


cdef int turn_actions(const Tables* tables, const uint8_t* hand, int flags,
                      Action* actions) noexcept nogil:
    cdef Held held
    cdef Action base
    cdef int card, structure, choice, i, n = 0
    held.kinds = 0
    for card in range(1, CARDS):
        held.left[card] = hand[card]
        if hand[card]:
            held.cards[held.kinds] = card
            held.kinds += 1
    if not flags & STRENGTHENED_BEFORE:
        for i in range(held.kinds):
            card = held.cards[i]
            held.left[card] -= 1
            for structure in range(STRUCTURES):
                base = action_base(STRENGTHEN, card, structure)
                n = with_discards(&held, OGRE_DISCARDS if card == OGRE else 0, base, actions, n)
            held.left[card] += 1
    for i in range(held.kinds):
        card = held.cards[i]
        held.left[card] -= 1
        if card >= VOLLEY:
            n = with_units(tables, hand, card, actions, n)
        elif card == MERCENARY:
            n = with_up_to_two_discards(&held, action_base(PLAY, card, 0), actions, n)
        elif card == SABOTEUR:
            for choice in range(CATAPULT, GRANARY + 1):
                if flags & (CATAPULT_OPPOSED if choice == CATAPULT else GRANARY_OPPOSED):
                    base = action_base(PLAY, card, choice)
                    n = with_discards(&held, tables.cost[card], base, actions, n)
        elif card == PRIEST:
            for choice in range(KNIGHT_UNIT, AXE_MAN_UNIT + 1):
                base = action_base(PLAY, card, choice)
                n = with_discards(&held, tables.cost[card], base, actions, n)
        else:
            base = action_base(PLAY, card, 0)
            n = with_discards(&held, tables.cost[card], base, actions, n)
        held.left[card] += 1
    if actions != NULL:
        actions[n] = action_base(END_TURN, 0, 0)
    return n + 1


cdef int with_discards(const Held* held, int count, Action base, Action* actions,
                       int n) noexcept nogil:
    # Adds `base` with every way to discard `count` cards of a hand. Takes and returns the number of
    # actions.
    cdef int i, card
    if count == 0:
        if actions != NULL:
            actions[n] = base
        return n + 1
    for i in range(held.kinds):
        card = held.cards[i]
        if held.left[card] == 0:
            continue
        if count > 1:
            n = with_second_discard(held, i, base | discard(card, 0), actions, n)
            continue
        if actions != NULL:
            actions[n] = base | discard(card, 0)
        n += 1
    return n


cdef int with_second_discard(const Held* held, int first, Action base, Action* actions,
                             int n) noexcept nogil:
    # Adds `base`, which discards the card `first` of the hand, with every way to discard a second.
    cdef int i, card
    for i in range(first, held.kinds):
        card = held.cards[i]
        if held.left[card] > (i == first):
            if actions != NULL:
                actions[n] = base | discard(card, 1)
            n += 1
    return n


cdef int with_up_to_two_discards(const Held* held, Action base, Action* actions,
                                 int n) noexcept nogil:
    cdef int i, card
    n = with_discards(held, 0, base, actions, n)
    for i in range(held.kinds):
        card = held.cards[i]
        if held.left[card]:
            n = with_discards(held, 0, base | discard(card, 0), actions, n)
            n = with_second_discard(held, i, base | discard(card, 0), actions, n)
    return n


cdef int with_units(const Tables* tables, const uint8_t* hand, int scheme, Action* actions,
                    int n) noexcept nogil:
    # Adds every way to pay for a scheme. Takes and returns the number of actions.
    cdef const Way* way
    cdef uint64_t units = units_of(hand)
    cdef int extra, at, i
    for extra in range(2):
        at = (scheme - VOLLEY) * 2 + extra
        for i in range(tables.way_count[at]):
            way = &tables.ways[at * MAX_WAYS + i]
            if can_pay(units, way):
                if actions != NULL:
                    actions[n] = action_base(PLAY, scheme, extra) | way.discards
                n += 1
    return n


cdef bint must_end_turn(const Tables* tables, const uint8_t* hand, int size,
                        int flags) noexcept nogil:
    cdef int card
    if not flags & STRENGTHENED_BEFORE and (size > hand[OGRE] or size > OGRE_DISCARDS):
        return False
    for card in range(1, CARDS):
        if hand[card] == 0:
            continue
        if card >= VOLLEY:
            if with_units(tables, hand, card, NULL, 0):
                return False
        elif card == MERCENARY or (size > tables.cost[card] and (
                card != SABOTEUR or flags & (CATAPULT_OPPOSED | GRANARY_OPPOSED))):
            return False
    return True
