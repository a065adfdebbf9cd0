"""Monte Carlo counterfactual regret minimisation from the deal, for games that fit in memory.

A search from the present draws the worlds that fit a view as if the opponent had chosen at random
so far: to the seat that faces a bet, a bluff looks as likely as a good card. Such a search cannot
find an equilibrium, whatever it does from there on. This one starts at the deal and lets both seats
hold anything, so that it finds out how likely the opponent's past choices were in each world. It is
given the view, and answers for what its seat knows; up to the present, the search is the same for
all views.

Each iteration is one traversal by external sampling: chance and one seat are sampled, and the other
seat, the traverser, tries all of its actions and updates its regrets. The seats take turns as the
traverser. Regrets below 0 are set to 0, and later iterations weigh more in the average strategy,
which is the answer. Two measures reduce the variance: the deals follow an evenly spread sequence,
and the score of a sampled action is corrected by a baseline, the recent mean score of each action
of that decision.

A game can have many equilibria, and one seat's part of an equilibrium does not fit the other seat's
part of another. The chance of a search from the deal therefore depends neither on the view nor on
the seed: every answer is read off the same search, and the answers to all decisions of a match fit
together. The seed only samples the action.

    M. Lanctot, K. Waugh, M. Zinkevich, M. Bowling, "Monte Carlo Sampling for Regret Minimization in
    Extensive Games", NeurIPS 2009: external sampling.
    V. Lisý, M. Lanctot, M. Bowling, "Online Monte Carlo Counterfactual Regret Minimization for
    Search in Imperfect Information Games", AAMAS 2015: search from the deal towards the present.
    M. Schmid et al., "Variance Reduction in Monte Carlo Counterfactual Regret Minimization
    (VR-MCCFR)", AAAI 2019: the baseline.
    O. Tammelin, "Solving Large Imperfect Information Games Using CFR+", 2014: no regret below 0.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from ai.game_tree cimport (
    CHANCE, DECISION, NO_MEMORY, NONE, ROOT, TERMINAL, UNEXPANDED, GameTree, History, InfoSet,
)
from ai.memory cimport Arena
from ai.worker cimport Worker
from engine.chance cimport Rng, rng_double, rng_seed
from engine.game cimport MAX_ACTIONS, SEATS, State
from engine.sampler cimport Sampler

from ai.worker import RootAction, Summary

cdef enum:
    SCRATCH = 1 << 15          # Actions of the traverser at the decisions of one line of play.


cdef double GOLDEN_RATIO = 0.6180339887498949   # The fractions of its multiples spread evenly.
cdef double BASELINE_STEP = 0.5                 # The weight of the last score in a baseline.


cdef struct Strategy:          # Of one action of an information set.
    double regret
    double total               # Sum of the probabilities with which the action was chosen.


cdef struct RootSamples:       # What was found about one action of the view.
    uint64_t visits
    double total               # Sum of the scores.
    double squares             # Sum of their squares.


cdef class MccfrWorker(Worker):
    """A search from the deal for one view, by one thread."""

    cdef GameTree tree
    cdef Rng rng
    cdef Rng own_rng           # For what differs between views and is no part of the search.
    cdef double offset         # Of the sequence of deals.
    cdef int seat
    cdef uint64_t key          # Of the information set of the view.
    cdef Arena arena
    cdef Strategy* strategies  # By action, as in the tree.
    cdef double* baselines     # By history: the recent mean score of seat 0.
    cdef double* scratch
    cdef size_t scratch_used
    cdef RootSamples* root
    cdef uint64_t samples, wins, draws

    def __cinit__(self, Sampler sampler not None, uint64_t thread, parameters):
        cdef Arena arena = Arena()
        cdef State state
        self.arena = arena
        self.tree = GameTree(sampler.game, parameters.memory // 2)
        self.seat = sampler.seat
        rng_seed(&self.rng, thread)
        rng_seed(&self.own_rng, thread)
        self.offset = rng_double(&self.rng)
        memset(&state, 0, sizeof(state))
        sampler.draw(&state, &self.own_rng)
        self.key = self.tree.view_key(&state, self.seat)
        self.strategies = <Strategy*> arena.take(self.tree.history_capacity, sizeof(Strategy))
        self.baselines = <double*> arena.take(self.tree.history_capacity, sizeof(double))
        self.scratch = <double*> arena.take(SCRATCH, sizeof(double))
        self.root = <RootSamples*> arena.take_zeroed(MAX_ACTIONS, sizeof(RootSamples))

    cdef bint iterate(self) noexcept nogil:
        cdef double score
        self.iterations += 1
        self.scratch_used = 0
        return self.traverse(ROOT, self.iterations % SEATS, &score)

    cdef bint traverse(self, uint32_t at, int traverser, double* score) noexcept nogil:
        # Estimates the score of seat 0 from a history on, as both seats play now, and updates the
        # regrets of the traverser. False: there is no memory.
        cdef const History* history = self.expanded(at)
        cdef uint32_t chosen
        cdef double expected
        cdef int other = 1 - traverser
        if history.kind == TERMINAL:
            score[0] = history.score
            return True
        if history.kind == CHANCE:
            return self.traverse(self.next_deal(history) if at == ROOT
                                 else self.tree.sample_outcome(history, &self.rng),
                                 traverser, score)
        if history.kind != DECISION:
            return False
        if history.info_sets[other] == NONE:
            return self.traverse_actions(at, traverser, 0, score)
        chosen = self.sample_action(history.info_sets[other], self.iterations, &self.rng)
        if history.info_sets[traverser] != NONE:
            return self.traverse_actions(at, traverser, chosen, score)
        expected = self.expected_baseline(history, other)
        at = history.first + chosen
        if not self.traverse(at, traverser, score):
            return False
        expected += score[0] - self.baselines[at]
        self.baselines[at] += BASELINE_STEP * (score[0] - self.baselines[at])
        score[0] = expected
        return True

    cdef bint traverse_actions(self, uint32_t at, int traverser, uint32_t chosen,
                               double* score) noexcept nogil:
        # At a decision of the traverser; `chosen` is what the other seat chose, if it decides too.
        cdef const History* history = &self.tree.histories[at]
        cdef const InfoSet* info_set = &self.tree.info_sets[history.info_sets[traverser]]
        cdef Strategy* strategy = self.strategies + info_set.first
        cdef double* values = self.scratch + self.scratch_used
        cdef double positive = 0, mean = 0, sum = 0, advantage
        cdef uint32_t first, stride, i
        if self.scratch_used + info_set.count > SCRATCH:
            return False
        self.scratch_used += info_set.count
        # The children lie in rows of the actions of seat 0.
        first = history.first + (chosen if traverser == 0 else chosen * info_set.count)
        stride = history.count // info_set.count if traverser == 0 else 1
        for i in range(info_set.count):
            if not self.traverse(first + i * stride, traverser, &values[i]):
                return False
        for i in range(info_set.count):
            positive += strategy[i].regret
            mean += strategy[i].regret * values[i]
            sum += values[i]
        mean = mean / positive if positive > 0 else sum / info_set.count
        for i in range(info_set.count):
            advantage = values[i] - mean if traverser == 0 else mean - values[i]
            strategy[i].regret = max(0.0, strategy[i].regret + advantage)
        score[0] = mean
        if info_set.key == self.key:
            self.record_root(at, info_set, values)
        self.scratch_used -= info_set.count
        return True

    cdef double expected_baseline(self, const History* history, int seat) noexcept nogil:
        # The mean of the baselines after a decision of one seat, as the seat plays now.
        cdef const InfoSet* info_set = &self.tree.info_sets[history.info_sets[seat]]
        cdef const Strategy* strategy = self.strategies + info_set.first
        cdef const double* baselines = self.baselines + history.first
        cdef double positive = 0, mean = 0, sum = 0
        cdef uint32_t i
        for i in range(info_set.count):
            positive += strategy[i].regret
            mean += strategy[i].regret * baselines[i]
            sum += baselines[i]
        return mean / positive if positive > 0 else sum / info_set.count

    cdef uint32_t next_deal(self, const History* history) noexcept nogil:
        # Each deal is traversed for both seats, one after the other.
        cdef double x = self.offset + GOLDEN_RATIO * (self.iterations // SEATS)
        cdef uint32_t line
        x = (x - <uint64_t> x) * history.count
        line = history.first + <uint32_t> x
        return (line if x - <uint32_t> x < self.tree.alias_odds[line]
                else self.tree.aliases[line])

    cdef const History* expanded(self, uint32_t at) noexcept nogil:
        # A history with its children.
        cdef const History* history = &self.tree.histories[at]
        cdef size_t actions = self.tree.action_count
        cdef size_t histories = self.tree.history_count
        if history.kind == UNEXPANDED:
            self.tree.expand(at)
            memset(self.strategies + actions, 0,
                   (self.tree.action_count - actions) * sizeof(Strategy))
            while histories < self.tree.history_count:
                self.baselines[histories] = 0.5
                histories += 1
        return history

    cdef uint32_t sample_action(self, uint32_t at, double weight, Rng* rng) noexcept nogil:
        # An action of an information set by regret matching, which counts with this weight in the
        # average strategy.
        cdef const InfoSet* info_set = &self.tree.info_sets[at]
        cdef Strategy* strategy = self.strategies + info_set.first
        cdef double positive = 0
        cdef double threshold = rng_double(rng)
        cdef uint32_t i, chosen = info_set.count - 1
        for i in range(info_set.count):
            positive += strategy[i].regret
        if positive <= 0:
            for i in range(info_set.count):
                strategy[i].total += weight / info_set.count
            return <uint32_t> (threshold * info_set.count)
        threshold *= positive
        weight /= positive
        for i in range(info_set.count):
            strategy[i].total += weight * strategy[i].regret
            if threshold >= 0:
                threshold -= strategy[i].regret
                if threshold < 0:
                    chosen = i
        return chosen

    cdef void record_root(self, uint32_t at, const InfoSet* info_set,
                          const double* values) noexcept nogil:
        # Records the values of the actions of the view, and samples how the match ends.
        cdef const History* history
        cdef double score
        cdef uint32_t i, action, child
        cdef int seat
        self.samples += 1
        for i in range(info_set.count):
            score = values[i] if self.seat == 0 else 1 - values[i]
            self.root[i].total += score
            self.root[i].squares += score * score
        history = self.expanded(at)
        while history.kind != TERMINAL:
            child = 0
            if history.kind == CHANCE:
                child = self.tree.sample_outcome(history, &self.own_rng) - history.first
            else:
                for seat in range(SEATS):
                    if history.info_sets[seat] != NONE:
                        action = self.sample_action(history.info_sets[seat], 0, &self.own_rng)
                        child = (child * self.tree.info_sets[history.info_sets[seat]].count
                                 + action)
                        if &self.tree.info_sets[history.info_sets[seat]] == info_set:
                            self.root[action].visits += 1
            at = history.first + child
            history = self.expanded(at)
            if history.kind == NO_MEMORY:
                return
        score = history.score if self.seat == 0 else 1 - history.score
        self.wins += score > 0.5
        self.draws += score == 0.5

    def root_actions(self):
        """The statistics of each action of the root, as RootActions."""
        cdef uint32_t at = self.tree.find_info_set(self.key)
        cdef const InfoSet* info_set
        cdef const Strategy* strategy
        cdef uint32_t i
        if at == NONE:
            return []
        info_set = &self.tree.info_sets[at]
        strategy = self.strategies + info_set.first
        return [RootAction(self.tree.actions[info_set.first + i], self.root[i].visits,
                           self.samples, self.samples, self.root[i].total, self.root[i].squares,
                           strategy[i].total)
                for i in range(info_set.count)]

    def summary(self):
        """What was done, as a Summary."""
        return Summary(self.iterations, self.samples, self.wins, self.draws,
                       self.tree.info_set_count - 1, False)
