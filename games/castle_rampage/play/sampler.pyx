"""The worlds that fit a view of Castle Rampage.

Everyone remembers the history of a hand: when it drew, which cards it spent, when it put a card
face down under a structure, when a Priest showed it, and the cards of each new draw pile. A seat
also remembers its own draws. The sampler goes through the history of the opponent's hand and keeps
a population of particles, each with a weight: a particle filter. A particle says of the opponent's
cards

- which are *known*: a hand card that a Priest showed, or a Veteran that came back;
- how many are *blank*, and from which pool. A pool is the set of cards that one draw pile held and
  that this seat did not draw. The cards of a pool that are not known elsewhere are equally likely
  to be any of its blanks. When the pile has run out, its pool holds only the blanks left from it;
- which were *placed* under a structure and are still hidden: a known card, or a blank.

Each entry of the history turns a particle into others, by Bayes' rule, and equal particles are
merged:

- the hand spends or loses a card: the card was a known one, or a blank of a pool that holds such a
  card. A particle in which the hand cannot hold the card is dropped;
- a card goes under a structure: any card of the hand, known or blank. So a card that was seen in
  the hand may lie there now or may still be in the hand. If the card has been revealed since (it
  was destroyed, went back on top, or was seen by a Spy), the sampler uses that at once and treats
  the card as spent at this entry. A hidden card is never an Ogre, which everyone would know by its
  discards;
- a Veteran comes back, or a Priest shows the hand: these cards are known, and the particles that
  say otherwise are dropped;
- the discard pile becomes a draw pile: a new pool.

The set-up cards are never purple, so they are blanks of their own within the first pool. The draw
pile is in any order in every particle. A history that was summed up (see the module `history`)
starts from one particle, in which the hand and all hidden cards are blanks of one pool.

*Soundness and completeness.* No drawn world would have shown the seat anything else, and every
world that would have shown the seat the same can be drawn, unless particles were thinned out.

*Proportions.* An opponent that chooses uniformly among n legal actions plays a given one with
probability 1 / n, and n depends on its whole hand. So an exact posterior knows all hand cards in
every particle, and each draw makes as many particles as there are cards to draw. A posterior that
would have more than MAX_EXACT particles, as in most positions of the full game, or whose history
was summed up, is blind: it assumes that each card that leaves the hand is any of its cards with the
same probability. The weights of a blind posterior are exact under this assumption, until it has
more than MAX_BLIND particles. These are then thinned out by systematic resampling, which keeps
every expectation (J. Carpenter, P. Clifford, P. Fearnhead, "Improved particle filter for nonlinear
problems", IEE Proceedings 146(1), 1999). So of the very many possible hands, the hands that can be
drawn differ from view to view. A particle has at most MAX_POOLS pools: the rest of an older one is
dealt out at random, in a few ways for each particle.

*What was learned.* With the beliefs of a model, a posterior is blind from the start, and neither a
card that leaves the hand nor a blank is any card alike. A blank of the set-up is a card with the
probability that the model puts that card there, one under a structure likewise, and one in hand by
how likely the choices since then were with it (games/castle_rampage/play/likelihoods.pyx). A
world deals the cards of a pool in these proportions.

*Failure.* A late entry can contradict all particles that are left: a Dragon that was held for
twenty turns is in few of them. If all particles fail, the posterior goes through the history again
and looks ahead: before particles are thinned out, it drops those that cannot hold the cards that
the hand will give up or show. If that fails, too, it keeps more particles, and prefers likely ones
less. Where all of that fails with what was learned, which can be sure of something wrong, the
posterior does without it.

*Stages*, each a module beside this one: `particles` (a particle, a population, looking ahead),
`likelihoods`, `posterior` (going through the history) and `view_checks`. Here worlds are drawn.
"""

from libc.stdint cimport uint16_t
from libc.string cimport memcpy, memset

