"""Multi-observer information-set Monte Carlo tree search.

The search is given a seat's view and nothing else. Each iteration draws a world that fits the view
(`Sampler.draw`), walks through it by the decisions found so far, plays on sensibly by the game's
`PlayoutPolicy`, to the end or until it can say what that is worth, and learns from the score. Every seat
has a tree of its own, whose nodes are what that seat has observed since the root (`Game.observe`),
so that no decision depends on what its seat has not seen: neither on a hidden card nor on the other
half of a simultaneous choice. Which actions a node offers depends on the world; each keeps how
often it was available.

    P. I. Cowling, E. J. Powley, D. Whitehouse, "Information Set Monte Carlo IsmctsWorker Search", IEEE
    Transactions on Computational Intelligence and AI in Games 4(2), 2012: MO-ISMCTS, availability.

At a decision that is made at the same time as another, or that the other seat must not be able to
foresee, and that has few enough actions for the visits that it gets, the answer is a mixture, and
is found by regret matching: each visit adds to every action its estimated regret, the next choice
is in proportion to the positive regrets, and the average of these choices is the answer. The value
of an action that was not tried is estimated by its mean so far, which corrects the
importance-weighted estimate of the one that was.

    V. Lisý, V. Kovařík, M. Lanctot, B. Bošanský, "Convergence of Monte Carlo IsmctsWorker Search in
    Simultaneous Move Games", NeurIPS 2013: regret matching at the nodes of a search tree.
    M. Schmid et al., "Variance Reduction in Monte Carlo Counterfactual Regret Minimization
    (VR-MCCFR)", AAAI 2019: the baseline.

At other decisions the choice is by UCB1 over the available actions, and the answer is the most
visited; or by regret matching too, in a game where what a seat does gives its cards away. The
scores of playouts that are not played to the end differ less than wins and losses do, so UCB1's
constant is in standard deviations of the scores that the node has seen. UCB1 would try every action
before it returns to the best; where there are many, a node begins with few, those that the playout policy
would play, and tries more of them the more often it is visited.

    J.-Y. Audibert, R. Munos, C. Szepesvári, "Exploration-exploitation tradeoff using variance
    estimates in multi-armed bandits", Theoretical Computer Science 410(19), 2009.
    G. Chaslot, M. Winands, H. J. van den Herik, J. Uiterwijk, B. Bouzy, "Progressive Strategies for
    Monte-Carlo IsmctsWorker Search", New Mathematics and Natural Computation 4(3), 2008: unpruning.
    R. Coulom, "Computing Elo Ratings of Move Patterns in the Game of Go", ICGA Journal 30(4), 2007.

A game so small that all of it can be searched from the deal on is (ai/mccfr.pyx).
"""

from libc.math cimport log, sqrt
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from ai.worker cimport Worker
from engine.chance cimport Rng, mix, rng_below, rng_double, rng_seed
from engine.game cimport BOTH, MAX_ACTIONS, NOBODY, SEATS, Action, Game, State
from engine.playout_policy cimport PlayoutPolicy
from engine.sampler cimport Sampler

from ai.worker import RootAction, Summary

cdef enum:
    NO_NODE = 0                # Node 0 is never used.
    KNOWN_VISITS = 16          # From here on a node tells what its seat is expected to do.
    MAX_PATH = 256            # Decisions of one iteration that are learned from.
    SCRATCH = 1 << 15          # Actions available at these decisions, together.
    FIRST_SLOTS = 1 << 10      # Of the hash table.

cdef double MAX_UNIFORM = 0.6
cdef double LOWEST_REGRET = -3  # In units of the largest jump of an estimate.


cdef struct Child:
    Action action
    uint32_t visits
    uint32_t availability
    double total               # Of the scores.
    double squares
    double regret
    double strategy            # Sum of the probabilities that regret matching gave it.


cdef struct Node:
    uint64_t key               # Of its seat and what that seat has observed.
    uint32_t first             # Its children: a run of the arena, ascending by action.
    uint16_t count
    uint16_t room
    uint32_t visits
    double total               # Of the scores.
    double squares


cdef struct Step:              # A decision of the current iteration.
    uint32_t node
    uint16_t seat
    uint16_t count             # Actions available,
    uint32_t at                # from here in the scratch,
    uint32_t chosen            # and which of them was chosen,
    double probability         # with this probability.
    bint regret                # By regret matching.


