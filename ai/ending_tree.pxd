"""The rest of a match from one view, as a finite game."""

from libc.stdint cimport int32_t, uint32_t, uint64_t

from ai.memory cimport Arena, HashIndex
from ai.worker cimport Stop
from engine.game cimport SEATS, Action, Game, State
from engine.sampler cimport Sampler

cdef enum:
    NONE = 0               # No node and no information set: neither array uses its first place.
    ROOT = 1               # Chance chooses a world.
    MAX_TURNS = 24         # Of a line of play, forced ones included.

cdef struct Node:          # A history.
    uint32_t parent
    uint32_t first_child   # The children are a list in the order of the actions.
    uint32_t next_sibling
    uint32_t info_set      # Of a decision. Else this is chance or, without children, an end.
    uint32_t next_in_set   # The next history of the information set.
    uint32_t unsolved      # Of a chance: the children that are not solved.
    bint solved
    double probability     # After a chance.
    double value           # The score of the searching seat, once it is solved,
    double win             # the probabilities that this is made of,
    double draw
    double random_value    # and the score against an opponent who chooses at random.

cdef struct InfoSet:
    uint64_t key
    bint is_own            # Of the searching seat.
    uint32_t first         # The actions: a run of `actions`.
    uint32_t count
    uint32_t histories     # The first history of a list.
    uint32_t unsolved      # How many children of its histories are not solved.
    int32_t best           # Which of its actions is best, once it is solved; before, -1.
    bint fits_view         # It is reached in a world that fits the view.

cdef class EndingTree:
    cdef Game game
    cdef Sampler sampler
    cdef int seat              # That searches.
    cdef readonly tuple legal  # The actions to solve for.
    cdef Stop stop             # These three end the work early.
    cdef double deadline       # Of the proof, which does not count the time when it is paused,
    cdef double end            # and of the whole search; 0 for no limit.
    cdef Arena arena
    cdef Node* nodes
    cdef InfoSet* info_sets
    cdef Action* actions
    cdef uint64_t* world_keys  # By node after the root: the hash of its state.
    cdef HashIndex info_set_index, world_index
    cdef uint32_t* stack
    cdef double* sums          # Scratch, by action: sums over an information set.
    cdef size_t capacity
    cdef size_t node_count, info_set_count, action_count
    cdef uint32_t root         # The information set of the view.
    cdef uint32_t last_world
    cdef double total          # Sum of the probabilities of the worlds.
    cdef bint knowledge_matters    # The opponent has a decision whose actions differ in value.

    # Makes all nodes, of which `expected` are expected for each world. False: they are too many.
    # `others` are samplers of worlds that do not fit the view, but may be the opponent's world as
    # far as the opponent knows.
    cdef bint build(self, double expected, list others)
    # Solves all nodes that can be solved, by backward induction; never the root.
    cdef void solve_upwards(self) noexcept nogil
    cdef uint32_t child_of(self, uint32_t at, int choice) noexcept nogil
    # The score of the searching seat from a node on against an opponent who chooses at random.
    cdef double random_value(self, uint32_t at) noexcept nogil
    cdef bint must_stop(self) noexcept nogil

    cdef uint32_t add_node(self, uint32_t parent, uint32_t previous) noexcept nogil
    cdef bint add_worlds(self, Sampler sampler, double expected, bint fits_view) noexcept nogil
    cdef bint expand_worlds(self, Sampler sampler, bint fits_view) noexcept nogil
    cdef uint32_t find_or_add_world(self, const State* state) noexcept nogil
    cdef bint expand(self, uint32_t at, const State* state, const uint64_t* recalled, int turn,
                     bint fits_view) noexcept nogil
    cdef bint expand_decision(self, uint32_t at, const State* state, int part, int owed,
                              const Action* chosen, const uint64_t* recalled, int turn,
                              bint fits_view) noexcept nogil
    cdef bint expand_chance(self, uint32_t at, const State* state, const Action* joint,
                            const uint64_t* recalled, int turn, bint fits_view) noexcept nogil
    cdef uint64_t info_set_key(self, const State* state, int seat,
                               uint64_t recalled) noexcept nogil
    cdef uint32_t find_or_add_info_set(self, uint64_t key, bint is_own, int count,
                                       bint fits_view) noexcept nogil
    cdef void solve_chance(self, Node* node) noexcept nogil
    cdef bint solve_info_set(self, InfoSet* info_set) noexcept nogil
    cdef double mean_random_value(self, uint32_t at) noexcept nogil
