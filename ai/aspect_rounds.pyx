"""The aspects of the actions of a last look: averages over its worlds.

What follows from an action is played by the playout policy, up to the horizon of the game, and then
to a score: what an aspect is worth shows in the same matches. The iteration itself (ai/ismcts.pyx) would be another measure, but a worse one: of the tree of the seat
that searches more is known than of the opponent's, so it would foretell too much of what the seat
wants (lab/search_bench/scores.py compares both with what happens). It has chance of its own, so
scores are what they would be if nobody asked for aspects. It takes time, so few of the many rounds
of a long look are watched.
"""

from libc.string cimport memset

from ai.memory cimport Arena
from engine.aspects cimport MAX_ASPECTS, Aspects
from engine.chance cimport Rng
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
        self.sums = <Sums*> arena.take_zeroed(actions, sizeof(Sums))

    def seen(self, int action):
        """What was seen of an action since `look`, as Watched."""
        cdef Sums* sums = &self.sums[action]
        return Watched(
            sums.count, sums.scores,
            tuple([sums.totals[i] for i in range(self.count)]),
            tuple([sums.squares[i] for i in range(self.count)]),
            tuple([sums.products[i] for i in range(self.count)]))

    cdef void play_on(self, const State* world, State* state, Rng* rng, int action) noexcept nogil:
        cdef Sums* sums = &self.sums[action]
        cdef double[MAX_ASPECTS] values
        cdef Action joint[SEATS]
        cdef double score, draw
        cdef int seat, owed, i
        memset(values, 0, sizeof(values))
        while not self.aspects.follow(world, state, self.seat, values):
            owed = self.game.deciders(state)
            if owed == NOBODY:
                break
            for seat in range(SEATS):
                joint[seat] = 0
                if owed & (1 << seat):
                    joint[seat] = self.policy.choose(state, seat, rng)
            self.game.apply(state, joint, rng, NULL)
        score = self.policy.playout(state, rng, &draw)
        if self.seat == 1:
            score = 1 - score
        sums.count += 1
        sums.scores += score
        for i in range(self.count):
            sums.totals[i] += values[i]
            sums.squares[i] += values[i] * values[i]
            sums.products[i] += values[i] * score
