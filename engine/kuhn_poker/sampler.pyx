"""The sampler of Kuhn poker."""

from libc.string cimport memcpy, memset

from engine.chance cimport Rng, rng_below
from engine.game cimport State
from engine.kuhn_poker.betting cimport is_history, is_showdown
from engine.kuhn_poker.state cimport CARDS, JACK, KING, NO_CARD, KuhnState, KuhnView
from engine.sampler cimport Sampler

from engine.errors import ViewError


cdef class KuhnSampler(Sampler):
    """Draws worlds that fit a view."""

    # The legal actions never depend on a seat's card, so the decisions of an opponent that chooses
    # at random say nothing about its card: the two cards that it can hold are equally likely.

    def __init__(self, view):
        Sampler.__init__(self, view)
        cdef KuhnView* seen = <KuhnView*> &self.view
        cdef int own = seen.cards[self.seat], other = seen.cards[1 - self.seat]
        if not is_history(seen.decisions):
            raise ViewError("decisions", "must be a line of play")
        if not JACK <= own <= KING:
            raise ViewError(f"cards[{self.seat}]", "must be a card: a seat knows its own")
        if not is_showdown(seen.decisions):
            if other != NO_CARD:
                raise ViewError(f"cards[{1 - self.seat}]", "must be unseen before a showdown")
        elif not JACK <= other <= KING or other == own:
            raise ViewError(f"cards[{1 - self.seat}]", "must be another card at a showdown")

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef KuhnState* poker = <KuhnState*> state
        cdef const KuhnView* seen = <const KuhnView*> &self.view
        cdef int other = 1 - self.seat
        memset(state, 0, sizeof(KuhnState))
        memcpy(poker.cards, seen.cards, sizeof(poker.cards))
        memcpy(poker.decisions, seen.decisions, sizeof(poker.decisions))
        if poker.cards[other] == NO_CARD:
            # One or two places after the seat's own card, in the circle Jack, Queen, King.
            poker.cards[other] = (poker.cards[self.seat] + rng_below(rng, 2)) % CARDS + 1
