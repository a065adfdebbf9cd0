"""Sensible play of Gin Rummy, and an estimate of the score before the end of a match.

A seat takes the top discard if that makes a meld and leaves less deadwood than it has; else it
draws. It knocks as soon as it may, with the discard that leaves the least deadwood. Otherwise it
discards the deadwood that is worth most, but rather not a card that is close to another one of its
own, or to one that the opponent has taken from the discard pile.

A playout ends with the hand. What follows in a match to a target is estimated from the points.
"""

from libc.math cimport pow

from engine.chance cimport Rng, digit, rng_next
from engine.game cimport Action, State
from engine.integers cimport uint64_t
from engine.playout_policy cimport PlayoutPolicy
from gin_rummy.rules.melds cimport (
    bit, card_at, deadwood, lowest_one, meldable, unmelded, value,
)
from gin_rummy.rules.rules cimport GinRummy, discardable, top_card
from gin_rummy.rules.state cimport (
    CARD_BITS, DISCARD, DRAW_STOCK, KNOCK, OFFERED, OVER, PASS, TAKE_DISCARD, TO_DISCARD,
    Common, GinState,
)

cdef enum:
    # What the policy weighs against the value of a card when it discards, in halves of a point. Set
    # by hand; no fit is recorded.
    CLOSE = 5                    # For each card of its own with which it could become a meld.
    WANTED = 8                   # If it is close to a card that the opponent has taken.
    NOISE = 4

# How sharply the points that are still needed decide a match. Set by hand; no fit is recorded.
cdef double SHARPNESS = 1.5


cdef inline uint64_t beside(uint64_t cards) noexcept nogil:
    # The cards that are close to some: of the same rank, or at most two ranks off in the suit.
    cdef uint64_t ranks = cards | cards >> 32
    ranks |= ranks >> 16
    ranks &= 0x1FFF
    return (cards << 1 | cards << 2 | cards >> 1 | cards >> 2
            | ranks * <uint64_t> 0x0001000100010001)


cdef class GinRummyPlayoutPolicy(PlayoutPolicy):
    """Collects melds, and knocks as soon as it may."""

    cdef GinRummy rules

    def __init__(self, game):
        super().__init__(game)
        self.rules = game

    cdef int stage(self, const State* state) noexcept nogil:
        return (<const GinState*> state).common.hand_number

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef const GinState* gin = <const GinState*> state
        cdef int top = top_card(&gin.common)
        cdef int card
        cdef bint knocks = False
        if gin.common.phase != TO_DISCARD:
            if takes(gin.hands[seat], bit(top)):
                return TAKE_DISCARD << CARD_BITS | top
            return (PASS if gin.common.phase == OFFERED else DRAW_STOCK) << CARD_BITS
        card = self.throw(gin, &knocks, rng)
        return (KNOCK if knocks else DISCARD) << CARD_BITS | card

    cdef inline int throw(self, const GinState* gin, bint* knocks, Rng* rng) noexcept nogil:
        # The card to discard; writes whether to knock with it.
        cdef int seat = gin.common.to_play
        cdef uint64_t hand = gin.hands[seat]
        cdef uint64_t among = discardable(gin)
        cdef uint64_t wanted = gin.known[1 - seat]
        cdef uint64_t loose, card, best_card = 0, left, bits
        cdef int held = unmelded(hand, &loose), worth, best = -1000
        left = loose & among
        if not left:
            # All is melded but a card that was just taken: break up what costs least.
            while among:
                card = among & (0 - among)
                among ^= card
                worth = -deadwood(hand ^ card)
                if worth > best:
                    best, best_card = worth, card
            knocks[0] = -best <= self.rules.knock_limit
            return card_at(lowest_one(best_card))
        while left:
            card = left & (0 - left)
            left ^= card
            worth = value(card)
            if worth > best:
                best, best_card = worth, card
        if held - best <= self.rules.knock_limit:
            knocks[0] = True
            return card_at(lowest_one(best_card))
        best = -1000
        wanted = beside(wanted)
        bits = rng_next(rng)
        left = loose & among
        while left:
            card = left & (0 - left)
            left ^= card
            worth = 2 * value(card) + <int> digit(&bits, NOISE)
            if beside(card) & loose & ~card:
                worth -= CLOSE
            if wanted & card:
                worth -= WANTED
            if worth > best:
                best, best_card = worth, card
        return card_at(lowest_one(best_card))

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        # As that of the base class, without the actions.
        cdef GinState* gin = <GinState*> state
        cdef Common* common = &gin.common
        cdef int last = common.hand_number + self.horizon
        cdef int card
        cdef bint knocks
        while common.phase != OVER:
            if common.hand_number >= last:
                return self.estimate(state, draw)
            if common.phase != TO_DISCARD:
                if takes(gin.hands[common.to_play], bit(top_card(common))):
                    self.rules.take_card(gin, NULL)
                elif common.phase == OFFERED:
                    self.rules.pass_up(gin, NULL)
                    continue
                else:
                    self.rules.draw_card(gin, NULL)
            knocks = False
            card = self.throw(gin, &knocks, rng)
            if knocks:
                self.rules.knock(gin, card, rng, NULL)
            else:
                self.rules.discard(gin, card, rng, NULL)
        return self.at_end(state, draw)

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        # As if the points that a seat still needs were the lengths of a race.
        cdef const Common* common = &(<const GinState*> state).common
        cdef double first, second
        draw[0] = 0
        if self.rules.target == 0:
            return 0.5
        first = pow(max(1, self.rules.target - common.points[0]), SHARPNESS)
        second = pow(max(1, self.rules.target - common.points[1]), SHARPNESS)
        return second / (first + second)


cdef inline bint takes(uint64_t hand, uint64_t top) noexcept nogil:
    # Whether a card makes a meld and lowers the deadwood, after the best discard of another card.
    cdef uint64_t loose, left, card
    cdef int held, most = 0, worth
    if not meldable(hand | top) & top:
        return False
    held = unmelded(hand | top, &loose)
    if loose & top:
        return False
    left = loose
    while left:
        card = left & (0 - left)
        left ^= card
        worth = value(card)
        if worth > most:
            most = worth
    return held - most < deadwood(hand)
