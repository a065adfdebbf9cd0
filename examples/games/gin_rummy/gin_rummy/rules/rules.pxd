"""The rules of Gin Rummy, for its sampler and its playout policies."""

from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Game
from engine.integers cimport uint8_t, uint64_t
from gin_rummy.rules.melds cimport Melding, bit
from gin_rummy.rules.state cimport MAX_DECK, NO_CARD, Common, GinState


# The top card of the discard pile; NO_CARD if it is empty.
cdef inline int top_card(const Common* common) noexcept nogil:
    return common.pile[common.pile_count - 1] if common.pile_count else NO_CARD


# What the seat whose turn it is may discard: not the card that it has just taken.
cdef inline uint64_t discardable(const GinState* gin) noexcept nogil:
    cdef uint64_t hand = gin.hands[gin.common.to_play]
    return hand & ~bit(gin.common.taken) if gin.common.taken else hand


# Turns as everyone sees them: the sampler plays a view again by these.

cdef void put_pass(Common* common) noexcept nogil
cdef void put_draw(Common* common) noexcept nogil
cdef int put_take(Common* common) noexcept nogil
# Puts a card onto the discard pile, without ending the turn.
cdef void put_card(Common* common, int card) noexcept nogil
# Discards a card without a knock. Returns how that ends the hand, or OPEN.
cdef int put_discard(Common* common, int card) noexcept nogil


cdef class GinRummy(Game):
    cdef int ranks, suits, hand_size, knock_limit, target, deck_size
    cdef uint64_t deck           # All cards, as a set,
    cdef uint8_t cards_of_deck[MAX_DECK]      # and one by one.

    # Moves of the seat whose turn it is. `log` may be NULL.
    cdef void pass_up(self, GinState* gin, EventLog* log) noexcept nogil
    cdef void draw_card(self, GinState* gin, EventLog* log) noexcept nogil
    cdef void take_card(self, GinState* gin, EventLog* log) noexcept nogil
    # The two that can end the hand: they then deal the next one, if there is one.
    cdef void discard(self, GinState* gin, int card, Rng* rng, EventLog* log) noexcept nogil
    cdef void knock(self, GinState* gin, int card, Rng* rng, EventLog* log) noexcept nogil
    # What a knock with these hands leads to. Returns the result, and writes how both meld and the
    # points of the winner.
    cdef int settle(self, const uint64_t* hands, int seat, Melding* own, Melding* answer,
                    int* points) noexcept nogil
    cdef void deal_hand(self, GinState* gin, int dealer, Rng* rng, EventLog* log) noexcept nogil
    cdef void end_hand(self, GinState* gin, int result, int points, Rng* rng,
                       EventLog* log) noexcept nogil
