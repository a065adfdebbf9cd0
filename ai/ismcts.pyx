"""Multi-observer information-set Monte Carlo tree search.

The search is given the view of one seat and nothing else. Each iteration determinizes: it draws a
world that fits the view (`Sampler.draw`). It selects actions in this world down the trees, expands
a new node where it leaves them, plays out by the game's `PlayoutPolicy`, to the end of the match or
until the policy can estimate the score, and backpropagates that score. Each seat has a tree of its
own, whose nodes are what that seat has observed since the root (`Game.observe`), so that no
decision depends on what its seat has not seen: neither on a hidden card nor on the other half of a
simultaneous choice. Which actions are available at a node depends on the world, and each action
counts how often it was available.

    P. I. Cowling, E. J. Powley, D. Whitehouse, "Information Set Monte Carlo Tree Search", IEEE
    Transactions on Computational Intelligence and AI in Games 4(2), 2012: MO-ISMCTS, availability.

Some decisions call for a mixed strategy: those made at the same time as another, and those that the
other seat must not be able to foresee. Where such a decision has few enough actions for the visits
that it gets, it is made by regret matching: each visit adds to every action its estimated regret,
the next choice is in proportion to the positive regrets, and the average of these choices is the
answer. The estimated score of an action that was not tried is its mean so far, which is also the
baseline that reduces the variance of the importance-weighted estimate of the action that was tried.

    V. Lisý, V. Kovařík, M. Lanctot, B. Bošanský, "Convergence of Monte Carlo Tree Search in
    Simultaneous Move Games", NeurIPS 2013: regret matching at the nodes of a search tree.
    M. Schmid et al., "Variance Reduction in Monte Carlo Counterfactual Regret Minimization
    (VR-MCCFR)", AAAI 2019: the baseline.

All other decisions are made by UCB1 over the available actions, and the answer is the most visited
action; or by regret matching too, in a game where what a seat does gives its cards away. The scores
of playouts that stop before the end of the match vary less than wins and losses do, so the constant
of UCB1 is in standard deviations of the scores that the node has seen. UCB1 would try every action
before it returns to the best. A node with many actions therefore begins with the few that the
playout policy would play, and tries more of them the more often it is visited.

    J.-Y. Audibert, R. Munos, C. Szepesvári, "Exploration-exploitation tradeoff using variance
    estimates in multi-armed bandits", Theoretical Computer Science 410(19), 2009.
    G. Chaslot, M. Winands, H. J. van den Herik, J. Uiterwijk, B. Bouzy, "Progressive Strategies for
    Monte-Carlo Tree Search", New Mathematics and Natural Computation 4(3), 2008: unpruning.
    R. Coulom, "Computing Elo Ratings of Move Patterns in the Game of Go", ICGA Journal 30(4), 2007:
    progressive widening.

A game that is small enough to be searched from the deal is (ai/mccfr.pyx).
"""

from libc.math cimport log, sqrt
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from ai.memory cimport NO_ENTRY, Arena, HashIndex
from ai.worker cimport Worker
from engine.chance cimport Rng, mix, rng_below, rng_double, rng_seed
from engine.game cimport BOTH, MAX_ACTIONS, NOBODY, SEATS, Action, Game, State
from engine.playout_policy cimport PlayoutPolicy
from engine.sampler cimport Sampler

from ai.worker import RootAction, Summary

cdef enum:
    MIN_EXPECTED_VISITS = 16   # From here on, a node predicts the action of its seat.
    MAX_PATH = 256             # Decisions of one iteration that are updated.
    SCRATCH = 1 << 15          # Actions available at these decisions, together.
    FIRST_NODES = 500          # That the index has slots for at the start.

cdef double MAX_EXPLORATION_SHARE = 0.6
cdef double MIN_REGRET = -3    # In units of the largest jump of an estimate.


cdef struct Child:             # An action of a node.
    Action action
    uint32_t visits
    uint32_t availability
    double total               # Sum of the scores.
    double squares             # Sum of their squares.
    double regret
    double strategy            # Sum of the probabilities that regret matching gave it.


