"""What a view of Castle Rampage tells of the cards that nobody has shown.

Everyone remembers the story of a hand: when it drew, what it spent, when it put a card face down
under a structure, when a Priest laid it open, and of what each new draw pile was made. A seat
remembers its own draws besides. The sampler goes through the story of the opponent's hand again and
keeps a population of guesses, each with a weight. A guess says of his cards

- which are *known*: a hand card that a Priest showed, a Veteran that came back;
- how many are *blank*, and from which pool: the cards of a pool that are not known elsewhere are
  equally likely to be any of its blanks. A pool is what one draw pile held and this seat did not
  draw. When the pile has run out, its pool holds no more than the blanks left from it;
- what was *placed* under a structure and is still hidden: a known card, or a blank.

Each entry of the story turns a guess into others, by Bayes' rule, and guesses that have become
equal are put together:

- he spends, or loses, a card: it was one of the known ones, or a blank of some pool, which must
  hold such a card. A guess in which he cannot have it is dropped;
- he puts a card under a structure: any card of his hand, known or blank, so that a card that was
  seen in the hand may lie there now, or may not. If the card has come to light since (it was
  destroyed, or went back on top, or a Spy saw it), that is used at once: the card is taken as spent
  then. Never an Ogre, which everyone would have known by its discards;
- a Veteran comes back, or a Priest shows the hand: these cards are known, and the guesses that say
  otherwise are dropped;
- the discard pile becomes a draw pile: a new pool.

The set-up cards are never purple, so they are blanks of their own within the first pool. The draw
pile is in any order in every guess.

So no world is drawn that would have shown anything else (sound), and none that would have shown
just this is left out (complete). In proportion: an opponent who chooses uniformly among his legal
actions plays a given one with probability 1 / (how many he had), which depends on his whole hand.
So all of his cards are known in every guess, each draw makes as many guesses as there are cards to
draw, and the weights are exact, as long as no more than MAX_EXACT guesses come of it. Where more
would, which is so in most positions of the full game, his choices are taken to be blind instead:
each card that leaves the hand is any of its cards with the same probability. Weights are exact for
that, too, until there are more than MAX_BLIND guesses; these are then thinned out by systematic
resampling, which keeps every expectation (J. Carpenter, P. Clifford, P. Fearnhead, "Improved
particle filter for nonlinear problems", IEE Proceedings 146(1), 1999), so that which of the very
many hands can be drawn differs from view to view. At most MAX_POOLS pools are kept: what is left
of an older one is dealt out by chance, in a few ways for each guess.

What comes to light late can then contradict every guess that is left: the one Dragon that was held
through twenty turns is in few of them. So where all fail, the story is gone through again, looking
ahead: before guesses are thinned out, those are dropped that cannot hold what the hand will have to
give up or to show. If that does not help either, more guesses are kept, and unlikely ones rather
than not.
"""

from libc.math cimport pow
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from engine.castle_rampage.actions cimport turn_actions
from engine.castle_rampage.rules cimport CastleRampage
from engine.castle_rampage.state cimport (
    CARDS, CATAPULT, CastleState, CastleView, Common, DEAL, DECIDED, DREW, GRANARY, HIDDEN, LOST,
    MAX_DECISIONS, MAX_DECK, MAX_DRAWN, MAX_HISTORY, MAX_STACK, NEW_PILE, OF_DISCARDS,
    OGRE, OVER, Own, PLACED, PLACED_UNDER, SET_UP, SHOWED, SHOWN, SPENT, STRUCTURES, Stack,
    TOOK_BACK, TURN, VETERAN, counts_as, is_purple,
)
from engine.castle_rampage.history cimport CUT_SHORT, NO_CARD, Entry, History, read_history
from engine.chance cimport Rng, mix, rng_double, rng_seed, rng_shuffle
from engine.events cimport NO_SEAT
from engine.game cimport SEATS, State, View
from engine.integers cimport uint64_t, uint8_t
from engine.sampler cimport Sampler

from engine.errors import ViewError

cdef enum:
    MAX_POOLS = 8               # That may still have blanks.
    MAX_PLACED = STRUCTURES * MAX_STACK
    KEPT_BLANK = 32              # Instead of a card: one that was kept at the set-up,
    BLANK = 33                   # or one of a pool, which is added.
    GUESS_WORDS = (CARDS + 2 + MAX_POOLS * (2 + CARDS) + MAX_PLACED) // 8 + 1
    PADDING = 7 - (CARDS + 2 + MAX_POOLS * (2 + CARDS) + MAX_PLACED) % 8
    MAX_EXACT = 2048
    MAX_BLIND = 128             # In the first attempts, and in later ones.
    BLIND_MOST_LATER = 512
    MAX_FOUND = 4               # Ways to identify what is left of a pool, of each guess,
    TRIES = 64                   # and how many are looked at.
    ATTEMPTS = 10                # To go through a story blindly; each after the first looks ahead.
    MAX_PILES = MAX_HISTORY // 3 + 1     # A reshuffle takes at least three bytes.
    POOLS_AHEAD = MAX_POOLS + MAX_PILES
    TABLE_BITS = 15
    TABLE_SIZE = 1 << TABLE_BITS     # Of the hash table; more than guesses ever come of one step.
    ROOM = TABLE_SIZE // 2

    # What can be wrong with a history, besides NO_CARD and CUT_SHORT
    TOO_MANY = 100               # Nothing: there are too many guesses for an exact account.
    IMPOSSIBLE
    MISPLACED
    FOREIGN_DRAW
    FOREIGN_SET_UP

FAULTS = {
    IMPOSSIBLE: "must be what some hand of the opponent could do",
    NO_CARD: "must tell of cards of the ruleset",
    MISPLACED: "must account for the cards of the opponent's structures",
    CUT_SHORT: "must be followed by the number of each card",
    FOREIGN_DRAW: "must have begun a draw pile that holds what the seat has drawn since",
    FOREIGN_SET_UP: "must begin with a set-up of cards of the ruleset that can be set up",
}

