"""The rest of a match from one view, as a finite game."""

from libc.stdint cimport int32_t, uint32_t, uint64_t

from engine.game cimport SEATS, Action, Game, State
from engine.sampler cimport Sampler

cdef enum:
    NONE = 0               # No node and no information set: neither array uses its first place.
    ROOT = 1               # Chance chooses a world.
    MAX_TURNS = 24        # Of a line of play, forced ones included.

cdef struct Node:          # A history.
    uint32_t parent
    uint32_t first         # What follows: a list in the order of the actions.
    uint32_t next
    uint32_t info          # Of a decision; else it is a chance or, with nothing after it, an end.
    uint32_t alike         # The next history of the information set.
    uint32_t pending       # Of a chance: how many that follow are not settled.
    bint settled
    double chance          # Its probability, after a chance.
    double value           # What the asking seat scores, once it is settled,
    double win             # what that is made of,
    double draw
    double easy            # and what it would be if the opponent chose at random.

cdef struct Info:          # An information set: what a seat knows when it must decide.
    uint64_t key
    bint mine
    uint32_t first         # Its actions: a run of `actions`.
    uint32_t count
    uint32_t histories
    uint32_t pending       # How many nodes that follow its histories are not settled.
    int32_t choice         # Which of its actions, once it is settled; before, -1.
    bint own               # Of a world that fits the view.

cdef class EndingTree:
    cdef Game game
    cdef Sampler sampler
    cdef int me
    cdef readonly tuple legal  # The actions to solve for.
    cdef volatile int* stop    # These two end it early.
    cdef double deadline
    cdef Node* nodes
    cdef Info* infos
    cdef Action* actions
    cdef uint32_t* table       # Hash of a key -> information set.
    cdef uint32_t* worlds      # Hash of a state -> node after the root,
    cdef uint64_t* world_keys  # and its key.
    cdef uint32_t* stack
    cdef double* sums          # By action, for whoever adds up over an information set.
    cdef size_t room, mask
    cdef size_t node_count, info_count, action_count
    cdef uint32_t root         # The information set that asks.
    cdef uint32_t last_world
    cdef double total          # Of the probabilities that were drawn.
    cdef bint knowledge_matters    # The opponent has decisions that do.

    # Makes all nodes, of which so many are expected in a world; False: they are too many. `others`
    # are samplers of worlds that do not fit the view, but may for all that the opponent knows.
    cdef bint grow(self, double expected, list others)
    # Settles what can be, from the ends upwards; never the root.
    cdef void settle(self) noexcept nogil
    cdef uint32_t after(self, uint32_t at, int choice) noexcept nogil
    # What the asking seat scores from a node if the opponent chooses at random.
    cdef double easy(self, uint32_t at) noexcept nogil
    cdef bint ended(self) noexcept nogil

    cdef uint32_t add(self, uint32_t parent, uint32_t before) noexcept nogil
    cdef bint count_worlds(self, Sampler sampler, double expected, bint own) noexcept nogil
    cdef bint grow_worlds(self, Sampler sampler, bint own) noexcept nogil
    cdef uint32_t world(self, const State* state) noexcept nogil
    cdef bint decide(self, uint32_t at, const State* state, const uint64_t* recalled, int turn,
                     bint own) noexcept nogil
    cdef bint choose(self, uint32_t at, const State* state, int part, int owed,
                     const Action* chosen, const uint64_t* recalled, int turn,
                     bint own) noexcept nogil
    cdef bint follow(self, uint32_t at, const State* state, const Action* joint,
                     const uint64_t* recalled, int turn, bint own) noexcept nogil
    cdef uint64_t key_of(self, const State* state, int seat, uint64_t recalled) noexcept nogil
    cdef uint32_t info_of(self, uint64_t key, bint mine, int count, bint own) noexcept nogil
    cdef void average(self, Node* node) noexcept nogil
    cdef bint choose_best(self, Info* info) noexcept nogil
    cdef double mean_easy(self, uint32_t at) noexcept nogil
