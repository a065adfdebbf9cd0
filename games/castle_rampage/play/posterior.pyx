"""The posterior of a hand: the particles that fit its history, with their weights.

It starts from one particle, in which every card is blank, and goes through the hand history. Each
entry turns a particle into others, by Bayes' rule, and equal particles are merged.
play/sampler.pyx explains when a posterior is exact. With what was learned, it is
blind, and each blank is a certain card with the probability that the past choices make of it.
"""

from libc.string cimport memcpy, memset

from engine.chance cimport rng_seed
from games.castle_rampage.play.likelihoods cimport (
    add_drawn_card, begin_hand, mean_of, open_pool_of, take_card, weigh_choice,
)
from games.castle_rampage.play.particles cimport (
    BLANK, KEPT_BLANK, MAX_POOLS, POOL_ROOM, ROOM, add, allocate, blank_is, can_go_on, clear,
    counts_of, identify_rest, kept_is, normalize, read_piles, release, shuffle_pool, thin_out,
    total, total_not_purple,
)
from games.castle_rampage.rules.actions cimport turn_actions
from games.castle_rampage.rules.history cimport CUT_SHORT, NO_CARD, read_history
from games.castle_rampage.rules.state cimport (
    DEAL, DECIDED, DREW, LOST, MAX_DECK, OGRE, PLACED, PLACED_UNDER, SET_UP, SHOWED, SPENT,
    STRUCTURES, TOOK_BACK, VETERAN, Stack, counts_as, is_purple,
)

cdef enum:
    MAX_EXACT = 2048             # The most particles of an exact posterior,
    MAX_BLIND = 128              # of a blind posterior in the first two attempts,
    MAX_BLIND_LATER = 512        # and of a blind posterior in later attempts.
    MAX_FOUND = 4                # The most ways to identify the rest of a pool, for each particle,
    TRIES = 64                   # and the most ways that are tried to find them.
    ATTEMPTS = 10                # Attempts of a blind posterior; each after the first looks ahead.

    # Faults of a history, besides NO_CARD and CUT_SHORT
    TOO_MANY = 100               # Not a fault: an exact posterior would have too many particles.
    IMPOSSIBLE
    MISPLACED
    FOREIGN_DRAW
    FOREIGN_SET_UP

FAULTS = {
    IMPOSSIBLE: "must be possible for some hand of the opponent",
    NO_CARD: "must name cards of the ruleset",
    MISPLACED: "must agree with the cards of the opponent's structures",
    CUT_SHORT: "must be followed by its counts of cards",
    FOREIGN_DRAW: "must begin a draw pile that holds the cards that the seat has drawn from it",
    FOREIGN_SET_UP: "must begin with places that cards of the ruleset can fill",
}


