"""Particles: what the hidden cards of an opponent may be; and populations of particles.

A particle says which cards of the opponent are known, and how many blanks of each pool the hand and
the structures have. games/castle_rampage/play/sampler.pyx explains the use of particles.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from engine.chance cimport mix, rng_double, rng_next, rng_weighted
from engine.integers cimport uint64_t
from engine.numerics cimport to_the_power
from games.castle_rampage.rules.state cimport (
    DREW, LOST, NEW_PILE, OF_DISCARDS, OGRE, PLACED_UNDER, SHOWED, SPENT, TOOK_BACK, VETERAN,
    counts_as,
)

assert sizeof(Particle) == 8 * PARTICLE_WORDS

cdef enum:
    BATCH = 5                    # Digits of one random number.

cdef uint8_t[CARDS - 1] OGRES_FIRST    # All cards: Ogres, other purple cards, all others.
for _i, _card in enumerate(sorted(
        range(1, CARDS), key=lambda card: (card != OGRE, not is_purple(card)))):
    OGRES_FIRST[_i] = _card

cdef uint64_t[PARTICLE_WORDS] FACTORS    # Odd and random, to hash a particle.
for _i in range(PARTICLE_WORDS):
    FACTORS[_i] = mix(0, _i) | 1


# A set-up never holds a purple card, and a card put under a structure without discards is no Ogre.
# So the blanks of the set-up can be fewer cards than those under structures, and these can be fewer
# cards than all others. A pool can therefore be dealt out in this order, and the probabilities
# multiply.

cdef double kept_is(const Particle* particle, int card) noexcept nogil:
    if is_purple(card):
        return 0
    return particle.pools[card] / <double> total_not_purple(particle.pools)


cdef double blank_is(const Particle* particle, int pool, int card, int hidden) noexcept nogil:
    cdef const uint8_t* cards = particle.pools + pool * CARDS
    cdef int set_up = set_up_blanks(particle, pool, hidden)
    cdef int placed = particle.blanks_placed[pool]
    cdef int left = total(cards) - set_up        # Cards for all blanks but those of the set-up.
    cdef int for_placed = left - cards[OGRE]
    cdef int plain
    cdef double p = cards[card]
    if p == 0 or left <= placed:
        return 0
    if card != OGRE and placed:
        # The probability that no blank under a structure is this copy of the card.
        p *= (for_placed - placed) / <double> for_placed
    if not is_purple(card) and set_up:
        plain = total_not_purple(cards)
        p *= (plain - set_up) / <double> plain
    return p / (left - placed)


cdef void identify_rest(Particle* particle, int pool) noexcept nogil:
    cdef int card
    cdef uint8_t* cards = particle.pools + pool * CARDS
    if particle.blanks[pool] and particle.blanks[pool] == total(cards):
        for card in range(1, CARDS):
            particle.known[card] += cards[card]
            cards[card] = 0
        particle.blanks[pool] = 0


cdef int shuffle_pool(const Particle* particle, int pool, int hidden, uint8_t* cards,
                      Rng* rng) noexcept nogil:
    # The Ogres come first, then other purple cards, then all others. Each kind of blanks can then
    # be drawn from the end of the cards that it can be.
    cdef const uint8_t* counts = particle.pools + pool * CARDS
    cdef int set_up = set_up_blanks(particle, pool, hidden)
    cdef int placed = particle.blanks_placed[pool]
    cdef int card, i, n = 0, purple = 0
    for i in range(CARDS - 1):
        card = OGRES_FIRST[i]
        n += add_copies(cards + n, card, counts[card])
        if is_purple(card):
            purple = n
    shuffle_to_end(cards + purple, n - purple, set_up, rng)
    shuffle_to_end(cards + counts[OGRE], n - set_up - counts[OGRE], placed, rng)
    shuffle_to_end(cards, n - set_up - placed, n - set_up - placed, rng)
    return n


cdef inline int add_copies(uint8_t* cards, int card, int n) noexcept nogil:
    # Writes `n` copies of a card, eight at a time, and returns `n`.
    cdef uint64_t eight = card * <uint64_t> 0x0101010101010101
    cdef int i
    for i in range(0, n, 8):
        memcpy(cards + i, &eight, 8)
    return n


cdef void shuffle_to_end(uint8_t* cards, int n, int k, Rng* rng) noexcept nogil:
    # Moves `k` of the cards, drawn at random, to the end, in random order (Fisher-Yates). One
    # random number gives several digits of different bases (N. Brackett-Rozinsky, D. Lemire,
    # "Batched Ranged Random Integer Generation", Software: Practice and Experience 55(1), 2025). It
    # has 56 bits, so that its product with a number of cards has at most 64.
    cdef uint64_t bits, bases
    cdef int places[BATCH]
    cdef int i, end = n - k
    cdef uint8_t card
    while n > end and n > 1:
        while True:
            bits = rng_next(rng) >> 8
            bases = 1
            for i in range(BATCH):
                bits *= max(n - i, 1)
                bases *= max(n - i, 1)
                places[i] = bits >> 56
                bits &= (<uint64_t> 1 << 56) - 1
            # Without the numbers below this remainder, all digits are equally likely. A script, for
            # which all this cannot work, gives the same number again and again.
            if bits >= bases or rng.script != NULL or bits >= (<uint64_t> 1 << 56) % bases:
                break
        for i in range(min(BATCH, n - end)):
            n -= 1
            card = cards[n]
            cards[n] = cards[places[i]]
            cards[places[i]] = card


# Populations

cdef bint allocate(Population* population) noexcept nogil:
    population.particles = <Particle*> malloc(ROOM * sizeof(Particle))
    population.weights = <double*> malloc(ROOM * sizeof(double))
    population.slots = <int*> malloc(ROOM * sizeof(int))
    population.table = <int*> calloc(TABLE_SIZE, sizeof(int))
    return (population.particles != NULL and population.weights != NULL
            and population.slots != NULL and population.table != NULL)


cdef void release(Population* population) noexcept nogil:
    free(population.particles)
    free(population.weights)
    free(population.slots)
    free(population.table)
    memset(population, 0, sizeof(Population))


cdef void clear(Population* population) noexcept nogil:
    cdef int i
    for i in range(population.count):
        population.table[population.slots[i]] = 0
    population.count = 0


cdef bint add(Population* population, const Particle* particle, double weight) noexcept nogil:
    cdef uint64_t key = 0, word
    cdef size_t i, words
    cdef int at, slot
    # Only the words in use are hashed and compared. All particles of a population have equally many
    # cards placed, and the other words are 0.
    words = ((<const char*> particle.placed - <const char*> particle)
             + particle.placed_count + 7) // 8
    for i in range(words):
        memcpy(&word, <const char*> particle + 8 * i, 8)
        key += word * FACTORS[i]
    slot = key >> (64 - TABLE_BITS)
    while population.table[slot]:
        at = population.table[slot] - 1
        if memcmp(&population.particles[at], particle, 8 * words) == 0:
            population.weights[at] += weight
            return True
        slot = (slot + 1) & (TABLE_SIZE - 1)
    if population.count == ROOM:
        return False
    population.particles[population.count] = particle[0]
    population.weights[population.count] = weight
    population.slots[population.count] = slot
    population.count += 1
    population.table[slot] = population.count
    return True


cdef void normalize(Population* population) noexcept nogil:
    cdef double total_weight = 0
    cdef int i
    for i in range(population.count):
        total_weight += population.weights[i]
    for i in range(population.count):
        population.weights[i] /= total_weight


cdef void cumulate(Population* population) noexcept nogil:
    cdef int i
    for i in range(1, population.count):
        population.weights[i] += population.weights[i - 1]


cdef const Particle* pick(const Population* population, Rng* rng) noexcept nogil:
    return &population.particles[rng_weighted(rng, population.weights, population.count)]


cdef void thin_out(const Population* all_particles, Population* kept, int most, double power,
                   Rng* rng) noexcept nogil:
    # Systematic resampling: points lie at equal distances on the running sum of the probabilities,
    # and a particle is kept once for each point that falls on it.
    cdef double share, at, flat, all_flat = 0, sum_so_far = 0
    cdef int i, n
    for i in range(all_particles.count):
        all_flat += to_the_power(all_particles.weights[i], power)
    share = 2.0 / most
    at = rng_double(rng) * share
    for i in range(all_particles.count):
        flat = to_the_power(all_particles.weights[i], power) / all_flat
        sum_so_far += flat
        n = 0
        while at < sum_so_far:
            n += 1
            at += share
        if n:
            add(kept, &all_particles.particles[i], n * share * all_particles.weights[i] / flat)
    normalize(kept)


# Looking ahead in a hand history: whether a particle can fit it to its end.
#
# Each card that the hand needs later is either known or a blank. A pool limits the number of blanks
# and the copies of each card. Until the hand is shown next, both limits are kept at the same time.
# After that, each card is counted as if all blanks were there for it alone.

cdef enum:
    POOLS_AHEAD = MAX_POOLS + MAX_PILES

cdef struct Needs:               # The cards that a particle has for the rest of the history.
    int hand[CARDS]              # Known cards that have not left the hand.
    int newest                   # The index of the newest pool; the oldest is 0.
    int pile                     # The draw pile of the newest pool.
    int blanks[POOLS_AHEAD]      # Blanks that came to the hand since it was last shown.
    int places                   # Face-down cards put under structures since then.
    uint8_t pools[POOLS_AHEAD * CARDS]   # The cards that the blanks can be,
    uint8_t taken[POOLS_AHEAD * CARDS]   # and the cards that blanks must have been since then.
    bint shown                   # Whether the hand has been shown. Until then, a matching:
    int dealt[POOLS_AHEAD]       # the number of blanks that were given a card,
    uint8_t cards[POOLS_AHEAD * CARDS]   # the cards given to them,
    bint passed[POOLS_AHEAD]     # and the pools visited while an augmenting path is sought.


cdef void read_piles(Past* past, const uint8_t* copies, const Own* own) noexcept nogil:
    cdef const Entry* entry
    cdef int pile = 0, at, i
    memcpy(past.piles, copies, CARDS)
    for i in range(past.history.entry_count):
        entry = &past.history.entries[i]
        if entry.kind == NEW_PILE:
            pile += entry.value == OF_DISCARDS
            memcpy(past.piles + pile * CARDS, counts_of(past, entry), CARDS)
    past.pile_count = pile + 1
    pile = 0
    for i in range(own.drawn_length):
        if own.drawn[i] == 0:
            pile += 1
        elif pile < MAX_PILES:
            at = pile * CARDS + own.drawn[i]
            if past.piles[at]:
                past.piles[at] -= 1
            else:
                past.foreign[pile] = True


cdef bint can_go_on(const Past* past, const Particle* particle) noexcept nogil:
    cdef const Entry* entry
    cdef Needs needs
    cdef int value, card, i, pool
    cdef int placed[STRUCTURES]
    clear_needs(past, &needs)
    memcpy(placed, past.placed, sizeof(placed))
    for card in range(1, CARDS):
        needs.hand[card] = particle.known[card]
    needs.pile = past.pool_count - 1
    needs.newest = min(needs.pile, MAX_POOLS - 1)
    for i in range(needs.newest + 1):
        pool = place_of_pool(needs.pile - needs.newest + i if i else 0)
        memcpy(needs.pools + i * CARDS, particle.pools + pool * CARDS, CARDS)
        needs.blanks[i] = particle.blanks[pool] + (0 if i else particle.kept)
    for i in range(past.next_entry, past.history.entry_count):
        entry = &past.history.entries[i]
        value = entry.value
        if entry.kind == DREW:
            needs.blanks[needs.newest] += value
        elif entry.kind == SPENT or entry.kind == LOST:
            if not 0 < value < CARDS or not need(&needs, value):
                return False
        elif entry.kind == PLACED_UNDER:
            if value >= STRUCTURES or placed[value] >= past.stacks[value].count:
                return False
            card = past.stacks[value].cards[placed[value]]
            placed[value] += 1
            if card == 0:
                needs.places += 1
            elif not need(&needs, card):
                return False
        elif entry.kind == TOOK_BACK:
            needs.hand[VETERAN] += 1
        elif entry.kind == SHOWED:
            if not need_all(&needs, value, counts_of(past, entry)):
                return False
        elif entry.kind == NEW_PILE:
            needs.pile += 1
            needs.newest += 1
            memcpy(needs.pools + needs.newest * CARDS, past.piles + needs.pile * CARDS, CARDS)
    return True


cdef void clear_needs(const Past* past, Needs* needs) noexcept nogil:
    # Clears only as many pools as there can be, which are few beside the room for them.
    cdef int pools = min(past.pile_count + MAX_POOLS, POOLS_AHEAD)
    memset(needs.hand, 0, sizeof(needs.hand))
    memset(needs.blanks, 0, pools * sizeof(int))
    memset(needs.taken, 0, pools * CARDS)
    memset(needs.dealt, 0, pools * sizeof(int))
    memset(needs.cards, 0, pools * CARDS)
    needs.places = 0
    needs.shown = False


cdef bint need(Needs* needs, int card) noexcept nogil:
    # Takes a card from the hand: a known card, or else a blank of the oldest pool that can be the
    # card, which leaves the newer pools for later needs. Returns False if there is neither.
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
    # Gives this card to a blank. Other blanks may have to change their cards: an augmenting path.
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
    # The hand is shown. Other cards that were known must lie under structures by now, and none of
    # them is an Ogre.
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
    for card in range(CARDS):    # No blanks of the older pools are left in the hand.
        needs.pools[card] = needs.pools[last + card] - needs.taken[last + card]
    memset(needs.taken, 0, (needs.newest + 1) * CARDS)
    memset(needs.blanks, 0, (needs.newest + 1) * sizeof(int))
    needs.newest = 0
    needs.places = 0
    needs.shown = True
    return True
