"""The sampler of Leduc poker."""

from libc.string cimport memcpy, memset

from engine.chance cimport Rng
from engine.game cimport State
from engine.integers cimport uint8_t
from engine.sampler cimport Sampler
from games.leduc_poker.rules.betting cimport is_history, is_showdown, round_of
from games.leduc_poker.rules.rules cimport LeducPoker, take
from games.leduc_poker.rules.state cimport (
    CARDS, JACK, KING, NO_CARD, QUEEN, ROUNDS, LeducState, LeducView,
)

from engine.errors import ViewError


cdef class LeducSampler(Sampler):
    """Draws worlds that fit a view."""

    # The legal actions never depend on a seat's card, so the decisions of an opponent that chooses
    # at random say nothing about its card: every unseen card is equally likely.

    cdef uint8_t deck[CARDS]      # The cards that the seat has not seen.
    cdef int deck_size
    cdef int rounds

    def __init__(self, view):
        Sampler.__init__(self, view)
        cdef LeducView* seen = <LeducView*> &self.view
        cdef LeducPoker game = view.game
        cdef int own = seen.cards[self.seat], other = seen.cards[1 - self.seat]
        cdef int left[KING + 1]
        cdef int rank
        if not is_history(seen.decisions, game.rounds, game.max_raises):
            raise ViewError("decisions", "must be a line of play")
        if not JACK <= own <= KING:
            raise ViewError(f"cards[{self.seat}]", "must be a card: a seat knows its own")
        if round_of(seen.decisions, game.rounds) == 0:
            if seen.common != NO_CARD:
                raise ViewError("common", "must be unseen in the first round")
        elif not JACK <= seen.common <= KING:
            raise ViewError("common", "must be a card in the second round")
        if not is_showdown(seen.decisions, game.rounds):
            if other != NO_CARD:
                raise ViewError(f"cards[{1 - self.seat}]", "must be unseen before a showdown")
        elif not JACK <= other <= KING:
            raise ViewError(f"cards[{1 - self.seat}]", "must be a card at a showdown")
        self.rounds = game.rounds
        left[JACK] = left[QUEEN] = left[KING] = game.suits
        for rank in (own, other, seen.common):
            if rank != NO_CARD:
                left[rank] -= 1
        if min(left[JACK], left[QUEEN], left[KING]) < 0:
            raise ViewError("cards", "must have no card more often than the deck has it")
        for rank in range(JACK, KING + 1):
            for _ in range(left[rank]):
                self.deck[self.deck_size] = rank
                self.deck_size += 1

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef LeducState* poker = <LeducState*> state
        cdef const LeducView* seen = <const LeducView*> &self.view
        cdef uint8_t deck[CARDS]
        cdef int other = 1 - self.seat, n = self.deck_size
        memcpy(deck, self.deck, n)
        memset(state, 0, sizeof(LeducState))
        memcpy(poker.cards, seen.cards, sizeof(poker.cards))
        memcpy(poker.decisions, seen.decisions, sizeof(poker.decisions))
        poker.common = seen.common
        if poker.cards[other] == NO_CARD:
            poker.cards[other] = take(deck, n, rng)
            n -= 1
        if poker.common == NO_CARD and self.rounds == ROUNDS:
            poker.common = take(deck, n, rng)
