"""What one thread searches with: the loop, what ends it, and the statistics that it leaves."""

from typing import NamedTuple

from cpython.pythread cimport (
    NOWAIT_LOCK,
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_release_lock,
)
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from engine.faults cimport failed_here, pending, raise_fault

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

cdef extern from "Python.h":
    # Waits at most for so many microseconds; without the interpreter's lock.
    int PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds,
                                    int interruptible) nogil

cdef enum:
    # The flag of a Stop.
    RUNNING = 0
    PAUSED
    STOPPED

cdef double MAX_WAIT = 3600    # Seconds, of one wait at a gate.

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
    iterations in which the action could have been chosen. The `early` figures are those of the
    first of the samples, from a fourth of all to a half. The search does not name an action that is
    `dominated`.
    """

    action: int
    visits: int
    availability: int
    samples: int
    total: float
    squares: float
    strategy: float
    early_samples: int = 0
    early_total: float = 0.0
    early_squares: float = 0.0
    dominated: bool = False

    def merge(self, other):
        """The statistics of two workers about the same action, added up."""
        added = (a + b for a, b in zip(self[1:10], other[1:10]))
        return RootAction(self.action, *added, self.dominated or other.dominated)


class Watched(NamedTuple):
    """What one worker saw of the aspects of an action in a last look.

    It was watched so many `times`. `scores` is the sum of the scores; `totals`, `squares` and
    `products` are those of the values of each aspect, of their squares and of their products with
    the scores.
    """

    times: int
    scores: float
    totals: tuple[float, ...]
    squares: tuple[float, ...]
    products: tuple[float, ...]


class Rounds(NamedTuple):
    """What one worker saw in a last look at some actions.

    Of each action, in the same order, there is one score a round: `totals` are their sums, `draws`
    the sums of how likely each is a draw, and `products` those of two scores of a round. `watched`
    has what was seen of their aspects, if that was asked for and the game has some.
    """

    actions: tuple[int, ...]
    rounds: int
    totals: tuple[float, ...]
    draws: tuple[float, ...]
    products: tuple[tuple[float, ...], ...]
    watched: tuple[Watched, ...] = ()


class Summary(NamedTuple):
    """What one worker did.

    `total` and `draws` are the sums of the scores of its seat, and of how likely each is a draw, in
    `playouts` playouts; `full` says that the memory was too small for a node.
    """

    iterations: int
    playouts: int
    total: float
    draws: float
    nodes: int
    full: bool

    def merge(self, other):
        """The summaries of two workers, added up."""
        return Summary(*(a + b for a, b in zip(self[:5], other[:5])), self.full or other.full)


cdef class Stop:
    """Ends searches from another thread, or pauses them for a while.

    A pause changes nothing of what a search finds, unless the search has a limit of time, which
    goes on. No method but `hold` ever waits, so that a thread of high priority can call it.
    """

    # The flag says what holds, and the gate only wakes threads: `resume` opens it, each thread that
    # comes through opens it for the next one, and a thread that finds the search paused again
    # leaves it closed behind itself and waits once more. So nothing depends on whether the gate
    # was closed in time.

    def __cinit__(self):
        self.gate = PyThread_allocate_lock()
        if self.gate == NULL:
            raise MemoryError
        PyThread_acquire_lock(self.gate, NOWAIT_LOCK)

    def __dealloc__(self):
        if self.gate != NULL:
            PyThread_free_lock(self.gate)

    def set(self):
        """Ends the searches that watch this, within an iteration, also while they are paused."""
        self.flag = STOPPED
        self.open_gate()

    def is_set(self):
        """Whether it was set."""
        return self.flag == STOPPED

    def pause(self):
        """Pauses the searches that watch this, within an iteration, unless they must end."""
        if self.flag == RUNNING:
            self.flag = PAUSED
            PyThread_acquire_lock(self.gate, NOWAIT_LOCK)

    def resume(self):
        """Lets the searches go on that were paused."""
        if self.flag == PAUSED:
            self.flag = RUNNING
            self.open_gate()

    def is_paused(self):
        """Whether the searches are paused."""
        return self.flag == PAUSED

    def hold(self, double deadline=0):
        """Waits while it is paused, at most until `deadline`; returns whether it is set.

        The deadline is a time of the monotonic clock (0 or infinite: none).
        """
        cdef bint stopped
        with nogil:
            stopped = self.must_stop(deadline)
        return stopped

    cdef void open_gate(self) noexcept nogil:
        # A lock that is open already must not be released on every system.
        PyThread_acquire_lock(self.gate, NOWAIT_LOCK)
        PyThread_release_lock(self.gate)

    cdef bint must_stop(self, double deadline) noexcept nogil:
        cdef double left
        while self.flag == PAUSED:
            left = MAX_WAIT
            if deadline > 0:
                left = min(deadline - now(), MAX_WAIT)
                if left <= 0:
                    return False
            if (PyThread_acquire_lock_timed(self.gate, <long long> (1e6 * left) + 1, 0)
                    and self.flag != PAUSED):
                PyThread_release_lock(self.gate)
        return self.flag == STOPPED


cdef double now() noexcept nogil:
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return t.tv_sec + 1e-9 * t.tv_nsec


cdef class Worker:
    """What one thread searches with. Once it is `abandoned`, it ends at the next iteration."""

    def run(self, uint64_t iterations, double seconds, Stop stop):
        """Searches until a limit (0: none) is reached or `stop` is set; returns the StopReason."""
        cdef int reason
        cdef double deadline = now() + seconds if seconds > 0 else 0
        with nogil:
            reason = self.run_until(iterations, deadline, stop)
        raise_fault()
        return STOP_REASONS[reason]

    def root_actions(self):
        """The statistics of each action of the root, as RootActions."""
        raise NotImplementedError

    def summary(self):
        """What was done, as a Summary."""
        raise NotImplementedError

    cdef int run_until(self, uint64_t iterations, double deadline, Stop stop) noexcept nogil:
        # Linux can leave the processor to a thread of the idle policy for milliseconds, until its
        # next tick, although another thread, which ran shortly before, is ready again. It does not
        # do so if the idle thread yields.
        cdef bint yields = RUNS_WHEN_IDLE()
        cdef double yielded = 0
        cdef uint64_t done = 0
        while not (stop.flag and stop.must_stop(deadline)):
            if iterations and done >= iterations:
                return BY_ITERATIONS
            # At each iteration, which rules in Python can make long.
            if deadline > 0 and done and now() >= deadline:
                return BY_TIME
            if not self.iterate():
                return BY_MEMORY
            if self.abandoned or (pending and failed_here()):
                return BY_CANCEL
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
