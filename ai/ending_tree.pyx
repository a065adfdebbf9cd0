"""The rest of a match from one view, as a finite game: all worlds, and all that can follow.

An information set is what a seat knows: its view there, and all that it did since the root. The
parts of a simultaneous decision come one after the other, and the second part knows nothing of the
first.

Worlds that do not fit the view belong to the game where they fit what the opponent knows. They have
no probability, and matter only for what the opponent decides.
"""

from libc.string cimport memcmp, memset

from ai.game_graph cimport hash_words
from ai.memory cimport Grant
from ai.worker cimport now
from engine.chance cimport Rng, Script, mix, script_next, script_probability, script_start
from engine.game cimport MAX_ACTIONS, NOBODY, STATE_WORDS, VIEW_WORDS, View

cdef enum:
    CHECK_EVERY = 64           # Nodes: whether there is time, and memory, for as many more.
    NODES_A_DRAW = 8           # Drawing a world takes as long as making so many nodes.
    MAX_WAYS_A_WORLD = 8       # To draw it; a world that takes more is not waited for.
    FIRST_ENTRIES = 500        # That an index has slots for at the start.

# With its information set, two of its actions and its place in the scratch, at most.
cdef size_t BYTES_A_NODE = (sizeof(Node) + sizeof(InfoSet) + 2 * sizeof(Action)
                            + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(double))

cdef double EQUAL = 1e-12      # Scores are sums of a few products of probabilities.
cdef double EXCLUDED = -1e9