cdef class IsmctsWorker(Worker):
    """The trees of both seats from one view, grown by one thread."""

    cdef Game game
    cdef PlayoutPolicy policy
    cdef Sampler sampler
    cdef Rng rng
    cdef double exploration, uniform, widening
    cdef bint uses_policy, sequential_regret
    cdef int max_mixed_actions

    # Memory is taken once; what is not touched costs nothing.
    cdef Node* nodes
    cdef Child* children
    cdef uint32_t* table       # Hash of a key -> node.
    cdef size_t node_room, child_room, table_mask
    cdef size_t node_count, child_count

    cdef Step path[MAX_PATH]
    cdef uint16_t* scratch     # Children that are available,
    cdef double* sigma         # and their probabilities by regret matching.
    cdef int path_length
    cdef size_t scratch_used

    cdef uint64_t root_key
    cdef double wins, draws

    cdef Action* only          # The actions to search for at the root; NULL: all.
    cdef int only_count
    cdef bint full             # A node or child found no room.
    cdef bint ends_when_full

    def __cinit__(self, Sampler sampler not None, uint64_t seed, uint64_t thread, parameters,
                  size_t max_nodes, only=None, bint ends_when_full=False):
        cdef size_t child_bytes
        self.sampler = sampler
        self.game = sampler.game
        self.uses_policy = parameters.playout_policy
        self.policy = PlayoutPolicy.of(self.game) if self.uses_policy else PlayoutPolicy(self.game)
        if parameters.horizon is not None:
            self.policy.horizon = parameters.horizon
        self.exploration = parameters.exploration
        self.uniform = parameters.uniform
        self.widening = parameters.widening
        self.sequential_regret = (self.game.sequential_regret if parameters.sequential_regret is None
                                  else parameters.sequential_regret)
        self.max_mixed_actions = (self.game.max_mixed_actions if parameters.max_mixed_actions is None
                           else parameters.max_mixed_actions)
        rng_seed(&self.rng, mix(seed, thread))
        # Most nodes are small; where they are not, the children run out before the nodes do.
        self.node_room = max(64, min(max_nodes, parameters.memory // 4 // sizeof(Node)))
        child_bytes = parameters.memory // 2
        self.child_room = min(child_bytes // sizeof(Child), 2 * MAX_ACTIONS * self.node_room)
        self.table_mask = FIRST_SLOTS - 1
        self.nodes = <Node*> malloc(self.node_room * sizeof(Node))
        self.children = <Child*> malloc(self.child_room * sizeof(Child))
        self.table = <uint32_t*> calloc(self.table_mask + 1, sizeof(uint32_t))
        self.scratch = <uint16_t*> malloc(SCRATCH * sizeof(uint16_t))
        self.sigma = <double*> malloc(SCRATCH * sizeof(double))
        self.node_count = 1
        self.ends_when_full = ends_when_full
        if (self.nodes == NULL or self.children == NULL or self.table == NULL
                or self.scratch == NULL or self.sigma == NULL):
            raise MemoryError
        if only is not None:
            self.only = <Action*> malloc(len(only) * sizeof(Action))
            if self.only == NULL:
                raise MemoryError
            for action in sorted(only):
                self.only[self.only_count] = action
                self.only_count += 1

    def __dealloc__(self):
        free(self.only)
        free(self.nodes)
        free(self.children)
        free(self.table)
        free(self.scratch)
        free(self.sigma)

    cdef bint iterate(self) noexcept nogil:
        cdef State state
        cdef Action joint[SEATS]
        cdef uint64_t keys[SEATS]
        cdef double score, own, draw = 0
        cdef int seat, owed
        cdef bint at_leaf = False
        if self.full and self.ends_when_full:
            return False
        self.sampler.draw(&state, &self.rng)
        self.path_length = 0
        self.scratch_used = 0
        for seat in range(SEATS):
            keys[seat] = mix(self.game.root_key(&state, seat), seat)
        self.root_key = keys[self.sampler.seat]
        while not at_leaf:
            owed = self.game.deciders(&state)
            if owed == NOBODY:
                break
            for seat in range(SEATS):
                joint[seat] = 0
                if owed & (1 << seat):
                    joint[seat] = self.decide(&state, seat, owed == BOTH, keys[seat], &at_leaf)
            self.game.apply(&state, joint, &self.rng, NULL)
            for seat in range(SEATS):
                keys[seat] = mix(keys[seat], self.game.observe(&state, joint, seat))
        if at_leaf and self.uses_policy:
            score = self.policy.playout(&state, &self.rng, &draw)
        else:
            if at_leaf:
                self.game.playout(&state, &self.rng)
            score = self.game.outcome(&state, 0)
        while self.path_length > 0:
            self.path_length -= 1
            seat = self.path[self.path_length].seat
            own = score if seat == 0 else 1 - score
            self.learn(&self.path[self.path_length], own)
        self.iterations += 1
        if self.sampler.seat == 1:
            score = 1 - score
        if self.game.deciders(&state) == NOBODY:
            self.wins += score > 0.5
            self.draws += score == 0.5
        else:
            self.wins += score - draw / 2
            self.draws += draw
        return True

    # One decision

    cdef Action decide(self, const State* state, int seat, bint simultaneous, uint64_t key,
                       bint* at_leaf) noexcept nogil:
        cdef Action actions[MAX_ACTIONS]
        cdef int count = self.game.legal(state, seat, actions)
        cdef Step* step
        cdef uint32_t at
        if self.only != NULL and key == self.root_key:
            count = self.narrow(actions, count)
        # What is forced needs no node, but at the root, where it is told how it scores.
        if count == 1 and key != self.root_key:
            return actions[0]
        at = self.find(key, at_leaf)
        if (at == NO_NODE or self.path_length == MAX_PATH
                or self.scratch_used + count > SCRATCH
                or not self.offer(&self.nodes[at], actions, count)):
            at_leaf[0] = True
            return actions[rng_below(&self.rng, count)]
        step = &self.path[self.path_length]
        self.path_length += 1
        step.node = at
        step.seat = seat
        step.count = count
        step.at = self.scratch_used
        step.regret = self.sequential_regret or (simultaneous and count <= self.max_mixed_actions)
        self.scratch_used += count
        if step.regret:
            self.choose_by_regret(step)
        else:
            self.choose_by_ucb(step, state)
        return self.children[self.nodes[at].first + self.scratch[step.at + step.chosen]].action

    cdef int narrow(self, Action* actions, int count) noexcept nogil:
        # Keeps those that are searched for at the root; how many.
        cdef int i, j = 0, kept = 0
        for i in range(count):
            while j < self.only_count and self.only[j] < actions[i]:
                j += 1
            if j < self.only_count and self.only[j] == actions[i]:
                actions[kept] = actions[i]
                kept += 1
        return kept

    cdef uint32_t find(self, uint64_t key, bint* at_leaf) noexcept nogil:
        # The node of a key; a new one makes this the leaf of the iteration.
        cdef size_t slot = key & self.table_mask
        cdef Node* node
        while self.table[slot] != NO_NODE:
            if self.nodes[self.table[slot]].key == key:
                return self.table[slot]
            slot = (slot + 1) & self.table_mask
        at_leaf[0] = True
        if self.node_count == self.node_room:
            self.full = True
            return NO_NODE
        if 2 * self.node_count > self.table_mask:
            if not self.widen_table():
                self.full = True
                return NO_NODE
            slot = key & self.table_mask
            while self.table[slot] != NO_NODE:
                slot = (slot + 1) & self.table_mask
        node = &self.nodes[self.node_count]
        memset(node, 0, sizeof(Node))
        node.key = key
        self.table[slot] = self.node_count
        self.node_count += 1
        # Most nodes are visited once: all but the root get their children at the second visit.
        return self.table[slot] if key == self.root_key else NO_NODE

    cdef bint widen_table(self) noexcept nogil:
        # It grows with the nodes, since few searches come near to what fits in memory, and a table
        # for that would be a page fault for each node. False: there is no memory for it.
        cdef size_t mask = 2 * self.table_mask + 1
        cdef uint32_t* table = <uint32_t*> calloc(mask + 1, sizeof(uint32_t))
        cdef size_t slot
        cdef uint32_t at
        if table == NULL:
            return False
        for at in range(1, self.node_count):
            slot = self.nodes[at].key & mask
            while table[slot] != NO_NODE:
                slot = (slot + 1) & mask
            table[slot] = at
        free(self.table)
        self.table = table
        self.table_mask = mask
        return True

    cdef bint offer(self, Node* node, const Action* actions, int count) noexcept nogil:
        # Writes which children of the node these actions are, making those that are new. False:
        # there is no memory for them.
        cdef Child* child = self.children + node.first
        cdef uint16_t* at = self.scratch + self.scratch_used
        cdef int i, j = 0, fresh = 0
        for i in range(count):
            while j < node.count and child[j].action < actions[i]:
                j += 1
            if j < node.count and child[j].action == actions[i]:
                at[i] = j
                j += 1
            else:
                fresh += 1
        if fresh:
            if not self.merge(node, actions, count, fresh):
                return False
            return self.offer(node, actions, count)
        for i in range(count):
            child[at[i]].availability += 1
        return True

    cdef bint merge(self, Node* node, const Action* actions, int count, int fresh) noexcept nogil:
        # Moves the children to a larger run, with room for more, and the new actions among them.
        cdef size_t room = node.room
        cdef Child* old = self.children + node.first
        cdef Child* new = old
        cdef int i = count - 1, j = node.count - 1, k = node.count + fresh - 1
        if node.count + fresh > node.room:
            # The first actions often are all there will be.
            room = node.count + fresh if node.count == 0 else (node.count + fresh) * 3 // 2 + 1
            if room > MAX_ACTIONS * 8 or self.child_count + room > self.child_room:
                self.full = True
                return False
            new = self.children + self.child_count
            node.first = self.child_count
            node.room = room
            self.child_count += room
        node.count += fresh
        while k >= 0:              # From the end, since the runs may be the same.
            if i >= 0 and (j < 0 or actions[i] > old[j].action):
                memset(&new[k], 0, sizeof(Child))
                new[k].action = actions[i]
                i -= 1
            else:
                if i >= 0 and actions[i] == old[j].action:
                    i -= 1
                new[k] = old[j]
                j -= 1
            k -= 1
        return True

    cdef void choose_by_ucb(self, Step* step, const State* state) noexcept nogil:
        cdef Child* child = self.children + self.nodes[step.node].first
        cdef uint16_t* at = self.scratch + step.at
        cdef Child* one
        cdef double value, best = -1
        cdef double room = self.widening * sqrt(self.nodes[step.node].visits + 1.0)
        cdef double exploration = self.exploration * self.deviation(&self.nodes[step.node])
        cdef int i, tried = 0
        step.probability = 1
        for i in range(step.count):
            one = &child[at[i]]
            if one.visits == 0:
                continue
            tried += 1
            value = (one.total / one.visits
                     + exploration * sqrt(log(<double> one.availability) / one.visits))
            if value > best:
                best = value
                step.chosen = i
        if tried < step.count and (self.widening == 0 or tried < room):
            step.chosen = self.untried(step, state, step.count - tried)

    cdef double deviation(self, const Node* node) noexcept nogil:
        # The standard deviation of its scores, and of one that was won by half and lost by half.
        cdef double mean = (node.total + 0.5) / (node.visits + 1)
        return sqrt(max(0.0, (node.squares + 0.5) / (node.visits + 1) - mean * mean))

    cdef int untried(self, const Step* step, const State* state, int count) noexcept nogil:
        # One of the so many untried: what the playout policy would play, or any with the same probability.
        cdef Child* child = self.children + self.nodes[step.node].first
        cdef uint16_t* at = self.scratch + step.at
        cdef Action action
        cdef int i = 0
        if self.widening > 0:
            action = self.policy.choose(state, step.seat, &self.rng)
            for i in range(step.count):
                if child[at[i]].action == action and child[at[i]].visits == 0:
                    return i
        count = rng_below(&self.rng, count)
        for i in range(step.count):
            if child[at[i]].visits == 0:
                if count == 0:
                    break
                count -= 1
        return i

    cdef double uniform_share(self, int count, uint32_t visits) noexcept nogil:
        # As Exp3 explores: the share falls with the square root of the visits to each action.
        return min(MAX_UNIFORM, self.uniform * sqrt(count / (visits + 1.0)))

    cdef void choose_by_regret(self, Step* step) noexcept nogil:
        cdef Child* child = self.children + self.nodes[step.node].first
        cdef uint16_t* at = self.scratch + step.at
        cdef double* sigma = self.sigma + step.at
        cdef double positive = 0, threshold, p
        cdef double each = 1.0 / step.count
        cdef uint32_t visits = self.nodes[step.node].visits
        cdef double uniform = self.uniform_share(step.count, visits)
        cdef int i
        for i in range(step.count):
            sigma[i] = max(0.0, child[at[i]].regret)
            positive += sigma[i]
        threshold = rng_double(&self.rng)
        step.chosen = step.count - 1
        for i in range(step.count):
            sigma[i] = sigma[i] / positive if positive > 0 else each
            child[at[i]].strategy += sigma[i]
            if threshold >= 0:
                p = (1 - uniform) * sigma[i] + uniform * each
                threshold -= p
                if threshold < 0 or i == step.count - 1:
                    step.chosen = i
                    step.probability = p

    cdef void learn(self, const Step* step, double score) noexcept nogil:
        cdef Node* node = &self.nodes[step.node]
        cdef Child* child = self.children + node.first
        cdef Child* one = &child[self.scratch[step.at + step.chosen]]
        if step.regret:
            self.learn_regret(step, score)
        node.visits += 1
        node.total += score
        node.squares += score * score
        one.visits += 1
        one.total += score
        one.squares += score * score

    cdef void learn_regret(self, const Step* step, double score) noexcept nogil:
        cdef Node* node = &self.nodes[step.node]
        cdef Child* child = self.children + node.first
        cdef uint16_t* at = self.scratch + step.at
        cdef double* sigma = self.sigma + step.at
        cdef double prior = node.total / node.visits if node.visits else 0.5
        # The estimate of an action that is rarely tried comes in jumps of 1 / its probability. A
        # regret a few jumps below 0 is enough to leave it alone; further down, it would take too
        # long to unlearn what was only true of the play of the first visits.
        cdef double lowest = LOWEST_REGRET * step.count / self.uniform_share(
            step.count, node.visits)
        cdef double mean = 0
        cdef double estimate
        cdef Child* one
        cdef int i
        for i in range(step.count):
            one = &child[at[i]]
            estimate = one.total / one.visits if one.visits else prior
            if i == <int> step.chosen:
                estimate += (score - estimate) / step.probability
            mean += sigma[i] * estimate
        for i in range(step.count):
            one = &child[at[i]]
            estimate = one.total / one.visits if one.visits else prior
            if i == <int> step.chosen:
                estimate += (score - estimate) / step.probability
            one.regret = max(lowest, one.regret + estimate - mean)

    # What was found

    cdef uint32_t known(self, uint64_t key) noexcept nogil:
        # The node of a key, if there is one.
        cdef size_t slot = key & self.table_mask
        while self.table[slot] != NO_NODE and self.nodes[self.table[slot]].key != key:
            slot = (slot + 1) & self.table_mask
        return self.table[slot]

    cdef Action expect(self, const State* state, int seat, uint64_t key, Rng* rng) noexcept nogil:
        # By the average strategy where there is one, else the most visited; of those available.
        cdef Action actions[MAX_ACTIONS]
        cdef int count = self.game.legal(state, seat, actions)
        cdef uint32_t at
        cdef Child* child
        cdef Action likeliest = 0, most_visited = 0
        cdef double share, total = 0, most = 0, visits = 0
        cdef int i, j = 0
        if count == 1:
            return actions[0]
        at = self.known(key)
        if at == NO_NODE or self.nodes[at].visits < KNOWN_VISITS:
            return 0
        child = self.children + self.nodes[at].first
        for i in range(count):
            while j < self.nodes[at].count and child[j].action < actions[i]:
                j += 1
            if j == self.nodes[at].count:
                break
            if child[j].action != actions[i] or child[j].availability == 0:
                continue
            share = <double> child[j].visits / child[j].availability
            if share > visits:
                visits = share
                most_visited = actions[i]
            share = child[j].strategy / child[j].availability
            total += share
            if rng == NULL:
                if share > most:
                    most = share
                    likeliest = actions[i]
            elif share > 0 and rng_double(rng) * total < share:
                likeliest = actions[i]
        return likeliest or most_visited

    def root(self):
        """What was found about each action of the root, as RootActions."""
        cdef uint32_t at = self.known(self.root_key)
        cdef Child* child
        if self.iterations == 0 or at == NO_NODE:
            return []
        child = self.children + self.nodes[at].first
        return [RootAction(child[i].action, child[i].visits, child[i].availability,
                           child[i].visits, child[i].total, child[i].squares,
                           child[i].strategy)
                for i in range(self.nodes[at].count)]

    def summary(self):
        """What was done."""
        return Summary(self.iterations, self.iterations, self.wins, self.draws, self.node_count - 1,
                       bool(self.full))


def drawn(uint64_t seed, actions):
    """One action, by the actions' probabilities; which one depends on the seed alone."""
    cdef Rng rng
    rng_seed(&rng, mix(seed, <uint64_t> -1))
    cdef double threshold = rng_double(&rng)
    for one in actions:
        threshold -= one.probability
        if threshold < 0:
            return one.action
    return actions[0].action
