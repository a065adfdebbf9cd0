"""How long a search goes on."""

from libc.stdint cimport uint64_t

from engine.chance cimport Rng
from engine.game cimport Action, State

cdef class Stop:
    cdef volatile int flag

# By the monotonic clock, in seconds.
cdef double now() noexcept nogil

cdef class Worker:
    cdef readonly uint64_t iterations
    # One more; False if it cannot go on.
    cdef bint iterate(self) noexcept nogil
    # What a seat that has observed `key` is most expected to choose in this world; with a
    # generator, drawn by how likely it is. 0: that is not known well enough.
    cdef Action expect(self, const State* state, int seat, uint64_t key, Rng* rng) noexcept nogil
    cdef int work(self, uint64_t iterations, double deadline, volatile int* stop) noexcept nogil
