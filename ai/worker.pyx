"""What one thread searches with: the loop, what ends it, and what it tells of what it found."""

from typing import NamedTuple

from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

cdef extern from *:
    """
    #include <sched.h>
    #ifdef SCHED_IDLE
    #define RUNS_WHEN_IDLE() (sched_getscheduler(0) == SCHED_IDLE)
    #else
    #define RUNS_WHEN_IDLE() 0
    #endif
    """
    bint RUNS_WHEN_IDLE() nogil
    int sched_yield() nogil

cdef enum:
    CHECK_TIME_EVERY = 16      # Iterations.

cdef double YIELD_EVERY = 1e-4   # Seconds.

cdef enum:
    # Why a search ended
    BY_ITERATIONS = 0
    BY_TIME
    BY_CANCEL
    BY_ITSELF

STOP_REASONS = {BY_ITERATIONS: "iterations", BY_TIME: "time", BY_CANCEL: "cancelled",
                BY_ITSELF: "memory"}


class RootAction(NamedTuple):
    """What a worker found about an action of the view: `total` and `squares` are of `tried` scores,
    `strategy` is the weight with which it was chosen by regret matching.
    """

    action: int
    visits: int
    availability: int
    tried: int
    total: float
    squares: float
    strategy: float

    def plus(self, other):
        """What two workers found about the same action."""
        return RootAction(self.action, *(a + b for a, b in zip(self[1:], other[1:])))


class Summary(NamedTuple):
    """What a worker did: `wins` and `draws` are of the seat that asks. `full`: it had no room."""

    iterations: int
    playouts: int
    wins: float
    draws: float
    nodes: int
    full: bool

    def plus(self, other):
        """What two workers did."""
        return Summary(*(a + b for a, b in zip(self[:5], other[:5])), self.full or other.full)


cdef class Stop:
    """Ends a search from another thread."""

    def set(self):
        """Ends the searches that watch this, within an iteration."""
        self.flag = 1

    def is_set(self):
        """Whether it was set."""
        return bool(self.flag)


cdef double now() noexcept nogil:
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return t.tv_sec + 1e-9 * t.tv_nsec


cdef class Worker:
    """What one thread searches with."""

    def run(self, uint64_t iterations, double seconds, Stop stop):
        """Searches until a limit (0: none) or until stopped; returns why it ended."""
        cdef int reason
        with nogil:
            reason = self.work(iterations, now() + seconds if seconds > 0 else 0, &stop.flag)
        return STOP_REASONS[reason]

    cdef int work(self, uint64_t iterations, double deadline, volatile int* stop) noexcept nogil:
        # Linux can leave the processor even to a thread of the idle policy for milliseconds, until
        # its next tick, when one that has just run wakes again; but not if it gives way.
        cdef bint yields = RUNS_WHEN_IDLE()
        cdef double yielded = 0
        cdef uint64_t done = 0
        while not stop[0]:
            if iterations and done >= iterations:
                return BY_ITERATIONS
            if deadline > 0 and done % CHECK_TIME_EVERY == 0 and done and now() >= deadline:
                return BY_TIME
            if not self.iterate():
                return BY_ITSELF
            done += 1
            if yields and now() >= yielded + YIELD_EVERY:
                sched_yield()
                yielded = now()
        return BY_CANCEL

    cdef bint iterate(self) noexcept nogil:
        return False

    cdef Action expect(self, const State* state, int seat, uint64_t key, Rng* rng) noexcept nogil:
        return 0
