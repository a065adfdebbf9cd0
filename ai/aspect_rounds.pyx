"""The aspects of the actions of a last look: averages over its worlds.

An iteration of a last look (ai/ismcts.pyx) shows the aspects of its action on its way through the
tree, as far as the horizon of the game. Where it leaves the tree before, a copy of the state is
played on by the playout policy, with chance of its own. So the scores are what they would be if
nobody asked for aspects. That takes time, so few of the many rounds of a long look are watched.
"""

from libc.string cimport memset

from ai.memory cimport Arena
from engine.aspects cimport Aspects
from engine.chance cimport Rng, rng_seed
from engine.game cimport NOBODY, SEATS, Action, Game, State
from engine.playout_policy cimport PlayoutPolicy

from ai.worker import Watched


cdef class AspectRounds:
    """What a worker has seen of the aspects of some actions."""

    def __init__(self, Game game not None, PlayoutPolicy policy not None, int seat):
        self.aspects = Aspects.of(game)
        self.count = len(self.aspects.units)
        self.game = game
        self.policy = policy
        self.seat = seat

    cdef look(self, int actions, Arena arena):
        self.values = <Values*> arena.take(actions, sizeof(Values))
        self.sums = <Sums*> arena.take_zeroed(actions, sizeof(Sums))
        self.rounds = 0

    def seen(self, int actions):
        """What was seen since `look`, as Watched."""
        cdef int i, j
        return Watched(
            self.rounds,
            tuple([self.sums[i].scores for i in range(actions)]),
            tuple([tuple([self.sums[i].totals[j] for j in range(self.count)])
                   for i in range(actions)]),
            tuple([tuple([self.sums[i].squares[j] for j in range(self.count)])
                   for i in range(actions)]),
            tuple([tuple([self.sums[i].products[j] for j in range(self.count)])
                   for i in range(actions)]))

    cdef void begin_turn(self, const State* world) noexcept nogil:
        self.begin = world
        self.reached = False
        memset(&self.now, 0, sizeof(Values))

    cdef void play_on(self, const State* state, uint64_t seed) noexcept nogil:
        cdef Action joint[SEATS]
        cdef Rng rng
        cdef int seat, owed
        if self.reached:
            return
        rng_seed(&rng, seed)
        self.state = state[0]
        while not self.reached:
            owed = self.game.deciders(&self.state)
            if owed == NOBODY:
                return
            for seat in range(SEATS):
                joint[seat] = 0
                if owed & (1 << seat):
                    joint[seat] = self.policy.choose(&self.state, seat, &rng)
            self.game.apply(&self.state, joint, &rng, NULL)
            self.see(&self.state)

    cdef void end_turn(self, int turn) noexcept nogil:
        self.values[turn] = self.now

    cdef void end_round(self, const double* scores, int actions) noexcept nogil:
        cdef double value
        cdef int i, j
        self.rounds += 1
        for i in range(actions):
            self.sums[i].scores += scores[i]
            for j in range(self.count):
                value = self.values[i].of[j]
                self.sums[i].totals[j] += value
                self.sums[i].squares[j] += value * value
                self.sums[i].products[j] += value * scores[i]
