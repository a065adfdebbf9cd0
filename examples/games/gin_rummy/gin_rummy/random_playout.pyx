"""Random playouts of Gin Rummy, in which no actions are listed."""

from engine.chance cimport Rng, digit, rng_next
from engine.game cimport State
from engine.integers cimport uint64_t
from engine.playout_policy cimport PlayoutPolicy
from gin_rummy.melds cimport card_at, count, knocking, lowest_one
from gin_rummy.rules cimport GinRummy, discardable
from gin_rummy.state cimport OFFERED, OVER, TO_DISCARD, Common, GinState


cdef class GinRummyRandomPlayout(PlayoutPolicy):
    """Chooses uniformly."""

    cdef GinRummy rules

    def __init__(self, game):
        super().__init__(game)
        self.rules = game

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        cdef GinState* gin = <GinState*> state
        cdef Common* common = &gin.common
        cdef uint64_t bits, cards, knocks
        cdef int i, n
        while common.phase != OVER:
            bits = rng_next(rng)
            if common.phase != TO_DISCARD:
                if digit(&bits, 2):
                    self.rules.take_card(gin, NULL)
                elif common.phase == OFFERED:
                    self.rules.pass_up(gin, NULL)
                    continue
                else:
                    self.rules.draw_card(gin, NULL)
            cards = discardable(gin)
            knocks = knocking(gin.hands[common.to_play], cards, self.rules.knock_limit)
            n = count(cards)
            i = digit(&bits, n + count(knocks) if knocks else n)
            if i >= n:
                self.rules.knock(gin, nth(knocks, i - n), rng, NULL)
            else:
                self.rules.discard(gin, nth(cards, i), rng, NULL)
        return self.at_end(state, draw)


cdef inline int nth(uint64_t cards, int n) noexcept nogil:
    # The card that is greater than so many of the others.
    while n:
        cards &= cards - 1
        n -= 1
    return card_at(lowest_one(cards))
