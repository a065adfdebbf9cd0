"""What a search expects to follow: lines of play, and in how many worlds an action is the best.

A search answers what to play. This is asked of it afterwards, and changes nothing of what it found.

A line goes on from an action by what both seats are most expected to choose. What the opponent can
choose depends on the cards that he holds, so a line is followed in many worlds at once: each says
what would be chosen in it (`Worker.expect`), the most frequent choice is the next step of the line,
and the worlds that say otherwise are left out. It ends where few worlds are left, or where the
search has hardly been. What the opponent does hidden from the seat is shown as it is modelled: it
comes from the worlds that fit the view, not from his cards.

An action is the best of a world if its mean score is the highest, over a few continuations that
begin as the search expects both seats to choose, with its probabilities, and end as playouts; the
chance of a continuation is the same for each action. Where several are equal, each has an equal
share of the world.
"""

import time

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc

from ai.worker cimport Stop, Worker
from engine.chance cimport Rng, mix, rng_below, rng_next, rng_seed
from engine.game cimport MAX_ACTIONS, NOBODY, SEATS, Action, Game, State
from engine.sampler cimport Sampler

cdef enum:
    WORLDS = 128               # That a line is followed in,
    MIN_WORLDS = 4           # and that must be left.
    MAX_STEPS = 8
    CONTINUATIONS = 8          # Of an action in a world.


cdef struct World:
    State state
    uint64_t keys[SEATS]
    int owed
    Action joint[SEATS]


