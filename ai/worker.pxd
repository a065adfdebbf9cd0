"""What one thread searches with: the base of the search algorithms."""

from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport uint64_t

from engine.chance cimport Rng
from engine.game cimport Action, State

cdef class Stop:
    cdef volatile int flag         # 0, or why threads that watch it must not go on.
    cdef PyThread_type_lock gate   # A semaphore: open while the searches may go on.
    # Whether the search must end. While it is paused this waits, until a time of the monotonic
    # clock at most (0: without limit).
    cdef bint must_stop(self, double deadline) noexcept nogil
    cdef void open_gate(self) noexcept nogil

# The time by the monotonic clock, in seconds.
cdef double now() noexcept nogil

cdef class Worker:
    cdef readonly uint64_t iterations
    cdef public bint abandoned
    # Runs one more iteration. False: the search cannot go on, for want of memory.
    cdef bint iterate(self) noexcept nogil
    # The action that a seat which has observed `key` is most likely to choose in this world or,
    # with a generator, one sampled from what it is expected to play. 0: too little is known.
    cdef Action expected_action(self, const State* state, int seat, uint64_t key,
                                Rng* rng) noexcept nogil
    cdef int run_until(self, uint64_t iterations, double deadline, Stop stop) noexcept nogil
