"""Plain UCT-ISMCTS, frozen: the yardstick that the search is measured against in the arena.

What the first version of the search was without regret matching: a tree for each seat, keyed by
what it has observed; UCB1 with availability counts at every decision, also at simultaneous ones,
where each seat chooses for itself (decoupled UCT); uniformly random playouts; the most visited
action as the answer. It shares no code with ai/ismcts.pyx, so that neither its play nor its speed
changes when the search does. Do not improve it.

    P. I. Cowling, E. J. Powley, D. Whitehouse, "Information Set Monte Carlo IsmctsWorker Search", IEEE
    Transactions on Computational Intelligence and AI in Games 4(2), 2012.
"""

from libc.math cimport log, sqrt
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from engine.chance cimport Rng, mix, rng_below, rng_seed
from engine.game cimport MAX_ACTIONS, NOBODY, SEATS, Action, Game, State
from engine.sampler cimport Sampler

cdef enum:
    NO_NODE = 0                # Node 0 is never used.
    MAX_PATH = 256            # Decisions of one iteration that are learned from.
    SCRATCH = 1 << 15          # Actions available at these decisions, together.
    CHECK_TIME_EVERY = 16      # Iterations.
    MAX_NODES = 1 << 21
    MAX_CHILDREN = 1 << 22


cdef struct Child:
    Action action
    uint32_t visits
    uint32_t availability
    double total               # Of the scores.


cdef struct Node:
    uint64_t key               # Of its seat and what that seat has observed.
    uint32_t first             # Its children: a run of the arena, ascending by action.
    uint16_t count
    uint16_t room


cdef struct Step:              # A decision of the current iteration.
    uint32_t node
    int seat
    int count                  # Actions available,
    uint32_t at                # from here in the scratch,
    uint32_t chosen            # and which of them was chosen.


cdef double now() noexcept nogil:
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return t.tv_sec + 1e-9 * t.tv_nsec


