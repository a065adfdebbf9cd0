"""How long a search goes on."""

from libc.stdint cimport uint64_t

cdef class Stop:
    cdef volatile int flag

cdef class Worker:
    cdef readonly uint64_t iterations
    # One more; False if it cannot go on.
    cdef bint iterate(self) noexcept nogil
    cdef int work(self, uint64_t iterations, double deadline, volatile int* stop) noexcept nogil
