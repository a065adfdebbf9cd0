"""Counterfactual regret minimisation from the deal, for games whose states all fit in memory.

A search from the present draws the worlds that fit a view as if the opponent had chosen at random
so far: to the seat that faces a bet, a bluff looks as likely as a good card. Such a search cannot
find an equilibrium, whatever it does from there on. This one starts at the deal and lets both seats
hold anything, so that it finds out how likely the opponent's past choices were in each world. It is
given the view, and answers for what its seat knows; up to the answer, the search is the same for
all views. So the answers to all decisions of a match fit together, though a game can have many
equilibria whose parts do not. Nothing is left to chance.

A sweep visits every state of the game (ai/game_graph.pyx) and updates the regrets of one seat at
all of its information sets; the seats take turns. Each seat plays in proportion to its regrets, as
they are expected to be after the next sweep; none is ever below 0. The average of what it has
played is the answer. Later sweeps weigh more in it, by the square of their number.

Where no seat of sense would go, nothing would be learnt, and somebody may go there all the same. So
in the probability of what has led to a decision, and nowhere else, the opponent sometimes chooses
at random: in the n-th sweep with probability 1/2n, but never below 1/1000. And what a seat plays
where its own choices do not lead counts in its average as if they led there once in a hundred
times. This costs next to nothing against the best opponent, and makes good answers to blunders,
also to one's own.

The score of an action is what it scores against the opponent's average, where the seat goes on by
its own average, over all worlds that fit the view, each weighted by the probability with which the
opponent's average has led there. Beliefs and lines rest on the same weights (`GraphSampler`).

    M. Zinkevich, M. Johanson, M. Bowling, C. Piccione, "Regret Minimization in Games with
    Incomplete Information", NeurIPS 2007: counterfactual regret.
    O. Tammelin, "Solving Large Imperfect Information Games Using CFR+", 2014: no regret below 0,
    seats that take turns.
    G. Farina, C. Kroer, T. Sandholm, "Faster Game Solving via Predictive Blackwell Approachability:
    Connecting Regret Matching and Mirror Descent", AAAI 2021: expected regrets, squared weights.
    R. Selten, "Reexamination of the Perfectness Concept for Equilibrium Points in Extensive Games",
    International Journal of Game Theory 4(1), 1975: the trembling hand.
    M. Lanctot, R. Gibson, N. Burch, M. Zinkevich, M. Bowling, "No-Regret Learning in Extensive-Form
    Games with Imperfect Recall", ICML 2012: information sets that forget what no longer matters.
"""

from typing import NamedTuple

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memset

from ai.game_graph cimport CHANCE, DECISION, NONE, ROOT, TERMINAL, GameGraph, InfoSet, Node
from ai.memory cimport Arena, Grant
from ai.worker cimport Worker
from engine.chance cimport Rng, rng_double, rng_weighted
from engine.game cimport SEATS, Action, State
from engine.sampler cimport Sampler

from ai.worker import RootAction, Summary

cdef enum:
    VISITS_AN_ITERATION = 512  # Of an edge, in one direction.
    FOUND_PARTS = 5            # Arrays by action that a CfrState has.
    MIN_SWEEPS = 8             # Of each seat; with fewer, a search from the present is better.

cdef struct Reach:             # The probability that a seat's choices lead to a node,
    double own
    double others              # and that those of chance and the opponent do.


cdef double FIRST_TREMBLE = 0.5
cdef double LAST_TREMBLE = 0.001
cdef double STRAY = 0.01       # The least reach of a seat, as far as its average is concerned.
cdef double CERTAIN[1]         # The strategy of a seat that need not decide.
CERTAIN[0] = 1


class CfrState(NamedTuple):
    """What a search from the deal has found after some iterations. It is the same for all views."""

    iterations: int
    sweeps: int
    visits_left: int
    found: bytes