cdef class Uct:
    """One search from a sampler's view."""

    cdef Game game
    cdef Sampler sampler
    cdef Rng rng
    cdef double exploration
    cdef Node* nodes
    cdef Child* children
    cdef uint32_t* table       # Hash of a key -> node.
    cdef size_t node_room, child_room, table_mask
    cdef size_t node_count, child_count
    cdef Step path[MAX_PATH]
    cdef uint16_t* scratch     # Children that are available.
    cdef int path_length
    cdef size_t scratch_used
    cdef uint64_t root_key
    cdef readonly uint64_t iterations

    def __cinit__(self, Sampler sampler not None, uint64_t seed, double exploration,
                  uint64_t iterations):
        self.sampler = sampler
        self.game = sampler.game
        self.exploration = exploration
        rng_seed(&self.rng, seed)
        # Memory is taken once; what is not touched costs nothing.
        self.node_room = min(SEATS * iterations + 2, MAX_NODES) if iterations else MAX_NODES
        self.child_room = min(2 * MAX_ACTIONS * self.node_room, MAX_CHILDREN)
        self.table_mask = 1
        while self.table_mask < 2 * self.node_room:
            self.table_mask *= 2
        self.nodes = <Node*> malloc(self.node_room * sizeof(Node))
        self.children = <Child*> malloc(self.child_room * sizeof(Child))
        self.table = <uint32_t*> calloc(self.table_mask, sizeof(uint32_t))
        self.scratch = <uint16_t*> malloc(SCRATCH * sizeof(uint16_t))
        self.table_mask -= 1
        self.node_count = 1
        if (self.nodes == NULL or self.children == NULL or self.table == NULL
                or self.scratch == NULL):
            raise MemoryError

    def __dealloc__(self):
        free(self.nodes)
        free(self.children)
        free(self.table)
        free(self.scratch)

    def run(self, uint64_t iterations, double seconds):
        """Searches until a limit (0: none) is reached."""
        cdef double deadline = now() + seconds
        with nogil:
            while not iterations or self.iterations < iterations:
                if (seconds > 0 and self.iterations and self.iterations % CHECK_TIME_EVERY == 0
                        and now() >= deadline):
                    break
                self.iterate()

    cdef void iterate(self) noexcept nogil:
        cdef State state
        cdef Action joint[SEATS]
        cdef uint64_t keys[SEATS]
        cdef double score, own
        cdef int seat, owed
        cdef bint at_leaf = False
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
                    joint[seat] = self.decide(&state, seat, keys[seat], &at_leaf)
            self.game.apply(&state, joint, &self.rng, NULL)
            for seat in range(SEATS):
                keys[seat] = mix(keys[seat], self.game.observe(&state, joint, seat))
        if at_leaf:
            self.game.playout(&state, &self.rng)
        score = self.game.outcome(&state, 0)
        while self.path_length > 0:
            self.path_length -= 1
            seat = self.path[self.path_length].seat
            own = score if seat == 0 else 1 - score
            self.learn(&self.path[self.path_length], own)
        self.iterations += 1

    cdef Action decide(self, const State* state, int seat, uint64_t key,
                       bint* at_leaf) noexcept nogil:
        cdef Action actions[MAX_ACTIONS]
        cdef int count = self.game.legal(state, seat, actions)
        cdef Step* step
        cdef uint32_t at
        if count == 1:
            return actions[0]
        at = self.find(key, at_leaf)
        if (at == NO_NODE or self.path_length == MAX_PATH
                or self.scratch_used + count > SCRATCH
                or not self.offer(&self.nodes[at], actions, count)):
            at_leaf[0] = True
            return actions[rng_below(&self.rng, count)]
        step = &self.path[self.path_length]
        self.path_length += 1
        step.node = at
        step.seat = seat
        step.count = count
        step.at = self.scratch_used
        self.scratch_used += count
        self.choose(step)
        return self.children[self.nodes[at].first + self.scratch[step.at + step.chosen]].action

    cdef uint32_t find(self, uint64_t key, bint* at_leaf) noexcept nogil:
        # The node of a key; a new one makes this the leaf of the iteration.
        cdef size_t slot = key & self.table_mask
        cdef Node* node
        while self.table[slot] != NO_NODE:
            if self.nodes[self.table[slot]].key == key:
                return self.table[slot]
            slot = (slot + 1) & self.table_mask
        at_leaf[0] = True
        if self.node_count == self.node_room:
            return NO_NODE
        node = &self.nodes[self.node_count]
        memset(node, 0, sizeof(Node))
        node.key = key
        self.table[slot] = self.node_count
        self.node_count += 1
        return self.table[slot]

    cdef bint offer(self, Node* node, const Action* actions, int count) noexcept nogil:
        # Writes which children of the node these actions are, making those that are new. False:
        # there is no memory for them.
        cdef Child* child = self.children + node.first
        cdef uint16_t* at = self.scratch + self.scratch_used
        cdef int i, j = 0, fresh = 0
        for i in range(count):
            while j < node.count and child[j].action < actions[i]:
                j += 1
            if j < node.count and child[j].action == actions[i]:
                at[i] = j
                j += 1
            else:
                fresh += 1
        if fresh:
            if not self.merge(node, actions, count, fresh):
                return False
            return self.offer(node, actions, count)
        for i in range(count):
            child[at[i]].availability += 1
        return True

    cdef bint merge(self, Node* node, const Action* actions, int count, int fresh) noexcept nogil:
        # Moves the children to a larger run, with room for more, and the new actions among them.
        cdef size_t room = node.room
        cdef Child* old = self.children + node.first
        cdef Child* new = old
        cdef int i = count - 1, j = node.count - 1, k = node.count + fresh - 1
        if node.count + fresh > node.room:
            # The first actions often are all there will be.
            room = node.count + fresh if node.count == 0 else (node.count + fresh) * 3 // 2 + 1
            if room > MAX_ACTIONS * 8 or self.child_count + room > self.child_room:
                return False
            new = self.children + self.child_count
            node.first = self.child_count
            node.room = room
            self.child_count += room
        node.count += fresh
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

    cdef void choose(self, Step* step) noexcept nogil:
        cdef Child* child = self.children + self.nodes[step.node].first
        cdef uint16_t* at = self.scratch + step.at
        cdef Child* one
        cdef double value, best = -1
        cdef int i, unvisited = 0
        for i in range(step.count):
            one = &child[at[i]]
            if one.visits == 0:
                # One of the unvisited, each with the same probability.
                unvisited += 1
                if rng_below(&self.rng, unvisited) == 0:
                    step.chosen = i
            elif unvisited == 0:
                value = (one.total / one.visits
                         + self.exploration * sqrt(log(<double> one.availability) / one.visits))
                if value > best:
                    best = value
                    step.chosen = i

    cdef void learn(self, const Step* step, double score) noexcept nogil:
        cdef Child* one = self.children + self.nodes[step.node].first
        one += self.scratch[step.at + step.chosen]
        one.visits += 1
        one.total += score

    def most_visited(self):
        """The most visited action at the root; the first of several."""
        cdef size_t slot = self.root_key & self.table_mask
        cdef Node* root
        cdef Child* best
        cdef int i
        while self.table[slot] != NO_NODE and self.nodes[self.table[slot]].key != self.root_key:
            slot = (slot + 1) & self.table_mask
        if self.table[slot] == NO_NODE:
            raise ValueError("the seat of the view has no choice")
        root = &self.nodes[self.table[slot]]
        best = self.children + root.first
        for i in range(root.count):
            if self.children[root.first + i].visits > best.visits:
                best = self.children + root.first + i
        return best.action


def uct(view, *, iterations=0, seconds=0.0, seed=0, exploration=0.5):
    """The action that plain UCT-ISMCTS chooses from a view, and the iterations that it took.

    `iterations` and `seconds` are limits, 0 is none. The seat of the view must have a choice.
    """
    if iterations <= 0 and seconds <= 0:
        raise ValueError("a search needs a limit")
    one = Uct(Sampler.of(view), seed, exploration, iterations)
    one.run(iterations, seconds)
    return one.most_visited(), one.iterations
