"""Multi-observer information-set Monte Carlo tree search.

The search is given a seat's view and nothing else. Each iteration draws a world that fits the view
(`Sampler.draw`), walks through it by the decisions found so far, plays on sensibly by the game's
`Guide`, to the end or until it can say what that is worth, and learns from the score. Every seat
has a tree of its own, whose nodes are what that seat has observed since the root (`Game.observe`),
so that no decision depends on what its seat has not seen: neither on a hidden card nor on the other
half of a simultaneous choice. Which actions a node offers depends on the world; each keeps how
often it was available.

    P. I. Cowling, E. J. Powley, D. Whitehouse, "Information Set Monte Carlo Tree Search", IEEE
    Transactions on Computational Intelligence and AI in Games 4(2), 2012: MO-ISMCTS, availability.

At a decision that is made at the same time as another, or that the other seat must not be able to
foresee, and that has few enough actions for the visits that it gets, the answer is a mixture, and
is found by regret matching: each visit adds to every action its estimated regret, the next choice
is in proportion to the positive regrets, and the average of these choices is the answer. The value
of an action that was not tried is estimated by its mean so far, which corrects the
importance-weighted estimate of the one that was.

    V. Lisý, V. Kovařík, M. Lanctot, B. Bošanský, "Convergence of Monte Carlo Tree Search in
    Simultaneous Move Games", NeurIPS 2013: regret matching at the nodes of a search tree.
    M. Schmid et al., "Variance Reduction in Monte Carlo Counterfactual Regret Minimization
    (VR-MCCFR)", AAAI 2019: the baseline.

At other decisions the choice is by UCB1 over the available actions, and the answer is the most
visited; or by regret matching too, in a game where what a seat does gives its cards away. UCB1
would try every action before it returns to the best; where there are many, a node begins with few,
those that the guide would play, and tries more of them the more often it is visited.

    G. Chaslot, M. Winands, H. J. van den Herik, J. Uiterwijk, B. Bouzy, "Progressive Strategies for
    Monte-Carlo Tree Search", New Mathematics and Natural Computation 4(3), 2008: unpruning.
    R. Coulom, "Computing Elo Ratings of Move Patterns in the Game of Go", ICGA Journal 30(4), 2007.

A game so small that all of it can be searched from the deal on is (ai/deal_search.pyx).

Several threads each grow their own trees, and their roots are added up.
"""

import threading
import time
from typing import NamedTuple

from libc.math cimport log, sqrt
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from ai.limits cimport Worker
from engine.game cimport (
    BOTH, MAX_ACTIONS, NOBODY, SEATS, Action, Game, Guide, Rng, Sampler, State, mix, rng_below,
    rng_double, rng_seed,
)

from ai.deal_search import DealSearch
from ai.endings import prove
from ai.limits import Stop

cdef enum:
    NO_NODE = 0                # Node 0 is never used.
    KNOWN_VISITS = 16          # From here on a node tells what its seat is expected to do.
    PATH_MOST = 256            # Decisions of one iteration that are learned from.
    SCRATCH = 1 << 15          # Actions available at these decisions, together.

PROVEN_ITERATIONS = 1000

cdef double UNIFORM_MOST = 0.6
cdef double LOWEST_REGRET = -3  # In units of the largest jump of an estimate.


class ActionResult(NamedTuple):
    """What a search found about one action.

    `visits` of the `availability` iterations that could have played it did; `expected_score` (0 to
    1) is the mean of its scores and `deviation` the standard deviation of that mean; `probability`
    is with which to play it.
    """

    action: int
    visits: int
    availability: int
    expected_score: float
    deviation: float
    probability: float


class Result(NamedTuple):
    """What a search found: for each legal action, the likeliest first, and at the root.

    `action` is drawn with the actions' probabilities. `expected_score` is from 0 to 1; `win`,
    `draw` and `loss` are shares of the playouts, each of which was played in a world of its own:
    `worlds`. `full`: the trees ran out of memory, and stayed as they were. `stop_reason` is
    iterations, time, single_action, proven, cancelled or memory; where it is proven, scores and
    probabilities are exact, the deviations are 0, and the rest is of a short search.
    """

    action: int
    actions: list
    expected_score: float
    win: float
    draw: float
    loss: float
    iterations: int
    worlds: int
    nodes: int
    full: bool
    stop_reason: str


