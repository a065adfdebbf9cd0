"""All states of a small game that can be reached from the deal, as a graph.

A node is a state. What can follow does not depend on how the state came about, so all lines of play
that lead to equal states share a node. Where chance comes in, a node of its own has the outcomes as
children, each with its probability. A child always has a larger number than its parent, so that one
pass over the nodes follows all lines of play; a state that comes about again after a longer line of
play than before gets another node for that.

Nodes in which the seat that must decide has the same view share an information set.
"""

from functools import lru_cache

from libc.string cimport memcpy, memset

from ai.memory cimport Grant
from engine.chance cimport (
    Rng, Script, mix, rng_below, rng_seed, script_next, script_probability, script_start,
)
from engine.game cimport MAX_ACTIONS, NOBODY, STATE_WORDS, VIEW_WORDS

cdef enum:
    GROW_BYTES = 1 << 18       # Asked of the account at once, more than a node takes.
    EDGES_A_NODE = 8
    WORDS_A_NODE = 64
    MAX_OUTCOMES = 1 << 13     # Of one chance that are enumerated, equal ones included.
    FIRST_ENTRIES = 500        # That an index has slots for at the start.

    # The estimate of a game's size
    PROBES = 16                # Random lines of play.
    MAX_TURNS = 256
    MAX_LINES = 1 << 22        # From one deal.


cdef int used_words(const uint64_t* words, int n) noexcept nogil:
    # Skips the zeros at the end eight at a time: most words of a small game's state are zero.
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


cdef uint64_t hash_words(const uint64_t* words, int n) noexcept nogil:
    cdef int used = used_words(words, n)
    cdef uint64_t key = used
    cdef int i
    for i in range(used):
        key = mix(key, words[i])
    return key


cdef size_t count_ways(const Script* script) noexcept nogil:
    # About how many outcomes a chance has, from its first one; MAX_OUTCOMES + 1 for any more.
    cdef size_t ways = 1
    cdef int i
    if script.broken:
        return MAX_OUTCOMES + 1
    for i in range(script.drawn):
        ways *= script.sizes[i]
        if ways > MAX_OUTCOMES:
            return MAX_OUTCOMES + 1
    return ways


@lru_cache(maxsize=64)
def may_fit(Game game not None):
    """Whether it is worth the time to make the graph of a game.

    A few random lines of play estimate how many there are: D. E. Knuth, "Estimating the Efficiency
    of Backtrack Programs", 1975.
    """
    cdef Action actions[MAX_ACTIONS]
    cdef Action joint[SEATS]
    cdef State state
    cdef Rng rng
    cdef Script script
    cdef double lines, total = 0
    cdef int seat, owed, count, turns, _probe
    rng_seed(&rng, 0)
    for _probe in range(PROBES):
        game.deal(&state, &rng, NULL)
        lines = 1
        turns = 0
        owed = game.deciders(&state)
        while owed != NOBODY:
            turns += 1
            for seat in range(SEATS):
                joint[seat] = 0
                if owed & (1 << seat):
                    count = game.legal(&state, seat, actions)
                    joint[seat] = actions[rng_below(&rng, count)]
                    lines *= count
            total += lines
            if turns == MAX_TURNS or total > PROBES * <double> MAX_LINES:
                return False
            game.apply(&state, joint, &rng, NULL)
            owed = game.deciders(&state)
    script_start(&script, &rng)
    game.deal(&state, &rng, NULL)
    return count_ways(&script) <= MAX_OUTCOMES


