"""A belief: a probability distribution over hidden things, each packed into 64 bits."""

from libc.stdint cimport uint32_t, uint64_t

from engine.chance cimport Rng

cdef class Belief:
    cdef size_t room           # Slots of the hash table, a power of two.
    cdef size_t size           # Keys in the table.
    cdef uint64_t* keys
    cdef double* weights       # By slot; after `seal`, cumulated over the first `size` entries.
    # The first entry that `draw` must look at, by the slice of the cumulated weight that it draws.
    cdef uint32_t* first
    cdef double slices         # For each unit of weight.
    cdef bint out_of_memory

    # Adds weight to a key.
    cdef void add(self, uint64_t key, double weight) noexcept nogil
    # Closes the table, so that `draw` can be called. False: there is nothing to draw.
    cdef bint seal(self) noexcept nogil
    # Draws a key in proportion to its weight. Thread-safe, after `seal`.
    cdef uint64_t draw(self, Rng* rng) noexcept nogil
    # Scales the weights to a sum of 1, so that they do not underflow, and returns the former sum.
    # Only before `seal`.
    cdef double normalize(self) noexcept nogil
    cdef bint grow(self) noexcept nogil
    cdef bint slice_weights(self) noexcept nogil