cdef struct Guess:
    uint8_t known[CARDS]
    uint8_t kept                 # Blanks in the hand that were kept at the set-up,
    uint8_t kept_placed          # and those that were put under a structure since.
    uint8_t blanks[MAX_POOLS]   # Other blanks in the hand, by pool,
    uint8_t blanks_placed[MAX_POOLS]    # and under a structure.
    uint8_t pools[MAX_POOLS * CARDS]    # The cards that are not known elsewhere, by pool.
    uint8_t placed_count
    # What is hidden under both structures, in the order of the story: a card, or a blank.
    uint8_t placed[MAX_PLACED]
    uint8_t padding[PADDING]     # To whole words.


assert sizeof(Guess) == 8 * GUESS_WORDS

cdef uint64_t[GUESS_WORDS] FACTORS    # Odd and random, to hash a guess.
for _i in range(GUESS_WORDS):
    FACTORS[_i] = mix(0, _i) | 1


cdef inline int total(const uint8_t* counts) noexcept nogil:
    cdef int card, n = 0
    for card in range(1, CARDS):
        n += counts[card]
    return n


cdef inline int total_not_purple(const uint8_t* counts) noexcept nogil:
    cdef int card, n = 0
    for card in range(1, CARDS):
        n += 0 if is_purple(card) else counts[card]
    return n


cdef void identify_rest(Guess* guess, int pool) noexcept nogil:
    # All that is left of a pool is in the hand, and so is known, unless some of it lies elsewhere.
    cdef int card
    cdef uint8_t* cards = guess.pools + pool * CARDS
    if guess.blanks[pool] and guess.blanks[pool] == total(cards):
        for card in range(1, CARDS):
            guess.known[card] += cards[card]
            cards[card] = 0
        guess.blanks[pool] = 0


cdef struct Population:          # Guesses and their weights, each guess once.
    int count
    Guess* guesses
    double* weights
    int* slots                   # Where each guess is in the table:
    int* rampage                   # hash of a guess -> its place + 1.


cdef bint allocate(Population* self) noexcept nogil:
    self.guesses = <Guess*> malloc(ROOM * sizeof(Guess))
    self.weights = <double*> malloc(ROOM * sizeof(double))
    self.slots = <int*> malloc(ROOM * sizeof(int))
    self.rampage = <int*> calloc(TABLE_SIZE, sizeof(int))
    return (self.guesses != NULL and self.weights != NULL and self.slots != NULL
            and self.rampage != NULL)


cdef void release(Population* self) noexcept nogil:
    free(self.guesses)
    free(self.weights)
    free(self.slots)
    free(self.rampage)
    memset(self, 0, sizeof(Population))


cdef void clear(Population* self) noexcept nogil:
    cdef int i
    for i in range(self.count):
        self.rampage[self.slots[i]] = 0
    self.count = 0


cdef bint add(Population* self, const Guess* guess, double weight) noexcept nogil:
    # False: there are too many.
    cdef uint64_t key = 0, word
    cdef size_t i, words
    cdef int at, slot
    # The rest of the places is 0 in all guesses: after a step, each has as many cards placed.
    words = ((<const char*> guess.placed - <const char*> guess) + guess.placed_count + 7) // 8
    for i in range(words):
        memcpy(&word, <const char*> guess + 8 * i, 8)
        key += word * FACTORS[i]
    slot = key >> (64 - TABLE_BITS)
    while self.rampage[slot]:
        at = self.rampage[slot] - 1
        if memcmp(&self.guesses[at], guess, 8 * words) == 0:
            self.weights[at] += weight
            return True
        slot = (slot + 1) & (TABLE_SIZE - 1)
    if self.count == ROOM:
        return False
    self.guesses[self.count] = guess[0]
    self.weights[self.count] = weight
    self.slots[self.count] = slot
    self.count += 1
    self.rampage[slot] = self.count
    return True


cdef void normalize(Population* self) noexcept nogil:
    cdef double total_weight = 0
    cdef int i
    for i in range(self.count):
        total_weight += self.weights[i]
    for i in range(self.count):
        self.weights[i] /= total_weight


cdef struct Needs:               # What a guess has for the rest of the story.
    int hand[CARDS]              # Cards that are known and have not left.
    int newest                   # Of the pools, from the oldest on.
    int pile                     # What it was made of.
    int blanks[POOLS_AHEAD]      # That came to the hand since it was shown last.
    int places                   # Cards put under structures since then.
    uint8_t pools[POOLS_AHEAD * CARDS]   # The cards that the blanks can be,
    uint8_t taken[POOLS_AHEAD * CARDS]   # and those that blanks must have been since then.
    bint shown                   # Whether the hand has been shown. Until then:
    int dealt[POOLS_AHEAD]       # Blanks that were given a card,
    uint8_t cards[POOLS_AHEAD * CARDS]   # and which.
    bint passed[POOLS_AHEAD]     # On the way to give one more.


cdef inline int place_of_pool(int pool) noexcept nogil:
    # The first pool has a place of its own in a guess, the others share.
    return 0 if pool == 0 else 1 + (pool - 1) % (MAX_POOLS - 1)


cdef bint need(Needs* needs, int card) noexcept nogil:
    # A card leaves the hand: one that is known, or else a blank of the oldest pool that can be it,
    # as later needs are met from newer ones. False: there is none.
    cdef int i
    if needs.hand[card]:
        needs.hand[card] -= 1
        return True
    for i in range(needs.newest + 1):
        if needs.taken[i * CARDS + card] < min(needs.blanks[i], needs.pools[i * CARDS + card]):
            needs.taken[i * CARDS + card] += 1
            memset(needs.passed, 0, (needs.newest + 1) * sizeof(bint))
            return needs.shown or deal_blank(needs, card)
    return False