from engine.chance cimport Rng, rng_double, rng_next
from engine.game cimport SEATS, State
from engine.integers cimport uint64_t, uint8_t
from engine.sampler cimport Sampler
from games.castle_rampage.play.features cimport KEPT, CastleRampageFeatures
from games.castle_rampage.play.likelihoods cimport HandWeights
from games.castle_rampage.play.particles cimport (
    BLANK, KEPT_BLANK, MAX_PLACED, MAX_POOLS, POOL_ROOM, Particle, Population, cumulate, pick,
    release, set_up_blanks, shuffle_pool, shuffle_to_end,
)
from games.castle_rampage.play.posterior cimport HandPosterior
from games.castle_rampage.play.view_checks cimport check_posterior, check_ranges
from games.castle_rampage.rules.history cimport Entry, History, remember_drawn
from games.castle_rampage.rules.rules cimport CastleRampage
from games.castle_rampage.rules.state cimport (
    CARDS, DEAL, MAX_DRAWN, MAX_HISTORY, MAX_SET_UPS, OGRE, PLACED, PLACED_UNDER, SET_UP,
    STRUCTURES, CastleState, CastleView, Own, Side, Stack, is_purple,
)

from engine.errors import ViewError
from games.castle_rampage.play.posterior import FAULTS

ALWAYS_EXACT = 1 << 30           # More particles than an exact posterior can have.

cdef enum:
    SLOTS = 32                   # Of an alias table, one for each card.
    SLOT_BITS = 5
    SHARE_BITS = 11
    MAX_SET_UP_PLACES = MAX_SET_UPS * PLACED * STRUCTURES
    TRIES = 8                    # Cards drawn for a blank before those left are looked through.
    LEFT_BITS = 16               # Of a number that says whether a card is left,
    WORD_BITS = SLOT_BITS + SHARE_BITS + LEFT_BITS    # and of all that one try takes.

cdef struct Lots:                # One card is drawn from these with the probabilities of one place.
    uint16_t shares[SLOTS]       # How many of 2^SHARE_BITS draws of a slot give its card;
    uint8_t others[SLOTS]        # the others give this one.
    double weights[CARDS]

cdef struct Dealing:
    int set_up_places
    uint8_t at_set_up[MAX_SET_UP_PLACES]    # Which place of a set-up each hidden card has.
    int dealt                    # Of the cards kept, those that are not chosen from yet.
    uint8_t most[MAX_POOLS * CARDS]         # The most copies of each card that a particle deals.
    Lots set_up[DEAL + 1]        # By place, the last one for cards that were just dealt.
    Lots kept_under[STRUCTURES]  # Cards kept at the set-up that went under a structure,
    Lots under[MAX_POOLS * STRUCTURES]      # and others there.
    Lots hand[MAX_POOLS]         # Blanks in hand.
    const uint8_t* structures    # Under which structure each card of a particle was placed.

cdef struct Place:               # Of a card in a structure.
    uint8_t stack
    uint8_t at