cdef class PrincipalLines:
    """What the search of a view, by one thread, expects to follow."""

    cdef Worker tree
    cdef Sampler sampler
    cdef Game game
    cdef Rng rng
    cdef World* drawn
    cdef World* worlds
    cdef bint drew

    def __cinit__(self, search):
        self.sampler = search.sampler
        self.game = self.sampler.game
        self.tree = search.trees[0]
        rng_seed(&self.rng, mix(search.seed, <uint64_t> -2))
        self.drawn = <World*> malloc(WORLDS * sizeof(World))
        self.worlds = <World*> malloc(WORLDS * sizeof(World))
        if self.drawn == NULL or self.worlds == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.drawn)
        free(self.worlds)

    cdef void draw(self, World* world) noexcept nogil:
        cdef int seat
        self.sampler.draw(&world.state, &self.rng)
        for seat in range(SEATS):
            world.keys[seat] = mix(self.game.root_key(&world.state, seat), seat)

    cdef void apply(self, World* world, Rng* rng) noexcept nogil:
        cdef int seat
        self.game.apply(&world.state, world.joint, rng, NULL)
        for seat in range(SEATS):
            world.keys[seat] = mix(world.keys[seat],
                                   self.game.observe(&world.state, world.joint, seat))

    # Lines

    def line(self, Action action):
        """What is expected to follow the action: (seat, action) each, that of the asking seat first
        where both decide at the same time. What else is decided with the action is part of it.
        """
        cdef int seats[MAX_STEPS + SEATS]
        cdef Action actions[MAX_STEPS + SEATS]
        cdef int i, count
        with nogil:
            count = self.follow(action, seats, actions)
        return tuple([(seats[i], actions[i]) for i in range(count)])

    cdef int follow(self, Action action, int* seats, Action* actions) noexcept nogil:
        cdef World* world
        cdef Rng rng
        cdef int left = WORLDS, count = 0
        cdef int me = self.sampler.seat
        cdef int i, kept, best, turn, seat
        cdef bint first = True
        if not self.drew:
            # What the other seat is expected to choose at the same time is so for all actions.
            self.drew = True
            for i in range(WORLDS):
                self.draw(&self.drawn[i])
                self.foresee(&self.drawn[i])
        for i in range(WORLDS):
            self.worlds[i] = self.drawn[i]
            self.worlds[i].joint[me] = action
        rng_seed(&rng, action)
        while True:
            best = self.most_frequent(left)
            world = &self.worlds[best]
            if world.owed == NOBODY:
                return count
            for seat in range(SEATS):
                if world.owed & (1 << seat) and world.joint[seat] == 0:
                    return count
            kept = 0
            for i in range(left):
                kept += self.same(&self.worlds[i], world)
            if kept < MIN_WORLDS:
                return count
            for turn in range(SEATS):
                seat = me if turn == 0 else 1 - me
                if world.owed & (1 << seat) and not (first and seat == me):
                    seats[count] = seat
                    actions[count] = world.joint[seat]
                    count += 1
            if count >= MAX_STEPS:
                return count
            first = False
            # The world that the others are compared with comes to the front.
            self.worlds[0], self.worlds[best] = self.worlds[best], self.worlds[0]
            kept = 1
            for i in range(1, left):
                if self.same(&self.worlds[i], &self.worlds[0]):
                    self.worlds[kept] = self.worlds[i]
                    kept += 1
            left = kept
            for i in range(left):
                self.apply(&self.worlds[i], &rng)
                self.foresee(&self.worlds[i])

    cdef void foresee(self, World* world) noexcept nogil:
        # What the seats that owe a decision are expected to choose; 0 if that is not known.
        cdef int seat
        world.owed = self.game.deciders(&world.state)
        for seat in range(SEATS):
            world.joint[seat] = 0
            if world.owed & (1 << seat):
                world.joint[seat] = self.tree.expect(&world.state, seat, world.keys[seat], NULL)

    cdef bint same(self, const World* a, const World* b) noexcept nogil:
        return a.owed == b.owed and a.joint[0] == b.joint[0] and a.joint[1] == b.joint[1]

    cdef int most_frequent(self, int left) noexcept nogil:
        cdef int i, j, votes, most = 0, best = 0
        for i in range(left):
            votes = 0
            for j in range(left):
                votes += self.same(&self.worlds[j], &self.worlds[i])
            if votes > most:
                most = votes
                best = i
        return best

    # Worlds

    def compare(self, actions, uint64_t playouts, double seconds=0, Stop stop=None):
        """In how many worlds each of the actions is the best: the worlds that were looked at, and
        the shares of them.

        For so many playouts, or `seconds` if that is not 0, or until `stop` is set.
        """
        cdef int count = len(actions)
        cdef Action* compared = <Action*> malloc(count * sizeof(Action))
        cdef double* best = <double*> malloc(2 * count * sizeof(double))
        cdef uint64_t most = playouts // (CONTINUATIONS * count)
        cdef uint64_t worlds = 0
        cdef double end = time.monotonic() + seconds
        cdef int i
        try:
            if compared == NULL or best == NULL:
                raise MemoryError
            for i in range(count):
                compared[i] = actions[i]
                best[i] = 0
            while worlds < most and not (stop is not None and stop.flag):
                if seconds > 0 and time.monotonic() >= end:
                    break
                with nogil:
                    self.judge(compared, count, best, best + count)
                worlds += 1
            return worlds, [best[i] / worlds if worlds else 0.0 for i in range(count)]
        finally:
            free(compared)
            free(best)

    cdef void judge(self, const Action* actions, int count, double* best,
                    double* totals) noexcept nogil:
        # Adds one world to the shares of the actions.
        cdef World world
        cdef Rng rng
        cdef uint64_t seed = rng_next(&self.rng)
        cdef double most = -1
        cdef int i, j, equal = 0
        self.draw(&world)
        for i in range(count):
            totals[i] = 0
            for j in range(CONTINUATIONS):
                rng_seed(&rng, mix(seed, j))
                totals[i] += self.continuation(&world, actions[i], &rng)
            if totals[i] > most + 1e-9:
                most = totals[i]
                equal = 0
            equal += totals[i] > most - 1e-9
        for i in range(count):
            if totals[i] > most - 1e-9:
                best[i] += 1.0 / equal

    cdef double continuation(self, const World* world, Action action, Rng* rng) noexcept nogil:
        cdef Action actions[MAX_ACTIONS]
        cdef World copy = world[0]
        cdef int me = self.sampler.seat
        cdef int seat
        cdef bint known = True
        while known:
            copy.owed = self.game.deciders(&copy.state)
            if copy.owed == NOBODY:
                break
            for seat in range(SEATS):
                copy.joint[seat] = 0
                if copy.owed & (1 << seat):
                    if action and seat == me:
                        copy.joint[seat] = action
                        continue
                    copy.joint[seat] = self.tree.expect(&copy.state, seat, copy.keys[seat], rng)
                    if copy.joint[seat] == 0:
                        known = False
                        copy.joint[seat] = actions[
                            rng_below(rng, self.game.legal(&copy.state, seat, actions))]
            action = 0
            self.apply(&copy, rng)
        if not known:
            self.game.playout(&copy.state, rng)
        return self.game.outcome(&copy.state, me)
