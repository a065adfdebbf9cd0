"""Chance: random number generators, and scripts that enumerate every outcome of chance."""

from engine.integers cimport uint8_t, uint32_t, uint64_t

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
cdef uint64_t rng_next(Rng* rng) noexcept nogil
# Uniform in 0..n-1, without modulo bias; n > 0.
cdef uint32_t rng_below(Rng* rng, uint32_t n) noexcept nogil
# Uniform in [0, 1).
cdef double rng_double(Rng* rng) noexcept nogil
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
# Moves `k` of the cards, drawn uniformly, to the end. Their order there means nothing.
cdef void rng_part(Rng* rng, uint8_t* cards, int n, int k) noexcept nogil

# The running key `key` with `value` mixed in, for keys of what a seat has observed.
cdef uint64_t mix(uint64_t key, uint64_t value) noexcept nogil
