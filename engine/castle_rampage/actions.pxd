"""The actions of Castle Rampage: how they are encoded, and which are legal."""

from engine.castle_rampage.tables cimport Tables
from engine.castle_rampage.state cimport (
    CARD_BITS, CARD_MASK, CARD_SHIFT, CHOICE_SHIFT, DEAL, KIND_SHIFT, MAX_DISCARDS,
)
from engine.game cimport Action
from engine.integers cimport uint8_t

cdef enum:
    OGRE_DISCARDS = 2            # The price of strengthening with an Ogre.

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

# Both functions write the legal actions of a hand, ascending, and return how many there are. For a
# turn, `flags` are those of a DECIDED entry; if `actions` is NULL, the actions are only counted.
cdef int set_up_actions(const uint8_t* hand, Action* actions) noexcept nogil
cdef int turn_actions(const Tables* tables, const uint8_t* hand, int flags,
                      Action* actions) noexcept nogil

# Whether a hand allows an action that was legal with another hand.
cdef bint allows_set_up(const uint8_t* hand, Action action) noexcept nogil
cdef bint allows_turn(const uint8_t* hand, int flags, Action action) noexcept nogil
# Whether a hand of `size` cards can do nothing in a turn but end it.
cdef bint must_end_turn(const Tables* tables, const uint8_t* hand, int size,
                        int flags) noexcept nogil
