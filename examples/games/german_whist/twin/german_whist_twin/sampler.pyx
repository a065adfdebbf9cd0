"""The sampler of compiled German Whist: it infers as the one in Python, and draws in Cython."""

from libc.string cimport memcpy, memset

from engine.chance cimport Rng, rng_part, rng_shuffle, rng_weighted
from engine.game cimport State
from engine.integers cimport uint8_t, uint64_t
from engine.sampler cimport Sampler
from german_whist_twin.state cimport SUITS, WhistState, WhistView

from german_whist.inference import Table
from german_whist.state import View as PythonView

cdef enum:
    MAX_HANDS = 560            # Ways to divide 13 cards among four suits.


cdef class CompiledGermanWhistSampler(Sampler):
    """Draws worlds that fit a view."""

    cdef double sums[MAX_HANDS]
    cdef uint8_t counts[MAX_HANDS][SUITS]
    cdef int hand_count
    cdef uint8_t unseen[SUITS][13]
    cdef uint8_t unseen_counts[SUITS]
    cdef WhistState common     # What all worlds have.

    def __init__(self, view):
        cdef WhistView* seen
        cdef int i, suit
        cdef double total = 0
        Sampler.__init__(self, view)
        seen = <WhistView*> &self.view
        shown = PythonView.from_buffer_copy(bytes(view))
        table = Table(shown, view.game.rules.pack, view.game.size)
        memset(&self.common, 0, sizeof(self.common))
        self.common.hands[self.seat] = table.hand
        self.common.hands[1 - self.seat] = table.replay.taken[1 - self.seat]
        self.common.leader = table.replay.leader
        self.common.tricks = table.replay.tricks
        self.common.exposed_count = seen.exposed_count
        memcpy(self.common.exposed, seen.exposed, sizeof(seen.exposed))
        self.common.plays_count = seen.plays_count
        memcpy(self.common.plays, seen.plays, sizeof(seen.plays))
        self.hand_count = len(table.hands)
        for i in range(self.hand_count):
            total += table.weights[i]
            self.sums[i] = total
            for suit in range(SUITS):
                self.counts[i][suit] = table.hands[i][suit]
        for suit, cards in enumerate(table.unseen):
            self.unseen_counts[suit] = len(cards)
            for i in range(len(cards)):
                self.unseen[suit][i] = cards[i]
        self.check_whole()

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef WhistState* whist = <WhistState*> state
        cdef uint8_t cards[13]
        cdef const uint8_t* counts
        cdef uint64_t held = 0
        cdef int suit, i, n, count, stock_count = 0
        memset(state, 0, self.game.state_bytes)
        whist[0] = self.common
        counts = self.counts[rng_weighted(rng, self.sums, self.hand_count)]
        for suit in range(SUITS):
            n = self.unseen_counts[suit]
            count = counts[suit]
            memcpy(cards, self.unseen[suit], sizeof(cards))
            if 0 < count < n:
                rng_part(rng, cards, n, count)
            for i in range(n - count, n):
                held |= <uint64_t> 1 << cards[i]
            memcpy(whist.stock + stock_count, cards, n - count)
            stock_count += n - count
        rng_shuffle(rng, whist.stock, stock_count)
        whist.stock_count = stock_count
        whist.hands[1 - self.seat] |= held