cdef class CastleRampageSampler(Sampler):
    """The worlds that fit a view: the opponent's cards by their posterior, the pile shuffled."""

    cdef CastleRampage rules
    cdef int other
    cdef HandPosterior posterior
    # What is the same in all worlds:
    cdef CastleState common_part    # Their cards, where the seat knows them.
    cdef int pools                  # The number of places of pools in a particle that are in use.
    # Where the opponent's hidden cards lie: of the set-up, and those put under a structure since.
    cdef int set_up_places
    cdef Place[MAX_SET_UPS * PLACED * STRUCTURES] set_up_at
    cdef Place[MAX_PLACED] placed_at
    cdef Dealing dealing         # By what was learned,
    cdef CastleRampageFeatures learned  # or None.
    cdef uint8_t[MAX_PLACED] placed_under

    def __init__(self, view, model=None, int exact_most=ALWAYS_EXACT):
        """Raise ViewError if no world fits.

        An exact posterior has at most `exact_most` particles.
        """
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef int at = 0
        cdef int fault
        super().__init__(view, model)
        if model is not None:
            self.learned = model.foresight
        self.rules = self.game
        self.other = 1 - self.seat
        check_ranges(self.rules, seen)
        fault = self.go_through(exact_most, &at)
        if fault and self.learned is not None:
            self.learned = None
            fault = self.go_through(exact_most, &at)
        if fault:
            raise ViewError(f"common.sides[{self.other}].history[{at}]", FAULTS[fault])
        check_posterior(self.posterior)
        self.prepare()
        cumulate(self.posterior.now)
        self.check_whole()

    cdef int go_through(self, int exact_most, int* at):
        cdef int fault
        self.posterior = HandPosterior(self.rules, self.seat, exact_most, self.learned)
        self.posterior.seen = <const CastleView*> &self.view
        self.posterior.past.stacks = &self.posterior.seen.stacks[self.other * STRUCTURES]
        with nogil:
            fault = self.posterior.go_through(at)
            release(self.posterior.then)
        return fault

    @property
    def exact(self):
        """Whether worlds are weighted by choices among legal actions."""
        return self.posterior.exact

    @property
    def thinned(self):
        """Whether any particle was left out at random."""
        return self.posterior.thinned

    @property
    def attempt(self):
        """The number of attempts to go through the history that have failed."""
        return self.posterior.attempt

    cdef prepare(self):
        # What is the same in all worlds.
        cdef const CastleView* seen = <const CastleView*> &self.view
        cdef Own* own = &self.common_part.own[self.other]
        memset(&self.common_part, 0, sizeof(CastleState))
        self.common_part.common = seen.common
        self.common_part.own[self.seat] = seen.own
        memcpy(self.common_part.stacks, seen.stacks, sizeof(seen.stacks))
        memcpy(own.drawn, self.posterior.drawn, self.posterior.drawn_length)
        own.drawn_length = self.posterior.drawn_length
        self.pools = min(self.posterior.past.pool_count, MAX_POOLS)
        self.list_set_up_places()
        self.list_placed_places()
        if self.learned is not None:
            self.prepare_dealing()

    cdef prepare_dealing(self):
        cdef HandPosterior posterior = self.posterior
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
        prepare_lots(dealing, posterior, self.pools)

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
        # In the order of the history, as particles have the cards there.
        cdef const History* history = &self.posterior.past.history
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
        cdef const Particle* particle = pick(self.posterior.now, rng)
        cdef uint8_t cards[MAX_POOLS * POOL_ROOM]
        cdef int left[MAX_POOLS]
        cdef int hidden = self.posterior.past.hidden_set_up
        cdef int newest = self.posterior.newest()
        cdef int set_up_left, pool, card, size, i, _copy
        copy_used(rampage, &self.common_part)
        memcpy(own.hand, particle.known, CARDS)
        for pool in range(self.pools):
            left[pool] = 0
            if (pool == 0 or pool == newest or particle.blanks[pool]
                    or particle.blanks_placed[pool]):
                if self.learned is None:
                    left[pool] = shuffle_pool(particle, pool, hidden, cards + pool * POOL_ROOM, rng)
                else:
                    left[pool] = deal_pool(&self.dealing, particle, pool, hidden,
                                           cards + pool * POOL_ROOM, rng)
                left[pool] -= set_up_blanks(particle, pool, hidden)
        size = left[newest] + set_up_blanks(particle, newest, hidden)
        set_up_left = left[0] + set_up_blanks(particle, 0, hidden)
        for i in range(self.set_up_places):
            set_up_left -= 1
            rampage.stacks[self.set_up_at[i].stack].cards[self.set_up_at[i].at] = cards[set_up_left]
        for i in range(particle.kept):
            set_up_left -= 1
            if i == DEAL:
                own.kept = cards[set_up_left]
            else:
                own.hand[cards[set_up_left]] += 1
        for i in range(particle.placed_count):
            card = particle.placed[i]
            if card == KEPT_BLANK:
                set_up_left -= 1
                card = cards[set_up_left]
            elif card >= BLANK:
                pool = card - BLANK
                left[pool] -= 1
                card = cards[pool * POOL_ROOM + left[pool]]
            rampage.stacks[self.placed_at[i].stack].cards[self.placed_at[i].at] = card
        for pool in range(self.pools):
            for _copy in range(particle.blanks[pool]):
                left[pool] -= 1
                own.hand[cards[pool * POOL_ROOM + left[pool]]] += 1
        memcpy(rampage.draw_pile, cards + newest * POOL_ROOM, left[newest])
        self.fill_drawn(own, particle, cards + newest * POOL_ROOM + left[newest],
                        size - left[newest])

    cdef void fill_drawn(self, Own* own, const Particle* particle, const uint8_t* dealt,
                         int n) noexcept nogil:
        # The opponent has drawn the cards of the newest pool that are not in the draw pile: those
        # that the particle knows elsewhere, and those that are dealt to its blanks.
        cdef const uint8_t* pile = self.posterior.last_pile()
        cdef const uint8_t* unknown = particle.pools + self.posterior.newest() * CARDS
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