cdef class GameGraph(Worker):
    """The graph of a game, of at most `capacity` nodes. Raises MemoryError.

    `run` makes it, until it is complete, does not fit or gets no more memory; it can be interrupted
    and goes on where it was. A complete graph never changes, so that threads can share it.
    """

    def __cinit__(self, Game game not None, size_t capacity, Grant grant=None):
        cdef Arena arena = Arena(grant)
        self.arena = arena
        self.game = game
        self.fits = True
        self.states = {}
        self.node_capacity = capacity
        self.edge_capacity = EDGES_A_NODE * capacity
        self.word_capacity = WORDS_A_NODE * capacity
        self.nodes = <Node*> arena.take_free(capacity, sizeof(Node))
        self.children = <uint32_t*> arena.take_free(self.edge_capacity, sizeof(uint32_t))
        self.probabilities = <double*> arena.take_free(self.edge_capacity, sizeof(double))
        self.info_sets = <InfoSet*> arena.take_free(capacity, sizeof(InfoSet))
        self.actions = <Action*> arena.take_free(self.edge_capacity, sizeof(Action))
        self.words = <uint64_t*> arena.take_free(self.word_capacity, sizeof(uint64_t))
        self.node_index = HashIndex()
        self.node_index.use(arena, self.nodes, sizeof(Node), FIRST_ENTRIES)
        self.info_set_index = HashIndex()
        self.info_set_index.use(arena, self.info_sets, sizeof(InfoSet), FIRST_ENTRIES)
        self.node_count = ROOT + 1
        self.info_set_count = NONE + 1
        self.expanded = ROOT
        memset(&self.nodes[ROOT], 0, sizeof(Node))

    @property
    def complete(self):
        """Whether all nodes have their children."""
        return self.is_complete()

    @property
    def bytes_used(self):
        """The memory of the nodes, roughly."""
        return self.used()

    def charge(self, long size):
        """Counts what is kept of the graph besides, or no longer if negative; False: no room."""
        if size < 0:
            self.arena.discharge(-size)
            return True
        return self.arena.charge(size)

    cdef size_t used(self) noexcept nogil:
        return (self.node_count * sizeof(Node) + self.info_set_count * sizeof(InfoSet)
                + self.edge_count * (sizeof(uint32_t) + sizeof(double))
                + self.action_count * sizeof(Action) + self.word_count * sizeof(uint64_t))

    cdef bint is_complete(self) noexcept nogil:
        return self.fits and self.expanded == self.node_count

    cdef void load_state(self, const Node* node, State* state) noexcept nogil:
        memset(state, 0, sizeof(State))
        memcpy(state, self.words + node.first_word, node.word_count * sizeof(uint64_t))

    cdef bint iterate(self) noexcept nogil:
        # Makes the children of the next node. False: there is nothing more to do.
        cdef uint32_t at = self.expanded
        cdef Node* node = &self.nodes[at]
        if not self.fits or self.is_complete():
            return False
        if self.used() > self.granted:
            if not self.arena.charge(GROW_BYTES):
                return False
            self.granted += GROW_BYTES
        self.iterations += 1
        if at == ROOT:
            node.kind = CHANCE
            node.first = self.edge_count
            self.edge_count += 1
            node.count = 1
            self.probabilities[node.first] = 1
            self.children[node.first] = self.node_after(at, NULL, NULL)
            self.fits = self.children[node.first] != NONE
        elif node.kind == UNEXPANDED:
            self.fits = self.expand_decision(at)
        self.expanded += 1
        return self.fits

    cdef bint expand_decision(self, uint32_t at) noexcept nogil:
        # False: there is no room.
        cdef Node* node = &self.nodes[at]
        cdef Action joint[SEATS]
        cdef const InfoSet* info_set
        cdef uint32_t counts[SEATS]
        cdef uint32_t i
        cdef State state
        cdef int seat, owed
        self.load_state(node, &state)
        owed = self.game.deciders(&state)
        for seat in range(SEATS):
            counts[seat] = 1
            if owed & (1 << seat):
                node.info_sets[seat] = self.find_or_add_info_set(&state, seat)
                if node.info_sets[seat] == NONE:
                    return False
                counts[seat] = self.info_sets[node.info_sets[seat]].count
        node.kind = DECISION
        node.count = counts[0] * counts[1]
        node.first = self.edge_count
        if self.edge_count + node.count > self.edge_capacity:
            return False
        self.edge_count += node.count
        for i in range(node.count):
            for seat in range(SEATS):
                info_set = &self.info_sets[node.info_sets[seat]]
                joint[seat] = 0
                if node.info_sets[seat] != NONE:
                    joint[seat] = self.actions[
                        info_set.first + (i // counts[1] if seat == 0 else i % counts[1])]
            self.probabilities[node.first + i] = 1
            self.children[node.first + i] = self.node_after(at, &state, joint)
            if self.children[node.first + i] == NONE:
                return False
        return True

    cdef uint32_t node_after(self, uint32_t parent, const State* before,
                             const Action* joint) noexcept nogil:
        # The node after a joint action, or after the deal if both are NULL: a state, or a chance
        # with all that can come of it. NONE: it does not fit.
        cdef State state
        cdef Rng rng
        cdef Script script
        cdef size_t first = self.edge_count
        cdef size_t left = MAX_OUTCOMES
        cdef uint32_t outcome, chance = NONE
        script_start(&script, &rng)
        while left > 0:
            left -= 1
            if before == NULL:
                self.game.deal(&state, &rng, NULL)
            else:
                state = before[0]
                self.game.apply(&state, joint, &rng, NULL)
            if script.drawn == 0 and not script.broken:
                return self.find_or_add_state(parent, &state)
            if chance == NONE:
                if count_ways(&script) > MAX_OUTCOMES:
                    return NONE
                chance = self.add_node()
                if chance == NONE:
                    return NONE
            outcome = self.find_or_add_state(chance, &state)
            if script.broken or outcome == NONE:
                return NONE
            if not self.add_outcome(first, outcome, script_probability(&script)):
                return NONE
            if not script_next(&script):
                self.nodes[chance].kind = CHANCE
                self.nodes[chance].first = first
                self.nodes[chance].count = self.edge_count - first
                return chance
        return NONE

    cdef bint add_outcome(self, size_t first, uint32_t child, double probability) noexcept nogil:
        # Adds to the outcomes of a chance, which are all edges from `first` on.
        cdef size_t edge = first
        while edge < self.edge_count and self.children[edge] != child:
            edge += 1
        if edge == self.edge_count:
            if edge == self.edge_capacity:
                return False
            self.children[edge] = child
            self.probabilities[edge] = 0
            self.edge_count += 1
        self.probabilities[edge] += probability
        return True

    cdef uint32_t find_or_add_state(self, uint32_t parent, const State* state) noexcept nogil:
        # NONE: it does not fit.
        cdef int size = used_words(state.words, STATE_WORDS)
        cdef uint64_t key = hash_words(state.words, size)
        cdef uint32_t at = self.node_index.find(key)
        cdef bint again = at != NONE
        cdef Node* node
        if at > parent:
            return at
        at = self.add_node()
        if at == NONE:
            return NONE
        node = &self.nodes[at]
        node.key = key
        if self.game.deciders(state) == NOBODY:
            node.kind = TERMINAL
            node.score = self.game.outcome(state, 0)
        else:
            if self.word_count + size > self.word_capacity:
                return NONE
            node.first_word = self.word_count
            node.word_count = size
            memcpy(self.words + self.word_count, state, size * sizeof(uint64_t))
            self.word_count += size
        if not again and not self.node_index.insert(at):
            return NONE
        return at

    cdef uint32_t add_node(self) noexcept nogil:
        # NONE: it does not fit.
        cdef uint32_t at = self.node_count
        if at == self.node_capacity:
            return NONE
        memset(&self.nodes[at], 0, sizeof(Node))
        self.node_count += 1
        return at

    # Information sets

    cdef uint32_t find_view(self, const View* view) noexcept nogil:
        return self.info_set_index.find(hash_words(view.words, VIEW_WORDS))

    cdef uint32_t find_info_set(self, const State* state, int seat) noexcept nogil:
        cdef View view
        self.game.view(state, seat, &view)
        return self.find_view(&view)

    cdef uint32_t find_or_add_info_set(self, const State* state, int seat) noexcept nogil:
        # NONE: it does not fit.
        cdef View view
        cdef Action actions[MAX_ACTIONS]
        cdef uint32_t count, at
        cdef InfoSet* info_set
        self.game.view(state, seat, &view)
        at = self.find_view(&view)
        count = self.game.legal(state, seat, actions)
        if at != NONE:
            # Different actions in the same information set would be an error of the game.
            return at if self.info_sets[at].count == count else NONE
        at = self.info_set_count
        if at == self.node_capacity or self.action_count + count > self.edge_capacity:
            return NONE
        info_set = &self.info_sets[at]
        info_set.key = hash_words(view.words, VIEW_WORDS)
        info_set.seat = seat
        info_set.first = self.action_count
        info_set.count = count
        memcpy(self.actions + self.action_count, actions, count * sizeof(Action))
        if not self.info_set_index.insert(at):
            return NONE
        self.info_set_count += 1
        self.action_count += count
        return at
