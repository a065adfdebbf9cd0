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

*What was learned.* With the beliefs of a model, an account is blind from the start, and neither a
card that leaves the hand nor a blank is any card alike. A blank of the set-up is a card with the
probability that the model puts that card there, one under a structure likewise, and one in hand by
how likely the choices since then were with it (engine/castle_rampage/past_choices.pyx). A world
deals the cards of a pool in these proportions (engine/castle_rampage/dealing.pyx).

*Failure.* A late entry can contradict all guesses that are left: a Dragon that was held for twenty
turns is in few of them. If all guesses fail, the account goes through the history again and looks
ahead: before guesses are thinned out, it drops those that cannot hold the cards that the hand will
give up or show. If that fails, too, it keeps more guesses, and prefers likely ones less.

*Stages.* `guesses` (a guess, a population), `past_choices`, `lookahead`, `account` (going through
the history), `view_checks`, `dealing`, and here the drawing of worlds.
"""

from libc.string cimport memcpy, memset

from engine.castle_rampage.account cimport HandAccount
from engine.castle_rampage.dealing cimport Dealing, deal_pool, prepare_lots
from engine.castle_rampage.features cimport CastleRampageFeatures
from engine.castle_rampage.guesses cimport (
    BLANK, KEPT_BLANK, MAX_PLACED, MAX_POOLS, POOL_ROOM, Guess, cumulate, pick, release,
    set_up_blanks, shuffle_pool,
)
from engine.castle_rampage.history cimport Entry, History, remember_drawn
from engine.castle_rampage.rules cimport CastleRampage
from engine.castle_rampage.state cimport (
    CARDS, DEAL, MAX_DRAWN, MAX_HISTORY, MAX_SET_UPS, PLACED, PLACED_UNDER, SET_UP, STRUCTURES,
    CastleState, CastleView, Own, Side, Stack,
)
from engine.castle_rampage.view_checks cimport check_account, check_ranges
from engine.chance cimport Rng
from engine.game cimport SEATS, State
from engine.integers cimport uint8_t
from engine.sampler cimport Sampler

from engine.castle_rampage.account import FAULTS
from engine.errors import ViewError

ALWAYS_EXACT = 1 << 30           # More guesses than an exact account can have.


cdef struct Place:               # Of a card in a structure.
    uint8_t stack
    uint8_t at


cdef class CastleRampageSampler(Sampler):
    """The worlds that fit a view: the opponent's cards by their posterior, the pile shuffled."""

    cdef CastleRampage rules
    cdef int other
    cdef HandAccount account
    # What is the same in all worlds:
    cdef CastleState common_part    # Their cards, where the seat knows them.
    cdef int pools                  # The number of places of pools in a guess that are in use.
    # Where the opponent's hidden cards lie: of the set-up, and those put under a structure since.
    cdef int set_up_places
    cdef Place[MAX_SET_UPS * PLACED * STRUCTURES] set_up_at
    cdef Place[MAX_PLACED] placed_at
    cdef Dealing dealing         # By what was learned,
    cdef CastleRampageFeatures learned  # or None.
    cdef uint8_t[MAX_PLACED] placed_under

    def __init__(self, view, model=None, int exact_most=ALWAYS_EXACT):
        """Raise ViewError if no world fits. An exact account has at most `exact_most` guesses."""
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef int at = 0
        cdef int fault
        super().__init__(view, model)
        if model is not None and "beliefs" in model.uses:
            self.learned = model.features
        self.rules = self.game
        self.other = 1 - self.seat
        self.account = HandAccount(self.rules, self.seat, exact_most, self.learned)
        check_ranges(self.rules, seen)
        self.account.seen = seen
        self.account.past.stacks = &seen.stacks[self.other * STRUCTURES]
        with nogil:
            fault = self.account.go_through(&at)
            release(self.account.then)
        if fault:
            raise ViewError(f"common.sides[{self.other}].history[{at}]", FAULTS[fault])
        check_account(self.account)
        self.prepare()
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

    cdef prepare(self):
        # What is the same in all worlds.
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef Own* own = &self.common_part.own[self.other]
        memset(&self.common_part, 0, sizeof(CastleState))
        self.common_part.common = seen.common
        self.common_part.own[self.seat] = seen.own
        memcpy(self.common_part.stacks, seen.stacks, sizeof(seen.stacks))
        memcpy(own.drawn, self.account.drawn, self.account.drawn_length)
        own.drawn_length = self.account.drawn_length
        self.pools = min(self.account.past.pool_count, MAX_POOLS)
        self.list_set_up_places()
        self.list_placed_places()
        if self.learned is not None:
            self.prepare_dealing()

    cdef prepare_dealing(self):
        cdef HandAccount account = self.account
        cdef Dealing* dealing = &self.dealing
        cdef int i
        dealing.set_up_places = self.set_up_places
        for i in range(self.set_up_places):
            dealing.at_set_up[i] = (PLACED * (self.set_up_at[i].stack % STRUCTURES)
                                    + self.set_up_at[i].at % PLACED)
        dealing.dealt = DEAL if self.common_part.common.phase == SET_UP else 0
        for i in range(MAX_PLACED):
            self.placed_under[i] = self.placed_at[i].stack % STRUCTURES
        dealing.structures = self.placed_under
        prepare_lots(dealing, account, self.pools)

    cdef list_set_up_places(self):
        cdef const Stack* stack
        cdef int structure, i
        self.set_up_places = 0
        for structure in range(STRUCTURES):
            stack = &self.common_part.stacks[self.other * STRUCTURES + structure]
            for i in range(min(PLACED * self.rules.set_ups, stack.count)):
                self.set_up_places = self.add_place(self.set_up_at, self.set_up_places, structure,
                                                    i)

    cdef list_placed_places(self):
        # In the order of the history, as guesses have the cards there.
        cdef const History* history = &self.account.past.history
        cdef const Entry* entry
        cdef int first[STRUCTURES]
        cdef int structure, i, n = 0
        for structure in range(STRUCTURES):
            first[structure] = PLACED * self.rules.set_ups
            if history.summed_up:
                for i in range(first[structure], history.stack_counts[structure]):
                    n = self.add_place(self.placed_at, n, structure, i)
                first[structure] = history.stack_counts[structure]
        for i in range(history.entry_count):
            entry = &history.entries[i]
            if entry.kind == PLACED_UNDER:
                n = self.add_place(self.placed_at, n, entry.value, first[entry.value])
                first[entry.value] += 1

    cdef int add_place(self, Place* places, int n, int structure, int at):
        # Adds a place of a structure to a list of `n` places if the seat does not know its card.
        # Returns the number of places.
        cdef int stack = self.other * STRUCTURES + structure
        if self.common_part.stacks[stack].cards[at]:
            return n
        places[n].stack = stack
        places[n].at = at
        return n + 1

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef CastleState* rampage = <CastleState*> state
        cdef Own* own = &rampage.own[self.other]
        cdef const Guess* guess = pick(self.account.now, rng)
        cdef uint8_t cards[MAX_POOLS * POOL_ROOM]
        cdef int left[MAX_POOLS]
        cdef int hidden = self.account.past.hidden_set_up
        cdef int newest = self.account.newest()
        cdef int set_up_left, pool, card, size, i, _copy
        copy_used(rampage, &self.common_part)
        memcpy(own.hand, guess.known, CARDS)
        for pool in range(self.pools):
            left[pool] = 0
            if (pool == 0 or pool == newest or guess.blanks[pool] or guess.blanks_placed[pool]):
                if self.learned is None:
                    left[pool] = shuffle_pool(guess, pool, hidden, cards + pool * POOL_ROOM, rng)
                else:
                    left[pool] = deal_pool(&self.dealing, guess, pool, hidden,
                                           cards + pool * POOL_ROOM, rng)
                left[pool] -= set_up_blanks(guess, pool, hidden)
        size = left[newest] + set_up_blanks(guess, newest, hidden)
        set_up_left = left[0] + set_up_blanks(guess, 0, hidden)
        for i in range(self.set_up_places):
            set_up_left -= 1
            rampage.stacks[self.set_up_at[i].stack].cards[self.set_up_at[i].at] = cards[set_up_left]
        for i in range(guess.kept):
            set_up_left -= 1
            if i == DEAL:
                own.kept = cards[set_up_left]
            else:
                own.hand[cards[set_up_left]] += 1
        for i in range(guess.placed_count):
            card = guess.placed[i]
            if card == KEPT_BLANK:
                set_up_left -= 1
                card = cards[set_up_left]
            elif card >= BLANK:
                pool = card - BLANK
                left[pool] -= 1
                card = cards[pool * POOL_ROOM + left[pool]]
            rampage.stacks[self.placed_at[i].stack].cards[self.placed_at[i].at] = card
        for pool in range(self.pools):
            for _copy in range(guess.blanks[pool]):
                left[pool] -= 1
                own.hand[cards[pool * POOL_ROOM + left[pool]]] += 1
        memcpy(rampage.draw_pile, cards + newest * POOL_ROOM, left[newest])
        self.fill_drawn(own, guess, cards + newest * POOL_ROOM + left[newest], size - left[newest])

    cdef void fill_drawn(self, Own* own, const Guess* guess, const uint8_t* dealt,
                         int n) noexcept nogil:
        # The opponent has drawn the cards of the newest pool that are not in the draw pile: those
        # that the guess knows elsewhere, and those that are dealt to its blanks.
        cdef const uint8_t* pile = self.account.last_pile()
        cdef const uint8_t* unknown = guess.pools + self.account.newest() * CARDS
        cdef int card, i, _copy
        for card in range(1, CARDS):
            for _copy in range(pile[card] - unknown[card]):
                remember_drawn(own, card)
        for i in range(n):
            remember_drawn(own, dealt[i])


