"""The game tree of a small game, from before the deal to each end, expanded as it is needed.

A history is one line of play with everything that was hidden in it. Where chance comes in, every
outcome is a child of the history; outcomes with equal states are one. Histories in which the seat
that must decide knows the same share an information set. What the seat knows is all views that it
has had and all that it did.

Memory is taken once and kept until the end, so that the number of a history stays what it is.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.string cimport memcpy, memset

from ai.game_graph cimport hash_words, used_words
from ai.memory cimport Arena, HashIndex
from engine.chance cimport Rng, Script, mix, script_next, script_probability, script_start
from engine.game cimport MAX_ACTIONS, NOBODY, STATE_BYTES, STATE_WORDS, VIEW_WORDS, View

cdef enum:
    BYTES_A_HISTORY = 256      # With its state and its share of everything else.
    MAX_OUTCOMES = 1 << 22     # Of one chance that are enumerated, equal ones included.
    FIRST_INFO_SETS = 500      # That the index has slots for at the start.


cdef class GameTree:
    """The part of a game's tree that was expanded, of at most `memory` bytes."""

    def __cinit__(self, Game game not None, size_t memory):
        cdef Arena arena = Arena()
        cdef size_t capacity = max(64, min(memory // BYTES_A_HISTORY, <size_t> 1 << 31))
        self.arena = arena
        self.game = game
        self.history_capacity = capacity
        self.word_capacity = 4 * capacity
        self.histories = <History*> arena.take(capacity, sizeof(History))
        self.probabilities = <double*> arena.take(capacity, sizeof(double))
        self.words = <uint64_t*> arena.take(self.word_capacity, sizeof(uint64_t))
        self.info_sets = <InfoSet*> arena.take(capacity, sizeof(InfoSet))
        self.actions = <Action*> arena.take(capacity, sizeof(Action))
        self.info_set_index = HashIndex()
        self.info_set_index.use(self.info_sets, sizeof(InfoSet), FIRST_INFO_SETS)
        self.outcome_index = HashIndex()
        self.outcome_index.use(self.histories, sizeof(History), 0)
        self.history_count = ROOT + 1
        self.info_set_count = NONE + 1
        memset(&self.histories[ROOT], 0, sizeof(History))

    cdef void load_state(self, const History* history, State* state) noexcept nogil:
        memset(state, 0, sizeof(State))
        memcpy(state, self.words + history.first_word, history.word_count * sizeof(uint64_t))

    cdef bytes state_bytes(self, uint32_t at):
        cdef State state
        self.load_state(&self.histories[at], &state)
        return PyBytes_FromStringAndSize(<char*> &state, STATE_BYTES)

    cdef void expand(self, uint32_t at) noexcept nogil:
        cdef History* history = &self.histories[at]
        cdef Action actions[SEATS][MAX_ACTIONS]
        cdef Action joint[SEATS]
        cdef uint32_t counts[SEATS]
        cdef uint32_t i
        cdef State state
        cdef int seat, owed
        if at == ROOT and history.word_count == 0:
            self.expand_chance(NULL, NULL, history.observed, ROOT)
            if history.kind != UNEXPANDED:
                return
        self.load_state(history, &state)
        owed = self.game.deciders(&state)
        for seat in range(SEATS):
            counts[seat] = 1
            actions[seat][0] = 0
            if owed & (1 << seat):
                counts[seat] = self.game.legal(&state, seat, actions[seat])
        history.kind = NO_MEMORY
        history.count = counts[0] * counts[1]
        if self.history_count + history.count > self.history_capacity:
            return
        for seat in range(SEATS):
            if owed & (1 << seat):
                history.info_sets[seat] = self.find_or_add_info_set(
                    history.observed[seat], seat, actions[seat], counts[seat], at)
                if history.info_sets[seat] == NONE:
                    return
        history.first = self.history_count
        self.history_count += history.count
        for i in range(history.count):
            joint[0] = actions[0][i // counts[1]]
            joint[1] = actions[1][i % counts[1]]
            self.expand_chance(&state, joint, history.observed, history.first + i)
        history.kind = DECISION

    # Chance

    cdef void expand_chance(self, const State* before, const Action* joint,
                            const uint64_t* observed, uint32_t at) noexcept nogil:
        # Makes the history after a joint action, or after the deal if both are NULL, with all that
        # chance can make of it.
        cdef State state
        cdef Rng rng
        cdef Script script
        cdef History* history = &self.histories[at]
        cdef uint32_t outcome
        cdef uint32_t first = self.history_count
        cdef size_t tried = 0
        cdef bint complete = False
        memset(history, 0, sizeof(History))
        history.kind = NO_MEMORY
        if not self.outcome_index.clear():
            return
        script_start(&script, &rng)
        while tried < MAX_OUTCOMES:
            if before == NULL:
                self.game.deal(&state, &rng, NULL)
            else:
                state = before[0]
                self.game.apply(&state, joint, &rng, NULL)
            tried += 1
            if script.broken:
                break
            if script.drawn == 0:
                complete = self.add_history(&state, joint, observed) != NONE
                break
            outcome = self.outcome_index.find(hash_words(state.words, STATE_WORDS))
            if outcome == NONE:
                outcome = self.add_history(&state, joint, observed)
                if outcome == NONE or not self.outcome_index.insert(outcome):
                    break
            self.probabilities[outcome] += script_probability(&script)
            if not script_next(&script):
                complete = True
                break
        if not complete:
            return
        if self.history_count == first + 1:
            history[0] = self.histories[first]      # Nothing was left to chance.
            self.history_count = first
            return
        history.first = first
        history.count = self.history_count - first
        history.kind = CHANCE

    cdef uint32_t add_history(self, const State* state, const Action* joint,
                              const uint64_t* observed) noexcept nogil:
        # Makes a history with this state. NONE: it does not fit in memory.
        cdef uint32_t at = self.history_count
        cdef History* history = &self.histories[at]
        cdef int seat
        cdef int size = used_words(state.words, STATE_WORDS)
        if at == self.history_capacity or self.word_count + size > self.word_capacity:
            return NONE
        memset(history, 0, sizeof(History))
        history.key = hash_words(state.words, size)
        if self.game.deciders(state) == NOBODY:
            history.kind = TERMINAL
            history.score = self.game.outcome(state, 0)
        history.first_word = self.word_count
        history.word_count = size
        memcpy(self.words + self.word_count, state, size * sizeof(uint64_t))
        self.word_count += size
        for seat in range(SEATS):
            history.observed[seat] = 0 if joint == NULL else mix(observed[seat], joint[seat])
            history.observed[seat] = mix(history.observed[seat], self.view_key(state, seat))
        self.probabilities[at] = 0
        self.history_count += 1
        return at

    # Information sets

    cdef uint64_t view_key(self, const State* state, int seat) noexcept nogil:
        cdef View view
        self.game.view(state, seat, &view)
        return hash_words(view.words, VIEW_WORDS)

    cdef uint32_t find_or_add_info_set(self, uint64_t key, int seat, const Action* actions,
                                       uint32_t count, uint32_t example) noexcept nogil:
        # NONE: it does not fit in memory.
        cdef uint32_t at = self.info_set_index.find(key)
        cdef InfoSet* info_set
        if at != NONE:
            # Different actions in the same information set would be an error of the game.
            return at if self.info_sets[at].count == count else NONE
        if (self.info_set_count == self.history_capacity
                or self.action_count + count > self.history_capacity):
            return NONE
        at = self.info_set_count
        info_set = &self.info_sets[at]
        info_set.key = key
        info_set.seat = seat
        info_set.first = self.action_count
        info_set.count = count
        info_set.example = example
        if not self.info_set_index.insert(at):
            return NONE
        self.info_set_count += 1
        memcpy(self.actions + self.action_count, actions, count * sizeof(Action))
        self.action_count += count
        return at
