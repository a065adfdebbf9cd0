"""The rest of a match from one view, as a finite game: all worlds, and all that can follow.

An information set is what a seat knows: its view there, and all that it did since the root. The
parts of a simultaneous decision come one after the other, the second knowing nothing of the first.

Worlds that do not fit the view are part of it where they fit what the opponent knows. They have no
probability, and matter for nothing but what he decides.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memset

from ai.game_tree cimport digest
from ai.worker cimport now
from engine.chance cimport Rng, Script, mix, script_next, script_probability, script_start
from engine.game cimport MAX_ACTIONS, NOBODY, STATE_WORDS, VIEW_WORDS, View

cdef enum:
    CHECK_TIME_EVERY = 64      # Nodes.
    NODES_A_DRAW = 8           # What it takes to draw a world.
    WAYS_A_WORLD = 8           # To draw it, at the most; more are not waited for.

cdef double ALIKE = 1e-12      # Scores are sums of a few products of probabilities.
cdef double WORSE = -1e9


cdef class EndingTree:
    """The finite game. `legal` are the actions of the root, ascending."""

    def __cinit__(self, Sampler sampler not None, size_t max_nodes, tuple legal not None):
        cdef size_t mask = 63
        cdef size_t action_room
        self.sampler = sampler
        self.game = sampler.game
        self.me = sampler.seat
        self.legal = legal
        self.room = max_nodes + ROOT + 1
        action_room = self.room + MAX_ACTIONS
        while mask < 2 * self.room:
            mask = 2 * mask + 1
        self.mask = mask
        self.nodes = <Node*> malloc(self.room * sizeof(Node))
        self.infos = <Info*> malloc(self.room * sizeof(Info))
        self.actions = <Action*> malloc(action_room * sizeof(Action))
        self.table = <uint32_t*> calloc(mask + 1, sizeof(uint32_t))
        self.worlds = <uint32_t*> calloc(mask + 1, sizeof(uint32_t))
        self.world_keys = <uint64_t*> malloc((mask + 1) * sizeof(uint64_t))
        self.stack = <uint32_t*> malloc(self.room * sizeof(uint32_t))
        self.sums = <double*> malloc(action_room * sizeof(double))
        if (self.nodes == NULL or self.infos == NULL or self.actions == NULL or self.table == NULL
                or self.worlds == NULL or self.world_keys == NULL or self.stack == NULL
                or self.sums == NULL):
            raise MemoryError
        self.node_count = self.info_count = ROOT
        for i, action in enumerate(legal):
            self.actions[i] = action
        self.root = self.info_of(0, True, len(legal), True)

    def __dealloc__(self):
        free(self.nodes)
        free(self.infos)
        free(self.actions)
        free(self.table)
        free(self.worlds)
        free(self.world_keys)
        free(self.stack)
        free(self.sums)

    # All that can happen

    cdef bint grow(self, double expected, list others):
        cdef Sampler other
        cdef uint32_t at
        if self.root == NONE:
            return False
        with nogil:
            self.add(NONE, NONE)
            if not self.count_worlds(self.sampler, expected, True):
                return False
            at = self.nodes[ROOT].first
            while at != NONE:
                self.nodes[at].chance /= self.total
                at = self.nodes[at].next
        for other in others:
            with nogil:
                if not self.count_worlds(other, expected, False):
                    return False
        with nogil:
            if not self.grow_worlds(self.sampler, True):
                return False
        for other in others:
            with nogil:
                if not self.grow_worlds(other, False):
                    return False
        return True

    cdef bint count_worlds(self, Sampler sampler, double expected, bint own) noexcept nogil:
        # Makes a node for each world. False: they are too many, or cannot be gone through. Some may
        # be drawn in several ways.
        cdef Script script
        cdef State state
        cdef Rng rng
        cdef size_t tried
        cdef size_t most = self.room // NODES_A_DRAW
        cdef uint32_t at
        if WAYS_A_WORLD / expected < 1.0 / NODES_A_DRAW:
            most = <size_t> (WAYS_A_WORLD / expected * self.room)
        script_start(&script, &rng)
        for tried in range(most):
            sampler.draw(&state, &rng)
            if script.broken or (tried % CHECK_TIME_EVERY == 0 and self.ended()):
                return False
            if not script.rejected:
                at = self.world(&state)
                if at == NONE or expected * (self.node_count - ROOT - 1) > self.room:
                    return False
                if own:
                    self.nodes[at].chance += script_probability(&script)
                    self.total += script_probability(&script)
            if not script_next(&script):
                return True
        return False

    cdef bint grow_worlds(self, Sampler sampler, bint own) noexcept nogil:
        # What can follow in the worlds of a sampler. False: that is too much.
        cdef uint64_t recalled[SEATS]
        cdef Script script
        cdef State state
        cdef Rng rng
        cdef uint32_t at
        recalled[0] = recalled[1] = 0
        script_start(&script, &rng)
        while True:
            sampler.draw(&state, &rng)
            if not script.rejected:
                at = self.world(&state)
                if self.nodes[at].first == NONE and not self.decide(at, &state, recalled, 0, own):
                    return False
            if not script_next(&script):
                return True

    cdef uint32_t world(self, const State* state) noexcept nogil:
        # The node of a world, made if it is new; NONE as of `add`.
        cdef uint64_t key = digest(state.words, STATE_WORDS)
        cdef size_t slot = key & self.mask
        while self.worlds[slot] != NONE:
            if self.world_keys[slot] == key:
                return self.worlds[slot]
            slot = (slot + 1) & self.mask
        self.worlds[slot] = self.add(ROOT, self.last_world)
        self.world_keys[slot] = key
        if self.worlds[slot] != NONE:
            self.last_world = self.worlds[slot]
        return self.worlds[slot]

    cdef uint32_t add(self, uint32_t parent, uint32_t before) noexcept nogil:
        # A new history that follows its parent, after the one that has come before; NONE: there is
        # no room or no time.
        cdef uint32_t at = self.node_count
        cdef Node* node = &self.nodes[at]
        if at == self.room or (at % CHECK_TIME_EVERY == 0 and self.ended()):
            return NONE
        self.node_count += 1
        memset(node, 0, sizeof(Node))
        node.parent = parent
        if before != NONE:
            self.nodes[before].next = at
        elif parent != NONE:
            self.nodes[parent].first = at
        return at

    cdef bint ended(self) noexcept nogil:
        return ((self.stop != NULL and self.stop[0])
                or (self.deadline > 0 and now() >= self.deadline))

    cdef bint decide(self, uint32_t at, const State* state, const uint64_t* recalled, int turn,
                     bint own) noexcept nogil:
        # What can follow a state. False: that is too much.
        cdef Node* node = &self.nodes[at]
        cdef Action joint[SEATS]
        cdef int owed = self.game.deciders(state)
        if owed == NOBODY:
            node.value = self.game.outcome(state, self.me)
            node.win = node.value > 0.5
            node.draw = node.value == 0.5
            node.easy = node.value
            return True
        joint[0] = joint[1] = 0
        return turn < MAX_TURNS and self.choose(at, state, 0, owed, joint, recalled, turn, own)

    cdef bint choose(self, uint32_t at, const State* state, int part, int owed,
                     const Action* chosen, const uint64_t* recalled, int turn,
                     bint own) noexcept nogil:
        # The parts of a simultaneous decision come one after the other, the asking seat's first.
        cdef Action joint[SEATS]
        cdef uint64_t known[SEATS]
        cdef uint64_t key
        cdef uint32_t info, child = NONE
        cdef int i, count
        cdef int seat = self.me if part == 0 else 1 - self.me
        joint[0], joint[1] = chosen[0], chosen[1]
        if part == SEATS:
            return self.follow(at, state, joint, recalled, turn, own)
        if not owed & (1 << seat):
            return self.choose(at, state, part + 1, owed, joint, recalled, turn, own)
        if own and turn == 0 and seat == self.me:
            info = self.root
            key = self.infos[info].key
            count = self.infos[info].count
        else:
            count = self.game.legal(state, seat, self.actions + self.action_count)
            if count == 1:
                joint[seat] = self.actions[self.action_count]
                return self.choose(at, state, part + 1, owed, joint, recalled, turn, own)
            key = self.key_of(state, seat, recalled[seat])
            info = self.info_of(key, seat == self.me, count, own)
            if info == NONE:
                return False
        self.nodes[at].info = info
        self.nodes[at].alike = self.infos[info].histories
        self.infos[info].histories = at
        known[0], known[1] = recalled[0], recalled[1]
        for i in range(count):
            child = self.add(at, child)
            if child == NONE:
                return False
            joint[seat] = self.actions[self.infos[info].first + i]
            known[seat] = mix(key, joint[seat])
            if not self.choose(child, state, part + 1, owed, joint, known, turn, own):
                return False
        return True

    cdef bint follow(self, uint32_t at, const State* state, const Action* joint,
                     const uint64_t* recalled, int turn, bint own) noexcept nogil:
        # All that can come of a joint action.
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
                return self.decide(at, &after, recalled, turn + 1, own)
            child = self.add(at, child)
            if child == NONE:
                return False
            self.nodes[child].chance = script_probability(&script)
            if not self.decide(child, &after, recalled, turn + 1, own):
                return False
            if not script_next(&script):
                return True

    cdef uint64_t key_of(self, const State* state, int seat, uint64_t recalled) noexcept nogil:
        # Of all that a seat knows: what it knew and did when it decided last, and its view.
        cdef View view
        cdef uint64_t key
        self.game.view(state, seat, &view)
        key = digest(view.words, VIEW_WORDS)
        return mix(mix(key, recalled), seat)

    cdef uint32_t info_of(self, uint64_t key, bint mine, int count, bint own) noexcept nogil:
        # The information set with this key, made if it is new, with the actions listed last.
        cdef size_t slot = key & self.mask
        cdef uint32_t at
        cdef Info* info
        while self.table[slot] != NONE and self.infos[self.table[slot]].key != key:
            slot = (slot + 1) & self.mask
        at = self.table[slot]
        info = &self.infos[at]
        if at != NONE:
            info.own = info.own or own
            # Other actions where a seat knows the same would be a mistake of the game.
            if info.count != <uint32_t> count or memcmp(
                    self.actions + info.first, self.actions + self.action_count,
                    count * sizeof(Action)):
                return NONE
            return at
        if self.info_count == self.room or self.action_count + count > self.room:
            return NONE
        at = self.info_count
        self.info_count += 1
        self.table[slot] = at
        info = &self.infos[at]
        memset(info, 0, sizeof(Info))
        info.key = key
        info.mine = mine
        info.first = self.action_count
        info.count = count
        info.choice = -1
        info.own = own
        self.action_count += count
        return at

    # From the ends upwards

    cdef void settle(self) noexcept nogil:
        cdef Node* parent
        cdef uint32_t at, other, top = 0
        for at in range(ROOT + 1, self.node_count):
            parent = &self.nodes[self.nodes[at].parent]
            if parent.info != NONE:
                self.infos[parent.info].pending += 1
            else:
                parent.pending += 1
            if self.nodes[at].first == NONE:
                self.nodes[at].settled = True
                self.stack[top] = at
                top += 1
        while top > 0:
            top -= 1
            at = self.nodes[self.stack[top]].parent
            parent = &self.nodes[at]
            if parent.info == NONE:
                parent.pending -= 1
                if parent.pending == 0 and at != ROOT:
                    self.average(parent)
                    self.stack[top] = at
                    top += 1
                continue
            self.infos[parent.info].pending -= 1
            if self.infos[parent.info].pending or parent.info == self.root:
                continue
            if self.choose_best(&self.infos[parent.info]):
                other = self.infos[parent.info].histories
                while other != NONE:
                    self.stack[top] = other
                    top += 1
                    other = self.nodes[other].alike

    cdef void average(self, Node* node) noexcept nogil:
        cdef const Node* one
        cdef uint32_t at = node.first
        node.settled = True
        while at != NONE:
            one = &self.nodes[at]
            node.value += one.chance * one.value
            node.win += one.chance * one.win
            node.draw += one.chance * one.draw
            node.easy += one.chance * one.easy
            at = one.next

    cdef bint choose_best(self, Info* info) noexcept nogil:
        # Settles an information set if an action is the best in all its histories. Of several, the
        # asking seat takes the one with which it scores the most against random play. What it
        # would do in worlds that do not fit its view it does not know in full, since it would then
        # believe in other worlds: there it must not matter.
        cdef double sign = 1 if info.mine else -1
        cdef double* easy = self.sums + info.first
        cdef const Node* one
        cdef Node* node
        cdef uint32_t at, child
        cdef double best, worst
        cdef bint matters = False
        cdef int i
        memset(easy, 0, info.count * sizeof(double))
        at = info.histories
        while at != NONE:
            best, worst = -2, 2
            child = self.nodes[at].first
            while child != NONE:
                best = max(best, sign * self.nodes[child].value)
                worst = min(worst, sign * self.nodes[child].value)
                child = self.nodes[child].next
            matters = matters or best - worst > ALIKE
            i = 0
            child = self.nodes[at].first
            while child != NONE:
                one = &self.nodes[child]
                easy[i] += one.easy if sign * one.value >= best - ALIKE else WORSE
                child = one.next
                i += 1
            at = self.nodes[at].alike
        for i in range(<int> info.count):
            if easy[i] >= 0 and (info.choice < 0 or (info.mine and easy[i] > easy[info.choice])):
                info.choice = i
        if info.choice < 0 or (matters and info.mine and not info.own):
            info.choice = -1
            return False
        self.knowledge_matters = self.knowledge_matters or (matters and not info.mine)
        at = info.histories
        while at != NONE:
            node = &self.nodes[at]
            one = &self.nodes[self.after(at, info.choice)]
            node.settled = True
            node.value = one.value
            node.win = one.win
            node.draw = one.draw
            node.easy = one.easy if info.mine else self.mean_easy(at)
            at = node.alike
        return True

    cdef uint32_t after(self, uint32_t at, int choice) noexcept nogil:
        cdef uint32_t child = self.nodes[at].first
        while choice > 0:
            child = self.nodes[child].next
            choice -= 1
        return child

    cdef double mean_easy(self, uint32_t at) noexcept nogil:
        # What the asking seat scores against random play; where it is not settled, by random play.
        cdef uint32_t child = self.nodes[at].first
        cdef double sum = 0
        cdef int n = 0
        while child != NONE:
            sum += self.easy(child)
            n += 1
            child = self.nodes[child].next
        return sum / n

    cdef double easy(self, uint32_t at) noexcept nogil:
        cdef uint32_t child = self.nodes[at].first
        cdef double sum = 0
        if self.nodes[at].settled:
            return self.nodes[at].easy
        if self.nodes[at].info != NONE:
            return self.mean_easy(at)
        while child != NONE:
            sum += self.nodes[child].chance * self.easy(child)
            child = self.nodes[child].next
        return sum
