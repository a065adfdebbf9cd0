"""Search from the deal, for games so small that all their lines of play fit in memory.

A search that sets out from the present draws the worlds that fit a view as if the opponent had
chosen at random so far: facing a bet, a bluff looks as likely to it as a good card. It cannot find
an equilibrium, whatever it does from there on. This one sets out from the deal, whoever holds what,
so that how likely the opponent's past choices were in each world comes out of the search itself. It
is given the view, and answers for what its seat knows; from the deal on it is the same for all.

Each iteration is a traversal of Monte Carlo counterfactual regret minimisation by external
sampling: chance and the one seat are sampled, the other tries all of its actions and learns which
it regrets. The seats take turns. Regrets below 0 are forgotten, and in the average, which is the
answer, the later iterations count for more. Two things take out noise: the deals follow a sequence
that is evenly spread, and what a sampled action scored is corrected by what the others of that
decision would have, by the mean of what each scored before.

A game can have many equilibria, and one half of one does not fit to one half of another. So the
chance of a search from the deal depends neither on the view nor on the seed: whatever is asked, it
is read off the same search, and the answers to all decisions of a match fit together. The seed
draws the action.

    M. Lanctot, K. Waugh, M. Zinkevich, M. Bowling, "Monte Carlo Sampling for Regret Minimization in
    Extensive Games", NeurIPS 2009.
    V. Lisý, M. Lanctot, M. Bowling, "Online Monte Carlo Counterfactual Regret Minimization for
    Search in Imperfect Information Games", AAMAS 2015: search from the deal towards the present.
    M. Schmid et al., "Variance Reduction in Monte Carlo Counterfactual Regret Minimization
    (VR-MCCFR)", AAAI 2019: the correction.
    O. Tammelin, "Solving Large Imperfect Information Games Using CFR+", 2014.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from ai.game_tree cimport (
    CHANCE, DECISION, END, NO_ROOM, NONE, ROOT, UNSEEN, Histories, History, Info,
)
from ai.worker cimport Worker
from engine.chance cimport Rng, rng_double, rng_seed
from engine.game cimport MAX_ACTIONS, SEATS, State
from engine.sampler cimport Sampler

from ai.worker import RootAction, Summary

cdef enum:
    SCRATCH = 1 << 15          # Actions of the seat that learns, at the decisions of one line.


cdef double GOLDEN = 0.6180339887498949     # Multiples of it, less their whole part, spread evenly.
cdef double RECENT = 0.5                    # How much of a mean its last score is.


cdef struct Choice:            # An action of an information set.
    double regret
    double strategy            # Sum of the probabilities with which it was chosen.


cdef struct Found:             # What was found about an action of the view.
    uint64_t visits
    double total
    double squares


cdef class MccfrWorker(Worker):
    """A search from the deal for one view, by one thread."""

    cdef Histories histories
    cdef Rng rng
    cdef Rng aside             # For what does not belong to the search: it differs between views.
    cdef double offset         # Of the sequence of deals.
    cdef int seat
    cdef uint64_t key
    cdef Choice* choices       # As the actions of the histories.
    cdef double* means         # By history: what came of it so far, as a score of seat 0.
    cdef double* scratch
    cdef size_t scratch_used
    cdef Found* found
    cdef uint64_t tried, wins, draws

    def __cinit__(self, Sampler sampler not None, uint64_t thread, parameters):
        cdef State state
        self.histories = Histories(sampler.game, parameters.memory // 2)
        self.seat = sampler.seat
        rng_seed(&self.rng, thread)
        rng_seed(&self.aside, thread)
        self.offset = rng_double(&self.rng)
        sampler.draw(&state, &self.aside)
        self.key = self.histories.key_of(&state, self.seat)
        self.choices = <Choice*> malloc(self.histories.history_room * sizeof(Choice))
        self.means = <double*> malloc(self.histories.history_room * sizeof(double))
        self.scratch = <double*> malloc(SCRATCH * sizeof(double))
        self.found = <Found*> malloc(MAX_ACTIONS * sizeof(Found))
        if (self.choices == NULL or self.means == NULL or self.scratch == NULL
                or self.found == NULL):
            raise MemoryError
        memset(self.found, 0, MAX_ACTIONS * sizeof(Found))

    def __dealloc__(self):
        free(self.choices)
        free(self.means)
        free(self.scratch)
        free(self.found)

    cdef bint iterate(self) noexcept nogil:
        cdef double score
        self.iterations += 1
        self.scratch_used = 0
        return self.walk(ROOT, self.iterations % SEATS, &score)

    cdef bint walk(self, uint32_t at, int learner, double* score) noexcept nogil:
        # An estimate of the score of seat 0 from a history on, as both play now; the learner learns
        # at each of its decisions. False: there is no room.
        cdef const History* history = self.seen(at)
        cdef uint32_t chosen
        cdef double expected
        cdef int other = 1 - learner
        if history.kind == END:
            score[0] = history.score
            return True
        if history.kind == CHANCE:
            return self.walk(self.dealt(history) if at == ROOT
                             else self.histories.draw(history, &self.rng), learner, score)
        if history.kind != DECISION:
            return False
        if history.infos[other] == NONE:
            return self.learn(at, learner, 0, score)
        chosen = self.choose(history.infos[other], self.iterations, &self.rng)
        if history.infos[learner] != NONE:
            return self.learn(at, learner, chosen, score)
        expected = self.expected(history, other)
        at = history.first + chosen
        if not self.walk(at, learner, score):
            return False
        expected += score[0] - self.means[at]
        self.means[at] += RECENT * (score[0] - self.means[at])
        score[0] = expected
        return True

    cdef bint learn(self, uint32_t at, int learner, uint32_t chosen, double* score) noexcept nogil:
        # At a decision of the learner, and of the other if that has chosen too.
        cdef const History* history = &self.histories.histories[at]
        cdef const Info* info = &self.histories.infos[history.infos[learner]]
        cdef Choice* choice = self.choices + info.first
        cdef double* values = self.scratch + self.scratch_used
        cdef double positive = 0, mean = 0, flat = 0, gain
        cdef uint32_t first, stride, i
        if self.scratch_used + info.count > SCRATCH:
            return False
        self.scratch_used += info.count
        # What can follow lies in rows of the actions of seat 0.
        first = history.first + (chosen if learner == 0 else chosen * info.count)
        stride = history.count // info.count if learner == 0 else 1
        for i in range(info.count):
            if not self.walk(first + i * stride, learner, &values[i]):
                return False
        for i in range(info.count):
            positive += choice[i].regret
            mean += choice[i].regret * values[i]
            flat += values[i]
        mean = mean / positive if positive > 0 else flat / info.count
        for i in range(info.count):
            gain = values[i] - mean if learner == 0 else mean - values[i]
            choice[i].regret = max(0.0, choice[i].regret + gain)
        score[0] = mean
        if info.key == self.key:
            self.note(at, info, values)
        self.scratch_used -= info.count
        return True

    cdef double expected(self, const History* history, int seat) noexcept nogil:
        # What a decision of one seat has led to so far, as it plays now.
        cdef const Info* info = &self.histories.infos[history.infos[seat]]
        cdef const Choice* choice = self.choices + info.first
        cdef const double* means = self.means + history.first
        cdef double positive = 0, mean = 0, flat = 0
        cdef uint32_t i
        for i in range(info.count):
            positive += choice[i].regret
            mean += choice[i].regret * means[i]
            flat += means[i]
        return mean / positive if positive > 0 else flat / info.count

    cdef uint32_t dealt(self, const History* history) noexcept nogil:
        # The next deal. Both seats learn from each, one after the other.
        cdef double x = self.offset + GOLDEN * (self.iterations // SEATS)
        cdef uint32_t line
        x = (x - <uint64_t> x) * history.count
        line = history.first + <uint32_t> x
        return line if x - <uint32_t> x < self.histories.odds[line] else self.histories.other[line]

    cdef const History* seen(self, uint32_t at) noexcept nogil:
        # A history with what can follow.
        cdef const History* history = &self.histories.histories[at]
        cdef size_t actions = self.histories.action_count
        cdef size_t histories = self.histories.history_count
        if history.kind == UNSEEN:
            self.histories.expand(at)
            memset(self.choices + actions, 0,
                   (self.histories.action_count - actions) * sizeof(Choice))
            while histories < self.histories.history_count:
                self.means[histories] = 0.5
                histories += 1
        return history

    cdef uint32_t choose(self, uint32_t at, double weight, Rng* rng) noexcept nogil:
        # By regret matching. The average that is the answer counts it with this weight.
        cdef const Info* info = &self.histories.infos[at]
        cdef Choice* choice = self.choices + info.first
        cdef double positive = 0
        cdef double threshold = rng_double(rng)
        cdef uint32_t i, chosen = info.count - 1
        for i in range(info.count):
            positive += choice[i].regret
        if positive <= 0:
            for i in range(info.count):
                choice[i].strategy += weight / info.count
            return <uint32_t> (threshold * info.count)
        threshold *= positive
        weight /= positive
        for i in range(info.count):
            choice[i].strategy += weight * choice[i].regret
            if threshold >= 0:
                threshold -= choice[i].regret
                if threshold < 0:
                    chosen = i
        return chosen

    cdef void note(self, uint32_t at, const Info* info, const double* values) noexcept nogil:
        # What the learner found at a decision for which the view asks, and how it ends once.
        cdef const History* history
        cdef double score
        cdef uint32_t i, action, link
        cdef int seat
        self.tried += 1
        for i in range(info.count):
            score = values[i] if self.seat == 0 else 1 - values[i]
            self.found[i].total += score
            self.found[i].squares += score * score
        history = self.seen(at)
        while history.kind != END:
            link = 0
            if history.kind == CHANCE:
                link = self.histories.draw(history, &self.aside) - history.first
            else:
                for seat in range(SEATS):
                    if history.infos[seat] != NONE:
                        action = self.choose(history.infos[seat], 0, &self.aside)
                        link = link * self.histories.infos[history.infos[seat]].count + action
                        if &self.histories.infos[history.infos[seat]] == info:
                            self.found[action].visits += 1
            at = history.first + link
            history = self.seen(at)
            if history.kind == NO_ROOM:
                return
        score = history.score if self.seat == 0 else 1 - history.score
        self.wins += score > 0.5
        self.draws += score == 0.5

    def root(self):
        """What was found about each action of the root."""
        cdef uint32_t at = self.histories.find(self.key)
        cdef const Info* info = &self.histories.infos[at]
        cdef const Choice* choice = self.choices + info.first
        cdef uint32_t i
        if at == NONE:
            return []
        return [RootAction(self.histories.actions[info.first + i], self.found[i].visits,
                           self.tried, self.tried, self.found[i].total, self.found[i].squares,
                           choice[i].strategy)
                for i in range(info.count)]

    def summary(self):
        """What was done."""
        return Summary(self.iterations, self.tried, self.wins, self.draws,
                       self.histories.info_count - 1, False)
