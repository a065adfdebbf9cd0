"""Guesses at the hidden cards of an opponent, and populations of guesses.

A guess says which cards of the opponent are known, and how many blanks of each pool the hand and
the structures have. engine/castle_rampage/sampler.pyx explains the use of guesses.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from engine.castle_rampage.state cimport OGRE
from engine.chance cimport mix, rng_double, rng_next
from engine.integers cimport uint64_t
from engine.numerics cimport to_the_power

assert sizeof(Guess) == 8 * GUESS_WORDS

cdef enum:
    BATCH = 5                    # Digits of one random number.

cdef uint8_t[CARDS - 1] OGRES_FIRST    # All cards: Ogres, other purple cards, all others.
for _i, _card in enumerate(sorted(
        range(1, CARDS), key=lambda card: (card != OGRE, not is_purple(card)))):
    OGRES_FIRST[_i] = _card

cdef uint64_t[GUESS_WORDS] FACTORS    # Odd and random, to hash a guess.
for _i in range(GUESS_WORDS):
    FACTORS[_i] = mix(0, _i) | 1


# A set-up never holds a purple card, and a card put under a structure without discards is no Ogre.
# So the blanks of the set-up can be fewer cards than those under structures, and these can be fewer
# cards than all others. A pool can therefore be dealt out in this order, and the probabilities
# multiply.

cdef double kept_is(const Guess* guess, int card) noexcept nogil:
    if is_purple(card):
        return 0
    return guess.pools[card] / <double> total_not_purple(guess.pools)


cdef double blank_is(const Guess* guess, int pool, int card, int hidden) noexcept nogil:
    cdef const uint8_t* cards = guess.pools + pool * CARDS
    cdef int set_up = set_up_blanks(guess, pool, hidden)
    cdef int placed = guess.blanks_placed[pool]
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


cdef void identify_rest(Guess* guess, int pool) noexcept nogil:
    cdef int card
    cdef uint8_t* cards = guess.pools + pool * CARDS
    if guess.blanks[pool] and guess.blanks[pool] == total(cards):
        for card in range(1, CARDS):
            guess.known[card] += cards[card]
            cards[card] = 0
        guess.blanks[pool] = 0


cdef int shuffle_pool(const Guess* guess, int pool, int hidden, uint8_t* cards,
                      Rng* rng) noexcept nogil:
    # The Ogres come first, then other purple cards, then all others. Each kind of blanks can then
    # be drawn from the end of the cards that it can be.
    cdef const uint8_t* counts = guess.pools + pool * CARDS
    cdef int set_up = set_up_blanks(guess, pool, hidden)
    cdef int placed = guess.blanks_placed[pool]
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
    population.guesses = <Guess*> malloc(ROOM * sizeof(Guess))
    population.weights = <double*> malloc(ROOM * sizeof(double))
    population.slots = <int*> malloc(ROOM * sizeof(int))
    population.table = <int*> calloc(TABLE_SIZE, sizeof(int))
    return (population.guesses != NULL and population.weights != NULL
            and population.slots != NULL and population.table != NULL)


cdef void release(Population* population) noexcept nogil:
    free(population.guesses)
    free(population.weights)
    free(population.slots)
    free(population.table)
    memset(population, 0, sizeof(Population))


cdef void clear(Population* population) noexcept nogil:
    cdef int i
    for i in range(population.count):
        population.table[population.slots[i]] = 0
    population.count = 0


cdef bint add(Population* population, const Guess* guess, double weight) noexcept nogil:
    cdef uint64_t key = 0, word
    cdef size_t i, words
    cdef int at, slot
    # Only the words in use are hashed and compared. All guesses of a population have equally many
    # cards placed, and the other words are 0.
    words = ((<const char*> guess.placed - <const char*> guess) + guess.placed_count + 7) // 8
    for i in range(words):
        memcpy(&word, <const char*> guess + 8 * i, 8)
        key += word * FACTORS[i]
    slot = key >> (64 - TABLE_BITS)
    while population.table[slot]:
        at = population.table[slot] - 1
        if memcmp(&population.guesses[at], guess, 8 * words) == 0:
            population.weights[at] += weight
            return True
        slot = (slot + 1) & (TABLE_SIZE - 1)
    if population.count == ROOM:
        return False
    population.guesses[population.count] = guess[0]
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


cdef const Guess* pick(const Population* population, Rng* rng) noexcept nogil:
    cdef const double* sums = population.weights
    cdef double at = rng_double(rng) * sums[population.count - 1]
    cdef int low = 0, high = population.count - 1, middle
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > at:
            high = middle
        else:
            low = middle + 1
    return &population.guesses[low]


cdef void thin_out(const Population* all_guesses, Population* kept, int most, double power,
                   Rng* rng) noexcept nogil:
    # Systematic resampling: points lie at equal distances on the running sum of the probabilities,
    # and a guess is kept once for each point that falls on it.
    cdef double share, at, flat, all_flat = 0, sum_so_far = 0
    cdef int i, n
    for i in range(all_guesses.count):
        all_flat += to_the_power(all_guesses.weights[i], power)
    share = 2.0 / most
    at = rng_double(rng) * share
    for i in range(all_guesses.count):
        flat = to_the_power(all_guesses.weights[i], power) / all_flat
        sum_so_far += flat
        n = 0
        while at < sum_so_far:
            n += 1
            at += share
        if n:
            add(kept, &all_guesses.guesses[i], n * share * all_guesses.weights[i] / flat)
    normalize(kept)
