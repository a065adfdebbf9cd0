"""Plain UCT-ISMCTS, frozen: the yardstick that the search is measured against in the arena.

This is what the first version of the search was without regret matching: a tree for each seat,
keyed by what it has observed; UCB1 with availability counts at every decision, also at simultaneous
ones, where each seat chooses for itself (decoupled UCT); uniformly random playouts; the most
visited action as the answer. It shares memory and clock with the search, but no code that decides
anything, so that its play does not change when the search does. Do not improve it.

    P. I. Cowling, E. J. Powley, D. Whitehouse, "Information Set Monte Carlo Tree Search", IEEE
    Transactions on Computational Intelligence and AI in Games 4(2), 2012.
"""

cimport cython
from libc.math cimport log, sqrt
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from ai.memory cimport NO_ENTRY, Arena, HashIndex
from ai.worker cimport now
from engine.chance cimport Rng, mix, rng_below, rng_seed
from engine.faults cimport failed_here, pending, raise_fault
from engine.game cimport MAX_ACTIONS, NOBODY, SEATS, Action, Game, State
from engine.playout_policy cimport PlayoutPolicy
from engine.sampler cimport Sampler

cdef enum:
    MAX_PATH = 256             # Decisions of one iteration that are updated.
    CHECK_TIME_EVERY = 16      # Iterations.
    MAX_NODES = 1 << 21
    MAX_CHILDREN = 1 << 22


cdef struct Child:             # An action of a node.
    Action action
    uint32_t visits
    uint32_t availability
    double total               # Sum of the scores.


cdef struct Node:
    uint64_t key               # Of its seat and what that seat has observed.
    uint32_t first             # Its children: a run of the arena, in the order of their creation.
    uint16_t count
    uint16_t capacity


cdef struct Step:              # A decision of the current iteration.
    uint32_t node
    int seat
    int chosen                 # The number of a child.