cdef struct Node:
    uint64_t key               # Of its seat and what that seat has observed.
    uint32_t first             # Its children: a run of the arena, ascending by action.
    uint16_t count
    uint16_t capacity
    uint32_t visits
    double total               # Sum of the scores.
    double squares             # Sum of their squares.


cdef struct Step:              # A decision of the current iteration.
    uint32_t node
    uint16_t seat
    uint16_t count             # Actions available,
    uint32_t first             # from here in the scratch,
    uint32_t chosen            # and which of them was chosen,
    double probability         # with this probability.
    bint by_regret             # By regret matching, not by UCB1.


cdef class IsmctsWorker(Worker):
    """The trees of both seats from one view, grown by one thread."""

    cdef Game game
    cdef PlayoutPolicy policy
    cdef Sampler sampler
    cdef Rng rng
    cdef double exploration, uniform, widening
    cdef bint sequential_regret
    cdef int max_mixed_actions

    cdef Arena arena
    cdef Node* nodes
    cdef Child* children
    cdef HashIndex index       # Of the nodes.
    cdef size_t node_capacity, child_capacity
    cdef size_t node_count, child_count

    cdef Step path[MAX_PATH]
    cdef uint16_t* available   # Scratch: children that are available in this iteration,
    cdef double* sigma         # and their probabilities by regret matching.
    cdef int path_length
    cdef size_t scratch_used

    cdef uint64_t root_key
    cdef double wins, draws

    cdef Action* searched      # The actions to search for at the root; NULL: all.
    cdef int searched_count
    cdef bint full             # A node or child found no room.
    cdef bint stops_when_full

    def __cinit__(self, Sampler sampler not None, uint64_t seed, uint64_t thread, parameters,
                  size_t max_nodes, root_actions=None, bint stops_when_full=False):
        cdef Arena arena = Arena()
        self.arena = arena
        self.sampler = sampler
        self.game = sampler.game
        if parameters.playout_policy:
            self.policy = PlayoutPolicy.of(self.game)
            if parameters.horizon is not None:
                self.policy.horizon = parameters.horizon
        else:
            self.policy = PlayoutPolicy.uniform(self.game)
        self.exploration = parameters.exploration
        self.uniform = parameters.uniform
        self.widening = parameters.widening
        self.sequential_regret = (
            self.game.sequential_regret if parameters.sequential_regret is None
            else parameters.sequential_regret)
        self.max_mixed_actions = (
            self.game.max_mixed_actions if parameters.max_mixed_actions is None
            else parameters.max_mixed_actions)
        self.stops_when_full = stops_when_full
        rng_seed(&self.rng, mix(seed, thread))
        # Most nodes are small; where they are not, the children run out before the nodes do.
        self.node_capacity = max(64, min(max_nodes, parameters.memory // 4 // sizeof(Node)))
        self.child_capacity = min(<size_t> (parameters.memory // 2) // sizeof(Child),
                                  2 * MAX_ACTIONS * self.node_capacity)
        self.nodes = <Node*> arena.take(self.node_capacity, sizeof(Node))
        self.children = <Child*> arena.take(self.child_capacity, sizeof(Child))
        self.available = <uint16_t*> arena.take(SCRATCH, sizeof(uint16_t))
        self.sigma = <double*> arena.take(SCRATCH, sizeof(double))
        self.node_count = NO_ENTRY + 1
        self.index = HashIndex()
        self.index.use(self.nodes, sizeof(Node), FIRST_NODES)
        if root_actions is not None:
            self.searched = <Action*> arena.take(len(root_actions), sizeof(Action))
            for action in sorted(root_actions):
                self.searched[self.searched_count] = action
                self.searched_count += 1

    cdef bint iterate(self) noexcept nogil:
        cdef State state
        cdef Action joint[SEATS]
        cdef uint64_t keys[SEATS]
        cdef double score, draw = 0
        cdef int seat, owed
        cdef bint at_leaf = False
        if self.full and self.stops_when_full:
            return False
        memset(&state, 0, sizeof(state))
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
                    joint[seat] = self.select(&state, seat, owed == BOTH, keys[seat], &at_leaf)
            self.game.apply(&state, joint, &self.rng, NULL)
            for seat in range(SEATS):
                keys[seat] = self.game.next_key(keys[seat], &state, joint, seat)
        if at_leaf:
            score = self.policy.playout(&state, &self.rng, &draw)
        else:
            score = self.policy.at_end(&state, &draw)
        self.backpropagate(score)
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

    # Selection and expansion

    cdef Action select(self, const State* state, int seat, bint simultaneous, uint64_t key,
                       bint* at_leaf) noexcept nogil:
        # The action of one seat; a random one where the iteration leaves the tree of that seat.
        cdef Action actions[MAX_ACTIONS]
        cdef int count = self.game.legal(state, seat, actions)
        cdef Step* step
        cdef uint32_t at
        if self.searched != NULL and key == self.root_key:
            count = self.keep_searched(actions, count)
        # A forced action needs no node, except at the root, where its score is reported.
        if count == 1 and key != self.root_key:
            return actions[0]
        at = self.find_or_expand(key, at_leaf)
        if (at == NO_ENTRY or self.path_length == MAX_PATH
                or self.scratch_used + count > SCRATCH
                or not self.mark_available(&self.nodes[at], actions, count)):
            at_leaf[0] = True
            return actions[rng_below(&self.rng, count)]
        step = &self.path[self.path_length]
        self.path_length += 1
        step.node = at
        step.seat = seat
        step.count = count
        step.first = self.scratch_used
        step.by_regret = (self.sequential_regret
                          or (simultaneous and count <= self.max_mixed_actions))
        self.scratch_used += count
        if step.by_regret:
            self.select_by_regret_matching(step)
        else:
            self.select_by_ucb1(step, state)
        return self.children[
            self.nodes[at].first + self.available[step.first + step.chosen]].action

    cdef int keep_searched(self, Action* actions, int count) noexcept nogil:
        # Leaves of the actions those that are searched for; returns how many.
        cdef int i, j = 0, kept = 0
        for i in range(count):
            while j < self.searched_count and self.searched[j] < actions[i]:
                j += 1
            if j < self.searched_count and self.searched[j] == actions[i]:
                actions[kept] = actions[i]
                kept += 1
        return kept

    cdef uint32_t find_or_expand(self, uint64_t key, bint* at_leaf) noexcept nogil:
        # The node of a key. A new node makes this the leaf of the iteration.
        cdef uint32_t at = self.index.find(key)
        if at != NO_ENTRY:
            return at
        at_leaf[0] = True
        at = self.node_count
        if self.node_count == self.node_capacity:
            self.full = True
            return NO_ENTRY
        memset(&self.nodes[at], 0, sizeof(Node))
        self.nodes[at].key = key
        if not self.index.insert(at):
            self.full = True
            return NO_ENTRY
        self.node_count += 1
        # Most nodes are visited once: all but the root get their children at the second visit.
        return at if key == self.root_key else NO_ENTRY

    cdef bint mark_available(self, Node* node, const Action* actions, int count) noexcept nogil:
        # Writes to the scratch which children of the node the actions are, adds those that are
        # missing, and counts that all were available. False: there is no memory for them.
        cdef Child* children = self.children + node.first
        cdef uint16_t* available = self.available + self.scratch_used
        cdef int i, j = 0, missing = 0
        for i in range(count):
            while j < node.count and children[j].action < actions[i]:
                j += 1
            if j < node.count and children[j].action == actions[i]:
                available[i] = j
                j += 1
            else:
                missing += 1
        if missing:
            if not self.add_children(node, actions, count, missing):
                return False
            return self.mark_available(node, actions, count)
        for i in range(count):
            children[available[i]].availability += 1
        return True

    cdef bint add_children(self, Node* node, const Action* actions, int count,
                           int missing) noexcept nogil:
        # Merges the actions that are missing into the children of a node, which move to a longer
        # run, with room for more, if theirs is too short.
        cdef size_t capacity = node.capacity
        cdef Child* old = self.children + node.first
        cdef Child* new = old
        cdef int i = count - 1, j = node.count - 1, k = node.count + missing - 1
        if node.count + missing > node.capacity:
            # Often the first actions are all there will be.
            capacity = (node.count + missing if node.count == 0
                        else (node.count + missing) * 3 // 2 + 1)
            if capacity > MAX_ACTIONS * 8 or self.child_count + capacity > self.child_capacity:
                self.full = True
                return False
            new = self.children + self.child_count
            node.first = self.child_count
            node.capacity = capacity
            self.child_count += capacity
        node.count += missing
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

    cdef void select_by_ucb1(self, Step* step, const State* state) noexcept nogil:
        cdef const Child* children = self.children + self.nodes[step.node].first
        cdef const uint16_t* available = self.available + step.first
        cdef const Child* child
        cdef double value, best = -1
        cdef double width = self.widening * sqrt(self.nodes[step.node].visits + 1.0)
        cdef double exploration = self.exploration * self.standard_deviation(
            &self.nodes[step.node])
        cdef int i, tried = 0
        step.probability = 1
        for i in range(step.count):
            child = &children[available[i]]
            if child.visits == 0:
                continue
            tried += 1
            value = (child.total / child.visits
                     + exploration * sqrt(log(<double> child.availability) / child.visits))
            if value > best:
                best = value
                step.chosen = i
        if tried < step.count and (self.widening == 0 or tried < width):
            step.chosen = self.select_untried(step, state, step.count - tried)

    cdef double standard_deviation(self, const Node* node) noexcept nogil:
        # Of the scores of the node, and of a prior one that was half won and half lost.
        cdef double mean = (node.total + 0.5) / (node.visits + 1)
        return sqrt(max(0.0, (node.squares + 0.5) / (node.visits + 1) - mean * mean))

    cdef int select_untried(self, const Step* step, const State* state, int count) noexcept nogil:
        # The untried action that the playout policy plays, or else one of the `count` untried
        # actions, all with the same probability.
        cdef const Child* children = self.children + self.nodes[step.node].first
        cdef const uint16_t* available = self.available + step.first
        cdef Action action
        cdef int i = 0
        if self.widening > 0:
            action = self.policy.choose(state, step.seat, &self.rng)
            for i in range(step.count):
                if (children[available[i]].action == action
                        and children[available[i]].visits == 0):
                    return i
        count = rng_below(&self.rng, count)
        for i in range(step.count):
            if children[available[i]].visits == 0:
                if count == 0:
                    break
                count -= 1
        return i

    cdef double exploration_share(self, int count, uint32_t visits) noexcept nogil:
        # As in Exp3, the share falls with the square root of the visits to each action.
        return min(MAX_EXPLORATION_SHARE, self.uniform * sqrt(count / (visits + 1.0)))

    cdef void select_by_regret_matching(self, Step* step) noexcept nogil:
        cdef Child* children = self.children + self.nodes[step.node].first
        cdef const uint16_t* available = self.available + step.first
        cdef double* sigma = self.sigma + step.first
        cdef double positive = 0, threshold, probability
        cdef double uniform = 1.0 / step.count
        cdef uint32_t visits = self.nodes[step.node].visits
        cdef double share = self.exploration_share(step.count, visits)
        cdef int i
        for i in range(step.count):
            sigma[i] = max(0.0, children[available[i]].regret)
            positive += sigma[i]
        threshold = rng_double(&self.rng)
        step.chosen = step.count - 1
        for i in range(step.count):
            sigma[i] = sigma[i] / positive if positive > 0 else uniform
            children[available[i]].strategy += sigma[i]
            if threshold >= 0:
                probability = (1 - share) * sigma[i] + share * uniform
                threshold -= probability
                if threshold < 0 or i == step.count - 1:
                    step.chosen = i
                    step.probability = probability

    # Backpropagation

    cdef void backpropagate(self, double score) noexcept nogil:
        # Updates the decisions of the iteration, the last one first, by the score of seat 0.
        cdef const Step* step
        while self.path_length > 0:
            self.path_length -= 1
            step = &self.path[self.path_length]
            self.update(step, score if step.seat == 0 else 1 - score)

    cdef void update(self, const Step* step, double score) noexcept nogil:
        cdef Node* node = &self.nodes[step.node]
        cdef Child* child = (self.children + node.first
                             + self.available[step.first + step.chosen])
        if step.by_regret:
            self.update_regrets(step, score)
        node.visits += 1
        node.total += score
        node.squares += score * score
        child.visits += 1
        child.total += score
        child.squares += score * score

    cdef void update_regrets(self, const Step* step, double score) noexcept nogil:
        cdef const Node* node = &self.nodes[step.node]
        cdef Child* children = self.children + node.first
        cdef const uint16_t* available = self.available + step.first
        cdef const double* sigma = self.sigma + step.first
        cdef double prior = node.total / node.visits if node.visits else 0.5
        # The estimate of an action that is rarely tried comes in jumps of 1 / its probability. A
        # regret a few jumps below 0 is enough to leave the action alone. Further down, it would
        # take too long to unlearn what was true only of the play of the first visits.
        cdef double lowest = MIN_REGRET * step.count / self.exploration_share(
            step.count, node.visits)
        cdef double mean = 0
        cdef double estimate
        cdef Child* child
        cdef int i
        for i in range(step.count):
            child = &children[available[i]]
            estimate = child.total / child.visits if child.visits else prior
            if i == <int> step.chosen:
                estimate += (score - estimate) / step.probability
            mean += sigma[i] * estimate
        for i in range(step.count):
            child = &children[available[i]]
            estimate = child.total / child.visits if child.visits else prior
            if i == <int> step.chosen:
                estimate += (score - estimate) / step.probability
            child.regret = max(lowest, child.regret + estimate - mean)

    # What was found

    cdef Action expected_action(self, const State* state, int seat, uint64_t key,
                                Rng* rng) noexcept nogil:
        # Of the available actions, by the average strategy where there is one, else the most
        # visited.
        cdef Action actions[MAX_ACTIONS]
        cdef int count = self.game.legal(state, seat, actions)
        cdef uint32_t at
        cdef const Child* children
        cdef Action likeliest = 0, most_visited = 0
        cdef double share, total = 0, highest = 0, visits = 0
        cdef int i, j = 0
        if count == 1:
            return actions[0]
        at = self.index.find(key)
        if at == NO_ENTRY or self.nodes[at].visits < MIN_EXPECTED_VISITS:
            return 0
        children = self.children + self.nodes[at].first
        for i in range(count):
            while j < self.nodes[at].count and children[j].action < actions[i]:
                j += 1
            if j == self.nodes[at].count:
                break
            if children[j].action != actions[i] or children[j].availability == 0:
                continue
            share = <double> children[j].visits / children[j].availability
            if share > visits:
                visits = share
                most_visited = actions[i]
            share = children[j].strategy / children[j].availability
            total += share
            if rng == NULL:
                if share > highest:
                    highest = share
                    likeliest = actions[i]
            elif share > 0 and rng_double(rng) * total < share:
                likeliest = actions[i]
        return likeliest or most_visited

    def root_actions(self):
        """The statistics of each action of the root, as RootActions."""
        cdef uint32_t at = self.index.find(self.root_key)
        cdef const Child* children
        if self.iterations == 0 or at == NO_ENTRY:
            return []
        children = self.children + self.nodes[at].first
        return [RootAction(children[i].action, children[i].visits, children[i].availability,
                           children[i].visits, children[i].total, children[i].squares,
                           children[i].strategy)
                for i in range(self.nodes[at].count)]

    def summary(self):
        """What was done, as a Summary."""
        return Summary(self.iterations, self.iterations, self.wins, self.draws, self.node_count - 1,
                       bool(self.full))


def sample_action(uint64_t seed, actions):
    """The action of one ActionResult, sampled by their probabilities and the seed alone."""
    cdef Rng rng
    rng_seed(&rng, mix(seed, <uint64_t> -1))
    cdef double threshold = rng_double(&rng)
    for result in actions:
        threshold -= result.probability
        if threshold < 0:
            return result.action
    return actions[0].action
