"""Principal lines: how a match is expected to go on.

Principal lines are computed after a search, and change none of its answers.

A line continues from an action by what both seats are most likely to choose. What the opponent can
choose depends on the opponent's cards, so a line is followed in many worlds at once. Each world
gives what would be chosen in it (`Worker.expected_action`), the most frequent choice is the next
step of the line, and the worlds with other choices are dropped. The line ends where few worlds are
left, or where the search has made few visits. What the opponent does hidden from the seat is shown
as it is modelled: it comes from the worlds that fit the view, not from the opponent's cards.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from ai.memory cimport Arena
from ai.worker cimport Worker
from engine.chance cimport Rng, mix, rng_seed
from engine.faults cimport raise_fault
from engine.game cimport NOBODY, SEATS, Action, Game, State
from engine.sampler cimport Sampler

cdef enum:
    WORLDS = 128               # That a line is followed in,
    MIN_WORLDS = 4             # and that must be left.
    MAX_STEPS = 8

cdef struct World:
    State state
    uint64_t keys[SEATS]
    int owed
    Action joint[SEATS]


cdef class PrincipalLines:
    """What a search expects to follow, by its first worker."""

    cdef Worker worker
    cdef Sampler sampler
    cdef Game game
    cdef Rng rng
    cdef Arena arena
    cdef World* drawn          # The worlds of all lines at the root,
    cdef World* worlds         # and those of the current line.
    cdef bint has_drawn

    def __cinit__(self, search):
        self.arena = Arena()
        self.sampler = search.worlds
        self.game = self.sampler.game
        self.worker = search.workers[0]
        rng_seed(&self.rng, mix(search.seed, <uint64_t> -2))
        self.drawn = <World*> self.arena.take(WORLDS, sizeof(World))
        self.worlds = <World*> self.arena.take(WORLDS, sizeof(World))

    cdef void draw_world(self, World* world) noexcept nogil:
        cdef int seat
        memset(&world.state, 0, sizeof(State))
        self.sampler.draw(&world.state, &self.rng)
        for seat in range(SEATS):
            world.keys[seat] = mix(self.game.root_key(&world.state, seat), seat)

    cdef void apply(self, World* world, Rng* rng) noexcept nogil:
        cdef int seat
        self.game.apply(&world.state, world.joint, rng, NULL)
        for seat in range(SEATS):
            world.keys[seat] = self.game.next_key(
                world.keys[seat], &world.state, world.joint, seat)

    # Lines

    def line(self, Action action):
        """The line that is expected to follow the action, as pairs of seat and action.

        Where both seats decide at the same time, the searching seat comes first. The line begins
        with what the opponent decides at the same time as the action, if it does.
        """
        cdef int seats[MAX_STEPS + SEATS]
        cdef Action actions[MAX_STEPS + SEATS]
        cdef int i, count
        with nogil:
            count = self.follow(action, seats, actions)
        raise_fault()
        return tuple([(seats[i], actions[i]) for i in range(count)])

    cdef int follow(self, Action action, int* seats, Action* actions) noexcept nogil:
        cdef World* world
        cdef Rng rng
        cdef int left = WORLDS, count = 0
        cdef int own_seat = self.sampler.seat
        cdef int i, kept, best, turn, seat
        cdef bint first = True
        if not self.has_drawn:
            # What the opponent is expected to choose at the same time is equal for all actions.
            self.has_drawn = True
            for i in range(WORLDS):
                self.draw_world(&self.drawn[i])
                self.expect_actions(&self.drawn[i])
        for i in range(WORLDS):
            self.worlds[i] = self.drawn[i]
            self.worlds[i].joint[own_seat] = action
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
                kept += self.same_choice(&self.worlds[i], world)
            if kept < MIN_WORLDS:
                return count
            for turn in range(SEATS):
                seat = own_seat if turn == 0 else 1 - own_seat
                if world.owed & (1 << seat) and not (first and seat == own_seat):
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
                if self.same_choice(&self.worlds[i], &self.worlds[0]):
                    self.worlds[kept] = self.worlds[i]
                    kept += 1
            left = kept
            for i in range(left):
                self.apply(&self.worlds[i], &rng)
                self.expect_actions(&self.worlds[i])

    cdef void expect_actions(self, World* world) noexcept nogil:
        # Sets what each seat that must decide is expected to choose; 0 if that is not known.
        cdef int seat
        world.owed = self.game.deciders(&world.state)
        for seat in range(SEATS):
            world.joint[seat] = 0
            if world.owed & (1 << seat):
                world.joint[seat] = self.worker.expected_action(
                    &world.state, seat, world.keys[seat], NULL)

    cdef bint same_choice(self, const World* a, const World* b) noexcept nogil:
        return a.owed == b.owed and a.joint[0] == b.joint[0] and a.joint[1] == b.joint[1]

    cdef int most_frequent(self, int left) noexcept nogil:
        # The first of the worlds with the most frequent choice.
        cdef int[WORLDS] firsts  # Of each choice, the first world with it,
        cdef int[WORLDS] votes   # and how many worlds have it.
        cdef int i, k, choices = 0, best = 0
        for i in range(left):
            for k in range(choices):
                if self.same_choice(&self.worlds[i], &self.worlds[firsts[k]]):
                    votes[k] += 1
                    break
            else:
                firsts[choices] = i
                votes[choices] = 1
                choices += 1
        for k in range(1, choices):
            if votes[k] > votes[best]:
                best = k
        return firsts[best]