cdef class EndingTree:
    """The finite game. `legal` are the actions of the root, ascending."""

    def __cinit__(self, Sampler sampler not None, size_t max_nodes, tuple legal not None,
                  Grant grant=None):
        cdef Arena arena = Arena(grant)
        cdef size_t action_capacity
        self.arena = arena
        self.sampler = sampler
        self.game = sampler.game
        self.seat = sampler.seat
        self.legal = legal
        self.capacity = max_nodes + ROOT + 1
        action_capacity = self.capacity + MAX_ACTIONS
        self.nodes = <Node*> arena.take_free(self.capacity, sizeof(Node))
        self.info_sets = <InfoSet*> arena.take_free(self.capacity, sizeof(InfoSet))
        self.actions = <Action*> arena.take_free(action_capacity, sizeof(Action))
        self.world_keys = <uint64_t*> arena.take_free(self.capacity, sizeof(uint64_t))
        self.stack = <uint32_t*> arena.take_free(self.capacity, sizeof(uint32_t))
        self.sums = <double*> arena.take_free(action_capacity, sizeof(double))
        self.info_set_index = HashIndex()
        self.info_set_index.use(arena, self.info_sets, sizeof(InfoSet), FIRST_ENTRIES)
        self.world_index = HashIndex()
        self.world_index.use(arena, self.world_keys, sizeof(uint64_t), FIRST_ENTRIES)
        self.node_count = self.info_set_count = ROOT
        for i, action in enumerate(legal):
            self.actions[i] = action
        self.root = self.find_or_add_info_set(0, True, len(legal), True)

    # All that can happen

    cdef bint build(self, double expected, list others):
        cdef Sampler other
        cdef uint32_t at
        if self.root == NONE:
            return False
        with nogil:
            self.add_node(NONE, NONE)
            if not self.add_worlds(self.sampler, expected, True):
                return False
            at = self.nodes[ROOT].first_child
            while at != NONE:
                self.nodes[at].probability /= self.total
                at = self.nodes[at].next_sibling
        for other in others:
            with nogil:
                if not self.add_worlds(other, expected, False):
                    return False
        with nogil:
            if not self.expand_worlds(self.sampler, True):
                return False
        for other in others:
            with nogil:
                if not self.expand_worlds(other, False):
                    return False
        return True

    cdef bint add_worlds(self, Sampler sampler, double expected, bint fits_view) noexcept nogil:
        # Makes a node for each world; some can be drawn in several ways. False: they are too many,
        # or cannot be enumerated.
        cdef Script script
        cdef State state
        cdef Rng rng
        cdef size_t tried
        cdef size_t max_draws = self.capacity // NODES_A_DRAW
        cdef uint32_t at
        if MAX_WAYS_A_WORLD / expected < 1.0 / NODES_A_DRAW:
            max_draws = <size_t> (MAX_WAYS_A_WORLD / expected * self.capacity)
        memset(&state, 0, sizeof(state))
        script_start(&script, &rng)
        for tried in range(max_draws):
            sampler.draw(&state, &rng)
            if script.broken or (tried % CHECK_EVERY == 0 and self.must_stop()):
                return False
            if not script.rejected:
                at = self.find_or_add_world(&state)
                if at == NONE or expected * (self.node_count - ROOT - 1) > self.capacity:
                    return False
                if fits_view:
                    self.nodes[at].probability += script_probability(&script)
                    self.total += script_probability(&script)
            if not script_next(&script):
                return True
        return False

    cdef bint expand_worlds(self, Sampler sampler, bint fits_view) noexcept nogil:
        # Adds what can follow in the worlds of a sampler. False: that is too much.
        cdef uint64_t recalled[SEATS]
        cdef Script script
        cdef State state
        cdef Rng rng
        cdef uint32_t at
        recalled[0] = recalled[1] = 0
        memset(&state, 0, sizeof(state))
        script_start(&script, &rng)
        while True:
            sampler.draw(&state, &rng)
            if not script.rejected:
                at = self.find_or_add_world(&state)
                if (self.nodes[at].first_child == NONE
                        and not self.expand(at, &state, recalled, 0, fits_view)):
                    return False
            if not script_next(&script):
                return True

    cdef uint32_t find_or_add_world(self, const State* state) noexcept nogil:
        # The node of a world; NONE as of `add_node`.
        cdef uint64_t key = hash_words(state.words, STATE_WORDS)
        cdef uint32_t at = self.world_index.find(key)
        if at != NONE:
            return at
        at = self.add_node(ROOT, self.last_world)
        if at == NONE:
            return NONE
        self.world_keys[at] = key
        if not self.world_index.insert(at):
            return NONE
        self.last_world = at
        return at

    cdef uint32_t add_node(self, uint32_t parent, uint32_t previous) noexcept nogil:
        # A new child of its parent, after the previous child. NONE: there is no room or no time.
        cdef uint32_t at = self.node_count
        cdef Node* node = &self.nodes[at]
        if at == self.capacity or (at % CHECK_EVERY == 0 and (
                self.must_stop() or not self.arena.charge(CHECK_EVERY * BYTES_A_NODE))):
            return NONE
        self.node_count += 1
        memset(node, 0, sizeof(Node))
        node.parent = parent
        if previous != NONE:
            self.nodes[previous].next_sibling = at
        elif parent != NONE:
            self.nodes[parent].first_child = at
        return at

    cdef bint must_stop(self) noexcept nogil:
        cdef double paused
        if self.stop is not None and self.stop.flag:
            paused = now()
            if self.stop.must_stop(self.end):
                return True
            # Else whether a proof is found would depend on who else searches.
            if self.deadline > 0:
                self.deadline += now() - paused
        return self.deadline > 0 and (now() >= self.deadline or now() >= self.end)

    cdef bint expand(self, uint32_t at, const State* state, const uint64_t* recalled, int turn,
                     bint fits_view) noexcept nogil:
        # Adds what can follow a state. False: that is too much.
        cdef Node* node = &self.nodes[at]
        cdef Action joint[SEATS]
        cdef int owed = self.game.deciders(state)
        if owed == NOBODY:
            node.value = self.game.outcome(state, self.seat)
            node.win = node.value > 0.5
            node.draw = node.value == 0.5
            node.random_value = node.value
            return True
        joint[0] = joint[1] = 0
        return turn < MAX_TURNS and self.expand_decision(
            at, state, 0, owed, joint, recalled, turn, fits_view)

    cdef bint expand_decision(self, uint32_t at, const State* state, int part, int owed,
                              const Action* chosen, const uint64_t* recalled, int turn,
                              bint fits_view) noexcept nogil:
        # The parts of a simultaneous decision come one after the other, that of the searching seat
        # first.
        cdef Action joint[SEATS]
        cdef uint64_t known[SEATS]
        cdef uint64_t key
        cdef uint32_t info_set, child = NONE
        cdef int i, count
        cdef int seat = self.seat if part == 0 else 1 - self.seat
        joint[0], joint[1] = chosen[0], chosen[1]
        if part == SEATS:
            return self.expand_chance(at, state, joint, recalled, turn, fits_view)
        if not owed & (1 << seat):
            return self.expand_decision(
                at, state, part + 1, owed, joint, recalled, turn, fits_view)
        if fits_view and turn == 0 and seat == self.seat:
            info_set = self.root
            key = self.info_sets[info_set].key
            count = self.info_sets[info_set].count
        else:
            count = self.game.legal(state, seat, self.actions + self.action_count)
            if count == 1:
                joint[seat] = self.actions[self.action_count]
                return self.expand_decision(
                    at, state, part + 1, owed, joint, recalled, turn, fits_view)
            key = self.info_set_key(state, seat, recalled[seat])
            info_set = self.find_or_add_info_set(key, seat == self.seat, count, fits_view)
            if info_set == NONE:
                return False
        self.nodes[at].info_set = info_set
        self.nodes[at].next_in_set = self.info_sets[info_set].histories
        self.info_sets[info_set].histories = at
        known[0], known[1] = recalled[0], recalled[1]
        for i in range(count):
            child = self.add_node(at, child)
            if child == NONE:
                return False
            joint[seat] = self.actions[self.info_sets[info_set].first + i]
            known[seat] = mix(key, joint[seat])
            if not self.expand_decision(
                    child, state, part + 1, owed, joint, known, turn, fits_view):
                return False
        return True

    cdef bint expand_chance(self, uint32_t at, const State* state, const Action* joint,
                            const uint64_t* recalled, int turn, bint fits_view) noexcept nogil:
        # Adds all outcomes of a joint action. False: they are too many.
        cdef State after
        cdef Script script
        cdef Rng rng
        cdef uint32_t child = NONE
        script_start(&script, &rng)
        while True:
            after = state[0]
            self.game.apply(&after, joint, &rng, NULL)
            if script.broken:
                return False
            if script.drawn == 0:
                return self.expand(at, &after, recalled, turn + 1, fits_view)
            child = self.add_node(at, child)
            if child == NONE:
                return False
            self.nodes[child].probability = script_probability(&script)
            if not self.expand(child, &after, recalled, turn + 1, fits_view):
                return False
            if not script_next(&script):
                return True

    cdef uint64_t info_set_key(self, const State* state, int seat,
                               uint64_t recalled) noexcept nogil:
        # Of all that a seat knows: what it knew and did at its last decision, and its view.
        cdef View view
        cdef uint64_t key
        self.game.view(state, seat, &view)
        key = hash_words(view.words, VIEW_WORDS)
        return mix(mix(key, recalled), seat)

    cdef uint32_t find_or_add_info_set(self, uint64_t key, bint is_own, int count,
                                       bint fits_view) noexcept nogil:
        # The information set with this key; a new one has the last `count` of the actions. NONE:
        # there is no room for it.
        cdef uint32_t at = self.info_set_index.find(key)
        cdef InfoSet* info_set = &self.info_sets[at]
        if at != NONE:
            info_set.fits_view = info_set.fits_view or fits_view
            # Different actions in the same information set would be an error of the game.
            if info_set.count != <uint32_t> count or memcmp(
                    self.actions + info_set.first, self.actions + self.action_count,
                    count * sizeof(Action)):
                return NONE
            return at
        if self.info_set_count == self.capacity or self.action_count + count > self.capacity:
            return NONE
        at = self.info_set_count
        info_set = &self.info_sets[at]
        memset(info_set, 0, sizeof(InfoSet))
        info_set.key = key
        info_set.is_own = is_own
        info_set.first = self.action_count
        info_set.count = count
        info_set.best = -1
        info_set.fits_view = fits_view
        if not self.info_set_index.insert(at):
            return NONE
        self.info_set_count += 1
        self.action_count += count
        return at

    # Backward induction

    cdef void solve_upwards(self) noexcept nogil:
        cdef Node* parent
        cdef uint32_t at, other, top = 0
        for at in range(ROOT + 1, self.node_count):
            parent = &self.nodes[self.nodes[at].parent]
            if parent.info_set != NONE:
                self.info_sets[parent.info_set].unsolved += 1
            else:
                parent.unsolved += 1
            if self.nodes[at].first_child == NONE:
                self.nodes[at].solved = True
                self.stack[top] = at
                top += 1
        while top > 0:
            top -= 1
            at = self.nodes[self.stack[top]].parent
            parent = &self.nodes[at]
            if parent.info_set == NONE:
                parent.unsolved -= 1
                if parent.unsolved == 0 and at != ROOT:
                    self.solve_chance(parent)
                    self.stack[top] = at
                    top += 1
                continue
            self.info_sets[parent.info_set].unsolved -= 1
            if self.info_sets[parent.info_set].unsolved or parent.info_set == self.root:
                continue
            if self.solve_info_set(&self.info_sets[parent.info_set]):
                other = self.info_sets[parent.info_set].histories
                while other != NONE:
                    self.stack[top] = other
                    top += 1
                    other = self.nodes[other].next_in_set

    cdef void solve_chance(self, Node* node) noexcept nogil:
        cdef const Node* child
        cdef uint32_t at = node.first_child
        node.solved = True
        while at != NONE:
            child = &self.nodes[at]
            node.value += child.probability * child.value
            node.win += child.probability * child.win
            node.draw += child.probability * child.draw
            node.random_value += child.probability * child.random_value
            at = child.next_sibling

    cdef bint solve_info_set(self, InfoSet* info_set) noexcept nogil:
        # Solves an information set if one action is the best in all its histories. Of several such
        # actions, the searching seat takes the one with the highest score against random play. In
        # worlds that do not fit the view, the searching seat would believe in other worlds still,
        # so what it would do there is not fully known. Its decisions there must not matter.
        cdef double sign = 1 if info_set.is_own else -1
        cdef double* sums = self.sums + info_set.first
        cdef const Node* child
        cdef Node* node
        cdef uint32_t at, child_at
        cdef double best, worst
        cdef bint matters = False
        cdef int i
        memset(sums, 0, info_set.count * sizeof(double))
        at = info_set.histories
        while at != NONE:
            best, worst = -2, 2
            child_at = self.nodes[at].first_child
            while child_at != NONE:
                best = max(best, sign * self.nodes[child_at].value)
                worst = min(worst, sign * self.nodes[child_at].value)
                child_at = self.nodes[child_at].next_sibling
            matters = matters or best - worst > EQUAL
            i = 0
            child_at = self.nodes[at].first_child
            while child_at != NONE:
                child = &self.nodes[child_at]
                sums[i] += child.random_value if sign * child.value >= best - EQUAL else EXCLUDED
                child_at = child.next_sibling
                i += 1
            at = self.nodes[at].next_in_set
        for i in range(<int> info_set.count):
            if sums[i] >= 0 and (info_set.best < 0
                                 or (info_set.is_own and sums[i] > sums[info_set.best])):
                info_set.best = i
        if info_set.best < 0 or (matters and info_set.is_own and not info_set.fits_view):
            info_set.best = -1
            return False
        self.knowledge_matters = self.knowledge_matters or (matters and not info_set.is_own)
        at = info_set.histories
        while at != NONE:
            node = &self.nodes[at]
            child = &self.nodes[self.child_of(at, info_set.best)]
            node.solved = True
            node.value = child.value
            node.win = child.win
            node.draw = child.draw
            node.random_value = (child.random_value if info_set.is_own
                                 else self.mean_random_value(at))
            at = node.next_in_set
        return True

    cdef uint32_t child_of(self, uint32_t at, int choice) noexcept nogil:
        cdef uint32_t child = self.nodes[at].first_child
        while choice > 0:
            child = self.nodes[child].next_sibling
            choice -= 1
        return child

    cdef double mean_random_value(self, uint32_t at) noexcept nogil:
        # Where a child is not solved, both seats choose at random.
        cdef uint32_t child = self.nodes[at].first_child
        cdef double sum = 0
        cdef int n = 0
        while child != NONE:
            sum += self.random_value(child)
            n += 1
            child = self.nodes[child].next_sibling
        return sum / n

    cdef double random_value(self, uint32_t at) noexcept nogil:
        cdef uint32_t child = self.nodes[at].first_child
        cdef double sum = 0
        if self.nodes[at].solved:
            return self.nodes[at].random_value
        if self.nodes[at].info_set != NONE:
            return self.mean_random_value(at)
        while child != NONE:
            sum += self.nodes[child].probability * self.random_value(child)
            child = self.nodes[child].next_sibling
        return sum