class Parameters(NamedTuple):
    """How to search: see the module's text.

    `exploration` is the constant of UCB1; `uniform` times the square root of actions / visits is
    the share of uniform choices mixed into regret matching. `sequential_regret` uses regret
    matching also where a seat decides alone (None: as the game's `mixes_in_turn` says), and
    `mixed_most` is the most actions with which a simultaneous decision is answered by it (None: as
    the game's `mixed_most` says). `guided` plays out by the game's `Guide`, else at random.
    A node that chooses by UCB1 has tried at most `widening` times the square root of its visits
    (and one more) of the actions, those first that the guide would play (0: all are tried first).
    `from_deal` searches from the deal (ai/deal_search.pyx;
    None: as the game's `searched_from_deal` says), if all that can be played fits in `memory`.
    Probabilities below `floor` times the largest are taken for noise and set to 0. A single
    action is searched for at most `single_action` iterations (0: as any other). `endings` are
    solved exactly where they can be (ai/endings.pyx). `memory` is bytes a thread; when it is full,
    the search goes on without new nodes.
    """

    exploration: float = 0.5
    uniform: float = 3.0
    sequential_regret: bool | None = None
    mixed_most: int | None = None
    guided: bool = True
    widening: float = 0.5
    from_deal: bool | None = None
    floor: float = 0.02
    single_action: int = 256
    endings: bool = True
    memory: int = 256 << 20


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
    double total


cdef struct Step:              # A decision of the current iteration.
    uint32_t node
    uint16_t seat
    uint16_t count             # Actions available,
    uint32_t at                # from here in the scratch,
    uint32_t chosen            # and which of them was chosen,
    double probability         # with this probability.
    bint regret                # By regret matching.


