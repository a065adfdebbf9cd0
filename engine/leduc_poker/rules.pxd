"""The rules of Leduc poker, for its sampler."""

from engine.chance cimport Rng
from engine.integers cimport uint8_t

# Takes one of the first `n` cards of a deck at random. The last of these moves to its place.
cdef uint8_t take(uint8_t* deck, int n, Rng* rng) noexcept nogil
