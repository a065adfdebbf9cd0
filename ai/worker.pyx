"""What one thread searches with: the loop, what ends it, and the statistics that it leaves."""

from typing import NamedTuple

from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from ai.results import StopReason

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
    # Why a run ended: places of STOP_REASONS.
    BY_ITERATIONS = 0
    BY_TIME
    BY_CANCEL
    BY_MEMORY

cdef tuple STOP_REASONS = (
    StopReason.ITERATIONS, StopReason.TIME, StopReason.CANCELLED, StopReason.MEMORY,
)


class RootAction(NamedTuple):
    """What one worker found about an action of the root.

    `total` and `squares` are the sum of `samples` scores and of their squares; `strategy` is the
    sum of the probabilities that regret matching gave the action. `availability` counts the
    iterations in which the action could have been chosen.
    """

    action: int
    visits: int
    availability: int
    samples: int
    total: float
    squares: float
    strategy: float

    def merge(self, other):
        """The statistics of two workers about the same action, added up."""
        return RootAction(self.action, *(a + b for a, b in zip(self[1:], other[1:])))


class Summary(NamedTuple):
    """What one worker did.

    `wins` and `draws` are of the seat that searches, in `playouts` playouts; `full` says that the
    memory was too small for a node.
    """

    iterations: int
    playouts: int
    wins: float
    draws: float
    nodes: int
    full: bool

    def merge(self, other):
        """The summaries of two workers, added up."""
        return Summary(*(a + b for a, b in zip(self[:5], other[:5])), self.full or other.full)


cdef class Stop:
    """Ends searches from another thread."""

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
        """Searches until a limit (0: none) is reached or `stop` is set; returns the StopReason."""
        cdef int reason
        with nogil:
            reason = self.run_until(iterations, now() + seconds if seconds > 0 else 0, &stop.flag)
        return STOP_REASONS[reason]

    def root_actions(self):
        """The statistics of each action of the root, as RootActions."""
        raise NotImplementedError

    def summary(self):
        """What was done, as a Summary."""
        raise NotImplementedError

    cdef int run_until(self, uint64_t iterations, double deadline,
                       volatile int* stop) noexcept nogil:
        # Linux can leave the processor to a thread of the idle policy for milliseconds, until its
        # next tick, although another thread, which ran shortly before, is ready again. It does not
        # do so if the idle thread yields.
        cdef bint yields = RUNS_WHEN_IDLE()
        cdef double yielded = 0
        cdef uint64_t done = 0
        while not stop[0]:
            if iterations and done >= iterations:
                return BY_ITERATIONS
            if deadline > 0 and done % CHECK_TIME_EVERY == 0 and done and now() >= deadline:
                return BY_TIME
            if not self.iterate():
                return BY_MEMORY
            done += 1
            if yields and now() >= yielded + YIELD_EVERY:
                sched_yield()
                yielded = now()
        return BY_CANCEL

    cdef bint iterate(self) noexcept nogil:
        return False

    cdef Action expected_action(self, const State* state, int seat, uint64_t key,
                                Rng* rng) noexcept nogil:
        return 0
