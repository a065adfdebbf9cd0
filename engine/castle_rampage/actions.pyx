"""The legal actions of Castle Rampage."""

from engine.castle_rampage.state cimport (
    AXE_MAN_UNIT, CARDS, CARD_BITS, CATAPULT, CATAPULT_OPPOSED, DEAL, END_TURN, GRANARY,
    GRANARY_OPPOSED, KNIGHT, KNIGHT_UNIT, MAX_WAYS, MERCENARY, OGRE, PLAY, PRIEST, SABOTEUR,
    SET_UP_CARDS, STRENGTHEN, STRENGTHENED_BEFORE, STRUCTURES, UNITS_END, VOLLEY,
)
from engine.castle_rampage.tables cimport Tables, Way

cdef enum:
    OGRE_DISCARDS = 2            # The price of strengthening with an Ogre.


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
    cdef uint8_t rest[CARDS]
    cdef Action base
    cdef int card, structure, choice, n = 0
    for card in range(CARDS):
        rest[card] = hand[card]
    if not flags & STRENGTHENED_BEFORE:
        for card in range(1, CARDS):
            if hand[card]:
                rest[card] -= 1
                for structure in range(STRUCTURES):
                    base = action_base(STRENGTHEN, card, structure)
                    n = with_discards(rest, OGRE_DISCARDS if card == OGRE else 0, base,
                                      actions, n)
                rest[card] += 1
    for card in range(1, CARDS):
        if hand[card] == 0:
            continue
        rest[card] -= 1
        if card >= VOLLEY:
            n = with_units(tables, rest, card, actions, n)
        elif card == MERCENARY:
            base = action_base(PLAY, card, 0)
            n = with_up_to_two_discards(rest, base, actions, n)
        elif card == SABOTEUR:
            for choice in range(CATAPULT, GRANARY + 1):
                if flags & (CATAPULT_OPPOSED if choice == CATAPULT else GRANARY_OPPOSED):
                    base = action_base(PLAY, card, choice)
                    n = with_discards(rest, tables.cost[card], base, actions, n)
        elif card == PRIEST:
            for choice in range(KNIGHT_UNIT, AXE_MAN_UNIT + 1):
                base = action_base(PLAY, card, choice)
                n = with_discards(rest, tables.cost[card], base, actions, n)
        else:
            base = action_base(PLAY, card, 0)
            n = with_discards(rest, tables.cost[card], base, actions, n)
        rest[card] += 1
    if actions != NULL:
        actions[n] = action_base(END_TURN, 0, 0)
    return n + 1


cdef int with_discards(const uint8_t* hand, int count, Action base, Action* actions,
                       int n) noexcept nogil:
    # Adds `base` with every way to discard `count` cards of a hand. Takes and returns the number of
    # actions.
    cdef int i, j
    if count == 0:
        if actions != NULL:
            actions[n] = base
        return n + 1
    for i in range(1, CARDS):
        if hand[i] == 0:
            continue
        if count == 1:
            if actions != NULL:
                actions[n] = base | discard(i, 0)
            n += 1
            continue
        for j in range(i, CARDS):
            if hand[j] > (i == j):
                if actions != NULL:
                    actions[n] = base | discard(i, 0) | discard(j, 1)
                n += 1
    return n


cdef int with_up_to_two_discards(const uint8_t* hand, Action base, Action* actions,
                                 int n) noexcept nogil:
    cdef int i, j
    if actions != NULL:
        actions[n] = base
    n += 1
    for i in range(1, CARDS):
        if hand[i] == 0:
            continue
        if actions != NULL:
            actions[n] = base | discard(i, 0)
        n += 1
        for j in range(i, CARDS):
            if hand[j] > (i == j):
                if actions != NULL:
                    actions[n] = base | discard(i, 0) | discard(j, 1)
                n += 1
    return n


cdef int with_units(const Tables* tables, const uint8_t* hand, int scheme, Action* actions,
                    int n) noexcept nogil:
    # Adds every way to pay for a scheme. Takes and returns the number of actions.
    cdef const Way* way
    cdef int extra, at, i, unit
    for extra in range(2):
        at = (scheme - VOLLEY) * 2 + extra
        for i in range(tables.way_count[at]):
            way = &tables.ways[at * MAX_WAYS + i]
            for unit in range(KNIGHT, UNITS_END):
                if way.need[unit] > hand[unit]:
                    break
            else:
                if actions != NULL:
                    actions[n] = action_base(PLAY, scheme, extra) | way.discards
                n += 1
    return n