# Dealing cards to the blanks of a particle, by how likely each card is at each place.
#
# The blanks are dealt cards one after the other, in the order in which the sampler takes them. Each
# gets one of the cards that are left, with a probability in proportion to how likely that card is
# at its place. It comes from a table of the cards that any particle has in the pool (A. J. Walker,
# "An Efficient Method for Generating Discrete Random Variables with General Distributions", ACM
# Transactions on Mathematical Software 3(3), 1977), and is taken with the probability that it is
# left, so one table serves all particles. Where a card is refused again and again, the cards that
# are left are looked through instead.

cdef void fill_lots(Lots* lots, const uint8_t* copies, const double* weights) noexcept nogil:
    # Walker's method, with the small and the large slots in two stacks (M. D. Vose, 1991).
    cdef double chances[SLOTS]
    cdef int small[SLOTS]
    cdef int large[SLOTS]
    cdef int smalls = 0, larges = 0, slot, other
    cdef double sum = 0
    memset(chances, 0, sizeof(chances))
    memset(lots, 0, sizeof(Lots))
    for slot in range(1, CARDS):
        lots.weights[slot] = weights[slot]
        chances[slot] = copies[slot] * weights[slot]
        sum += chances[slot]
    if sum <= 0:
        return
    for slot in range(SLOTS):
        chances[slot] *= SLOTS / sum
        lots.others[slot] = slot
        if chances[slot] < 1:
            small[smalls] = slot
            smalls += 1
        else:
            large[larges] = slot
            larges += 1
    while smalls and larges:
        smalls -= 1
        slot, other = small[smalls], large[larges - 1]
        lots.shares[slot] = <uint16_t> (chances[slot] * (1 << SHARE_BITS))
        # No card that can be there is ruled out.
        if chances[slot] > 0 and lots.shares[slot] == 0:
            lots.shares[slot] = 1
        lots.others[slot] = other
        chances[other] -= 1 - chances[slot]
        if chances[other] < 1:
            larges -= 1
            small[smalls] = other
            smalls += 1
    while larges:
        larges -= 1
        lots.shares[large[larges]] = 1 << SHARE_BITS
    while smalls:                # By rounding.
        smalls -= 1
        lots.shares[small[smalls]] = 1 << SHARE_BITS if chances[small[smalls]] > 0.5 else 0


cdef prepare_lots(Dealing* dealing, HandPosterior posterior, int pools):
    cdef CastleRampageFeatures learned = posterior.learned
    cdef const HandWeights* weights = &posterior.weights
    cdef const Population* particles = posterior.now
    cdef double products[CARDS]
    cdef double flat[CARDS]
    cdef uint8_t* most = dealing.most
    cdef int i, card, pool, structure
    memset(most, 0, sizeof(dealing.most))
    for i in range(particles.count):
        for card in range(pools * CARDS):
            most[card] = max(most[card], particles.particles[i].pools[card])
    for card in range(CARDS):
        flat[card] = not is_purple(card)
        products[card] = weights.kept[card] * flat[card]
    for i in range(DEAL):
        if i == KEPT:
            fill_lots(&dealing.set_up[i], most, products)
        else:
            fill_lots(&dealing.set_up[i], most, learned.set_up[i])
    fill_lots(&dealing.set_up[DEAL], most, flat)
    for structure in range(STRUCTURES):
        for card in range(CARDS):
            products[card] = (learned.set_up[KEPT][card] * learned.under[structure][card]
                              * flat[card])
        fill_lots(&dealing.kept_under[structure], most, products)
    for pool in range(pools):
        fill_lots(&dealing.hand[pool], most + pool * CARDS, weights.pools[pool])
        for structure in range(STRUCTURES):
            memcpy(products, learned.under[structure], sizeof(products))
            products[OGRE] = 0
            fill_lots(&dealing.under[pool * STRUCTURES + structure], most + pool * CARDS, products)