cdef void copy_used(CastleState* rampage, const CastleState* common_part) noexcept nogil:
    # Copies a state without what its lists have room for beyond their lengths. There the other
    # state has 0s, or an earlier state whose lists it has the lengths of.
    cdef Side* side
    cdef Own* own
    cdef Stack* stack
    cdef int seat, at, used
    used = rampage.common.draw_size
    memset(rampage.draw_pile, 0, used)
    memcpy(&rampage.common, &common_part.common,
           <const char*> common_part.common.sides - <const char*> &common_part.common)
    for seat in range(SEATS):
        side = &rampage.common.sides[seat]
        used = side.history_length
        memcpy(side, &common_part.common.sides[seat], sizeof(Side) - MAX_HISTORY)
        copy_list(side.history, common_part.common.sides[seat].history, side.history_length, used)
        own = &rampage.own[seat]
        used = own.drawn_length
        memcpy(own, &common_part.own[seat], sizeof(Own) - MAX_DRAWN)
        copy_list(own.drawn, common_part.own[seat].drawn, own.drawn_length, used)
    for at in range(SEATS * STRUCTURES):
        stack = &rampage.stacks[at]
        used = stack.count
        stack.count = common_part.stacks[at].count
        stack.top = common_part.stacks[at].top
        copy_list(stack.cards, common_part.stacks[at].cards, stack.count, used)
        copy_list(stack.known, common_part.stacks[at].known, stack.count, used)


cdef inline void copy_list(uint8_t* to, const uint8_t* values, int n, int used) noexcept nogil:
    # Copies `n` values to where `used` were before.
    memcpy(to, values, n)
    if used > n:
        memset(to + n, 0, used - n)
