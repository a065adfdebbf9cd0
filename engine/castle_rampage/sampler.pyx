"""The worlds that fit a view of Castle Rampage.

Everyone remembers the history of a hand: when it drew, which cards it spent, when it put a card
face down under a structure, when a Priest showed it, and the cards of each new draw pile. A seat
also remembers its own draws. The sampler goes through the history of the opponent's hand and keeps
a population of guesses, each with a weight. A guess says of the opponent's cards

- which are *known*: a hand card that a Priest showed, or a Veteran that came back;
- how many are *blank*, and from which pool. A pool is the set of cards that one draw pile held and
  that this seat did not draw. The cards of a pool that are not known elsewhere are equally likely
  to be any of its blanks. When the pile has run out, its pool holds only the blanks left from it;
- which were *placed* under a structure and are still hidden: a known card, or a blank.

Each entry of the history turns a guess into others, by Bayes' rule, and equal guesses are merged:

- the hand spends or loses a card: the card was a known one, or a blank of a pool that holds such a
  card. A guess in which the hand cannot hold the card is dropped;
- a card goes under a structure: any card of the hand, known or blank. So a card that was seen in
  the hand may lie there now or may still be in the hand. If the card has been revealed since (it
  was destroyed, went back on top, or was seen by a Spy), the sampler uses that at once and treats
  the card as spent at this entry. A hidden card is never an Ogre, which everyone would know by its
  discards;
- a Veteran comes back, or a Priest shows the hand: these cards are known, and the guesses that say
  otherwise are dropped;
- the discard pile becomes a draw pile: a new pool.

The set-up cards are never purple, so they are blanks of their own within the first pool. The draw
pile is in any order in every guess. A history that was summed up (see the module `history`) starts
from one guess, in which the hand and all hidden cards are blanks of one pool.

*Soundness and completeness.* No drawn world would have shown the seat anything else, and every
world that would have shown the seat the same can be drawn, unless guesses were thinned out.

*Proportions.* An opponent that chooses uniformly among n legal actions plays a given one with
probability 1 / n, and n depends on its whole hand. So an exact account knows all hand cards in
every guess, and each draw makes as many guesses as there are cards to draw. An account that would
have more than MAX_EXACT guesses, as in most positions of the full game, or whose history was summed
up, is blind: it assumes that each card that leaves the hand is any of its cards with the same
probability. The weights of a blind account are exact under this assumption, until it has more than
MAX_BLIND guesses. These are then thinned out by systematic resampling, which keeps every
expectation (J. Carpenter, P. Clifford, P. Fearnhead, "Improved particle filter for nonlinear
problems", IEE Proceedings 146(1), 1999). So of the very many possible hands, the hands that can be
drawn differ from view to view. A guess has at most MAX_POOLS pools: the rest of an older one is
dealt out at random, in a few ways for each guess.

*Failure.* A late entry can contradict all guesses that are left: a Dragon that was held for twenty
turns is in few of them. If all guesses fail, the account goes through the history again and looks
ahead: before guesses are thinned out, it drops those that cannot hold the cards that the hand will
give up or show. If that fails, too, it keeps more guesses, and prefers likely ones less.

*Stages.* `guesses` (a guess, a population), `lookahead`, `account` (going through the history),
`view_checks`, and here the drawing of worlds.
"""

from libc.string cimport memcmp, memcpy, memset

from engine.castle_rampage.account cimport HandAccount
from engine.castle_rampage.guesses cimport (
    BLANK, KEPT_BLANK, MAX_POOLS, Guess, cumulate, pick, release, set_up_blanks, shuffle_pool,
)
from engine.castle_rampage.history cimport Entry
from engine.castle_rampage.rules cimport CastleRampage
from engine.castle_rampage.state cimport (
    CARDS, DEAL, MAX_DECK, MAX_DRAWN, PLACED, PLACED_UNDER, STRUCTURES, CastleState, CastleView,
    Own, Stack,
)
from engine.castle_rampage.view_checks cimport check_account, check_ranges
from engine.chance cimport Rng, rng_seed
from engine.game cimport State, View
from engine.integers cimport uint8_t
from engine.sampler cimport Sampler

from engine.castle_rampage.account import FAULTS
from engine.errors import ViewError

ALWAYS_EXACT = 1 << 30           # More guesses than an exact account can have.


