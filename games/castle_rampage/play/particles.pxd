"""Particles: what the hidden cards of an opponent may be; and populations of particles."""

from engine.chance cimport Rng
from engine.integers cimport uint8_t
from games.castle_rampage.rules.history cimport Entry, History
from games.castle_rampage.rules.state cimport (
    CARDS, MAX_DECK, MAX_HISTORY, MAX_STACK, STRUCTURES, Own, Stack, is_purple,
)

cdef enum:
    MAX_POOLS = 8                # Pools that can have blanks at the same time.
    MAX_PLACED = STRUCTURES * MAX_STACK
    # Values in `placed` beside cards:
    KEPT_BLANK = 32              # a blank that was kept at the set-up,
    BLANK = 33                   # and, with the place of a pool added, a blank of that pool.
    PARTICLE_WORDS = (CARDS + 2 + MAX_POOLS * (2 + CARDS) + MAX_PLACED) // 8 + 1
    PADDING = 7 - (CARDS + 2 + MAX_POOLS * (2 + CARDS) + MAX_PLACED) % 8
    TABLE_BITS = 15
    TABLE_SIZE = 1 << TABLE_BITS     # Slots of the hash table.
    ROOM = TABLE_SIZE // 2
    POOL_ROOM = MAX_DECK + 7     # Bytes in which the cards of a pool are dealt out.

cdef struct Particle:
    uint8_t known[CARDS]         # Copies of each card that are known to be in the hand.
    uint8_t kept                 # Blanks kept at the set-up that are in the hand,
    uint8_t kept_placed          # and those that were put under a structure since.
    uint8_t blanks[MAX_POOLS]    # Other blanks in the hand, by pool,
    uint8_t blanks_placed[MAX_POOLS]    # and under a structure.
    uint8_t pools[MAX_POOLS * CARDS]    # The cards of each pool that are not known elsewhere.
    uint8_t placed_count
    # The hidden cards and blanks under both structures, in the order of the history.
    uint8_t placed[MAX_PLACED]
    uint8_t padding[PADDING]     # Fills up the last word.

cdef struct Population:          # Particles and their weights, each particle once.
    int count
    Particle* particles
    double* weights
    int* slots                   # The slot of each particle in the table.
    int* table                   # The index of a particle + 1, by hash; 0 for an empty slot.

# The number of cards in a multiset.
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

# The place of a pool in a particle, by its number from 0 on. The first pool has a place of its own,
# the others take the remaining places in turn.
cdef inline int place_of_pool(int pool) noexcept nogil:
    return 0 if pool == 0 else 1 + (pool - 1) % (MAX_POOLS - 1)

# The set-up blanks of a pool. `hidden` is the number of those in the structures.
cdef inline int set_up_blanks(const Particle* particle, int pool, int hidden) noexcept nogil:
    return 0 if pool else hidden + particle.kept + particle.kept_placed

# The probability that a blank is a certain card: first for a blank kept at the set-up, second for
# another blank of the hand, which has the same distribution as the next card of the draw pile.
cdef double kept_is(const Particle* particle, int card) noexcept nogil
cdef double blank_is(const Particle* particle, int pool, int card, int hidden) noexcept nogil
# Identifies the remaining blanks of a pool that has run out, if all of them are in the hand.
cdef void identify_rest(Particle* particle, int pool) noexcept nogil
# Deals a pool out at random and returns its number of cards. First come the cards of the hand and
# of the pile, then those under structures, last those of the set-up. `cards` has POOL_ROOM bytes;
# what those beyond the cards hold then means nothing.
cdef int shuffle_pool(const Particle* particle, int pool, int hidden, uint8_t* cards,
                      Rng* rng) noexcept nogil

# Moves `k` of the cards, drawn at random, to the end, in random order.
cdef void shuffle_to_end(uint8_t* cards, int n, int k, Rng* rng) noexcept nogil

# Returns False if there is no memory.
cdef bint allocate(Population* population) noexcept nogil
cdef void release(Population* population) noexcept nogil
cdef void clear(Population* population) noexcept nogil
# Adds a particle, or its weight to an equal one. Returns False if there are too many particles.
cdef bint add(Population* population, const Particle* particle, double weight) noexcept nogil
# Scales the weights to a sum of 1.
cdef void normalize(Population* population) noexcept nogil
# Turns the weights into running sums. After that, the population serves only `pick`.
cdef void cumulate(Population* population) noexcept nogil
# Draws a particle in proportion to the weights. Thread-safe.
cdef const Particle* pick(const Population* population, Rng* rng) noexcept nogil
# Adds about `most` particles of one population to another, which is empty. A particle is kept with
# a probability in proportion to its weight to the power `power`. The weights are corrected so that
# no expectation changes.
cdef void thin_out(const Population* all_particles, Population* kept, int most, double power,
                   Rng* rng) noexcept nogil


# Looking ahead in a hand history: whether a particle can fit it to its end

cdef enum:
    MAX_PILES = MAX_HISTORY // 3 + 1     # A reshuffle takes at least three bytes of a history.

# The past of the opponent's hand, and the progress of a posterior through it. "The seat" is the one
# whose view the sampler has.
cdef struct Past:
    const Stack* stacks          # Both structures of the opponent, as the seat sees them.
    History history
    int pile_count
    # The cards of each draw pile at its start, without those that the seat has drawn from it.
    uint8_t piles[MAX_PILES * CARDS]
    bint foreign[MAX_PILES]      # Whether the seat has drawn a card that the pile did not hold.
    # The progress:
    int next_entry
    int placed[STRUCTURES]       # The number of cards put into each structure so far.
    int pool_count               # The number of draw piles so far.
    int hand_size
    int hidden_set_up            # Set-up cards in the structures that the seat does not know.

cdef inline const uint8_t* counts_of(const Past* past, const Entry* entry) noexcept nogil:
    return past.history.counts + entry.counted * CARDS

# Finds the draw piles of a past. `copies` are those of the deck, `own` is that of the seat.
cdef void read_piles(Past* past, const uint8_t* copies, const Own* own) noexcept nogil

# Whether each card that leaves the hand later, or is shown in it, can be in the hand at that time.
# This condition is necessary and not sufficient: some particles that pass still fail later.
cdef bint can_go_on(const Past* past, const Particle* particle) noexcept nogil
