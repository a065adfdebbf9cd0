"""The rules of Leduc poker, as its sampler uses them."""

from engine.chance cimport Rng
from engine.integers cimport uint8_t

# Takes one of the first `n` cards of a deck at random; the last of them takes its place.
cdef uint8_t take(uint8_t* deck, int n, Rng* rng) noexcept nogil
