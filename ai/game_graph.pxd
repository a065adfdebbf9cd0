"""All states of a small game that can be reached from the deal, as a graph."""

from libc.stdint cimport uint32_t, uint64_t

from ai.memory cimport Arena, HashIndex
from ai.worker cimport Worker
from engine.game cimport SEATS, Action, Game, State, View

cdef enum:
    NONE = 0               # No node, and no information set: neither array uses its first place.
    ROOT = 1               # Before the deal.

    # Kinds of node
    UNEXPANDED = 0         # Its children have not been made.
    DECISION
    CHANCE
    TERMINAL

cdef struct Node:
    uint64_t key           # A hash of the state.
    uint32_t kind
    uint32_t info_sets[SEATS]  # Of a decision: that of each seat that must decide, else NONE.
    uint32_t first         # The edges: a run of `children`. After a decision as many rows as seat 0
    uint32_t count         # has actions, in each as many as seat 1 has; 1 for none.
    uint32_t word_count    # The state of a decision: a run of the words, without the zeros at its
    size_t first_word      # end.
    double score           # Of seat 0, where the match is over.

cdef struct InfoSet:
    uint64_t key           # Of the view.
    uint32_t seat
    uint32_t first         # The actions: a run of `actions`.
    uint32_t count

cdef class GameGraph(Worker):
    cdef readonly Game game
    cdef readonly bint fits        # Whether all nodes so far have found room.
    cdef readonly dict states      # For whoever keeps what was found in the graph.
    cdef Arena arena
    cdef Node* nodes
    cdef uint32_t* children        # By edge: a node with a larger number,
    cdef double* probabilities     # and how likely chance is to take it; 1 where seats decide.
    cdef InfoSet* info_sets
    cdef Action* actions
    cdef uint64_t* words
    cdef HashIndex node_index, info_set_index
    cdef size_t node_capacity, edge_capacity, word_capacity
    cdef size_t node_count, edge_count, word_count, info_set_count, action_count
    cdef size_t expanded           # The nodes before this one have their children.
    cdef size_t granted            # Bytes that the account has given room for so far.

    cdef size_t used(self) noexcept nogil
    cdef bint is_complete(self) noexcept nogil
    cdef void load_state(self, const Node* node, State* state) noexcept nogil
    # The information set of a seat; NONE if there is none.
    cdef uint32_t find_info_set(self, const State* state, int seat) noexcept nogil
    # The same from a view.
    cdef uint32_t find_view(self, const View* view) noexcept nogil

    cdef bint expand_decision(self, uint32_t at) noexcept nogil
    cdef uint32_t node_after(self, uint32_t parent, const State* before,
                             const Action* joint) noexcept nogil
    cdef bint add_outcome(self, size_t first, uint32_t child, double probability) noexcept nogil
    cdef uint32_t find_or_add_state(self, uint32_t parent, const State* state) noexcept nogil
    cdef uint32_t add_node(self) noexcept nogil
    cdef uint32_t find_or_add_info_set(self, const State* state, int seat) noexcept nogil

# A hash of the words without the zeros at the end.
cdef uint64_t hash_words(const uint64_t* words, int n) noexcept nogil