cdef bint deal_blank(Needs* needs, int card) noexcept nogil:
    # Gives a blank this card. If need be, others change their cards: an augmenting path.
    cdef int pool, other
    for pool in range(needs.newest + 1):
        if (needs.passed[pool] or needs.blanks[pool] == 0
                or needs.cards[pool * CARDS + card] == needs.pools[pool * CARDS + card]):
            continue
        needs.passed[pool] = True
        if needs.dealt[pool] < needs.blanks[pool]:
            needs.dealt[pool] += 1
            needs.cards[pool * CARDS + card] += 1
            return True
        for other in range(1, CARDS):
            if needs.cards[pool * CARDS + other] and deal_blank(needs, other):
                needs.cards[pool * CARDS + other] -= 1
                needs.cards[pool * CARDS + card] += 1
                return True
    return False


cdef bint need_all(Needs* needs, int unit, const uint8_t* hand) noexcept nogil:
    # The hand is shown: what else was known lies under a structure by now, as no Ogre does.
    cdef int card, number, _copy
    cdef int last = needs.newest * CARDS
    for card in range(1, CARDS):
        number = needs.hand[card] - hand[card]
        if number > 0:
            if card == OGRE or number > needs.places:
                return False
            needs.places -= number
        else:
            needs.hand[card] = 0
            for _copy in range(-number):
                if not need(needs, card):
                    return False
        needs.hand[card] = 0 if counts_as(card, unit) else hand[card]
    for card in range(CARDS):    # The older pools are done with.
        needs.pools[card] = needs.pools[last + card] - needs.taken[last + card]
    memset(needs.taken, 0, (needs.newest + 1) * CARDS)
    memset(needs.blanks, 0, (needs.newest + 1) * sizeof(int))
    needs.newest = 0
    needs.places = 0
    needs.shown = True
    return True


