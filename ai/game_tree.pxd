"""All lines of play of a small game, made as they are needed."""

from libc.stdint cimport uint32_t, uint64_t

from engine.chance cimport Rng, Script
from engine.game cimport SEATS, Action, Game, State

cdef enum:
    NONE = 0               # No history, or no information set: neither array uses its first place.
    ROOT = 1               # Before the deal.

    # Kinds of history
    UNSEEN = 0             # Somebody must decide, and what can follow has not been made.
    DECISION
    CHANCE
    END
    NO_ROOM                # What can follow does not fit in memory.

cdef struct History:
    int kind
    uint32_t infos[SEATS]  # Of a decision: what each seat that owes one knows; NONE if it does not.
    uint32_t first         # What can follow: a run of histories. After a decision as many rows as
    uint32_t count         # seat 0 has actions, in each as many as seat 1 has; 1 for none.
    double score           # Of seat 0, at the end.
    size_t words           # The state: a run of the words, the zeros at its end left out.
    uint32_t size
    uint64_t seen[SEATS]   # All that each seat has seen, from the deal on, if that is recalled.

cdef struct Info:          # An information set: what a seat knows when it must decide.
    uint64_t key
    uint32_t seat
    uint32_t first         # Its actions: a run of `actions`.
    uint32_t count
    uint32_t example       # A history in it.

cdef struct Outcomes:      # Of one chance, found by their states.
    uint32_t* slots        # Their places, from 1 on.
    size_t mask

# How many words there are without the zeros at the end, and a key of these.
cdef int used_words(const uint64_t* words, int n) noexcept nogil
cdef uint64_t digest(const uint64_t* words, int n) noexcept nogil

cdef class Histories:
    cdef readonly Game game
    cdef bint recall
    cdef History* histories
    cdef double* chance    # Of a history that follows a CHANCE: its probability,
    cdef double* odds      # and for `draw`, a line of an alias table
    cdef uint32_t* other   # and what is drawn instead.
    cdef uint64_t* words
    cdef Info* infos
    cdef Action* actions
    cdef uint32_t* table   # Hash of a key -> information set.
    cdef size_t history_room, word_room, table_mask
    cdef size_t history_count, word_count, info_count, action_count

    # Makes what can follow a history that is UNSEEN; its kind is another afterwards.
    cdef void expand(self, uint32_t at) noexcept nogil
    # Which of the histories that follow a CHANCE chance takes.
    cdef uint32_t draw(self, const History* history, Rng* rng) noexcept nogil
    # The key of the information set of a view, if histories are not recalled.
    cdef uint64_t key_of(self, const State* state, int seat) noexcept nogil
    # The information set with a key; NONE if none was made.
    cdef uint32_t find(self, uint64_t key) noexcept nogil
    cdef bytes state(self, uint32_t at)
    cdef void load(self, const History* history, State* state) noexcept nogil

    cdef void follow(self, const State* before, const Action* joint, const uint64_t* seen,
                     uint32_t at) noexcept nogil
    cdef uint32_t settle(self, const State* state, const Action* joint,
                         const uint64_t* seen) noexcept nogil
    cdef uint32_t outcome(self, const Outcomes* outcomes, const State* state) noexcept nogil
    cdef bint add_outcome(self, Outcomes* outcomes, uint32_t first) noexcept nogil
    cdef void place(self, Outcomes* outcomes, uint32_t at) noexcept nogil
    cdef bint weigh(self, const History* history) noexcept nogil
    cdef uint32_t info_of(self, uint64_t key, int seat, const Action* actions, uint32_t count,
                          uint32_t example) noexcept nogil
    cdef void enter(self, uint32_t at) noexcept nogil
    cdef bint widen(self) noexcept nogil
