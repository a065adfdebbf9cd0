"""The actions of Castle Rampage: how they are encoded, and which are legal."""

from engine.game cimport Action
from engine.integers cimport uint64_t, uint8_t
from games.castle_rampage.rules.state cimport (
    CARDS, CARD_BITS, CARD_MASK, CARD_SHIFT, CHOICE_SHIFT, DEAL, END_TURN, KIND_SHIFT, MAX_COST,
    MAX_DISCARDS, Tables,
)

cdef enum:
    OGRE_DISCARDS = 2            # The price of strengthening with an Ogre.
    ALL_DISCARDS = (1 << CARD_BITS * MAX_DISCARDS) - 1

cdef inline int kind_of(Action action) noexcept nogil:
    return action >> KIND_SHIFT

cdef inline int card_of(Action action) noexcept nogil:
    return (action >> CARD_SHIFT) & CARD_MASK

cdef inline int choice_of(Action action) noexcept nogil:
    return (action >> CHOICE_SHIFT) & CARD_MASK

# The i-th discard of an action of a turn; 0 if it has fewer.
cdef inline int discard_of(Action action, int i) noexcept nogil:
    return (action >> (CARD_BITS * (MAX_DISCARDS - 1 - i))) & CARD_MASK

# The i-th card of a set-up.
cdef inline int set_up_card(Action action, int i) noexcept nogil:
    return (action >> (CARD_BITS * (DEAL - 1 - i))) & CARD_MASK

cdef inline Action discard(int card, int i) noexcept nogil:
    return <Action> card << (CARD_BITS * (MAX_DISCARDS - 1 - i))

cdef inline Action action_base(int kind, int card, int choice) noexcept nogil:
    return (<Action> kind << KIND_SHIFT | <Action> card << CARD_SHIFT
            | <Action> choice << CHOICE_SHIFT)

# The discards that pay for a card: of the other cards of a hand, those that come first in an order
# of all cards.
cdef inline Action payment(const uint8_t* order, const uint8_t* hand, int card,
                           int cost) noexcept nogil:
    cdef int paid[MAX_COST]
    cdef int i, other, left, n = 0
    cdef Action discards = 0
    for i in range(CARDS - 1):
        if n == cost:
            break
        other = order[i]
        left = hand[other] - (other == card)
        while left > 0 and n < cost:
            paid[n] = other
            n += 1
            left -= 1
    if n == 2 and paid[0] > paid[1]:
        paid[0], paid[1] = paid[1], paid[0]
    for i in range(n):
        discards |= discard(paid[i], i)
    return discards

# Both functions write the legal actions of a hand, ascending, and return how many there are. For a
# turn, `flags` are those of a DECIDED entry; if `actions` is NULL, the actions are only counted.
cdef int set_up_actions(const uint8_t* hand, Action* actions) noexcept nogil
cdef int turn_actions(const Tables* tables, const uint8_t* hand, int flags,
                      Action* actions) noexcept nogil

# Whether a hand has the cards of an action that is legal with another hand. A set-up uses as many
# cards as every such hand has.
cdef inline bint has_set_up(const uint8_t* hand, Action action) noexcept nogil:
    cdef uint64_t used = 0       # The copies of each card so far, three bits each.
    cdef int card, i, shift
    for i in range(DEAL):
        card = set_up_card(action, i)
        shift = 3 * card - 3
        used += <uint64_t> 1 << shift
        if (used >> shift) & 7 > hand[card]:
            return False
    return True

cdef inline bint has_cards(const uint8_t* hand, Action action) noexcept nogil:
    cdef int card = card_of(action)
    cdef int other, i, copies = 0, last = 0
    if hand[card] == 0:
        return kind_of(action) == END_TURN
    if action & ALL_DISCARDS == 0:
        return True
    for i in range(MAX_DISCARDS):
        other = discard_of(action, i)
        if other == 0:
            break
        copies = copies + 1 if other == last else 1 + (other == card)
        last = other
        if copies > hand[other]:
            return False
    return True

# Whether a hand of `size` cards can do nothing in a turn but end it.
cdef bint must_end_turn(const Tables* tables, const uint8_t* hand, int size,
                        int flags) noexcept nogil
