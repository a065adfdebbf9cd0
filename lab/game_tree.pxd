"""The game tree of a small game, expanded as it is needed."""

from libc.stdint cimport uint32_t, uint64_t

from ai.memory cimport Arena, HashIndex
from engine.game cimport SEATS, Action, Game, State

cdef enum:
    NONE = 0               # No history, or no information set: neither array uses its first place.
    ROOT = 1               # Before the deal.

    # Kinds of history
    UNEXPANDED = 0         # A decision whose children have not been made.
    DECISION
    CHANCE
    TERMINAL
    NO_MEMORY              # Its children do not fit in memory.

cdef struct History:
    uint64_t key           # A hash of the state.
    int kind
    uint32_t info_sets[SEATS]  # Of a decision: that of each seat that must decide, else NONE.
    uint32_t first         # The children: a run of histories. After a decision as many rows as
    uint32_t count         # seat 0 has actions, in each as many as seat 1 has; 1 for none.
    double score           # Of seat 0, where the history is terminal.
    size_t first_word      # The state: a run of the words, without the zeros at its end.
    uint32_t word_count
    uint64_t observed[SEATS]   # A key of all that each seat has observed.

cdef struct InfoSet:
    uint64_t key
    uint32_t seat
    uint32_t first         # The actions: a run of `actions`.
    uint32_t count
    uint32_t example       # A history in it.

cdef class GameTree:
    cdef readonly Game game
    cdef Arena arena
    cdef History* histories
    cdef double* probabilities     # Of a history after chance.
    cdef uint64_t* words
    cdef InfoSet* info_sets
    cdef Action* actions
    cdef HashIndex info_set_index
    cdef HashIndex outcome_index   # Of the outcomes of the chance that is being expanded.
    cdef size_t history_capacity, word_capacity
    cdef size_t history_count, word_count, info_set_count, action_count

    # Makes the children of a history that is UNEXPANDED; its kind changes.
    cdef void expand(self, uint32_t at) noexcept nogil
    cdef bytes state_bytes(self, uint32_t at)

    cdef void load_state(self, const History* history, State* state) noexcept nogil
    cdef void expand_chance(self, const State* before, const Action* joint,
                            const uint64_t* observed, uint32_t at) noexcept nogil
    cdef uint32_t add_history(self, const State* state, const Action* joint,
                              const uint64_t* observed) noexcept nogil
    cdef uint64_t view_key(self, const State* state, int seat) noexcept nogil
    cdef uint32_t find_or_add_info_set(self, uint64_t key, int seat, const Action* actions,
                                       uint32_t count, uint32_t example) noexcept nogil