cdef class CastleRampageSampler(Sampler):
    """The worlds that fit a view: the opponent's cards by their posterior, the pile shuffled."""

    cdef CastleRampage rules
    cdef int other
    cdef HandAccount account

    def __init__(self, view, int exact_most=ALWAYS_EXACT):
        """Raise ViewError if no world fits. An exact account has at most `exact_most` guesses."""
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef int at = 0
        cdef int fault
        super().__init__(view)
        self.rules = self.game
        self.other = 1 - self.seat
        self.account = HandAccount(self.rules, self.seat, exact_most)
        check_ranges(self.rules, seen)
        self.account.seen = seen
        self.account.past.stacks = &seen.stacks[self.other * STRUCTURES]
        with nogil:
            fault = self.account.go_through(&at)
            release(self.account.then)
        if fault:
            raise ViewError(f"common.sides[{self.other}].history[{at}]", FAULTS[fault])
        check_account(self.account)
        cumulate(self.account.now)
        self.check_whole()

    @property
    def exact(self):
        """Whether worlds are weighted by choices among legal actions."""
        return self.account.exact

    @property
    def thinned(self):
        """Whether any guess was left out at random."""
        return self.account.thinned

    @property
    def attempt(self):
        """The number of attempts to go through the history that have failed."""
        return self.account.attempt

    cdef check_whole(self):
        # Any other fault shows in a world, whose view of the seat then differs.
        cdef State state
        cdef View shown
        cdef Rng rng
        rng_seed(&rng, 0)
        memset(&state, 0, sizeof(state))
        self.draw(&state, &rng)
        self.rules.view(&state, self.seat, &shown)
        if memcmp(&shown, &self.view, sizeof(View)):
            raise ViewError("", "must be 0 beyond its counts")

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef CastleState* rampage = <CastleState*> state
        cdef Own* own = &rampage.own[self.other]
        cdef const Guess* guess = pick(self.account.now, rng)
        cdef uint8_t cards[MAX_POOLS * MAX_DECK]
        cdef int left[MAX_POOLS]
        cdef int hidden = self.account.past.hidden_set_up
        cdef int set_up_left, pool, card, _copy
        memset(state, 0, sizeof(CastleState))
        rampage.common = seen.common
        rampage.own[self.seat] = seen.own
        memcpy(rampage.stacks, seen.stacks, sizeof(rampage.stacks))
        for card in range(1, CARDS):
            own.hand[card] = guess.known[card]
        for pool in range(MAX_POOLS):
            left[pool] = shuffle_pool(guess, pool, hidden, cards + pool * MAX_DECK, rng)
            left[pool] -= set_up_blanks(guess, pool, hidden)
        set_up_left = left[0] + set_up_blanks(guess, 0, hidden)
        self.fill_set_up(rampage, guess, cards, &set_up_left)
        self.fill_placed(rampage, guess, cards, left, &set_up_left)
        for pool in range(MAX_POOLS):
            for _copy in range(guess.blanks[pool]):
                left[pool] -= 1
                own.hand[cards[pool * MAX_DECK + left[pool]]] += 1
        pool = self.account.newest()
        memcpy(rampage.draw_pile, cards + pool * MAX_DECK, left[pool])
        self.fill_drawn(rampage)

    cdef void fill_set_up(self, CastleState* rampage, const Guess* guess, const uint8_t* cards,
                          int* left) noexcept nogil:
        cdef Own* own = &rampage.own[self.other]
        cdef Stack* stack
        cdef int structure, i
        for structure in range(STRUCTURES):
            stack = &rampage.stacks[self.other * STRUCTURES + structure]
            for i in range(min(PLACED * self.rules.set_ups, stack.count)):
                if stack.cards[i] == 0:
                    left[0] -= 1
                    stack.cards[i] = cards[left[0]]
        for i in range(guess.kept):
            left[0] -= 1
            if i == DEAL:
                own.kept = cards[left[0]]
            else:
                own.hand[cards[left[0]]] += 1

    cdef void fill_placed(
        self, CastleState* rampage, const Guess* guess, const uint8_t* cards, int* left,
        int* set_up_left
    ) noexcept nogil:
        # Fills the places in the order of the history.
        cdef int first[STRUCTURES]
        cdef int structure, i, n = 0
        cdef const Entry* entry
        for structure in range(STRUCTURES):
            first[structure] = PLACED * self.rules.set_ups
            if self.account.past.history.summed_up:
                for i in range(first[structure], self.account.past.history.stack_counts[structure]):
                    n += self.fill_one(rampage, guess, n, structure, i, cards, left, set_up_left)
                first[structure] = self.account.past.history.stack_counts[structure]
        for i in range(self.account.past.history.entry_count):
            entry = &self.account.past.history.entries[i]
            if n == guess.placed_count:
                return
            if entry.kind == PLACED_UNDER:
                structure = entry.value
                n += self.fill_one(rampage, guess, n, structure, first[structure], cards, left,
                                   set_up_left)
                first[structure] += 1

    cdef bint fill_one(self, CastleState* rampage, const Guess* guess, int n, int structure, int at,
                       const uint8_t* cards, int* left, int* set_up_left) noexcept nogil:
        # Fills a place of a structure with the n-th placed card. Returns False if the card there is
        # known.
        cdef Stack* stack = &rampage.stacks[self.other * STRUCTURES + structure]
        cdef int card
        if stack.cards[at]:
            return False
        card = guess.placed[n]
        if card == KEPT_BLANK:
            set_up_left[0] -= 1
            card = cards[set_up_left[0]]
        elif card >= BLANK:
            left[card - BLANK] -= 1
            card = cards[(card - BLANK) * MAX_DECK + left[card - BLANK]]
        stack.cards[at] = card
        return True

    cdef void fill_drawn(self, CastleState* rampage) noexcept nogil:
        # The opponent has drawn the cards of the newest pool that are not in the draw pile.
        cdef Own* own = &rampage.own[self.other]
        cdef int left[CARDS]
        cdef int card, i, _copy
        memcpy(own.drawn, self.account.drawn, self.account.drawn_length)
        own.drawn_length = self.account.drawn_length
        for card in range(CARDS):
            left[card] = self.account.last_pile()[card]
        for i in range(rampage.common.draw_size):
            left[rampage.draw_pile[i]] -= 1
        for card in range(1, CARDS):
            for _copy in range(left[card]):
                if own.drawn_length < MAX_DRAWN:
                    own.drawn[own.drawn_length] = card
                    own.drawn_length += 1