cdef class Tree(Worker):
    """The trees of both seats from one view, grown by one thread."""

    cdef Game game
    cdef Guide guide
    cdef Sampler sampler
    cdef Rng rng
    cdef double exploration, uniform, widening
    cdef bint guided, sequential_regret
    cdef int mixed_most

    # Memory is taken once; what is not touched costs nothing.
    cdef Node* nodes
    cdef Child* children
    cdef uint32_t* table       # Hash of a key -> node.
    cdef size_t node_room, child_room, table_mask
    cdef size_t node_count, child_count

    cdef Step path[PATH_MOST]
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

    def __cinit__(self, Sampler sampler not None, uint64_t seed, parameters, size_t most_nodes,
                  only=None, bint ends_when_full=False):
        cdef size_t child_bytes
        self.sampler = sampler
        self.game = sampler.game
        self.guided = parameters.guided
        self.guide = self.game.guide() if self.guided else Guide(self.game)
        self.exploration = parameters.exploration
        self.uniform = parameters.uniform
        self.widening = parameters.widening
        self.sequential_regret = (self.game.mixes_in_turn if parameters.sequential_regret is None
                                  else parameters.sequential_regret)
        self.mixed_most = (self.game.mixed_most if parameters.mixed_most is None
                           else parameters.mixed_most)
        rng_seed(&self.rng, seed)
        # Most nodes are small; where they are not, the children run out before the nodes do.
        self.node_room = max(64, min(most_nodes, parameters.memory // 4 // sizeof(Node)))
        child_bytes = parameters.memory // 2
        self.child_room = min(child_bytes // sizeof(Child), 2 * MAX_ACTIONS * self.node_room)
        self.table_mask = 1
        while self.table_mask < 2 * self.node_room:
            self.table_mask *= 2
        self.nodes = <Node*> malloc(self.node_room * sizeof(Node))
        self.children = <Child*> malloc(self.child_room * sizeof(Child))
        self.table = <uint32_t*> calloc(self.table_mask, sizeof(uint32_t))
        self.scratch = <uint16_t*> malloc(SCRATCH * sizeof(uint16_t))
        self.sigma = <double*> malloc(SCRATCH * sizeof(double))
        self.table_mask -= 1
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
        if at_leaf and self.guided:
            score = self.guide.playout(&state, &self.rng, &draw)
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
        if (at == NO_NODE or self.path_length == PATH_MOST
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
        step.regret = self.sequential_regret or (simultaneous and count <= self.mixed_most)
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
        node = &self.nodes[self.node_count]
        memset(node, 0, sizeof(Node))
        node.key = key
        self.table[slot] = self.node_count
        self.node_count += 1
        # Most nodes are visited once: all but the root get their children at the second visit.
        return self.table[slot] if key == self.root_key else NO_NODE

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
        cdef int i, tried = 0
        step.probability = 1
        for i in range(step.count):
            one = &child[at[i]]
            if one.visits == 0:
                continue
            tried += 1
            value = (one.total / one.visits
                     + self.exploration * sqrt(log(<double> one.availability) / one.visits))
            if value > best:
                best = value
                step.chosen = i
        if tried < step.count and (self.widening == 0 or tried < room):
            step.chosen = self.untried(step, state, step.count - tried)

    cdef int untried(self, const Step* step, const State* state, int count) noexcept nogil:
        # One of the so many untried: what the guide would play, or any with the same probability.
        cdef Child* child = self.children + self.nodes[step.node].first
        cdef uint16_t* at = self.scratch + step.at
        cdef Action action
        cdef int i = 0
        if self.widening > 0:
            action = self.guide.choose(state, step.seat, &self.rng)
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
        return min(UNIFORM_MOST, self.uniform * sqrt(count / (visits + 1.0)))

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
        """The root's actions: (action, visits, availability, tried, total, squares, strategy) each,
        where `tried` is how many scores the total is of.
        """
        cdef uint32_t at = self.known(self.root_key)
        cdef Child* child
        if self.iterations == 0 or at == NO_NODE:
            return []
        child = self.children + self.nodes[at].first
        return [(child[i].action, child[i].visits, child[i].availability, child[i].visits,
                 child[i].total, child[i].squares, child[i].strategy)
                for i in range(self.nodes[at].count)]

    def summary(self):
        """(iterations, playouts, wins, draws, nodes, full)."""
        return (self.iterations, self.iterations, self.wins, self.draws, self.node_count - 1,
                self.full)


class Search:
    """A search from one view, which can be run on and asked at any time.

    `threads` grow a tree each; `seed` decides all chance (in a search from the deal, which action
    is drawn); `sampler` is the view's, if the caller has it already. `only` are the legal actions
    to search for (None: all). At `most_nodes` (0: what fits in memory), all threads together, it
    ends. Raises ViewError if the view contradicts itself, and ValueError if its seat owes no
    decision, or not one of `only`.
    """

    def __init__(self, view, *, threads=1, seed=0, parameters=Parameters(), most_iterations=0,
                 sampler=None, only=None, most_nodes=0):
        sampler = sampler or view.game.sampler(view)
        self.legal = sampler.sample(seed).legal(view.seat)
        if not self.legal:
            raise ValueError("the seat of the view owes no decision")
        if only is not None:
            if not only or not set(only) <= set(self.legal):
                raise ValueError("only what is legal can be searched for")
            self.legal = tuple(sorted(set(only)))
        self.only = only
        self.parameters = parameters
        self.sampler = sampler
        self.seed = seed
        self.most_iterations = -(-most_iterations // threads)    # Of a thread; 0: any number.
        self.most_nodes = -(-most_nodes // threads)
        from_deal = parameters.from_deal
        if from_deal is None:
            from_deal = sampler.game.searched_from_deal
        self.from_deal = from_deal and only is None and not most_nodes
        self.trees = [self.tree(thread) for thread in range(threads)]
        self.stop_reason = "iterations"
        # Where the deal is asked, it is because the worlds that the sampler draws are not believed.
        self.endings = parameters.endings and not sampler.game.searched_from_deal
        self.proof = None

    def tree(self, thread):
        """What one thread grows."""
        if self.from_deal:
            return DealSearch(self.sampler, thread, self.parameters)
        most_nodes = SEATS * self.most_iterations + 2 if self.most_iterations else 1 << 40
        ends = 0 < self.most_nodes < most_nodes
        return Tree(self.sampler, mix(self.seed, thread), self.parameters,
                    self.most_nodes + 1 if ends else most_nodes, self.only, ends)

    @property
    def iterations(self):
        """How many were done."""
        return sum(tree.iterations for tree in self.trees)

    def run(self, *, iterations=0, seconds=0.0, stop=None, every=0.0, report=None):
        """Searches on until a limit (0: none) is reached or `stop` is set.

        Meanwhile `report` is called about every `every` seconds; what was found so far can be asked
        for there. A search that reports finds what it would without.
        """
        if iterations <= 0 and seconds <= 0 and stop is None:
            raise ValueError("a search needs a limit")
        stop = stop or Stop()
        start = time.monotonic()
        end = start + seconds if seconds > 0 else None
        single = len(self.legal) == 1 and self.parameters.single_action > 0
        if single:
            iterations = min(iterations or self.parameters.single_action,
                             self.parameters.single_action)
        elif self.endings and self.proof is None:
            self.proof = prove(self.sampler, self.legal, iterations=iterations, seconds=seconds,
                               nodes=self.most_nodes, memory=self.parameters.memory, stop=stop)
        if self.proof:             # What is left to find is how the match is expected to go on.
            iterations = min(iterations or PROVEN_ITERATIONS, PROVEN_ITERATIONS)
        reasons = self.grow(iterations, end, stop, every, report)
        if "memory" in reasons and self.from_deal:
            # All that can be played does not fit: from the present then.
            self.from_deal = False
            self.trees = [self.tree(thread) for thread in range(len(self.trees))]
            reasons = self.grow(iterations, end, stop, every, report)
        for self.stop_reason in ("cancelled", "memory", "time", "iterations"):
            if self.stop_reason in reasons:
                break
        if single and self.stop_reason == "iterations":
            self.stop_reason = "single_action"
        if self.proof:
            self.stop_reason = "proven"

    def grow(self, iterations, end, stop, every, report):
        """Runs all threads, which share the iterations, and returns why they ended."""
        left = [iterations // len(self.trees) + (i < iterations % len(self.trees))
                for i in range(len(self.trees))] if iterations else None
        pause = every
        while True:
            before = [tree.iterations for tree in self.trees]
            until = time.monotonic() + pause if report is not None else None
            reports = until is not None and (end is None or until < end)
            reasons = self.spread(left, until if reports else end, stop)
            if left:
                left = [n - tree.iterations + done
                        for n, tree, done in zip(left, self.trees, before)]
            if not reports or "time" not in reasons or {"cancelled", "memory"} & set(reasons):
                return reasons
            began = time.monotonic()
            report()
            # To tell what was found must not take more time than to find it.
            pause = max(every, time.monotonic() - began)

    def spread(self, left, end, stop):
        """Runs each thread for its iterations, if they are limited, or to the end."""
        seconds = max(1e-9, end - time.monotonic()) if end is not None else 0
        reasons = []

        def run(tree, share):
            if share or left is None:
                reasons.append(tree.run(share, seconds, stop))
            else:
                reasons.append("iterations")

        shares = left or [0] * len(self.trees)
        helpers = [threading.Thread(target=run, args=pair)
                   for pair in zip(self.trees[1:], shares[1:])]
        for helper in helpers:
            helper.start()
        run(self.trees[0], shares[0])
        for helper in helpers:
            helper.join()
        return reasons

    def result(self):
        """What was found so far."""
        sums = {action: [0, 0, 0, 0.0, 0.0, 0.0] for action in self.legal}
        for tree in self.trees:
            for action, *values in tree.root():
                sums[action] = [a + b for a, b in zip(sums[action], values)]
        iterations, playouts, wins, draws, nodes, full = (
            sum(column) for column in zip(*(tree.summary() for tree in self.trees)))
        probabilities = self.probabilities(sums)
        actions = []
        for action, (visits, available, tried, total, squares, _) in sums.items():
            mean = total / tried if tried else 0.5
            variance = max(0.0, squares / tried - mean * mean) if tried else 0.25
            actions.append(ActionResult(action, visits, available, mean,
                                        sqrt(variance / tried) if tried else 0.5,
                                        probabilities[action]))
        actions.sort(key=lambda one: (-one.probability, -one.visits, one.action))
        known = [one for one in actions if one.probability > 0 and sums[one.action][2]]
        if known:
            weight = sum(one.probability for one in known)
            expected = sum(one.probability * one.expected_score for one in known) / weight
        else:
            expected = (wins + draws / 2) / playouts if playouts else 0.5
        share = 1 / playouts if playouts else 0.0
        result = Result(
            action=self.drawn(actions), actions=actions, expected_score=expected,
            win=wins * share, draw=draws * share, loss=(playouts - wins - draws) * share,
            iterations=iterations, worlds=playouts, nodes=nodes, full=full > 0,
            stop_reason=self.stop_reason)
        return self.proof.complete(result) if self.proof else result

    def probabilities(self, sums):
        """With which probability to play each action: the average strategy, or the most visited."""
        strategy = {action: values[5] for action, values in sums.items()}
        most = max(strategy.values())
        if most > 0:
            strategy = {action: weight if weight >= self.parameters.floor * most else 0.0
                        for action, weight in strategy.items()}
            total = sum(strategy.values())
            return {action: weight / total for action, weight in strategy.items()}
        visits = {action: values[0] for action, values in sums.items()}
        if max(visits.values()) == 0:
            return dict.fromkeys(sums, 1.0 / len(sums))
        best = max(visits, key=lambda action: (visits[action], -action))
        return {action: float(action == best) for action in sums}

    def drawn(self, actions):
        """One action by the probabilities; which one depends on the seed alone."""
        cdef Rng rng
        rng_seed(&rng, mix(self.seed, <uint64_t> -1))
        cdef double threshold = rng_double(&rng)
        for one in actions:
            threshold -= one.probability
            if threshold < 0:
                return one.action
        return actions[0].action


def search(view, *, iterations=0, seconds=0.0, threads=1, seed=0, stop=None,
           parameters=Parameters(), sampler=None):
    """Searches from a view until a limit is reached, or `stop` is set, and returns the Result.

    `iterations` are those of all threads together, `seconds` are of wall-clock time; 0 is no limit.
    With one thread, a seed and no time limit the result is the same every time. Raises ViewError if
    the view contradicts itself, and ValueError if its seat owes no decision.
    """
    one = Search(view, threads=threads, seed=seed, parameters=parameters,
                 most_iterations=iterations, sampler=sampler)
    one.run(iterations=iterations, seconds=seconds, stop=stop)
    return one.result()
