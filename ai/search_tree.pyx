"""The trees that a search grows: nodes, and the children that were tried at each.

A node holds what its seat found out about the actions of one decision. Most nodes are visited once
and have no child. A child is made when its action is tried, so a decision with thousands of actions
costs no more than one with the few that are worth trying. The children of a node lie together in a
run of memory; a run that has become too short is given back.

A tree asks the account for more as it grows, by as much as it has and in small parts, so that it
holds little more than it uses. While it gets no more, the search goes on in the nodes that it has.
"""

from libc.math cimport sqrt
from libc.string cimport memcpy, memset

from ai.memory cimport Grant
from engine.numerics cimport log

cdef enum:
    FIRST_ITEMS = 64           # Nodes, and as many children, at the start;
    MOST_BYTES = 1 << 18       # and so many bytes of each, at most, are asked for at once.
    FIRST_NODES = 500          # That the index has slots for at the start.
    OFTEN = 32                 # From so many visits on, the spread is seldom computed.
    SPREAD_EVERY = 8


cdef void fill_tables() noexcept nogil:
    cdef int octave, step
    SQRT_LOG[0] = 0
    for step in range(1, EXACT):
        SQRT_LOG[step] = <float> sqrt(log(<double> step))
    for octave in range(OCTAVES):
        for step in range(STEPS_AN_OCTAVE):
            SQRT_LOG[EXACT + octave * STEPS_AN_OCTAVE + step] = <float> sqrt(
                log(<double> (<uint64_t> (STEPS_AN_OCTAVE + step) << (octave + 1))))


fill_tables()


cdef class SearchTree:
    """The nodes of both seats."""

    def __cinit__(self, size_t max_nodes, size_t memory, Grant grant):
        # Most nodes are small; where they are not, the children run out before the nodes do.
        cdef Arena arena = Arena(grant)
        self.arena = arena
        self.node_capacity = max(FIRST_ITEMS, min(max_nodes, memory // 4 // sizeof(Node)))
        self.child_capacity = max(
            FIRST_ITEMS,
            min(memory // 2 // (sizeof(Child) + sizeof(Figures)), <size_t> 1 << 31))
        self.nodes = <Node*> arena.take_free(self.node_capacity, sizeof(Node))
        self.children = <Child*> arena.take_free(self.child_capacity, sizeof(Child))
        self.figures = <Figures*> arena.take_free(self.child_capacity, sizeof(Figures))
        memset(&self.nodes[NO_ENTRY], 0, sizeof(Node))  # Its place is prefetched like the others.
        self.node_count = NO_ENTRY + 1
        self.child_count = NO_ENTRY + 1
        self.index = HashIndex()
        self.index.use(arena, self.nodes, sizeof(Node), FIRST_NODES)

    cdef uint32_t add_node(self, uint64_t key) noexcept nogil:
        cdef uint32_t at = self.node_count
        if at >= self.node_granted:
            self.node_granted += self.grow(self.node_granted, self.node_capacity, sizeof(Node))
            if at >= self.node_granted:
                self.full = True
                return NO_ENTRY
        memset(&self.nodes[at], 0, sizeof(Node))
        self.nodes[at].key = key
        self.nodes[at].spread = 0.5
        if not self.index.insert(at):
            self.full = True
            return NO_ENTRY
        self.node_count += 1
        return at

    cdef int add_child(self, Node* node, Action action) noexcept nogil:
        cdef int number = node.count
        cdef Child* child
        if (node.size == 0 or number == 1 << (node.size - 1)) and not self.lengthen(node):
            self.full = True
            return -1
        child = &self.children[node.first + number]
        memset(child, 0, sizeof(Child))
        child.action = action
        memset(&self.figures[node.first + number], 0, sizeof(Figures))
        node.count += 1
        return number

    cdef bint lengthen(self, Node* node) noexcept nogil:
        # Moves the children of a node to a run of twice the size. False: there is no room.
        cdef uint32_t size = node.size + 1
        cdef uint32_t old = node.first
        cdef uint32_t run
        cdef size_t more
        if size > RUN_SIZES:
            return False
        run = self.free_runs[size]
        if run != NO_ENTRY:
            self.free_runs[size] = self.children[run].visits
        else:
            while self.child_count + (1 << (size - 1)) > self.child_granted:
                more = self.grow(
                    self.child_granted, self.child_capacity, sizeof(Child) + sizeof(Figures))
                if not more:
                    return False
                self.child_granted += more
            run = self.child_count
            self.child_count += 1 << (size - 1)
        if node.size:
            memcpy(self.children + run, self.children + old, node.count * sizeof(Child))
            memcpy(self.figures + run, self.figures + old, node.count * sizeof(Figures))
            self.children[old].visits = self.free_runs[node.size]
            self.free_runs[node.size] = old
        node.first = run
        node.size = size
        return True

    cdef size_t grow(self, size_t granted, size_t capacity, size_t size) noexcept nogil:
        cdef size_t more = min(max(granted, <size_t> FIRST_ITEMS), MOST_BYTES // size)
        more = min(more, capacity - granted)
        return more if self.arena.charge(more * size) else 0

    cdef void update(self, Node* node, int number, double score) noexcept nogil:
        cdef Child* child = &self.children[node.first + number]
        cdef Figures* figures = &self.figures[node.first + number]
        cdef double mean
        node.visits += 1
        node.total += score
        node.squares += score * score
        if node.visits < OFTEN or node.visits % SPREAD_EVERY == 0:
            # With a prior score that was half won and half lost.
            mean = (node.total + 0.5) / (node.visits + 1)
            node.spread = <float> sqrt(
                max(0.0, (node.squares + 0.5) / (node.visits + 1) - mean * mean))
        figures.total += score
        figures.squares += score * score
        child.visits += 1
        child.mean = <float> (figures.total / child.visits)
        child.inverse_root = <float> (1 / sqrt(<double> child.visits))
