"""The rounds of a last look (ai/last_look.py): in each, some actions are played in one world."""

from libc.string cimport memset

from ai.memory cimport Arena
from engine.game cimport Action, State

from ai.worker import Rounds


cdef class LookRounds:
    """What a worker saw of some actions of its root."""

    def __cinit__(self, actions):
        cdef int i, n = len(actions)
        memset(&self.world, 0, sizeof(State))
        self.arena = Arena()
        self.count = n
        self.actions = <Action*> self.arena.take(n, sizeof(Action))
        self.scores = <double*> self.arena.take(n, sizeof(double))
        self.draws = <double*> self.arena.take(n, sizeof(double))
        self.totals = <double*> self.arena.take_zeroed(n, sizeof(double))
        self.draw_totals = <double*> self.arena.take_zeroed(n, sizeof(double))
        self.products = <double*> self.arena.take_zeroed(n * n, sizeof(double))
        for i in range(n):
            self.actions[i] = actions[i]

    def seen(self, watched):
        """What was seen, as Rounds; `watched` is what was seen of aspects."""
        cdef int i, j, n = self.count
        return Rounds(
            tuple([self.actions[i] for i in range(n)]),
            self.rounds,
            tuple([self.totals[i] for i in range(n)]),
            tuple([self.draw_totals[i] for i in range(n)]),
            tuple([tuple([self.products[i * n + j] for j in range(n)]) for i in range(n)]),
            watched)

    cdef void add(self, double score, double draw) noexcept nogil:
        cdef int i, j, n = self.count
        self.scores[self.turn] = score
        self.draws[self.turn] = draw
        self.turn += 1
        if self.turn < n:
            return
        self.turn = 0
        self.rounds += 1
        for i in range(n):
            self.totals[i] += self.scores[i]
            self.draw_totals[i] += self.draws[i]
            for j in range(n):
                self.products[i * n + j] += self.scores[i] * self.scores[j]
