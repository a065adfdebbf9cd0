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
from ai.worker cimport Worker
from engine.aspects cimport MAX_ASPECTS, Aspects
from engine.chance cimport Rng, mix, rng_seed
from engine.game cimport NOBODY, SEATS, Action, Game, State
from engine.playout_policy cimport PlayoutPolicy

from ai.worker import Watched

cdef enum:
    ASPECTS = 1                # Makes the chance of aspects another than that of the round.


cdef class AspectRounds:
    """What a worker has seen of the aspects of so many actions. `arena` keeps the sums."""

    def __init__(self, Game game not None, PlayoutPolicy policy not None, int seat, int actions,
                 Arena arena not None):
        self.game = game
        self.policy = policy
        self.seat = seat
        self.aspects = Aspects.of(game)
        self.count = len(self.aspects.units)
        self.sums = <Sums*> arena.take_zeroed(actions, sizeof(Sums))
        memset(&self.state, 0, sizeof(State))

    def seen(self, int action):
        """What was seen of an action, as Watched."""
        cdef Sums* sums = &self.sums[action]
        return Watched(
            sums.count, sums.scores,
            tuple([sums.totals[i] for i in range(self.count)]),
            tuple([sums.squares[i] for i in range(self.count)]),
            tuple([sums.products[i] for i in range(self.count)]))

    cdef void watch(self, Worker worker, const State* world, uint64_t seed, Action action,
                    int number) noexcept nogil:
        # As both seats are expected to play, up to the horizon, and then to a score.
        cdef State* state = &self.state
        cdef Sums* sums = &self.sums[number]
        cdef double[MAX_ASPECTS] values
        cdef Action joint[SEATS]
        cdef uint64_t keys[SEATS]
        cdef Rng rng
        cdef double score, draw
        cdef int seat, owed, i
        cdef bint reached = False
        state[0] = world[0]
        rng_seed(&rng, mix(seed, ASPECTS))
        memset(values, 0, sizeof(values))
        for seat in range(SEATS):
            keys[seat] = mix(self.game.root_key(state, seat), seat)
        while not reached:
            owed = self.game.deciders(state)
            if owed == NOBODY:
                break
            for seat in range(SEATS):
                joint[seat] = 0
                if owed & (1 << seat):
                    joint[seat] = (action if action and seat == self.seat
                                   else self.choose(worker, seat, keys[seat], &rng))
            action = 0
            self.game.apply(state, joint, &rng, NULL)
            for seat in range(SEATS):
                keys[seat] = self.game.next_key(keys[seat], state, joint, seat)
            reached = self.aspects.follow(world, state, self.seat, values)
        score = self.policy.playout(state, &rng, &draw)
        if self.seat == 1:
            score = 1 - score
        sums.count += 1
        sums.scores += score
        for i in range(self.count):
            sums.totals[i] += values[i]
            sums.squares[i] += values[i] * values[i]
            sums.products[i] += values[i] * score

    cdef Action choose(self, Worker worker, int seat, uint64_t key, Rng* rng) noexcept nogil:
        cdef Action action = worker.expected_action(&self.state, seat, key, rng)
        return action if action else self.policy.choose(&self.state, seat, rng)