cdef inline int draw_lot(const Lots* lots, const uint8_t* most, uint8_t* left, uint64_t* bits,
                         Rng* rng) noexcept nogil:
    # Takes one of the cards that are left.
    cdef uint64_t word = bits[0]
    cdef int _try, card
    for _try in range(TRIES):
        if word == 0:
            word = rng_next(rng)
        card = word & (SLOTS - 1)
        if <int> (word >> SLOT_BITS & ((1 << SHARE_BITS) - 1)) >= lots.shares[card]:
            card = lots.others[card]
        if (word >> (SLOT_BITS + SHARE_BITS) & ((1 << LEFT_BITS) - 1)) * most[card] < (
                <uint64_t> left[card] << LEFT_BITS):
            left[card] -= 1
            bits[0] = word >> WORD_BITS
            return card
        word >>= WORD_BITS
    bits[0] = word
    card = look_through(lots, left, rng)
    left[card] -= 1
    return card


cdef int look_through(const Lots* lots, const uint8_t* left, Rng* rng) noexcept nogil:
    cdef double at, sum = 0
    cdef int card, last = 0
    for card in range(1, CARDS):
        sum += left[card] * lots.weights[card]
    at = rng_double(rng) * sum
    for card in range(1, CARDS):
        if left[card] and lots.weights[card] > 0:
            last = card
            at -= left[card] * lots.weights[card]
            if at < 0:
                break
    return last


cdef int deal_pool(const Dealing* dealing, const Particle* particle, int pool, int hidden,
                   uint8_t* cards, Rng* rng) noexcept nogil:
    # From the end: the cards of the set-up, those put under structures, those in hand, the pile.
    cdef const uint8_t* most = dealing.most + pool * CARDS
    cdef const uint8_t* counts = particle.pools + pool * CARDS
    cdef uint8_t left[CARDS]
    cdef uint64_t bits = 0
    cdef int card, i, n = 0, end, _copy
    memcpy(left, counts, CARDS)
    for card in range(1, CARDS):
        n += left[card]
    end = n
    if set_up_blanks(particle, pool, hidden):
        for i in range(dealing.set_up_places):
            end -= 1
            cards[end] = draw_lot(&dealing.set_up[dealing.at_set_up[i]], most, left, &bits, rng)
        for i in range(particle.kept):
            end -= 1
            cards[end] = draw_lot(&dealing.set_up[DEAL if i < dealing.dealt else KEPT], most,
                                  left, &bits, rng)
        for i in range(particle.placed_count):
            if particle.placed[i] == KEPT_BLANK:
                end -= 1
                cards[end] = draw_lot(&dealing.kept_under[dealing.structures[i]], most, left,
                                      &bits, rng)
    for i in range(particle.placed_count):
        if particle.placed[i] == BLANK + pool:
            end -= 1
            cards[end] = draw_lot(
                &dealing.under[pool * STRUCTURES + dealing.structures[i]], most, left, &bits, rng)
    for _copy in range(particle.blanks[pool]):
        end -= 1
        cards[end] = draw_lot(&dealing.hand[pool], most, left, &bits, rng)
    i = 0
    for card in range(1, CARDS):
        for _copy in range(left[card]):
            cards[i] = card
            i += 1
    shuffle_to_end(cards, end, end, rng)
    return n
