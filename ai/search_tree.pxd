"""The trees that a search grows: nodes, and the children that were tried at each."""

cimport cython
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from ai.memory cimport NO_ENTRY, Arena, HashIndex
from engine.game cimport Action

cdef enum:
    RUN_SIZES = 14             # Runs of 1, 2, 4, ... children.
    EXACT = 256                # Below it, `sqrt_log` is exact,
    STEPS_AN_OCTAVE = 128      # and above it, it has so many steps for each doubling.
    OCTAVES = 24

cdef struct Child:             # An action of a node: what each selection reads.
    Action action
    uint32_t visits
    uint32_t availability      # Iterations in which the action could have been chosen.
    float mean                 # Of the scores.
    float inverse_root         # 1 / sqrt(visits).
    uint32_t next              # The node after it in the last visit: likely, not sure, to follow.

cdef struct Figures:           # The rest about a child, which only an update reads.
    double total               # Sum of the scores.
    double squares             # Sum of their squares.
    double regret
    double strategy            # Sum of the probabilities that regret matching gave it.

cdef struct Node:
    uint64_t key               # Of its seat and what that seat has observed.
    uint32_t first             # Its children: a run of the tree's, in the order of their creation.
    uint16_t count
    uint16_t size              # The run has room for 2 ** (size - 1) children; 0: no run.
    uint32_t visits
    uint32_t next_widening     # Where so many actions are available that were tried, no other one
    uint16_t exhausted         # is sought before so many visits: there was none.
    uint16_t is_mixed           # Regret matching has begun.
    double total               # Sum of the scores.
    double squares             # Sum of their squares.
    float spread               # The standard deviation of the scores.
    uint32_t padding[3]        # A node is one line of the cache.

# By availability: sqrt(log(availability)).
cdef float SQRT_LOG[EXACT + OCTAVES * STEPS_AN_OCTAVE]

cdef extern from *:
    int leading_zeros "__builtin_clz"(unsigned int bits) noexcept nogil


cdef inline float sqrt_log(uint32_t n) noexcept nogil:
    # Of n > 0; above EXACT, to within 0.1 %.
    cdef int octave
    if n < EXACT:
        return SQRT_LOG[n]
    octave = 31 - leading_zeros(n)
    return SQRT_LOG[EXACT + (octave - 8) * STEPS_AN_OCTAVE + ((n >> (octave - 7)) & 127)]


@cython.final
cdef class SearchTree:
    cdef Arena arena
    cdef Node* nodes
    cdef Child* children
    cdef Figures* figures      # By child.
    cdef HashIndex index       # Of the nodes.
    cdef size_t node_capacity, child_capacity
    cdef size_t node_granted, child_granted    # How many the account has given room for so far.
    cdef size_t node_count, child_count
    cdef uint32_t free_runs[RUN_SIZES + 1]     # By size: the first of a list of runs given back.
    cdef bint full             # A node or a child found no room.

    # A new node; NO_ENTRY if there is no room.
    cdef uint32_t add_node(self, uint64_t key) noexcept nogil
    # Adds a child that was not visited. Returns its number in the node; -1 if there is no room.
    cdef int add_child(self, Node* node, Action action) noexcept nogil
    cdef bint lengthen(self, Node* node) noexcept nogil
    # For how many more items than `granted` there is room now, of `capacity`.
    cdef size_t grow(self, size_t granted, size_t capacity, size_t size) noexcept nogil
    # Adds a score to a node and one of its children.
    cdef void update(self, Node* node, int number, double score) noexcept nogil

    # The number of a child in its node; -1 if the action has none. `after` is the number of a child
    # that is likely to come before it.
    cdef inline int child_of(self, const Node* node, Action action, int after) noexcept nogil:
        cdef const Child* children = self.children + node.first
        cdef int i
        for i in range(after + 1, node.count):
            if children[i].action == action:
                return i
        for i in range(min(after + 1, <int> node.count)):
            if children[i].action == action:
                return i
        return -1
