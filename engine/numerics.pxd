"""Functions of mathematics whose results have the same bits on every machine.

IEEE 754 fixes the results of + - * / and sqrt to the last bit, but not those of exp, log or erf:
each libm, and each of its versions, rounds them in its own way. A search that took them from there
would find something else under another libc. So these functions use the four operations alone, in
an order that the build does not change (`-ffp-contract=off` in setup.py). sqrt can be libm's.

Their relative error is below 1e-14; erf's is absolute. The methods are textbook ones:

- exp and log: an argument is reduced by a multiple of ln 2, in two parts (W. J. Cody, W. Waite,
  "Software Manual for the Elementary Functions", 1980). The rest is the Taylor series of exp; for
  log, that of 2 artanh((m - 1) / (m + 1)), which is log m (DLMF 4.6.4).
- erf: the Taylor series around the nearest of evenly spaced points (`erf` in numerics.pyx).
"""

from engine.integers cimport int64_t, uint64_t

cdef enum:
    EXPONENT_SHIFT = 52          # Of a double, above the bits of its fraction.
    EXPONENT_BIAS = 1023

cdef union Bits:
    double number
    uint64_t word

# The error function.
cdef double erf(double x) noexcept nogil


# e to the power x: 0 below the normal numbers, and infinity above.
cdef inline double exp(double x) noexcept nogil:
    cdef Bits scale
    cdef double r, r2, r4, low, middle, high
    cdef int64_t k
    if not -708 < x < 709:
        if x != x:
            return x
        scale.word = <uint64_t> 0x7FF << EXPONENT_SHIFT if x > 0 else 0
        return scale.number
    k = <int64_t> (x * 1.4426950408889634 + (0.5 if x > 0 else -0.5))
    # The first product is exact, since the 24 lowest bits of the factor are 0.
    r = (x - k * 6.931471787393093e-01) - k * 1.8206359985041462e-09
    # 1 + r + ... + r^12 / 12!, in groups of four that do not wait for each other.
    r2 = r * r
    r4 = r2 * r2
    low = (1 + r) + r2 * (1.0 / 2 + r * (1.0 / 6))
    middle = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040))
    high = ((1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800))
            + r4 * (1.0 / 479001600))
    scale.word = <uint64_t> (k + EXPONENT_BIAS) << EXPONENT_SHIFT
    return (low + r4 * (middle + r4 * high)) * scale.number


# The natural logarithm of a normal number above 0.
cdef inline double log(double x) noexcept nogil:
    cdef Bits m
    cdef double s, s2, s4, s8, series
    cdef int64_t k
    # x = m * 2^k, with m from sqrt(1/2) to sqrt(2).
    m.number = x
    k = <int64_t> ((m.word - <uint64_t> 0x3FE6A09E667F3BCD) >> EXPONENT_SHIFT)
    if k > 2 * EXPONENT_BIAS:              # Below 0: the shift has filled up with zeros.
        k -= 1 << (64 - EXPONENT_SHIFT)
    m.word -= <uint64_t> k << EXPONENT_SHIFT
    s = (m.number - 1) / (m.number + 1)
    # The terms s^2 / 3 to s^18 / 19 of artanh s / s - 1.
    s2 = s * s
    s4 = s2 * s2
    s8 = s4 * s4
    series = s2 * ((1.0 / 3 + s2 * (1.0 / 5)) + s4 * (1.0 / 7 + s2 * (1.0 / 9))
                   + s8 * ((1.0 / 11 + s2 * (1.0 / 13)) + s4 * (1.0 / 15 + s2 * (1.0 / 17))
                           + s8 * (1.0 / 19)))
    return k * 6.931471787393093e-01 + (2 * s + (2 * s * series + k * 1.8206359985041462e-09))


# x to the power y, for x = 0 or a normal number above 0, and y > 0.
cdef inline double to_the_power(double x, double y) noexcept nogil:
    return exp(y * log(x)) if x > 0 else 0