cdef class CastleRampageSampler(Sampler):
    """The worlds that fit a view: the opponent's cards by their posterior, the pile shuffled."""

    cdef CastleRampage rules
    cdef int other
    cdef readonly bint exact     # Whether the weights are those of choices among legal actions.
    cdef int exact_most
    cdef Population populations[2]
    # While the story is gone through: after, and before, an entry.
    cdef Population* now
    cdef Population* then
    cdef bint overflowed
    cdef readonly int attempt    # Failed ones before, when guesses are thinned out.
    cdef readonly bint thinned   # Whether anything was left out by chance.
    cdef Rng thinning
    cdef int most                # So many guesses are kept,
    cdef double power            # by chances that are their weights to this power.
    cdef History history         # Of the opponent's hand.
    cdef int next_entry          # Where the history goes on,
    cdef int placed[STRUCTURES]  # and how many cards each structure has got by then.
    cdef int pool_count
    cdef int hand_size
    cdef int hidden_set_up       # Cards of the opponent's set-up that are not known.
    # Of what each draw pile was made, without what this seat has drawn of it,
    cdef int pile_total
    cdef uint8_t piles[MAX_PILES * CARDS]
    cdef bint foreign[MAX_PILES]    # and whether it has drawn what was not there.
    # The opponent's earlier draws, in a fixed order, as his `drawn` should list them.
    cdef int drawn_length
    cdef uint8_t drawn[MAX_DRAWN]

    def __cinit__(self):
        self.now = &self.populations[0]
        self.then = &self.populations[1]
        if not allocate(self.now) or not allocate(self.then):
            raise MemoryError

    def __dealloc__(self):
        release(&self.populations[0])
        release(&self.populations[1])

    def __init__(self, view, int exact_most=MAX_EXACT):
        """An exact account has at most `exact_most` guesses, MAX_EXACT at the most."""
        cdef int at = 0
        cdef int fault
        super().__init__(view)
        self.exact_most = min(exact_most, MAX_EXACT)
        self.rules = self.game
        self.other = 1 - self.seat
        self.check_ranges()
        with nogil:
            fault = read_history(&(<const CastleView*> &self.view).common.sides[self.other],
                                 &self.history, &at)
            if not fault:
                fault = self.account(&at)
            release(self.then)
        if fault:
            raise ViewError(f"common.sides[{self.other}].history[{at}]", FAULTS[fault])
        self.check_end()
        self.cumulate()
        self.check_whole()

    # Going through the story

    cdef int account(self, int* at) noexcept nogil:
        # An exact account, or else a blind one; what is wrong with the entry at `at`, if anything.
        cdef int fault = TOO_MANY
        self.read_piles()
        # What was summed up is not known card by card.
        self.exact = not self.history.summed_up
        if self.exact:
            fault = self.replay(at)
        if fault == TOO_MANY:
            self.exact = False
            fault = self.replay(at)
            while fault and self.thinned and self.attempt < ATTEMPTS - 1:
                self.attempt += 1
                fault = self.replay(at)
        return fault

    cdef int replay(self, int* at) noexcept nogil:
        # What is wrong with the entry at `at`, if anything.
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef int fault, i
        rng_seed(&self.thinning,
                 seen.common.sides[self.other].history_length * ATTEMPTS + self.attempt)
        at[0] = 0
        self.next_entry = 0
        self.thinned = False
        self.most = MAX_BLIND if self.attempt < 2 else BLIND_MOST_LATER
        self.power = 1.0 if self.attempt < 2 else 0.5 if self.attempt < 3 else 0.0
        fault = self.start()
        while self.next_entry < self.history.entry_count and not fault:
            at[0] = self.history.entries[self.next_entry].at
            fault = self.follow(&self.history.entries[self.next_entry])
            if self.overflowed or (self.exact and self.now.count > self.exact_most):
                fault = TOO_MANY
            elif self.now.count == 0 and not fault:
                fault = IMPOSSIBLE
            else:
                normalize(self.now)
                if self.now.count > self.most and self.attempt:
                    self.look_ahead()
                if self.now.count > self.most and not self.exact:
                    self.thin_out()
        for i in range(STRUCTURES):
            if (not fault and seen.common.phase != SET_UP
                    and self.placed[i] != self.stack(i).count):
                fault = MISPLACED
        return fault

    cdef int follow(self, const Entry* entry) noexcept nogil:
        # The next entry of the history.
        cdef int value = entry.value
        self.next_entry += 1
        if entry.kind == DECIDED:
            self.decide(value)
        elif entry.kind == DREW:
            if self.hand_size + value > MAX_DECK:
                return NO_CARD
            while value > 0 and not self.overflowed:
                self.draw_one()
                value -= 1
        elif entry.kind == SPENT or entry.kind == LOST:
            if not 0 < value < CARDS:
                return NO_CARD
            self.give_up(value, entry.kind == LOST)
        elif entry.kind == PLACED_UNDER:
            if value >= STRUCTURES or self.placed[value] >= self.stack(value).count:
                return MISPLACED
            self.placed[value] += 1
            self.place(self.stack(value).cards[self.placed[value] - 1])
        elif entry.kind == TOOK_BACK:
            self.take_back()
        elif entry.kind == SHOWED:
            self.show(value, self.counts(entry))
        else:
            return self.reshuffle()
        return 0

    cdef const uint8_t* counts(self, const Entry* entry) noexcept nogil:
        return self.history.counts + entry.counted * CARDS

    cdef const Stack* stack(self, int structure) noexcept nogil:
        return &(<const CastleView*> &self.view).stacks[self.other * STRUCTURES + structure]

    cdef int start(self) noexcept nogil:
        # At the set-up, or where the history was summed up.
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef Guess guess
        cdef int i, _copy, fault
        memset(&guess, 0, sizeof(Guess))
        clear(self.now)
        self.overflowed = False
        self.pool_count = 0
        self.drawn_length = 0
        self.hidden_set_up = 0
        if not self.open_pool(&guess):
            return FOREIGN_DRAW
        if self.history.summed_up:
            self.next_entry = 1
            guess.blanks[0] = self.history.hand_size
        elif seen.common.phase == SET_UP:
            guess.kept = DEAL + seen.common.set_ups
        else:
            guess.kept = self.rules.set_ups
        for i in range(STRUCTURES):
            fault = self.start_structure(&guess, i)
            if fault:
                return fault
        # Each of these has fewer cards to choose from than the next.
        i = self.hidden_set_up + guess.kept
        if total_not_purple(guess.pools) < i:
            return FOREIGN_SET_UP
        i += guess.blanks_placed[0]
        if total(guess.pools) - guess.pools[OGRE] < i or total(guess.pools) < i + guess.blanks[0]:
            return FOREIGN_SET_UP
        self.hand_size = guess.kept + guess.blanks[0]
        self.keep(&guess, 1)
        if self.exact and seen.common.phase != SET_UP:
            for _copy in range(guess.kept):
                self.identify_kept()
        return 0

    cdef int start_structure(self, Guess* guess, int structure) noexcept nogil:
        # Finds the cards that a structure had at the start, or blanks for those that are not known.
        cdef const Stack* stack = self.stack(structure)
        cdef int set_up = PLACED * self.rules.set_ups
        cdef int first = 0, end = set_up, card, i
        if self.history.summed_up:
            first = self.history.tops[structure]
            end = self.history.stack_counts[structure]
            if end < set_up or end > stack.count or first > stack.top:
                return MISPLACED
        self.placed[structure] = end
        for i in range(first, min(end, stack.count)):
            card = stack.cards[i]
            if card:
                if guess.pools[card] == 0 or (i < set_up and is_purple(card)):
                    return FOREIGN_SET_UP
                guess.pools[card] -= 1
            elif i < set_up:
                self.hidden_set_up += 1
            else:
                guess.blanks_placed[0] += 1
                guess.placed[guess.placed_count] = BLANK
                guess.placed_count += 1
        return 0

    cdef void read_piles(self) noexcept nogil:
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef const Entry* entry
        cdef int pile = 0, at, i
        memcpy(self.piles, self.rules.tables.copies, CARDS)
        for i in range(self.history.entry_count):
            entry = &self.history.entries[i]
            if entry.kind == NEW_PILE:
                pile += entry.value == OF_DISCARDS
                memcpy(self.piles + pile * CARDS, self.counts(entry), CARDS)
        self.pile_total = pile + 1
        pile = 0
        for i in range(seen.own.drawn_length):
            if seen.own.drawn[i] == 0:
                pile += 1
            elif pile < MAX_PILES:
                at = pile * CARDS + seen.own.drawn[i]
                if self.piles[at]:
                    self.piles[at] -= 1
                else:
                    self.foreign[pile] = True

    cdef const uint8_t* last_pile(self) noexcept nogil:
        return self.piles + (self.pool_count - 1) * CARDS

    cdef bint open_pool(self, Guess* guess) noexcept nogil:
        # A new draw pile: what this seat has drawn of it is no part of the pool. False: it has
        # drawn what was not there.
        self.pool_count += 1
        memcpy(guess.pools + self.newest() * CARDS, self.last_pile(), CARDS)
        return not self.foreign[self.pool_count - 1]

    cdef int newest(self) noexcept nogil:
        return place_of_pool(self.pool_count - 1)

    cdef void next_step(self) noexcept nogil:
        cdef Population* now = self.then
        self.then = self.now
        self.now = now
        clear(now)

    cdef void keep(self, const Guess* guess, double weight) noexcept nogil:
        if weight > 0 and not add(self.now, guess, weight):
            self.overflowed = True

    # How likely a blank is a card. A set-up never holds a purple card, and what was put under a
    # structure without discards is no Ogre. As each of these has fewer cards to choose from than
    # the next, a pool can be dealt out in this order, and the chances multiply.

    cdef int set_up_blanks(self, const Guess* guess, int pool) noexcept nogil:
        return 0 if pool else self.hidden_set_up + guess.kept + guess.kept_placed

    cdef double kept_is(self, const Guess* guess, int card) noexcept nogil:
        # A blank of the set-up.
        if is_purple(card):
            return 0
        return guess.pools[card] / <double> total_not_purple(guess.pools)

    cdef double blank_is(self, const Guess* guess, int pool, int card) noexcept nogil:
        # Another blank of the hand, or the next card of the draw pile.
        cdef const uint8_t* cards = guess.pools + pool * CARDS
        cdef int set_up = self.set_up_blanks(guess, pool)
        cdef int placed = guess.blanks_placed[pool]
        cdef int left = total(cards) - set_up        # For all but the set-up,
        cdef int for_placed = left - cards[OGRE]
        cdef int plain
        cdef double p = cards[card]
        if p == 0 or left <= placed:
            return 0
        if card != OGRE and placed:
            # One of those that the cards put under a structure leave over.
            p *= (for_placed - placed) / <double> for_placed
        if not is_purple(card) and set_up:
            plain = total_not_purple(cards)
            p *= (plain - set_up) / <double> plain
        return p / (left - placed)

    # What the story tells

    cdef void decide(self, int flags) noexcept nogil:
        cdef int i
        if self.exact:
            for i in range(self.now.count):
                self.now.weights[i] /= turn_actions(
                    &self.rules.tables, self.now.guesses[i].known, flags, NULL)

    cdef void identify_kept(self) noexcept nogil:
        cdef Guess guess
        cdef int i, card
        cdef double p
        self.next_step()
        for i in range(self.then.count):
            for card in range(1, CARDS):
                guess = self.then.guesses[i]
                p = self.kept_is(&guess, card)
                if p > 0:
                    guess.kept -= 1
                    guess.pools[card] -= 1
                    guess.known[card] += 1
                    self.keep(&guess, self.then.weights[i] * p)

    cdef void draw_one(self) noexcept nogil:
        cdef Guess guess
        cdef int i, card, pool = self.newest()
        cdef double p
        self.hand_size += 1
        if not self.exact:
            for i in range(self.now.count):
                self.now.guesses[i].blanks[pool] += 1
            return
        self.next_step()
        for i in range(self.then.count):
            for card in range(1, CARDS):
                p = self.blank_is(&self.then.guesses[i], pool, card)
                if p > 0:
                    guess = self.then.guesses[i]
                    guess.pools[pool * CARDS + card] -= 1
                    guess.known[card] += 1
                    self.keep(&guess, self.then.weights[i] * p)
            if self.overflowed or self.now.count > self.exact_most:
                self.overflowed = True
                return

    cdef void give_up(self, int card, bint at_random) noexcept nogil:
        cdef int i
        self.next_step()
        for i in range(self.then.count):
            self.leave(&self.then.guesses[i], self.then.weights[i], card, at_random)
        self.hand_size -= 1

    cdef void place(self, int card) noexcept nogil:
        cdef int i
        if card:
            self.give_up(card, False)
            return
        self.next_step()
        for i in range(self.then.count):
            self.place_hidden(&self.then.guesses[i], self.then.weights[i])
        self.hand_size -= 1

    cdef void leave(self, const Guess* before, double weight, int card,
                    bint at_random) noexcept nogil:
        # Every way in which this card can have left the hand: as a known card or as a blank.
        cdef Guess guess
        cdef int pool
        cdef double p
        if before.known[card]:
            guess = before[0]
            guess.known[card] -= 1
            p = before.known[card] / <double> self.hand_size
            # A seat that chooses has one action for all cards that are alike.
            self.keep(&guess, weight * (1 if self.exact and not at_random else p))
        if before.kept:
            p = self.kept_is(before, card) * before.kept / self.hand_size
            if p > 0:
                guess = before[0]
                guess.kept -= 1
                guess.pools[card] -= 1
                self.keep(&guess, weight * p)
        for pool in range(MAX_POOLS):
            if before.blanks[pool]:
                p = self.blank_is(before, pool, card) * before.blanks[pool] / self.hand_size
                if p > 0:
                    guess = before[0]
                    guess.blanks[pool] -= 1
                    guess.pools[pool * CARDS + card] -= 1
                    self.keep(&guess, weight * p)

    cdef void place_hidden(self, const Guess* before, double weight) noexcept nogil:
        # Every way in which a card can have left the hand for a structure.
        cdef Guess guess
        cdef int card, pool
        cdef double p
        for card in range(1, CARDS):
            if before.known[card] and card != OGRE:
                guess = before[0]
                guess.known[card] -= 1
                p = before.known[card] / <double> self.hand_size
                self.keep_placed(&guess, weight * (1 if self.exact else p), card)
        if before.kept:
            guess = before[0]
            guess.kept -= 1
            guess.kept_placed += 1
            self.keep_placed(&guess, weight * before.kept / self.hand_size, KEPT_BLANK)
        for pool in range(MAX_POOLS):
            if before.blanks[pool]:
                p = (1 - self.blank_is(before, pool, OGRE)) * before.blanks[pool] / self.hand_size
                guess = before[0]
                guess.blanks[pool] -= 1
                guess.blanks_placed[pool] += 1
                self.keep_placed(&guess, weight * p, BLANK + pool)

    cdef void keep_placed(self, Guess* guess, double weight, int card) noexcept nogil:
        guess.placed[guess.placed_count] = card
        guess.placed_count += 1
        self.keep(guess, weight)

    cdef void take_back(self) noexcept nogil:
        cdef int i
        for i in range(self.now.count):
            self.now.guesses[i].known[VETERAN] += 1
        self.hand_size += 1

    cdef void show(self, int unit, const uint8_t* hand) noexcept nogil:
        # The hand is laid open. One after the other, each card that was shown is taken out of what
        # a guess has: as the known one that it must be, or as any blank.
        cdef int card, i, left
        self.next_step()
        if total(hand) != self.hand_size:
            return
        for i in range(self.then.count):
            for card in range(1, CARDS):
                if self.then.guesses[i].known[card] > hand[card]:
                    break
            else:
                self.keep(&self.then.guesses[i], self.then.weights[i])
        for card in range(1, CARDS):
            for left in range(hand[card], 0, -1):
                self.next_step()
                for i in range(self.then.count):
                    self.lay_open(&self.then.guesses[i], self.then.weights[i], card, left)
                self.hand_size -= 1
                if self.now.count > ROOM // (MAX_POOLS + 2):
                    self.thin_out()
        for card in range(1, CARDS):
            if not counts_as(card, unit):
                self.hand_size += hand[card]
                for i in range(self.now.count):
                    self.now.guesses[i].known[card] = hand[card]

    cdef void lay_open(self, const Guess* before, double weight, int card,
                       int left) noexcept nogil:
        # `left` of this card have still to be found. In which order they are is all one.
        cdef Guess guess
        if before.known[card]:
            guess = before[0]
            guess.known[card] -= 1
            self.keep(&guess, weight)
        else:
            self.leave(before, weight * self.hand_size / left, card, True)

    cdef int reshuffle(self) noexcept nogil:
        cdef Guess opened
        cdef Guess guesses[MAX_FOUND]
        cdef Guess* guess
        cdef bint by_chance
        cdef int i, pool, tries, found, n
        cdef int last = self.newest()
        self.remember_pool()
        memset(&opened, 0, sizeof(Guess))
        if not self.open_pool(&opened):
            return FOREIGN_DRAW
        pool = self.newest()
        self.next_step()
        for i in range(self.then.count):
            found = tries = 0
            while found < MAX_FOUND and tries < (TRIES if self.attempt else MAX_FOUND):
                guess = &guesses[found]
                guess[0] = self.then.guesses[i]
                identify_rest(guess, last)
                by_chance = self.make_room(guess, pool)
                memcpy(guess.pools + pool * CARDS, opened.pools + pool * CARDS, CARDS)
                tries += 1
                found += self.attempt == 0 or not by_chance or self.can_go_on(guess)
                if not by_chance:
                    break
            for n in range(found):
                self.keep(&guesses[n], self.then.weights[i] / tries)
        return 0

    cdef bint make_room(self, Guess* guess, int pool) noexcept nogil:
        # Whatever is left of the pool that was at this place is identified: whether by chance.
        cdef uint8_t cards[MAX_DECK]
        cdef int i, n
        if guess.blanks[pool] + guess.blanks_placed[pool] == 0:
            return False
        self.thinned = True
        n = self.shuffle_pool(guess, pool, cards, &self.thinning)
        for i in range(guess.placed_count):
            if guess.placed[i] == BLANK + pool and n:
                n -= 1
                guess.placed[i] = cards[n]
        while guess.blanks[pool] and n:
            n -= 1
            guess.known[cards[n]] += 1
            guess.blanks[pool] -= 1
        guess.blanks_placed[pool] = 0
        return True

    cdef void remember_pool(self) noexcept nogil:
        # All of the last pool has come to the opponent.
        cdef int card, _copy
        for card in range(1, CARDS):
            for _copy in range(self.last_pile()[card]):
                if self.drawn_length < MAX_DRAWN:
                    self.drawn[self.drawn_length] = card
                    self.drawn_length += 1
        if self.drawn_length < MAX_DRAWN:
            self.drawn[self.drawn_length] = 0
            self.drawn_length += 1

    cdef void thin_out(self) noexcept nogil:
        # Systematic resampling: a guess is kept as often as its chance goes into equal shares. The
        # chance is its weight; if that has failed, all chances are made more alike, and then alike.
        cdef double share, at, flat, all_flat = 0, sum_so_far = 0
        cdef int i, n
        self.thinned = True
        self.next_step()
        for i in range(self.then.count):
            all_flat += pow(self.then.weights[i], self.power)
        share = 2.0 / self.most
        at = rng_double(&self.thinning) * share
        for i in range(self.then.count):
            flat = pow(self.then.weights[i], self.power) / all_flat
            sum_so_far += flat
            n = 0
            while at < sum_so_far:
                n += 1
                at += share
            if n:
                self.keep(&self.then.guesses[i], n * share * self.then.weights[i] / flat)
        normalize(self.now)

    # Looking ahead. What is needed later is either known or a blank, and each pool has only so many
    # blanks, and so many of each card. Until the hand is shown next, both limits are kept at once;
    # after that, the cards are counted one by one, each as if the blanks were there for it alone.

    cdef void look_ahead(self) noexcept nogil:
        # Drops guesses that the rest of the story will make impossible.
        cdef int i
        self.next_step()
        for i in range(self.then.count):
            if self.can_go_on(&self.then.guesses[i]):
                self.keep(&self.then.guesses[i], self.then.weights[i])
        if self.now.count:
            normalize(self.now)

    cdef bint can_go_on(self, const Guess* guess) noexcept nogil:
        # Whether each card that will leave the hand, or be shown in it, can be in it by then. That
        # is not all that must be so, hence some guesses that pass still fail later.
        cdef const Entry* entry
        cdef Needs needs
        cdef int value, card, i, pool
        cdef int placed[STRUCTURES]
        self.clear_needs(&needs)
        memcpy(placed, self.placed, sizeof(placed))
        for card in range(1, CARDS):
            needs.hand[card] = guess.known[card]
        needs.pile = self.pool_count - 1
        needs.newest = min(needs.pile, MAX_POOLS - 1)
        for i in range(needs.newest + 1):
            pool = place_of_pool(needs.pile - needs.newest + i if i else 0)
            memcpy(needs.pools + i * CARDS, guess.pools + pool * CARDS, CARDS)
            needs.blanks[i] = guess.blanks[pool] + (0 if i else guess.kept)
        for i in range(self.next_entry, self.history.entry_count):
            entry = &self.history.entries[i]
            value = entry.value
            if entry.kind == DREW:
                needs.blanks[needs.newest] += value
            elif entry.kind == SPENT or entry.kind == LOST:
                if not 0 < value < CARDS or not need(&needs, value):
                    return False
            elif entry.kind == PLACED_UNDER:
                if value >= STRUCTURES or placed[value] >= self.stack(value).count:
                    return False
                card = self.stack(value).cards[placed[value]]
                placed[value] += 1
                if card == 0:
                    needs.places += 1
                elif not need(&needs, card):
                    return False
            elif entry.kind == TOOK_BACK:
                needs.hand[VETERAN] += 1
            elif entry.kind == SHOWED:
                if not need_all(&needs, value, self.counts(entry)):
                    return False
            elif entry.kind == NEW_PILE:
                needs.pile += 1
                needs.newest += 1
                memcpy(needs.pools + needs.newest * CARDS, self.piles + needs.pile * CARDS, CARDS)
        return True

    cdef void clear_needs(self, Needs* needs) noexcept nogil:
        # No more pools than there are piles, which are few next to the room for them.
        cdef int pools = min(self.pile_total + MAX_POOLS, POOLS_AHEAD)
        memset(needs.hand, 0, sizeof(needs.hand))
        memset(needs.blanks, 0, pools * sizeof(int))
        memset(needs.taken, 0, pools * CARDS)
        memset(needs.dealt, 0, pools * sizeof(int))
        memset(needs.cards, 0, pools * CARDS)
        needs.places = 0
        needs.shown = False

    # Whether the view contradicts itself

    cdef check_whole(self):
        # Whatever else is wrong shows in a world: it would have shown the seat something else.
        cdef State state
        cdef View shown
        cdef Rng rng
        rng_seed(&rng, 0)
        self.draw(&state, &rng)
        self.rules.view(&state, self.seat, &shown)
        if memcmp(&shown, &self.view, sizeof(View)):
            raise ViewError("", "must hold nothing beyond what it counts")

    cdef check_ranges(self):
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef const Common* common = &seen.common
        cdef const Stack* stack
        cdef int seat, at, i, least, placed = 0
        if common.phase > TURN:
            raise ViewError("common.phase", f"must be at most {TURN}")
        if common.turn > self.rules.turn_limit or (common.phase == SET_UP) != (common.turn == 0):
            raise ViewError("common.turn", "must be as many as the phase and the ruleset say")
        if common.strengthened > 1:
            raise ViewError("common.strengthened", "must be 0 or 1")
        if not common.strengthened <= common.decisions <= MAX_DECISIONS or (
                common.phase == SET_UP and common.decisions):
            raise ViewError("common.decisions", "must be as many as a turn can have")
        if common.active >= SEATS:
            raise ViewError("common.active", "must be 0 or 1")
        if common.set_ups > self.rules.set_ups or (
                (common.phase == SET_UP) != (common.set_ups < self.rules.set_ups)):
            raise ViewError("common.set_ups", "must be as many as the phase says")
        if common.winner != NO_SEAT and (common.phase != OVER or common.winner >= SEATS):
            raise ViewError("common.winner", f"must be {NO_SEAT} before the end")
        if common.discards[0] or seen.own.hand[0]:
            raise ViewError("common.discards[0]" if common.discards[0] else "own.hand[0]",
                            "must be 0: it is no card")
        if common.draw_size > MAX_DECK:
            raise ViewError("common.draw_size", f"must be at most {MAX_DECK}")
        if not 0 <= seen.own.drawn_length <= MAX_DRAWN:
            raise ViewError("own.drawn_length", f"must be 0 to {MAX_DRAWN}")
        if seen.own.kept >= CARDS:
            raise ViewError("own.kept", f"must be at most {CARDS - 1}")
        for i in range(seen.own.drawn_length):
            if seen.own.drawn[i] >= CARDS:
                raise ViewError(f"own.drawn[{i}]", f"must be at most {CARDS - 1}")
        for seat in range(SEATS):
            if not 0 <= common.sides[seat].history_length <= MAX_HISTORY:
                raise ViewError(f"common.sides[{seat}].history_length",
                                f"must be 0 to {MAX_HISTORY}")
        for at in range(SEATS * STRUCTURES):
            stack = &seen.stacks[at]
            least = PLACED * common.set_ups
            if not least <= stack.count <= MAX_STACK:
                raise ViewError(f"stacks[{at}].count", f"must be {least} to {MAX_STACK}")
            placed += stack.count - least
            if at % STRUCTURES == STRUCTURES - 1:
                if placed > self.turns_of(at // STRUCTURES):
                    raise ViewError(f"stacks[{at}].count", "must be one more a turn at the most")
                placed = 0
            if stack.top > stack.count:
                raise ViewError(f"stacks[{at}].top", "must be at most its count")
            if common.phase == SET_UP and stack.count != least:
                raise ViewError(f"stacks[{at}].count", f"must be {least} in the set-up")
            for i in range(stack.count, MAX_STACK):
                if stack.cards[i] or stack.known[i]:
                    raise ViewError(f"stacks[{at}].count", "must be the number of its cards")
            for i in range(stack.count):
                if stack.cards[i] >= CARDS:
                    raise ViewError(f"stacks[{at}].cards[{i}]", f"must be at most {CARDS - 1}")
                if stack.known[i] > SHOWN or (i < stack.top and stack.known[i] != SHOWN):
                    raise ViewError(f"stacks[{at}].known[{i}]", "must say who knows the card")
                if (stack.cards[i] == 0) != (
                        at // STRUCTURES == self.other and stack.known[i] == HIDDEN):
                    raise ViewError(f"stacks[{at}].cards[{i}]", "must be what the seat knows")
        if common.phase == SET_UP:
            for seat in range(SEATS):
                if common.sides[seat].history_length or common.sides[seat].hand_size != DEAL:
                    raise ViewError(f"common.sides[{seat}]", "must be as it is in the set-up")

    cdef int turns_of(self, int seat) noexcept nogil:
        # In how many turns a seat can have strengthened.
        cdef const Common* common = &(<const CastleView*> &self.view).common
        if seat == common.active:
            return (common.turn - 1) // 2 + common.strengthened
        return common.turn // 2

    cdef check_end(self):
        # What is left must be in the numbers that everyone sees, and of the ruleset's cards.
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef const Common* common = &seen.common
        cdef const Guess* guess = &self.now.guesses[0]
        cdef int card, at, i
        cdef int left[CARDS]
        cdef int size = self.hand_size - (common.set_ups if common.phase == SET_UP else 0)
        if common.sides[self.other].hand_size != size:
            raise ViewError(f"common.sides[{self.other}].hand_size",
                            "must be what the story of the hand leaves")
        if common.sides[self.seat].hand_size != total(seen.own.hand):
            raise ViewError("own.hand", "must be as many cards as everyone sees")
        for card in range(CARDS):
            left[card] = self.rules.tables.copies[card] - seen.own.hand[card]
            left[card] -= common.discards[card] + guess.known[card]
            for i in range(MAX_POOLS):
                left[card] -= guess.pools[i * CARDS + card]
        left[seen.own.kept] -= seen.own.kept > 0
        left[CATAPULT] -= common.sides[0].catapults + common.sides[1].catapults
        left[GRANARY] -= common.sides[0].granaries + common.sides[1].granaries
        for at in range(SEATS * STRUCTURES):
            for i in range(seen.stacks[at].top, seen.stacks[at].count):
                left[seen.stacks[at].cards[i]] -= seen.stacks[at].cards[i] > 0
        for i in range(guess.placed_count):
            if guess.placed[i] < CARDS:
                left[guess.placed[i]] -= 1
        for card in range(1, CARDS):
            if left[card]:
                raise ViewError("", f"must hold each copy of card {card} in one place")
        for i in range(MAX_POOLS):
            size = guess.blanks[i] + guess.blanks_placed[i] + self.set_up_blanks(guess, i)
            if i == self.newest():
                size += common.draw_size
            if size != total(guess.pools + i * CARDS):
                raise ViewError("common.draw_size", "must be what the draws have left")

    # Drawing worlds

    cdef void cumulate(self) noexcept nogil:
        cdef int i
        for i in range(1, self.now.count):
            self.now.weights[i] += self.now.weights[i - 1]

    cdef const Guess* pick(self, Rng* rng) noexcept nogil:
        cdef double at = rng_double(rng) * self.now.weights[self.now.count - 1]
        cdef int low = 0, high = self.now.count - 1, middle
        while low < high:
            middle = (low + high) // 2
            if self.now.weights[middle] > at:
                high = middle
            else:
                low = middle + 1
        return &self.now.guesses[low]

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef CastleState* rampage = <CastleState*> state
        cdef Own* own = &rampage.own[self.other]
        cdef const Guess* guess = self.pick(rng)
        cdef uint8_t cards[MAX_POOLS * MAX_DECK]
        cdef int left[MAX_POOLS]
        cdef int set_up_left, pool, card, _copy
        memset(state, 0, sizeof(State))
        rampage.common = seen.common
        rampage.own[self.seat] = seen.own
        memcpy(rampage.stacks, seen.stacks, sizeof(rampage.stacks))
        for card in range(1, CARDS):
            own.hand[card] = guess.known[card]
        for pool in range(MAX_POOLS):
            left[pool] = self.shuffle_pool(guess, pool, cards + pool * MAX_DECK, rng)
            left[pool] -= self.set_up_blanks(guess, pool)
        set_up_left = left[0] + self.set_up_blanks(guess, 0)
        self.fill_set_up(rampage, guess, cards, &set_up_left)
        self.fill_placed(rampage, guess, cards, left, &set_up_left)
        for pool in range(MAX_POOLS):
            for _copy in range(guess.blanks[pool]):
                left[pool] -= 1
                own.hand[cards[pool * MAX_DECK + left[pool]]] += 1
        memcpy(rampage.draw_pile, cards + self.newest() * MAX_DECK, left[self.newest()])
        self.fill_drawn(rampage)

    cdef int shuffle_pool(self, const Guess* guess, int pool, uint8_t* cards,
                          Rng* rng) noexcept nogil:
        # The set-up's blanks come last, and those under structures before them; how many cards.
        cdef const uint8_t* counts = guess.pools + pool * CARDS
        cdef int card, _copy, purple = 0, n
        for _copy in range(counts[OGRE]):
            cards[purple] = OGRE
            purple += 1
        for card in range(1, CARDS):
            if is_purple(card) and card != OGRE:
                for _copy in range(counts[card]):
                    cards[purple] = card
                    purple += 1
        n = purple
        for card in range(1, CARDS):
            if not is_purple(card):
                for _copy in range(counts[card]):
                    cards[n] = card
                    n += 1
        card = n - self.set_up_blanks(guess, pool)
        if card < n:
            rng_shuffle(rng, cards + purple, n - purple)
        if guess.blanks_placed[pool]:
            rng_shuffle(rng, cards + counts[OGRE], card - counts[OGRE])
            card -= guess.blanks_placed[pool]
        rng_shuffle(rng, cards, card)
        return n

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
        # In the order of the history.
        cdef int first[STRUCTURES]
        cdef int structure, i, n = 0
        cdef const Entry* entry
        for structure in range(STRUCTURES):
            first[structure] = PLACED * self.rules.set_ups
            if self.history.summed_up:
                for i in range(first[structure], self.history.stack_counts[structure]):
                    n += self.fill_one(rampage, guess, n, structure, i, cards, left, set_up_left)
                first[structure] = self.history.stack_counts[structure]
        for i in range(self.history.entry_count):
            entry = &self.history.entries[i]
            if n == guess.placed_count:
                return
            if entry.kind == PLACED_UNDER:
                structure = entry.value
                n += self.fill_one(rampage, guess, n, structure, first[structure], cards, left,
                                   set_up_left)
                first[structure] += 1

    cdef bint fill_one(self, CastleState* rampage, const Guess* guess, int n, int structure, int at,
                       const uint8_t* cards, int* left, int* set_up_left) noexcept nogil:
        # Fills a place of a structure with the n-th card placed; False if it is known.
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
        # Of the newest pool he has drawn what is not in the draw pile.
        cdef Own* own = &rampage.own[self.other]
        cdef int left[CARDS]
        cdef int card, i, _copy
        memcpy(own.drawn, self.drawn, self.drawn_length)
        own.drawn_length = self.drawn_length
        for card in range(CARDS):
            left[card] = self.last_pile()[card]
        for i in range(rampage.common.draw_size):
            left[rampage.draw_pile[i]] -= 1
        for card in range(1, CARDS):
            for _copy in range(left[card]):
                if own.drawn_length < MAX_DRAWN:
                    own.drawn[own.drawn_length] = card
                    own.drawn_length += 1
