"""Guesses at what nobody has shown of a hand, and populations of them."""

from engine.castle_rampage.state cimport CARDS, MAX_STACK, STRUCTURES, is_purple
from engine.chance cimport Rng
from engine.integers cimport uint8_t

cdef enum:
    MAX_POOLS = 8                # That can have blanks at a time.
    MAX_PLACED = STRUCTURES * MAX_STACK
    KEPT_BLANK = 32              # In `placed`, instead of a card: a blank kept at the set-up,
    BLANK = 33                   # or, with the number of a pool added, a blank of that pool.
    GUESS_WORDS = (CARDS + 2 + MAX_POOLS * (2 + CARDS) + MAX_PLACED) // 8 + 1
    PADDING = 7 - (CARDS + 2 + MAX_POOLS * (2 + CARDS) + MAX_PLACED) % 8
    TABLE_BITS = 15
    TABLE_SIZE = 1 << TABLE_BITS     # Of the hash table; more than guesses ever come of one step.
    ROOM = TABLE_SIZE // 2

cdef struct Guess:
    uint8_t known[CARDS]         # Hand cards.
    uint8_t kept                 # Blanks in the hand that were kept at the set-up,
    uint8_t kept_placed          # and those that were put under a structure since.
    uint8_t blanks[MAX_POOLS]    # Other blanks in the hand, by pool,
    uint8_t blanks_placed[MAX_POOLS]    # and under a structure.
    uint8_t pools[MAX_POOLS * CARDS]    # The cards that are not known elsewhere, by pool.
    uint8_t placed_count
    # What is hidden under both structures, in the order of the history: cards and blanks.
    uint8_t placed[MAX_PLACED]
    uint8_t padding[PADDING]     # To whole words.

cdef struct Population:          # Guesses and their weights, each guess once.
    int count
    Guess* guesses
    double* weights
    int* slots                   # Where each guess is in the table.
    int* table                   # By hash, the place of a guess + 1.

# The cards of a multiset.
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

# Where a guess has a pool, by its number from the first on. The first has a place of its own, the
# others share the rest.
cdef inline int place_of_pool(int pool) noexcept nogil:
    return 0 if pool == 0 else 1 + (pool - 1) % (MAX_POOLS - 1)

# The blanks that a pool has of the set-up. `hidden` are those in the structures.
cdef inline int set_up_blanks(const Guess* guess, int pool, int hidden) noexcept nogil:
    return 0 if pool else hidden + guess.kept + guess.kept_placed

# The probability that a blank is a card: one kept at the set-up; or another blank of the hand,
# which is as likely a card as the next of the draw pile.
cdef double kept_is(const Guess* guess, int card) noexcept nogil
cdef double blank_is(const Guess* guess, int pool, int card, int hidden) noexcept nogil
# Identifies what is left of a pool that has run out, if all of it is in the hand.
cdef void identify_rest(Guess* guess, int pool) noexcept nogil
# Deals a pool out at random and returns its number of cards: first those that are in the hand or
# still in the pile, then those under structures, last those of the set-up.
cdef int shuffle_pool(const Guess* guess, int pool, int hidden, uint8_t* cards,
                      Rng* rng) noexcept nogil

# False: there is no memory.
cdef bint allocate(Population* population) noexcept nogil
cdef void release(Population* population) noexcept nogil
cdef void clear(Population* population) noexcept nogil
# Adds a guess, or its weight to the guess that is equal. False: there are too many.
cdef bint add(Population* population, const Guess* guess, double weight) noexcept nogil
# Scales the weights to a sum of 1.
cdef void normalize(Population* population) noexcept nogil
# Turns the weights into running sums. From then on guesses can be picked, and nothing else.
cdef void cumulate(Population* population) noexcept nogil
# A guess, drawn in proportion to the weights. Thread-safe.
cdef const Guess* pick(const Population* population, Rng* rng) noexcept nogil
# Adds about `most` guesses of one population to another, which is empty. Each is kept by a chance
# that is its weight to a power, and its weight corrected so that no expectation changes.
cdef void thin_out(const Population* all_guesses, Population* kept, int most, double power,
                   Rng* rng) noexcept nogil