@cython.final
cdef class CfrWorker(Worker):
    """A search from the deal for the view of a sampler, in the complete graph of its game."""

    cdef readonly GameGraph graph
    cdef Sampler sampler
    cdef int seat
    cdef uint32_t root         # The information set of the view; NONE: no line of play leads to it.
    cdef Arena arena
    cdef uint32_t* inner       # The nodes with children, ascending,
    cdef size_t inner_count
    cdef uint32_t* worlds      # and those in the information set of the view.
    cdef size_t world_count
    # By node, for the current sweep:
    cdef Reach* reach
    cdef double* values        # The expected score of seat 0.
    # By action, all that later sweeps depend on:
    cdef double* found         # The five of them.
    cdef double* regrets
    cdef double* advantages    # What the last sweep added to its regret.
    cdef double* averages      # The sum of weighted probabilities,
    cdef double* late_averages     # after a number of sweeps that is a power of two,
    cdef double* early_averages    # and after half as many.
    # By action, for the current sweep:
    cdef double* strategies    # The probability with which it is played now.
    cdef double* trembling     # The same of a seat that sometimes chooses at random,
    cdef double tremble        # with this probability.
    cdef double* gains         # Its score, weighted by `others`.
    cdef double* own_reach     # By information set: the sum of `own` of its nodes.
    cdef uint64_t sweeps
    cdef uint64_t visits_left
    cdef bint is_evaluated     # Since the last sweep.
    # By action of the view: its score by the averages, and by the early ones.
    cdef double* scores
    cdef double* early_scores

    def __cinit__(self, GameGraph graph not None, Sampler sampler not None, Grant grant=None):
        cdef Arena arena = Arena(grant)
        cdef size_t nodes = graph.node_count, actions = graph.action_count
        cdef uint32_t at
        self.arena = arena
        self.graph = graph
        self.sampler = sampler
        self.seat = sampler.seat
        self.root = graph.find_view(&sampler.view)
        self.inner = <uint32_t*> arena.take(nodes, sizeof(uint32_t))
        self.worlds = <uint32_t*> arena.take(nodes, sizeof(uint32_t))
        self.reach = <Reach*> arena.take_zeroed(nodes, sizeof(Reach))
        self.values = <double*> arena.take_zeroed(nodes, sizeof(double))
        self.found = <double*> arena.take_zeroed(FOUND_PARTS * actions, sizeof(double))
        self.regrets = self.found
        self.advantages = self.regrets + actions
        self.averages = self.advantages + actions
        self.late_averages = self.averages + actions
        self.early_averages = self.late_averages + actions
        self.strategies = <double*> arena.take_zeroed(actions, sizeof(double))
        self.trembling = <double*> arena.take_zeroed(actions, sizeof(double))
        self.gains = <double*> arena.take_zeroed(actions, sizeof(double))
        self.own_reach = <double*> arena.take_zeroed(graph.info_set_count, sizeof(double))
        self.scores = <double*> arena.take_zeroed(self.action_count(), sizeof(double))
        self.early_scores = <double*> arena.take_zeroed(self.action_count(), sizeof(double))
        for at in range(ROOT, nodes):
            if graph.nodes[at].kind == TERMINAL:
                self.values[at] = graph.nodes[at].score
                continue
            self.inner[self.inner_count] = at
            self.inner_count += 1
            if self.root != NONE and graph.nodes[at].info_sets[self.seat] == self.root:
                self.worlds[self.world_count] = at
                self.world_count += 1

    @property
    def knows_view(self):
        """Whether a line of play leads to the view; without one there is no answer."""
        return self.root != NONE

    @property
    def min_iterations(self):
        """How many iterations it takes until the answers are better than from the present."""
        return (MIN_SWEEPS * SEATS * self.visits_of_sweep() // VISITS_AN_ITERATION) + 1

    cdef uint64_t visits_of_sweep(self) noexcept nogil:
        return 2 * self.graph.edge_count

    cdef bint iterate(self) noexcept nogil:
        self.iterations += 1
        self.visits_left += VISITS_AN_ITERATION
        while self.visits_left >= self.visits_of_sweep():
            self.visits_left -= self.visits_of_sweep()
            self.sweep(self.sweeps % SEATS)
        return True

    cdef void sweep(self, int seat) noexcept nogil:
        cdef uint64_t number = self.sweeps // SEATS + 1
        self.is_evaluated = False
        self.tremble = max(LAST_TREMBLE, FIRST_TREMBLE / number)
        self.match_regrets()
        memset(self.gains, 0, self.graph.action_count * sizeof(double))
        self.spread_reach(seat)
        self.back_up(seat)
        self.update_regrets(seat, <double> number * number)
        self.sweeps += 1
        if self.sweeps % SEATS == 0 and number & (number - 1) == 0:
            memcpy(self.early_averages, self.late_averages,
                   self.graph.action_count * sizeof(double))
            memcpy(self.late_averages, self.averages, self.graph.action_count * sizeof(double))

    cdef void match_regrets(self) noexcept nogil:
        cdef const InfoSet* info_set
        cdef size_t at
        cdef uint32_t i
        cdef double sum
        for at in range(NONE + 1, self.graph.info_set_count):
            info_set = &self.graph.info_sets[at]
            sum = 0
            for i in range(info_set.first, info_set.first + info_set.count):
                self.strategies[i] = max(0.0, self.regrets[i] + self.advantages[i])
                sum += self.strategies[i]
            self.normalize(info_set, sum)

    cdef void normalize(self, const InfoSet* info_set, double sum) noexcept nogil:
        # Makes weights whose sum is given to probabilities.
        cdef uint32_t i
        for i in range(info_set.first, info_set.first + info_set.count):
            self.strategies[i] = self.strategies[i] / sum if sum > 0 else 1.0 / info_set.count
            self.trembling[i] = ((1 - self.tremble) * self.strategies[i]
                                 + self.tremble / info_set.count)

    cdef const double* strategy(self, const Node* node, int seat,
                                const double* strategies) noexcept nogil:
        # The probabilities of what a seat does at a decision, also if it has nothing to decide.
        if node.info_sets[seat] == NONE:
            return CERTAIN
        return strategies + self.graph.info_sets[node.info_sets[seat]].first

    cdef uint32_t columns(self, const Node* node) noexcept nogil:
        # How many actions seat 1 has.
        return (1 if node.info_sets[1] == NONE
                else self.graph.info_sets[node.info_sets[1]].count)

    cdef void spread_reach(self, int seat) noexcept nogil:
        # Sets the reach of all nodes for a seat, and `own_reach` of its information sets.
        cdef const Node* node
        cdef const uint32_t* children
        cdef const double* mine
        cdef const double* theirs
        cdef Reach reach
        cdef Reach* child
        cdef size_t at
        cdef uint32_t i, j, rows, columns
        memset(self.reach, 0, self.graph.node_count * sizeof(Reach))
        memset(self.own_reach, 0, self.graph.info_set_count * sizeof(double))
        self.reach[ROOT].own = self.reach[ROOT].others = 1
        for at in range(self.inner_count):
            node = &self.graph.nodes[self.inner[at]]
            reach = self.reach[self.inner[at]]
            children = self.graph.children + node.first
            if node.kind == CHANCE:
                for i in range(node.count):
                    child = &self.reach[children[i]]
                    child.own += reach.own
                    child.others += reach.others * self.graph.probabilities[node.first + i]
                continue
            if node.info_sets[seat] != NONE:
                self.own_reach[node.info_sets[seat]] += reach.own
            mine = self.strategy(node, seat, self.strategies)
            theirs = self.strategy(node, 1 - seat, self.trembling)
            columns = self.columns(node)
            rows = node.count // columns
            for i in range(rows):
                for j in range(columns):
                    child = &self.reach[children[i * columns + j]]
                    child.own += reach.own * mine[i if seat == 0 else j]
                    child.others += reach.others * theirs[j if seat == 0 else i]

    cdef void back_up(self, int seat) noexcept nogil:
        # Sets the value of all nodes, and adds to the gains of the actions of a seat.
        cdef const Node* node
        cdef size_t at = self.inner_count
        cdef uint32_t i
        cdef double value
        while at > 0:
            at -= 1
            node = &self.graph.nodes[self.inner[at]]
            if node.kind == DECISION:
                value = self.back_up_decision(node, self.inner[at], seat)
            else:
                value = 0
                for i in range(node.first, node.first + node.count):
                    value += self.graph.probabilities[i] * self.values[self.graph.children[i]]
            self.values[self.inner[at]] = value

    cdef double back_up_decision(self, const Node* node, uint32_t at, int seat) noexcept nogil:
        cdef const double* first = self.strategy(node, 0, self.strategies)
        cdef const double* second = self.strategy(node, 1, self.strategies)
        cdef const uint32_t* children = self.graph.children + node.first
        cdef double* gains = NULL
        cdef uint32_t columns = self.columns(node)
        cdef uint32_t rows = node.count // columns
        cdef uint32_t i, j
        cdef double score, value = 0
        if node.info_sets[seat] != NONE:
            gains = self.gains + self.graph.info_sets[node.info_sets[seat]].first
        if gains == NULL or seat == 0:
            for i in range(rows):
                score = 0
                for j in range(columns):
                    score += second[j] * self.values[children[i * columns + j]]
                value += first[i] * score
                if gains != NULL:
                    gains[i] += self.reach[at].others * score
        else:
            for j in range(columns):
                score = 0
                for i in range(rows):
                    score += first[i] * self.values[children[i * columns + j]]
                value += second[j] * score
                gains[j] -= self.reach[at].others * score
        return value

    cdef void update_regrets(self, int seat, double weight) noexcept nogil:
        cdef const InfoSet* info_set
        cdef size_t at
        cdef uint32_t i
        cdef double mean, reach
        for at in range(NONE + 1, self.graph.info_set_count):
            info_set = &self.graph.info_sets[at]
            if <int> info_set.seat != seat:
                continue
            reach = self.own_reach[at] + STRAY
            mean = 0
            for i in range(info_set.first, info_set.first + info_set.count):
                mean += self.strategies[i] * self.gains[i]
            for i in range(info_set.first, info_set.first + info_set.count):
                self.advantages[i] = self.gains[i] - mean
                self.regrets[i] = max(0.0, self.regrets[i] + self.advantages[i])
                self.averages[i] += weight * reach * self.strategies[i]

    # The answer

    cdef uint32_t action_count(self) noexcept nogil:
        # Of the view.
        return 0 if self.root == NONE else self.graph.info_sets[self.root].count

    cdef void evaluate(self) noexcept nogil:
        # Sets the scores of the actions of the view, where both seats play their averages. Then
        # the `others` of a world says how likely it is.
        if not self.is_evaluated:
            self.is_evaluated = True
            self.tremble = LAST_TREMBLE
            self.evaluate_averages(self.early_averages, self.early_scores)
            self.evaluate_averages(self.averages, self.scores)

    cdef void evaluate_averages(self, const double* averages, double* scores) noexcept nogil:
        cdef const InfoSet* info_set
        cdef const double* gains = self.gains + self.graph.info_sets[self.root].first
        cdef size_t at
        cdef uint32_t i
        cdef double sum, total = 0
        for at in range(NONE + 1, self.graph.info_set_count):
            info_set = &self.graph.info_sets[at]
            sum = 0
            for i in range(info_set.first, info_set.first + info_set.count):
                self.strategies[i] = averages[i]
                sum += averages[i]
            self.normalize(info_set, sum)
        memset(self.gains, 0, self.graph.action_count * sizeof(double))
        self.spread_reach(self.seat)
        self.back_up(self.seat)
        for at in range(self.world_count):
            total += self.reach[self.worlds[at]].others
        for i in range(self.action_count()):
            scores[i] = gains[i] / total if self.seat == 0 else 1 + gains[i] / total

    def root_actions(self):
        """The statistics of each action of the root, as RootActions.

        An action counts the iterations in proportion to its probability. Its score is exact for the
        averages so far, and the early score for those of a fourth to a half of the sweeps.
        """
        cdef const InfoSet* info_set = &self.graph.info_sets[self.root]
        cdef double* shares
        cdef uint32_t i
        cdef uint64_t visits, left = self.iterations
        with nogil:
            self.evaluate()
        shares = self.strategies + info_set.first
        found = []
        for i in range(info_set.count):
            # The last action gets what rounding has left over.
            visits = min(left, <uint64_t> (shares[i] * self.iterations + 0.5))
            if i == info_set.count - 1:
                visits = left
            left -= visits
            early = self.early_scores[i]
            found.append(RootAction(
                self.graph.actions[info_set.first + i], visits, self.iterations,
                2, early + self.scores[i], self.scores[i] * self.scores[i], shares[i], 1, early))
        return found

    def summary(self):
        """What was done, as a Summary; the playouts are the worlds that fit the view."""
        cdef double win = 0, draw = 0
        with nogil:
            self.evaluate()
            self.spread_outcomes(&win, &draw)
        return Summary(self.iterations, self.world_count, (win + draw / 2) * self.world_count,
                       draw * self.world_count, self.graph.node_count - ROOT, False)

    cdef void spread_outcomes(self, double* win, double* draw) noexcept nogil:
        # How likely the seat of the view wins and draws; after `evaluate`.
        cdef const Node* node
        cdef const double* first
        cdef const double* second
        cdef double total = 0, reach, score
        cdef size_t at
        cdef uint32_t i, columns
        for at in range(ROOT, self.graph.node_count):
            self.reach[at].own = 0
        for at in range(self.world_count):
            total += self.reach[self.worlds[at]].others
        for at in range(self.world_count):
            self.reach[self.worlds[at]].own = self.reach[self.worlds[at]].others / total
        for at in range(self.inner_count):
            node = &self.graph.nodes[self.inner[at]]
            reach = self.reach[self.inner[at]].own
            if reach == 0:
                continue
            first = self.strategy(node, 0, self.strategies)
            second = self.strategy(node, 1, self.strategies)
            columns = self.columns(node)
            for i in range(node.count):
                self.reach[self.graph.children[node.first + i]].own += reach * (
                    self.graph.probabilities[node.first + i] if node.kind == CHANCE
                    else first[i // columns] * second[i % columns])
        for at in range(ROOT, self.graph.node_count):
            if self.graph.nodes[at].kind == TERMINAL:
                score = self.graph.nodes[at].score
                if self.seat == 1:
                    score = 1 - score
                win[0] += self.reach[at].own * (score > 0.5)
                draw[0] += self.reach[at].own * (score == 0.5)

    cdef Action expected_action(self, const State* state, int seat, uint64_t key,
                                Rng* rng) noexcept nogil:
        cdef const InfoSet* info_set = &self.graph.info_sets[self.graph.find_info_set(state, seat)]
        cdef uint32_t i, chosen
        cdef double sum = 0, threshold
        if info_set == &self.graph.info_sets[NONE]:
            return 0
        chosen = info_set.first
        for i in range(info_set.first, info_set.first + info_set.count):
            sum += self.averages[i]
            if self.averages[i] > self.averages[chosen]:
                chosen = i
        if rng != NULL:
            threshold = rng_double(rng) * sum
            for i in range(info_set.first, info_set.first + info_set.count):
                threshold -= self.averages[i]
                if threshold < 0:
                    return self.graph.actions[i]
        return self.graph.actions[chosen]

    def state(self):
        """What was found so far, as a CfrState."""
        return CfrState(self.iterations, self.sweeps, self.visits_left,
                        PyBytes_FromStringAndSize(<char*> self.found, self.found_bytes()))

    def restore(self, state):
        """Goes on from a CfrState of a search in the same graph, for whatever view."""
        if len(state.found) != self.found_bytes():
            raise ValueError("the state is of another graph")
        memcpy(self.found, PyBytes_AS_STRING(state.found), self.found_bytes())
        self.iterations, self.sweeps, self.visits_left = state[:3]
        self.is_evaluated = False

    cdef size_t found_bytes(self) noexcept nogil:
        return FOUND_PARTS * self.graph.action_count * sizeof(double)

    def weighted_sampler(self):
        """A GraphSampler of the worlds of the view, by the averages so far."""
        cdef GraphSampler sampler = GraphSampler.__new__(GraphSampler)
        cdef Arena arena = Arena()
        cdef size_t i
        cdef double sum = 0
        with nogil:
            self.evaluate()
        sampler.game = self.sampler.game
        sampler.seat = self.seat
        sampler.view = self.sampler.view
        sampler.graph = self.graph
        sampler.arena = arena
        sampler.world_count = self.world_count
        sampler.worlds = <uint32_t*> arena.take(self.world_count, sizeof(uint32_t))
        sampler.sums = <double*> arena.take(self.world_count, sizeof(double))
        for i in range(self.world_count):
            sum += self.reach[self.worlds[i]].others
            sampler.worlds[i] = self.worlds[i]
            sampler.sums[i] = sum
        return sampler


cdef class GraphSampler(Sampler):
    """Draws the worlds of a view as likely as the opponent's play makes them, not random play."""

    cdef GameGraph graph
    cdef Arena arena
    cdef uint32_t* worlds
    cdef double* sums          # Of how likely the worlds are up to each.
    cdef size_t world_count

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        self.graph.load_state(
            &self.graph.nodes[self.worlds[rng_weighted(rng, self.sums, self.world_count)]], state)
