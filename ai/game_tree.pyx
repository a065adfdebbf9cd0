"""All lines of play of a small game, from before the deal to each end, made as they are needed.

A history is one line of play, everything that was hidden in it included. Where chance comes in,
all that can come of it is made, states that are alike as one. Histories in which the seat that must
decide knows the same share an information set: its view or, where histories are `recall`ed, all
views that it has had and all that it did.

Memory is taken once and never given back before the end, so that an index stays what it is.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from engine.chance cimport mix, rng_below, rng_double, script_next, script_probability, script_start
from engine.game cimport MAX_ACTIONS, NOBODY, STATE_BYTES, STATE_WORDS, VIEW_WORDS, View

cdef enum:
    BYTES_A_HISTORY = 256      # With its state and its share of everything else.
    MAX_DRAWS = 1 << 22       # Outcomes of chance that are gone through, alike or not.


cdef int used_words(const uint64_t* words, int n) noexcept nogil:
    # Without the zeros at the end, which are most of a small game's: eight at a time.
    cdef int i
    cdef uint64_t any_set
    while n >= 8:
        any_set = 0
        for i in range(n - 8, n):
            any_set |= words[i]
        if any_set:
            break
        n -= 8
    while n > 0 and words[n - 1] == 0:
        n -= 1
    return n


cdef uint64_t digest(const uint64_t* words, int n) noexcept nogil:
    cdef int used = used_words(words, n)
    cdef uint64_t key = used
    cdef int i
    for i in range(used):
        key = mix(key, words[i])
    return key


cdef class Histories:
    """The lines of play of a game, as far as `memory` bytes go."""

    def __cinit__(self, Game game not None, size_t memory, bint recall=False):
        cdef size_t room = max(64, min(memory // BYTES_A_HISTORY, <size_t> 1 << 31))
        self.game = game
        self.recall = recall
        self.history_room = room
        self.word_room = 4 * room
        self.table_mask = (1 << 10) - 1
        self.histories = <History*> malloc(room * sizeof(History))
        self.odds = <double*> malloc(room * sizeof(double))
        self.other = <uint32_t*> malloc(room * sizeof(uint32_t))
        self.chance = <double*> malloc(room * sizeof(double))
        self.words = <uint64_t*> malloc(self.word_room * sizeof(uint64_t))
        self.infos = <Info*> malloc(room * sizeof(Info))
        self.actions = <Action*> malloc(room * sizeof(Action))
        self.table = <uint32_t*> calloc(self.table_mask + 1, sizeof(uint32_t))
        if (self.histories == NULL or self.odds == NULL or self.other == NULL
                or self.chance == NULL or self.words == NULL or self.infos == NULL
                or self.actions == NULL or self.table == NULL):
            raise MemoryError
        self.history_count = ROOT + 1
        self.info_count = NONE + 1
        memset(&self.histories[ROOT], 0, sizeof(History))

    def __dealloc__(self):
        free(self.histories)
        free(self.odds)
        free(self.other)
        free(self.chance)
        free(self.words)
        free(self.infos)
        free(self.actions)
        free(self.table)

    cdef void load(self, const History* history, State* state) noexcept nogil:
        memset(state, 0, sizeof(State))
        memcpy(state, self.words + history.words, history.size * sizeof(uint64_t))

    cdef bytes state(self, uint32_t at):
        cdef State state
        self.load(&self.histories[at], &state)
        return PyBytes_FromStringAndSize(<char*> &state, STATE_BYTES)

    cdef void expand(self, uint32_t at) noexcept nogil:
        cdef History* history = &self.histories[at]
        cdef Action actions[SEATS][MAX_ACTIONS]
        cdef Action joint[SEATS]
        cdef uint32_t counts[SEATS]
        cdef uint32_t i
        cdef uint64_t key
        cdef State state
        cdef int seat, owed
        if at == ROOT and history.size == 0:
            self.follow(NULL, NULL, history.seen, ROOT)
            if history.kind != UNSEEN:
                return
        self.load(history, &state)
        owed = self.game.deciders(&state)
        for seat in range(SEATS):
            counts[seat] = 1
            actions[seat][0] = 0
            if owed & (1 << seat):
                counts[seat] = self.game.legal(&state, seat, actions[seat])
        history.kind = NO_ROOM
        history.count = counts[0] * counts[1]
        if self.history_count + history.count > self.history_room:
            return
        for seat in range(SEATS):
            if owed & (1 << seat):
                key = history.seen[seat] if self.recall else self.key_of(&state, seat)
                history.infos[seat] = self.info_of(key, seat, actions[seat], counts[seat], at)
                if history.infos[seat] == NONE:
                    return
        history.first = self.history_count
        self.history_count += history.count
        for i in range(history.count):
            joint[0] = actions[0][i // counts[1]]
            joint[1] = actions[1][i % counts[1]]
            self.follow(&state, joint, history.seen, history.first + i)
        history.kind = DECISION

    cdef void follow(self, const State* before, const Action* joint, const uint64_t* seen,
                     uint32_t at) noexcept nogil:
        # Makes what comes of a joint action, or of the deal if both are NULL.
        cdef State state
        cdef Rng rng
        cdef Script script
        cdef Outcomes outcomes
        cdef History* history = &self.histories[at]
        cdef uint32_t one
        cdef uint32_t first = self.history_count
        cdef size_t tried = 0
        cdef bint complete = False
        memset(history, 0, sizeof(History))
        history.kind = NO_ROOM
        outcomes.slots = NULL
        script_start(&script, &rng)
        while tried < MAX_DRAWS:
            if before == NULL:
                self.game.deal(&state, &rng, NULL)
            else:
                state = before[0]
                self.game.apply(&state, joint, &rng, NULL)
            tried += 1
            if script.broken:
                break
            if script.drawn == 0:
                complete = self.settle(&state, joint, seen) != NONE
                break
            if outcomes.slots == NULL:
                outcomes.mask = 15
                outcomes.slots = <uint32_t*> calloc(outcomes.mask + 1, sizeof(uint32_t))
                if outcomes.slots == NULL:
                    break
            one = self.outcome(&outcomes, &state)
            if one == NONE:
                one = self.settle(&state, joint, seen)
                if one == NONE or not self.add_outcome(&outcomes, first):
                    break
            self.chance[one] += script_probability(&script)
            if not script_next(&script):
                complete = True
                break
        free(outcomes.slots)
        if not complete:
            return
        if self.history_count == first + 1:
            history[0] = self.histories[first]      # Nothing was left to chance.
            self.history_count = first
            return
        history.first = first
        history.count = self.history_count - first
        if self.weigh(history):
            history.kind = CHANCE

    cdef uint32_t settle(self, const State* state, const Action* joint,
                         const uint64_t* seen) noexcept nogil:
        # A new history with this state.
        cdef uint32_t at = self.history_count
        cdef History* history = &self.histories[at]
        cdef int seat
        cdef int size = used_words(state.words, STATE_WORDS)
        if at == self.history_room or self.word_count + size > self.word_room:
            return NONE
        memset(history, 0, sizeof(History))
        if self.game.deciders(state) == NOBODY:
            history.kind = END
            history.score = self.game.outcome(state, 0)
        history.words = self.word_count
        history.size = size
        memcpy(self.words + self.word_count, state, size * sizeof(uint64_t))
        self.word_count += size
        if self.recall:
            for seat in range(SEATS):
                history.seen[seat] = 0 if joint == NULL else mix(seen[seat], joint[seat])
                history.seen[seat] = mix(history.seen[seat], self.key_of(state, seat))
        self.chance[at] = 0
        self.history_count += 1
        return at

    # The outcomes of chance

    cdef uint32_t outcome(self, const Outcomes* outcomes, const State* state) noexcept nogil:
        # The outcome with this state; NONE if it is new.
        cdef int size = used_words(state.words, STATE_WORDS)
        cdef size_t slot = digest(state.words, size) & outcomes.mask
        cdef const History* history
        while outcomes.slots[slot] != NONE:
            history = &self.histories[outcomes.slots[slot]]
            if (history.size == <uint32_t> size and memcmp(
                    self.words + history.words, state.words, size * sizeof(uint64_t)) == 0):
                break
            slot = (slot + 1) & outcomes.mask
        return outcomes.slots[slot]

    cdef bint add_outcome(self, Outcomes* outcomes, uint32_t first) noexcept nogil:
        # Puts the last history among the outcomes, of which there are those from the first on.
        cdef uint32_t at = self.history_count - 1
        if 2 * (at - first) > outcomes.mask:
            free(outcomes.slots)
            outcomes.mask = 4 * outcomes.mask + 3
            outcomes.slots = <uint32_t*> calloc(outcomes.mask + 1, sizeof(uint32_t))
            if outcomes.slots == NULL:
                return False
            for at in range(first, self.history_count - 1):
                self.place(outcomes, at)
        self.place(outcomes, self.history_count - 1)
        return True

    cdef void place(self, Outcomes* outcomes, uint32_t at) noexcept nogil:
        cdef const History* history = &self.histories[at]
        cdef size_t slot = digest(self.words + history.words, history.size) & outcomes.mask
        while outcomes.slots[slot] != NONE:
            slot = (slot + 1) & outcomes.mask
        outcomes.slots[slot] = at

    cdef bint weigh(self, const History* history) noexcept nogil:
        # The alias table of a chance (A. J. Walker, 1974; M. D. Vose, 1991): each line has two
        # outcomes, of which `odds` is the share of the first.
        cdef uint32_t n = history.count
        cdef double* odds = self.odds + history.first
        cdef uint32_t* other = self.other + history.first
        cdef uint32_t* stack = <uint32_t*> malloc(n * sizeof(uint32_t))
        cdef uint32_t i, small = 0, large = n, few, many
        if stack == NULL:
            return False
        for i in range(n):
            odds[i] = self.chance[history.first + i] * n
            other[i] = history.first + i
            if odds[i] < 1:
                stack[small] = i
                small += 1
            else:
                large -= 1
                stack[large] = i
        while small > 0 and large < n:
            small -= 1
            few = stack[small]
            many = stack[large]
            other[few] = history.first + many
            odds[many] -= 1 - odds[few]
            if odds[many] < 1:
                large += 1
                stack[small] = many
                small += 1
        free(stack)
        return True

    cdef uint32_t draw(self, const History* history, Rng* rng) noexcept nogil:
        cdef uint32_t at = history.first + rng_below(rng, history.count)
        return at if rng_double(rng) < self.odds[at] else self.other[at]

    # Information sets

    cdef uint64_t key_of(self, const State* state, int seat) noexcept nogil:
        cdef View view
        self.game.view(state, seat, &view)
        return digest(view.words, VIEW_WORDS)

    cdef uint32_t find(self, uint64_t key) noexcept nogil:
        cdef size_t slot = key & self.table_mask
        while self.table[slot] != NONE and self.infos[self.table[slot]].key != key:
            slot = (slot + 1) & self.table_mask
        return self.table[slot]

    cdef uint32_t info_of(self, uint64_t key, int seat, const Action* actions, uint32_t count,
                          uint32_t example) noexcept nogil:
        # The information set with this key, made if it is new; NONE if it does not fit in memory.
        cdef uint32_t at = self.find(key)
        cdef Info* info
        if at != NONE:
            # Other actions where a seat knows the same would be a mistake of the game.
            return at if self.infos[at].count == count else NONE
        if (self.info_count == self.history_room
                or self.action_count + count > self.history_room
                or (2 * self.info_count > self.table_mask and not self.widen())):
            return NONE
        at = self.info_count
        self.info_count += 1
        info = &self.infos[at]
        info.key = key
        info.seat = seat
        info.first = self.action_count
        info.count = count
        info.example = example
        memcpy(self.actions + self.action_count, actions, count * sizeof(Action))
        self.action_count += count
        self.enter(at)
        return at

    cdef void enter(self, uint32_t at) noexcept nogil:
        cdef size_t slot = self.infos[at].key & self.table_mask
        while self.table[slot] != NONE:
            slot = (slot + 1) & self.table_mask
        self.table[slot] = at

    cdef bint widen(self) noexcept nogil:
        cdef size_t mask = 2 * self.table_mask + 1
        cdef uint32_t* table = <uint32_t*> calloc(mask + 1, sizeof(uint32_t))
        cdef uint32_t at
        if table == NULL:
            return False
        free(self.table)
        self.table = table
        self.table_mask = mask
        for at in range(1, self.info_count):
            self.enter(at)
        return True
