"""Chance: random number generators, and scripts that enumerate every outcome of chance."""

from engine.integers cimport int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    MAX_DRAWS = 64

cdef struct Script:
    # Enumerates every outcome of the chance in one call, as an odometer counts: each draw is the
    # next digit, and the script notes how many values that digit can have.
    uint32_t digits[MAX_DRAWS]
    uint32_t sizes[MAX_DRAWS]
    double divisors[MAX_DRAWS]   # 1 / the probability of the digit.
    int drawn              # Digits drawn in this call.
    bint rejected          # The outcome of this call does not count: see `rng_reject`.
    # The outcomes cannot be enumerated: the call drew more than MAX_DRAWS digits, or bits that make
    # no digit (`rng_next`, `rng_double`).
    bint broken

cdef struct Rng:
    # A source of chance. The search draws from a fast generator, xoshiro256** (Blackman and Vigna,
    # 2018). A hosted match draws from a tape of cryptographic bytes (engine/match.pyx).
    uint64_t s[4]
    const uint8_t* tape    # NULL: draw from the generator.
    size_t tape_left       # Bytes not read yet.
    bint tape_ran_out      # All later draws are void; the call must run again on a longer tape.
    Script* script         # NULL: draw from the tape or the generator.

cdef void rng_seed(Rng* rng, uint64_t seed) noexcept nogil
# `rng_next` and `rng_below` for a generator with a tape or a script.
cdef uint64_t rng_next_prepared(Rng* rng) noexcept nogil
cdef uint32_t rng_below_prepared(Rng* rng, uint32_t n) noexcept nogil


# What a search does millions of times a second is inline: a call into another module goes through
# a pointer.

cdef inline uint64_t rotl(uint64_t x, int k) noexcept nogil:
    return (x << k) | (x >> (64 - k))


cdef inline uint64_t splitmix(uint64_t* x) noexcept nogil:
    # SplitMix64 (Steele, Lea and Flood, 2014).
    x[0] += <uint64_t> 0x9E3779B97F4A7C15
    cdef uint64_t z = x[0]
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    return z ^ (z >> 31)


# The next 64 bits.
cdef inline uint64_t rng_next(Rng* rng) noexcept nogil:
    cdef uint64_t result, t
    if rng.tape != NULL or rng.script != NULL:
        return rng_next_prepared(rng)
    result = rotl(rng.s[1] * 5, 7) * 9
    t = rng.s[1] << 17
    rng.s[2] ^= rng.s[0]
    rng.s[3] ^= rng.s[1]
    rng.s[1] ^= rng.s[2]
    rng.s[0] ^= rng.s[3]
    rng.s[2] ^= t
    rng.s[3] = rotl(rng.s[3], 45)
    return result


# Uniform in 0..n-1, without modulo bias; n > 0.
cdef inline uint32_t rng_below(Rng* rng, uint32_t n) noexcept nogil:
    # Lemire, 2019: the high half of a product, and a rejection that removes the bias.
    cdef uint64_t m
    cdef uint32_t threshold
    if rng.tape != NULL or rng.script != NULL:
        return rng_below_prepared(rng, n)
    m = (rng_next(rng) >> 32) * n
    if <uint32_t> m < n:
        threshold = (<uint32_t> (-<int64_t> n)) % n
        while <uint32_t> m < threshold:
            m = (rng_next(rng) >> 32) * n
    return <uint32_t> (m >> 32)


# Uniform in [0, 1).
cdef inline double rng_double(Rng* rng) noexcept nogil:
    return <double> (rng_next(rng) >> 11) * (1.0 / 9007199254740992.0)


cdef extern from *:
    """
    static inline uint32_t high_of_product(uint64_t* bits, uint32_t n) {
        unsigned __int128 product = (unsigned __int128) *bits * n;
        *bits = (uint64_t) product;
        return (uint32_t) (product >> 64);
    }
    """
    uint32_t high_of_product(uint64_t* bits, uint32_t n) noexcept nogil


# Takes a number in 0..n-1 from 64 random bits, as the next digit of a fraction in mixed bases, and
# leaves in `bits` what it has not used. Numbers that are taken from the same bits are independent
# and uniform, but for a bias of the product of their n / 2^64.
cdef inline uint32_t digit(uint64_t* bits, uint32_t n) noexcept nogil:
    return high_of_product(bits, n)


# An index in 0..n-1, drawn in proportion to weights; `sums` are the running sums of the weights.
cdef size_t rng_weighted(Rng* rng, const double* sums, size_t n) noexcept nogil
# Rejection sampling asks this before it retries. True: return instead of retrying, because a
# script is being played and moves on to its next outcome.
cdef bint rng_reject(Rng* rng) noexcept nogil
# Makes the generator play a script that starts at the first outcome of a call.
cdef void script_start(Script* script, Rng* rng) noexcept nogil
# The probability of the outcome of this call. If outcomes are rejected, the probabilities of the
# others must be divided by their sum.
cdef double script_probability(const Script* script) noexcept nogil
# Moves on to the next outcome of the same call; False if there is none left.
cdef bint script_next(Script* script) noexcept nogil
# Shuffles the cards (Fisher-Yates). A script enumerates each distinct order once.
cdef void rng_shuffle(Rng* rng, uint8_t* cards, int n) noexcept nogil
# The same with fewer random words, for worlds and playouts. A seed gives another order than with
# `rng_shuffle`, which deals keep to.
cdef void rng_shuffle_quickly(Rng* rng, uint8_t* cards, int n) noexcept nogil
# Moves `k` of the cards, drawn uniformly, to the end. Their order there means nothing.
cdef void rng_part(Rng* rng, uint8_t* cards, int n, int k) noexcept nogil
# `rng_part`, then `rng_shuffle_quickly` of the cards that stay.
cdef void rng_part_and_shuffle(Rng* rng, uint8_t* cards, int n, int k) noexcept nogil

# The running key `key` with `value` mixed in, for keys of what a seat has observed.
cdef inline uint64_t mix(uint64_t key, uint64_t value) noexcept nogil:
    cdef uint64_t x = key ^ rotl(value * <uint64_t> 0x9FB21C651E98DF25, 29)
    return splitmix(&x)
