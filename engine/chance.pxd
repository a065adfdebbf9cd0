"""Chance: generators, and scripts that go through all that can come of chance."""

from engine.integers cimport uint8_t, uint32_t, uint64_t

cdef enum:
    MAX_DRAWS = 64

cdef struct Script:
    # Goes through all that can come of chance in one call, as an odometer goes through numbers:
    # each draw is the next digit, and takes down how many values it can have.
    uint32_t digits[MAX_DRAWS]
    uint32_t sizes[MAX_DRAWS]
    double divisors[MAX_DRAWS]   # 1 / the probability of the digit.
    int drawn              # In this call.
    bint rejected          # What came of the call does not count: see `rng_reject`.
    bint broken            # It drew more often than that, or by `rng_next` or `rng_double`.

cdef struct Rng:
    # A source of chance. The search draws from a fast generator, xoshiro256** (Blackman and Vigna,
    # 2018); a hosted match from a tape of cryptographic bytes that the Python face has prepared.
    uint64_t s[4]
    const uint8_t* tape    # NULL: draw from the generator.
    size_t tape_left       # Bytes not read yet.
    bint tape_ran_out      # What was drawn since is worthless; try again with a longer tape.
    Script* script         # NULL: draw from one of those.

cdef void rng_seed(Rng* rng, uint64_t seed) noexcept nogil
cdef uint64_t rng_next(Rng* rng) noexcept nogil
# Uniform in 0..n-1, without modulo bias; n > 0.
cdef uint32_t rng_below(Rng* rng, uint32_t n) noexcept nogil
# Uniform in [0, 1).
cdef double rng_double(Rng* rng) noexcept nogil
# An index in 0..n-1 in proportion to weights, of which these are the running sums.
cdef size_t rng_weighted(Rng* rng, const double* sums, size_t n) noexcept nogil
# Asked by a call that starts anew because what it drew does not fit: True if it must return
# instead, because it plays a script, whose next outcome then comes.
cdef bint rng_reject(Rng* rng) noexcept nogil
# Makes the generator play a script, from the first outcome of a call on.
cdef void script_start(Script* script, Rng* rng) noexcept nogil
# The probability of what came of the call; where calls are rejected, in relation to the others.
cdef double script_probability(const Script* script) noexcept nogil
# Turns to the next outcome of the same call; False if there is none left.
cdef bint script_next(Script* script) noexcept nogil
# Fisher-Yates. A script goes through each order of equal cards once.
cdef void rng_shuffle(Rng* rng, uint8_t* cards, int n) noexcept nogil
# Moves `k` of the cards to the end, any of them alike, in no certain order.
cdef void rng_part(Rng* rng, uint8_t* cards, int n, int k) noexcept nogil

# Mixes `value` into the running key `key`, for keys of what a seat has observed.
cdef uint64_t mix(uint64_t key, uint64_t value) noexcept nogil