@cython.internal
cdef class Uct:
    """One search from a sampler's view."""

    cdef Game game
    cdef PlayoutPolicy policy
    cdef Sampler sampler
    cdef Rng rng
    cdef double exploration
    cdef Arena arena
    cdef Node* nodes
    cdef Child* children
    cdef HashIndex index       # Of the nodes.
    cdef size_t node_capacity, child_capacity
    cdef size_t node_count, child_count
    cdef Step path[MAX_PATH]
    cdef int path_length
    cdef uint64_t root_key
    cdef readonly uint64_t iterations

    def __cinit__(self, Sampler sampler not None, uint64_t seed, double exploration,
                  uint64_t iterations):
        self.sampler = sampler
        self.game = sampler.game
        self.policy = PlayoutPolicy.uniform(self.game)
        self.exploration = exploration
        rng_seed(&self.rng, seed)
        # Memory is taken once; what is not touched costs nothing.
        self.arena = Arena()
        self.node_capacity = min(SEATS * iterations + 2, MAX_NODES) if iterations else MAX_NODES
        self.child_capacity = min(2 * MAX_ACTIONS * self.node_capacity, MAX_CHILDREN)
        self.nodes = <Node*> self.arena.take(self.node_capacity, sizeof(Node))
        self.children = <Child*> self.arena.take(self.child_capacity, sizeof(Child))
        self.index = HashIndex()
        self.index.use(self.nodes, sizeof(Node), self.node_capacity)
        self.node_count = NO_ENTRY + 1

    def run(self, uint64_t iterations, double seconds):
        """Searches until a limit (0: none) is reached."""
        cdef double deadline = now() + seconds
        with nogil:
            while not iterations or self.iterations < iterations:
                if (seconds > 0 and self.iterations and self.iterations % CHECK_TIME_EVERY == 0
                        and now() >= deadline):
                    break
                self.iterate()
                if pending and failed_here():
                    break
        raise_fault()

    cdef void iterate(self) noexcept nogil:
        cdef State state
        cdef Action joint[SEATS]
        cdef uint64_t keys[SEATS]
        cdef double score, own, draw
        cdef int seat, owed
        cdef bint at_leaf = False
        memset(&state, 0, sizeof(state))
        self.sampler.draw(&state, &self.rng)
        self.path_length = 0
        for seat in range(SEATS):
            keys[seat] = mix(self.game.root_key(&state, seat), seat)
        self.root_key = keys[self.sampler.seat]
        while not at_leaf:
            owed = self.game.deciders(&state)
            if owed == NOBODY:
                break
            for seat in range(SEATS):
                joint[seat] = 0
                if owed & (1 << seat):
                    joint[seat] = self.select(&state, seat, keys[seat], &at_leaf)
            self.game.apply(&state, joint, &self.rng, NULL)
            for seat in range(SEATS):
                keys[seat] = mix(keys[seat], self.game.observe(&state, joint, seat))
        if at_leaf:
            score = self.policy.playout(&state, &self.rng, &draw)
        else:
            score = self.policy.at_end(&state, &draw)
        while self.path_length > 0:
            self.path_length -= 1
            seat = self.path[self.path_length].seat
            own = score if seat == 0 else 1 - score
            self.update(&self.path[self.path_length], own)
        self.iterations += 1

    cdef Action select(self, const State* state, int seat, uint64_t key,
                       bint* at_leaf) noexcept nogil:
        cdef Action actions[MAX_ACTIONS]
        cdef int available[MAX_ACTIONS]
        cdef int count = self.game.legal(state, seat, actions)
        cdef Step* step
        cdef uint32_t at
        if count == 1:
            return actions[0]
        at = self.find_or_expand(key, at_leaf)
        if (at == NO_ENTRY or self.path_length == MAX_PATH
                or not self.mark_available(&self.nodes[at], actions, count, available)):
            at_leaf[0] = True
            return actions[rng_below(&self.rng, count)]
        step = &self.path[self.path_length]
        self.path_length += 1
        step.node = at
        step.seat = seat
        step.chosen = self.select_by_ucb1(&self.nodes[at], available, count)
        return self.children[self.nodes[at].first + step.chosen].action

    cdef uint32_t find_or_expand(self, uint64_t key, bint* at_leaf) noexcept nogil:
        # The node of a key. A new node makes this the leaf of the iteration.
        cdef uint32_t at = self.index.find(key)
        if at != NO_ENTRY:
            return at
        at_leaf[0] = True
        at = self.node_count
        if self.node_count == self.node_capacity:
            return NO_ENTRY
        memset(&self.nodes[at], 0, sizeof(Node))
        self.nodes[at].key = key
        if not self.index.insert(at):
            return NO_ENTRY
        self.node_count += 1
        return at

    cdef bint mark_available(self, Node* node, const Action* actions, int count,
                             int* available) noexcept nogil:
        # Writes which children of the node the actions are, adds those that are missing, and counts
        # that all were available. False: there is no memory for them.
        cdef Child* children = self.children + node.first
        cdef int i, at = -1, known = node.count
        for i in range(count):
            at = place_of(children, known, actions[i], at)
            if at < 0:
                if node.count == node.capacity:
                    if not self.lengthen(node, count):
                        return False
                    children = self.children + node.first
                at = node.count
                memset(&children[at], 0, sizeof(Child))
                children[at].action = actions[i]
                node.count += 1
            available[i] = at
        for i in range(count):
            children[available[i]].availability += 1
        return True

    cdef bint lengthen(self, Node* node, int actions) noexcept nogil:
        # Moves the children of a node to a run with room for more: often the first actions are all
        # that there will be. False: there is no memory for it.
        cdef size_t capacity = max(actions, 3 * node.count // 2 + 1)
        if capacity > MAX_ACTIONS * 8 or self.child_count + capacity > self.child_capacity:
            return False
        memcpy(self.children + self.child_count, self.children + node.first,
               node.count * sizeof(Child))
        node.first = self.child_count
        node.capacity = capacity
        self.child_count += capacity
        return True

    cdef int select_by_ucb1(self, const Node* node, const int* available,
                            int count) noexcept nogil:
        cdef const Child* child
        cdef double value, best = -1
        cdef int i, chosen = 0, unvisited = 0
        for i in range(count):
            child = &self.children[node.first + available[i]]
            if child.visits == 0:
                # One of the unvisited, each with the same probability.
                unvisited += 1
                if rng_below(&self.rng, unvisited) == 0:
                    chosen = available[i]
            elif unvisited == 0:
                value = (child.total / child.visits
                         + self.exploration * sqrt(log(<double> child.availability)
                                                   / child.visits))
                if value > best:
                    best = value
                    chosen = available[i]
        return chosen

    cdef void update(self, const Step* step, double score) noexcept nogil:
        cdef Child* child = &self.children[self.nodes[step.node].first + step.chosen]
        child.visits += 1
        child.total += score

    def most_visited(self):
        """The most visited action at the root; the first of several."""
        cdef uint32_t at = self.index.find(self.root_key)
        cdef const Child* best
        cdef const Child* child
        cdef int i
        if at == NO_ENTRY:
            raise ValueError("the seat of the view has no choice")
        best = &self.children[self.nodes[at].first]
        for i in range(1, self.nodes[at].count):
            child = &self.children[self.nodes[at].first + i]
            if (child.visits > best.visits
                    or child.visits == best.visits and child.action < best.action):
                best = child
        return best.action


cdef inline int place_of(const Child* children, int count, Action action,
                         int after) noexcept nogil:
    # Which of the children an action is; -1 if it is none. Often it is the one after `after`.
    cdef int i
    for i in range(after + 1, count):
        if children[i].action == action:
            return i
    for i in range(min(after + 1, count)):
        if children[i].action == action:
            return i
    return -1


def uct(view, *, iterations=0, seconds=0.0, seed=0, exploration=0.5):
    """The action that plain UCT-ISMCTS chooses from a view, and how many iterations it took.

    `iterations` and `seconds` are limits, 0 is none. The seat of the view must have a choice.
    """
    if iterations <= 0 and seconds <= 0:
        raise ValueError("a search needs a limit")
    running = Uct(Sampler.of(view), seed, exploration, iterations)
    running.run(iterations, seconds)
    return running.most_visited(), running.iterations
