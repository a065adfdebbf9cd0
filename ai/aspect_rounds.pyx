"""The aspects of the actions of a last look: averages over its worlds.

The iterations of a last look (ai/ismcts.pyx) explore, and so they foretell too much of what the
seat wants: the opponent tries what is bad for it, too. So an action is played once more for its
aspects, in the same world, as both seats are expected to play: what the tree has found likeliest,
and by the playout policy where it knows too little. `lab/search_bench/scores.py aspects` compares
them with what happens. Chance is another one than that of the iteration, so the scores are what
they would be if nobody asked for aspects. It takes time, so few of the many rounds of a long look
are watched.
"""

from libc.string cimport memset

from ai.memory cimport Arena
from engine.aspects cimport Aspects
from engine.game cimport Game, State

from ai.worker import Watched


cdef class AspectRounds:
    """What a worker has seen of the aspects of some actions."""

    def __init__(self, Game game not None, int seat):
        self.aspects = Aspects.of(game)
        self.count = len(self.aspects.units)
        self.seat = seat

    cdef look(self, int actions, Arena arena):
        self.sums = <Sums*> arena.take_zeroed(actions, sizeof(Sums))

    def seen(self, int action):
        """What was seen of an action since `look`, as Watched."""
        cdef Sums* sums = &self.sums[action]
        return Watched(
            sums.count, sums.scores,
            tuple([sums.totals[i] for i in range(self.count)]),
            tuple([sums.squares[i] for i in range(self.count)]),
            tuple([sums.products[i] for i in range(self.count)]))

    cdef void begin(self, const State* world) noexcept nogil:
        self.world = world
        self.reached = False
        memset(self.values, 0, sizeof(self.values))

    cdef void follow(self, const State* state) noexcept nogil:
        self.reached = self.aspects.follow(self.world, state, self.seat, self.values)

    cdef void end(self, int action, double score) noexcept nogil:
        cdef Sums* sums = &self.sums[action]
        cdef int i
        if self.seat == 1:
            score = 1 - score
        sums.count += 1
        sums.scores += score
        for i in range(self.count):
            sums.totals[i] += self.values[i]
            sums.squares[i] += self.values[i] * self.values[i]
            sums.products[i] += self.values[i] * score
