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
from libc.string cimport memset

from ai.memory cimport NO_ENTRY, Arena, HashIndex
from ai.worker cimport now
from engine.chance cimport Rng, mix, rng_below, rng_seed
from engine.faults cimport failed_here, pending, raise_fault
from engine.game cimport MAX_ACTIONS, NOBODY, SEATS, Action, Game, State
from engine.playout_policy cimport PlayoutPolicy
from engine.sampler cimport Sampler

cdef enum:
    MAX_PATH = 256             # Decisions of one iteration that are updated.
    SCRATCH = 1 << 15          # Actions available at these decisions, together.
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
    uint32_t first             # Its children: a run of the arena, ascending by action.
    uint16_t count
    uint16_t capacity


cdef struct Step:              # A decision of the current iteration.
    uint32_t node
    int seat
    int count                  # Actions available,
    uint32_t first             # from here in the scratch,
    uint32_t chosen            # and which of them was chosen.


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
    cdef uint16_t* available   # Scratch: children that are available in this iteration.
    cdef int path_length
    cdef size_t scratch_used
    cdef uint64_t root_key
    cdef readonly uint64_t iterations

    def __cinit__(self, Sampler sampler not None, uint64_t seed, double exploration,
                  uint64_t iterations):
        cdef Arena arena = Arena()
        self.arena = arena
        self.sampler = sampler
        self.game = sampler.game
        self.policy = PlayoutPolicy.uniform(self.game)
        self.exploration = exploration
        rng_seed(&self.rng, seed)
        # Memory is taken once; what is not touched costs nothing.
        self.node_capacity = min(SEATS * iterations + 2, MAX_NODES) if iterations else MAX_NODES
        self.child_capacity = min(2 * MAX_ACTIONS * self.node_capacity, MAX_CHILDREN)
        self.nodes = <Node*> arena.take(self.node_capacity, sizeof(Node))
        self.children = <Child*> arena.take(self.child_capacity, sizeof(Child))
        self.available = <uint16_t*> arena.take(SCRATCH, sizeof(uint16_t))
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
        self.scratch_used = 0
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
        cdef int count = self.game.legal(state, seat, actions)
        cdef Step* step
        cdef uint32_t at
        if count == 1:
            return actions[0]
        at = self.find_or_expand(key, at_leaf)
        if (at == NO_ENTRY or self.path_length == MAX_PATH
                or self.scratch_used + count > SCRATCH
                or not self.mark_available(&self.nodes[at], actions, count)):
            at_leaf[0] = True
            return actions[rng_below(&self.rng, count)]
        step = &self.path[self.path_length]
        self.path_length += 1
        step.node = at
        step.seat = seat
        step.count = count
        step.first = self.scratch_used
        self.scratch_used += count
        self.select_by_ucb1(step)
        return self.children[
            self.nodes[at].first + self.available[step.first + step.chosen]].action

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

    cdef bint mark_available(self, Node* node, const Action* actions, int count) noexcept nogil:
        # Writes to the scratch which children of the node the actions are, adds those that are
        # missing, and counts that all were available. False: there is no memory for them.
        cdef Child* children = self.children + node.first
        cdef uint16_t* available = self.available + self.scratch_used
        cdef int i, j = 0, missing = 0
        for i in range(count):
            while j < node.count and children[j].action < actions[i]:
                j += 1
            if j < node.count and children[j].action == actions[i]:
                available[i] = j
                j += 1
            else:
                missing += 1
        if missing:
            if not self.add_children(node, actions, count, missing):
                return False
            return self.mark_available(node, actions, count)
        for i in range(count):
            children[available[i]].availability += 1
        return True

    cdef bint add_children(self, Node* node, const Action* actions, int count,
                           int missing) noexcept nogil:
        # Merges the actions that are missing into the children of a node, which move to a longer
        # run, with room for more, if theirs is too short.
        cdef size_t capacity = node.capacity
        cdef Child* old = self.children + node.first
        cdef Child* new = old
        cdef int i = count - 1, j = node.count - 1, k = node.count + missing - 1
        if node.count + missing > node.capacity:
            # Often the first actions are all there will be.
            capacity = (node.count + missing if node.count == 0
                        else (node.count + missing) * 3 // 2 + 1)
            if capacity > MAX_ACTIONS * 8 or self.child_count + capacity > self.child_capacity:
                return False
            new = self.children + self.child_count
            node.first = self.child_count
            node.capacity = capacity
            self.child_count += capacity
        node.count += missing
        while k >= 0:              # From the end, since the runs may be the same.
            if i >= 0 and (j < 0 or actions[i] > old[j].action):
                memset(&new[k], 0, sizeof(Child))
                new[k].action = actions[i]
                i -= 1
            else:
                if i >= 0 and actions[i] == old[j].action:
                    i -= 1
                new[k] = old[j]
                j -= 1
            k -= 1
        return True

    cdef void select_by_ucb1(self, Step* step) noexcept nogil:
        cdef const Child* children = self.children + self.nodes[step.node].first
        cdef const uint16_t* available = self.available + step.first
        cdef const Child* child
        cdef double value, best = -1
        cdef int i, unvisited = 0
        for i in range(step.count):
            child = &children[available[i]]
            if child.visits == 0:
                # One of the unvisited, each with the same probability.
                unvisited += 1
                if rng_below(&self.rng, unvisited) == 0:
                    step.chosen = i
            elif unvisited == 0:
                value = (child.total / child.visits
                         + self.exploration * sqrt(log(<double> child.availability)
                                                   / child.visits))
                if value > best:
                    best = value
                    step.chosen = i

    cdef void update(self, const Step* step, double score) noexcept nogil:
        cdef Child* child = (self.children + self.nodes[step.node].first
                             + self.available[step.first + step.chosen])
        child.visits += 1
        child.total += score

    def most_visited(self):
        """The most visited action at the root; the first of several."""
        cdef uint32_t at = self.index.find(self.root_key)
        cdef const Node* root
        cdef const Child* best
        cdef int i
        if at == NO_ENTRY:
            raise ValueError("the seat of the view has no choice")
        root = &self.nodes[at]
        best = self.children + root.first
        for i in range(root.count):
            if self.children[root.first + i].visits > best.visits:
                best = self.children + root.first + i
        return best.action


def uct(view, *, iterations=0, seconds=0.0, seed=0, exploration=0.5):
    """The action that plain UCT-ISMCTS chooses from a view, and how many iterations it took.

    `iterations` and `seconds` are limits, 0 is none. The seat of the view must have a choice.
    """
    if iterations <= 0 and seconds <= 0:
        raise ValueError("a search needs a limit")
    running = Uct(Sampler.of(view), seed, exploration, iterations)
    running.run(iterations, seconds)
    return running.most_visited(), running.iterations