cdef class HandPosterior:
    """The particles of the hand of the opponent and of its face-down cards.

    A posterior is exact if it has few enough particles, and blind otherwise.
    """

    def __cinit__(self):
        self.now = &self.populations[0]
        self.then = &self.populations[1]
        if not allocate(self.now) or not allocate(self.then):
            raise MemoryError

    def __dealloc__(self):
        release(&self.populations[0])
        release(&self.populations[1])

    def __init__(self, CastleRampage rules not None, int seat, int exact_most, learned=None):
        """Create a posterior for a seat. If it is exact, it has at most `exact_most` particles.

        With the features of a model, the opponent's past choices weigh the particles.
        """
        self.rules = rules
        self.learned = learned
        self.other = 1 - seat
        self.exact_most = min(exact_most, MAX_EXACT)

    cdef int go_through(self, int* at) noexcept nogil:
        cdef int fault = read_history(&self.seen.common.sides[self.other], &self.past.history, at)
        if fault:
            return fault
        fault = TOO_MANY
        read_piles(&self.past, self.rules.tables.copies, &self.seen.own)
        # An entry that sums up a history does not tell single cards, as an exact posterior needs.
        self.exact = not self.past.history.summed_up and self.learned is None
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
        cdef int fault, i
        rng_seed(&self.thinning,
                 self.seen.common.sides[self.other].history_length * ATTEMPTS + self.attempt)
        at[0] = 0
        self.past.next_entry = 0
        self.thinned = False
        self.most = MAX_BLIND if self.attempt < 2 else MAX_BLIND_LATER
        self.power = 1.0 if self.attempt < 2 else 0.5 if self.attempt < 3 else 0.0
        fault = self.start()
        while self.past.next_entry < self.past.history.entry_count and not fault:
            at[0] = self.past.history.entries[self.past.next_entry].at
            fault = self.follow(&self.past.history.entries[self.past.next_entry])
            if self.overflowed or (self.exact and self.now.count > self.exact_most):
                fault = TOO_MANY
            elif self.now.count == 0 and not fault:
                fault = IMPOSSIBLE
            else:
                normalize(self.now)
                if self.now.count > self.most and self.attempt:
                    self.look_ahead()
                if self.now.count > self.most and not self.exact:
                    self.thin()
        for i in range(STRUCTURES):
            if (not fault and self.seen.common.phase != SET_UP
                    and self.past.placed[i] != self.past.stacks[i].count):
                fault = MISPLACED
        return fault

    cdef int follow(self, const Entry* entry) noexcept nogil:
        # Goes through the next entry of the history.
        cdef int value = entry.value
        self.past.next_entry += 1
        if entry.kind == DECIDED:
            if self.learned is not None:
                weigh_choice(&self.weights, self.learned, &self.past.history,
                             self.past.next_entry - 1, self.past.hand_size)
            self.decide(value)
        elif entry.kind == DREW:
            if self.past.hand_size + value > MAX_DECK:
                return NO_CARD
            while value > 0 and not self.overflowed:
                self.draw_one()
                value -= 1
        elif entry.kind == SPENT or entry.kind == LOST:
            if not 0 < value < CARDS:
                return NO_CARD
            self.give_up(value, entry.kind == LOST)
        elif entry.kind == PLACED_UNDER:
            if value >= STRUCTURES or self.past.placed[value] >= self.past.stacks[value].count:
                return MISPLACED
            self.past.placed[value] += 1
            self.place(value, self.past.stacks[value].cards[self.past.placed[value] - 1])
        elif entry.kind == TOOK_BACK:
            self.take_back()
        elif entry.kind == SHOWED:
            self.show(value, counts_of(&self.past, entry))
        else:
            return self.reshuffle()
        return 0

    cdef int start(self) noexcept nogil:
        # Starts at the set-up, or at the entry that sums up an older history.
        cdef Particle particle
        cdef int i, _copy, fault
        memset(&particle, 0, sizeof(Particle))
        clear(self.now)
        self.overflowed = False
        self.past.pool_count = 0
        self.drawn_length = 0
        self.past.hidden_set_up = 0
        if not self.open_pool(&particle):
            return FOREIGN_DRAW
        if self.past.history.summed_up:
            self.past.next_entry = 1
            particle.blanks[0] = self.past.history.hand_size
        elif self.seen.common.phase == SET_UP:
            particle.kept = DEAL + self.seen.common.set_ups
        else:
            particle.kept = self.rules.set_ups
        for i in range(STRUCTURES):
            fault = self.start_structure(&particle, i)
            if fault:
                return fault
        # Each kind of blanks can be fewer cards than the next kind.
        i = self.past.hidden_set_up + particle.kept
        if total_not_purple(particle.pools) < i:
            return FOREIGN_SET_UP
        i += particle.blanks_placed[0]
        if (total(particle.pools) - particle.pools[OGRE] < i
                or total(particle.pools) < i + particle.blanks[0]):
            return FOREIGN_SET_UP
        self.past.hand_size = particle.kept + particle.blanks[0]
        if self.learned is not None:
            begin_hand(&self.weights, self.learned, particle.kept, particle.blanks[0])
        self.keep(&particle, 1)
        if self.exact and self.seen.common.phase != SET_UP:
            for _copy in range(particle.kept):
                self.identify_kept()
        return 0

    cdef int start_structure(self, Particle* particle, int structure) noexcept nogil:
        # Takes the cards that a structure had at the start from the pool, and places blanks for
        # cards that are not known.
        cdef const Stack* stack = &self.past.stacks[structure]
        cdef int set_up = PLACED * self.rules.set_ups
        cdef int first = 0, end = set_up, card, i
        if self.past.history.summed_up:
            first = self.past.history.tops[structure]
            end = self.past.history.stack_counts[structure]
            if end < set_up or end > stack.count or first > stack.top:
                return MISPLACED
        self.past.placed[structure] = end
        for i in range(first, min(end, stack.count)):
            card = stack.cards[i]
            if card:
                if particle.pools[card] == 0 or (i < set_up and is_purple(card)):
                    return FOREIGN_SET_UP
                particle.pools[card] -= 1
            elif i < set_up:
                self.past.hidden_set_up += 1
            else:
                particle.blanks_placed[0] += 1
                particle.placed[particle.placed_count] = BLANK
                particle.placed_count += 1
        return 0

    cdef bint open_pool(self, Particle* particle) noexcept nogil:
        # Begins the pool of a new draw pile, which leaves out the cards that this seat has drawn
        # from it. Returns False if the seat has drawn a card that the pile did not hold.
        self.past.pool_count += 1
        memcpy(particle.pools + self.newest() * CARDS, self.last_pile(), CARDS)
        return not self.past.foreign[self.past.pool_count - 1]

    cdef void next_step(self) noexcept nogil:
        cdef Population* now = self.then
        self.then = self.now
        self.now = now
        clear(now)

    cdef void keep(self, const Particle* particle, double weight) noexcept nogil:
        if weight > 0 and not add(self.now, particle, weight):
            self.overflowed = True

    # The kinds of entries

    cdef void decide(self, int flags) noexcept nogil:
        cdef int i
        if self.exact:
            for i in range(self.now.count):
                self.now.weights[i] /= turn_actions(
                    &self.rules.tables, self.now.particles[i].known, flags, NULL)

    cdef void identify_kept(self) noexcept nogil:
        cdef Particle particle
        cdef int i, card
        cdef double p
        self.next_step()
        for i in range(self.then.count):
            for card in range(1, CARDS):
                particle = self.then.particles[i]
                p = kept_is(&particle, card)
                if p > 0:
                    particle.kept -= 1
                    particle.pools[card] -= 1
                    particle.known[card] += 1
                    self.keep(&particle, self.then.weights[i] * p)

    cdef void draw_one(self) noexcept nogil:
        cdef Particle particle
        cdef int i, card, pool = self.newest()
        cdef double p
        self.past.hand_size += 1
        if not self.exact:
            if self.learned is not None:
                add_drawn_card(&self.weights, pool)
            for i in range(self.now.count):
                self.now.particles[i].blanks[pool] += 1
            return
        self.next_step()
        for i in range(self.then.count):
            for card in range(1, CARDS):
                p = blank_is(&self.then.particles[i], pool, card, self.past.hidden_set_up)
                if p > 0:
                    particle = self.then.particles[i]
                    particle.pools[pool * CARDS + card] -= 1
                    particle.known[card] += 1
                    self.keep(&particle, self.then.weights[i] * p)
            if self.overflowed or self.now.count > self.exact_most:
                self.overflowed = True
                return

    cdef void give_up(self, int card, bint at_random) noexcept nogil:
        cdef int i
        self.next_step()
        self.take_means()
        for i in range(self.then.count):
            self.leave(&self.then.particles[i], self.then.weights[i], card, at_random)
        self.drop_card()

    cdef void place(self, int structure, int card) noexcept nogil:
        cdef int i
        if card:
            self.give_up(card, False)
            return
        self.next_step()
        self.take_means_under(structure)
        for i in range(self.then.count):
            self.place_hidden(&self.then.particles[i], self.then.weights[i], structure)
        self.drop_card()

    cdef void drop_card(self) noexcept nogil:
        if self.learned is not None and self.past.hand_size > 0:
            take_card(&self.weights, self.past.hand_size)
        self.past.hand_size -= 1

    # How likely a blank is a certain card

    cdef void take_means(self) noexcept nogil:
        # The mean weights of blanks, by the first particle: the others hardly differ in this.
        cdef const Particle* particle = &self.then.particles[0]
        cdef double flat[CARDS]
        cdef int card, pool
        if self.learned is None or self.then.count == 0:
            return
        for card in range(CARDS):
            flat[card] = not is_purple(card)
        self.kept_mean = mean_of(self.weights.kept, flat, particle.pools) or 1
        for card in range(CARDS):
            flat[card] = 1
        for pool in range(MAX_POOLS):
            self.means[pool] = mean_of(self.weights.pools[pool], flat,
                                       particle.pools + pool * CARDS) or 1

    cdef void take_means_under(self, int structure) noexcept nogil:
        # How likely a mean blank is to go under a structure, against a card drawn at random.
        cdef const Particle* particle = &self.then.particles[0]
        cdef const double* under
        cdef int pool
        self.kept_under = 1
        for pool in range(MAX_POOLS):
            self.blank_under[pool] = 1
        if self.learned is None or self.then.count == 0:
            return
        under = self.learned.under[structure]
        self.kept_under = mean_of(under, self.weights.kept, particle.pools)
        for pool in range(MAX_POOLS):
            self.blank_under[pool] = mean_of(under, self.weights.pools[pool],
                                             particle.pools + pool * CARDS)

    cdef double kept_card(self, const Particle* particle, int card) noexcept nogil:
        cdef double p = kept_is(particle, card)
        if self.learned is not None:
            p *= self.weights.kept[card] / self.kept_mean
        return p

    cdef double blank_card(self, const Particle* particle, int pool, int card) noexcept nogil:
        cdef double p = blank_is(particle, pool, card, self.past.hidden_set_up)
        if self.learned is not None:
            p *= self.weights.pools[pool][card] / self.means[pool]
        return p

    cdef void leave(self, const Particle* before, double weight, int card,
                    bint at_random) noexcept nogil:
        # Keeps every way in which this card can have left the hand: as a known card or as a blank.
        cdef Particle particle
        cdef int pool
        cdef double p
        if before.known[card]:
            particle = before[0]
            particle.known[card] -= 1
            p = before.known[card] / <double> self.past.hand_size
            # A seat that chooses has one action for all copies of a card.
            self.keep(&particle, weight * (1 if self.exact and not at_random else p))
        if before.kept:
            p = self.kept_card(before, card) * before.kept / self.past.hand_size
            if p > 0:
                particle = before[0]
                particle.kept -= 1
                particle.pools[card] -= 1
                self.keep(&particle, weight * p)
        for pool in range(MAX_POOLS):
            if before.blanks[pool]:
                p = self.blank_card(before, pool, card)
                p *= before.blanks[pool] / <double> self.past.hand_size
                if p > 0:
                    particle = before[0]
                    particle.blanks[pool] -= 1
                    particle.pools[pool * CARDS + card] -= 1
                    self.keep(&particle, weight * p)

    cdef void place_hidden(self, const Particle* before, double weight,
                           int structure) noexcept nogil:
        # Keeps every way in which a hidden card can have left the hand for a structure.
        cdef Particle particle
        cdef int card, pool
        cdef double p
        for card in range(1, CARDS):
            if before.known[card] and card != OGRE:
                particle = before[0]
                particle.known[card] -= 1
                p = before.known[card] / <double> self.past.hand_size
                if self.learned is not None:
                    p *= self.learned.under[structure][card]
                self.keep_placed(&particle, weight * (1 if self.exact else p), card)
        if before.kept:
            particle = before[0]
            particle.kept -= 1
            particle.kept_placed += 1
            p = self.kept_under * before.kept / self.past.hand_size
            self.keep_placed(&particle, weight * p, KEPT_BLANK)
        for pool in range(MAX_POOLS):
            if before.blanks[pool]:
                p = 1 - blank_is(before, pool, OGRE, self.past.hidden_set_up)
                p *= self.blank_under[pool] * before.blanks[pool] / <double> self.past.hand_size
                particle = before[0]
                particle.blanks[pool] -= 1
                particle.blanks_placed[pool] += 1
                self.keep_placed(&particle, weight * p, BLANK + pool)

    cdef void keep_placed(self, Particle* particle, double weight, int card) noexcept nogil:
        particle.placed[particle.placed_count] = card
        particle.placed_count += 1
        self.keep(particle, weight)

    cdef void take_back(self) noexcept nogil:
        cdef int i
        for i in range(self.now.count):
            self.now.particles[i].known[VETERAN] += 1
        self.past.hand_size += 1

    cdef void show(self, int unit, const uint8_t* hand) noexcept nogil:
        # The hand is shown. Its cards are taken out of each particle one after the other: a known
        # card if the particle has one, or else any blank that can be the card.
        cdef int card, i, left
        self.next_step()
        if total(hand) != self.past.hand_size:
            return
        for i in range(self.then.count):
            for card in range(1, CARDS):
                if self.then.particles[i].known[card] > hand[card]:
                    break
            else:
                self.keep(&self.then.particles[i], self.then.weights[i])
        for card in range(1, CARDS):
            for left in range(hand[card], 0, -1):
                self.next_step()
                self.take_means()
                for i in range(self.then.count):
                    self.lay_open(&self.then.particles[i], self.then.weights[i], card, left)
                self.drop_card()
                if self.now.count > ROOM // (MAX_POOLS + 2):
                    self.thin()
        for card in range(1, CARDS):
            if not counts_as(card, unit):
                self.past.hand_size += hand[card]
                for i in range(self.now.count):
                    self.now.particles[i].known[card] = hand[card]

    cdef void lay_open(self, const Particle* before, double weight, int card,
                       int left) noexcept nogil:
        # `left` copies of this card are still to be found. Their order does not matter, so the
        # weight is divided by `left`.
        cdef Particle particle
        if before.known[card]:
            particle = before[0]
            particle.known[card] -= 1
            self.keep(&particle, weight)
        else:
            self.leave(before, weight * self.past.hand_size / left, card, True)

    cdef int reshuffle(self) noexcept nogil:
        cdef Particle opened
        cdef Particle particles[MAX_FOUND]
        cdef Particle* particle
        cdef bint by_chance
        cdef int i, pool, tries, found, n
        cdef int last = self.newest()
        self.remember_pool()
        memset(&opened, 0, sizeof(Particle))
        if not self.open_pool(&opened):
            return FOREIGN_DRAW
        pool = self.newest()
        if self.learned is not None:
            open_pool_of(&self.weights, pool)
        self.next_step()
        for i in range(self.then.count):
            found = tries = 0
            while found < MAX_FOUND and tries < (TRIES if self.attempt else MAX_FOUND):
                particle = &particles[found]
                particle[0] = self.then.particles[i]
                identify_rest(particle, last)
                by_chance = self.make_room(particle, pool)
                memcpy(particle.pools + pool * CARDS, opened.pools + pool * CARDS, CARDS)
                tries += 1
                found += self.attempt == 0 or not by_chance or can_go_on(&self.past, particle)
                if not by_chance:
                    break
            for n in range(found):
                self.keep(&particles[n], self.then.weights[i] / tries)
        return 0

    cdef bint make_room(self, Particle* particle, int pool) noexcept nogil:
        # Identifies the blanks of the older pool at this place, at random. Returns whether there
        # were any.
        cdef uint8_t cards[POOL_ROOM]
        cdef int i, n
        if particle.blanks[pool] + particle.blanks_placed[pool] == 0:
            return False
        self.thinned = True
        n = shuffle_pool(particle, pool, self.past.hidden_set_up, cards, &self.thinning)
        for i in range(particle.placed_count):
            if particle.placed[i] == BLANK + pool and n:
                n -= 1
                particle.placed[i] = cards[n]
        while particle.blanks[pool] and n:
            n -= 1
            particle.known[cards[n]] += 1
            particle.blanks[pool] -= 1
        particle.blanks_placed[pool] = 0
        return True

    cdef void remember_pool(self) noexcept nogil:
        # The draw pile has run out, so the opponent has drawn its whole pool.
        cdef int card, _copy
        for card in range(1, CARDS):
            for _copy in range(self.last_pile()[card]):
                if self.drawn_length < MAX_DRAWN:
                    self.drawn[self.drawn_length] = card
                    self.drawn_length += 1
        if self.drawn_length < MAX_DRAWN:
            self.drawn[self.drawn_length] = 0
            self.drawn_length += 1

    cdef void look_ahead(self) noexcept nogil:
        # Drops particles that the rest of the history makes impossible.
        cdef int i
        self.next_step()
        for i in range(self.then.count):
            if can_go_on(&self.past, &self.then.particles[i]):
                self.keep(&self.then.particles[i], self.then.weights[i])
        if self.now.count:
            normalize(self.now)

    cdef void thin(self) noexcept nogil:
        # Particles are kept in proportion to their weights. After failed attempts, `power` makes
        # the probabilities more alike, and in the end equal.
        self.thinned = True
        self.next_step()
        thin_out(self.then, self.now, self.most, self.power, &self.thinning)
