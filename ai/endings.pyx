"""Exact endings: the last decisions of a match, solved instead of searched.

Late in a match, so few worlds fit a view and so few lines of play are left that all of them can be
enumerated: each world with its probability (the sampler plays a `Script`), each action, each
outcome of chance (ai/ending_tree.pyx). The best action can then be proven.

- By backward induction, an information set is solved if one action is the best in all of its
  histories, given that everything after it is solved. The seat need not do anything else, whatever
  it believes, and could do no better, whatever it knew besides. So no solution depends on what
  either seat takes for likely.
- All decisions of the opponent must be solved, in every world that the opponent may believe to be
  in. In the worlds of the sampler, the searching seat holds its own cards, which the opponent does
  not know. Either the opponent's decisions make no difference in these worlds, or all worlds that
  fit what the opponent knows are enumerated too: those in which the searching seat holds something
  else.
- The searching seat then plays its best response to that by what it believes: by the probabilities
  of the worlds. This is the answer. It is exact but for the sampler's assumption that the opponent
  has played at random so far.

Where this proves nothing, as at most decisions that call for a mixed strategy, the search goes on.
Most of a match is too large to be solved; a few random lines of play estimate its size, so that
little time is lost.
"""

from typing import NamedTuple

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from ai.ending_tree cimport MAX_TURNS, NONE, ROOT, EndingTree, InfoSet, Node
from ai.memory cimport Grant
from ai.worker cimport Stop, now
from engine.chance cimport Rng, Script, rng_below, rng_seed, script_next, script_start
from engine.faults cimport raise_fault
from engine.game cimport MAX_ACTIONS, NOBODY, SEATS, VIEW_BYTES, Action, Game, State, View
from engine.sampler cimport Sampler

from engine.game import SeatView

cdef enum:
    PROBES = 8                 # Random lines of play that estimate the size of the rest.
    MAX_NODES = 1 << 18
    BYTES_A_NODE = 256
    NODES_A_VIEW = 500         # Making the sampler of a view takes as long as so many nodes.
    NODES_AN_ITERATION = 2     # What a proof may cost beside the search that it may replace.
    NODES_A_SECOND = 1_000_000

cdef double TIME_SHARE = 0.5   # Of the time of the search that it may replace.
cdef double EQUAL = 1e-9       # Scores that differ by less are equal.


class Proof(NamedTuple):
    """What is proven: the best actions, the exact score of each action, and how the match ends.

    Of several actions with the highest score, the one that also scores highest against random play
    is the best, together with those that are as good in every world. Those that the game knows to
    be dominated are left out, though at the end nothing may depend on it. `win` and `draw` are the
    probabilities of a win and a draw of the searching seat.
    """

    best: tuple
    scores: dict
    expected_score: float
    win: float
    draw: float

    def replace(self, actions):
        """The ActionResults with exact scores, and the expected score and draws of the answer."""
        share = 1.0 / len(self.best)
        actions = [each._replace(expected_score=self.scores[each.action], deviation=0.0,
                                 probability=share if each.action in self.best else 0.0)
                   for each in actions]
        return actions, self.expected_score, self.draw


def prove(Sampler sampler not None, legal, *, int iterations=0, double seconds=0.0,
          uint64_t nodes=0, uint64_t memory=0, Stop stop=None, Grant grant=None):
    """The Proof of which of the `legal` actions to play, or None.

    None means that nothing can be proven, or that it would take too much. The limits are those of
    the search that the proof may replace (0: none); a proof takes a share of its iterations or
    time. Without a limit in time, and if `grant` has enough, the same arguments always give the
    same answer.
    """
    cdef uint64_t max_nodes = MAX_NODES
    cdef double expected
    if nodes:
        max_nodes = min(max_nodes, nodes)
    if memory:
        max_nodes = min(max_nodes, memory // BYTES_A_NODE)
    if iterations:
        max_nodes = min(max_nodes, <uint64_t> NODES_AN_ITERATION * iterations)
    if seconds > 0:
        max_nodes = min(max_nodes, <uint64_t> (NODES_A_SECOND * TIME_SHARE * seconds))
    expected = estimate_nodes(sampler, max_nodes)
    raise_fault()
    if expected > max_nodes:
        return None
    try:
        return prove_ending(
            sampler, max_nodes, tuple(sorted(legal)), expected, seconds, stop, grant)
    except MemoryError:
        return None


cdef prove_ending(Sampler sampler, uint64_t max_nodes, tuple actions, double expected,
                  double seconds, Stop stop, Grant grant):
    cdef Ending whole, ending = Ending(sampler, max_nodes, actions, grant)
    ending.set_limits(seconds, stop)
    if not ending.solve(expected, []):
        return None
    if ending.knowledge_matters:
        others = ending.opposing_samplers(max_nodes // NODES_A_VIEW)
        whole = Ending(sampler, max_nodes, actions, grant)
        whole.continue_limits(ending)
        ending = whole
        if not others or not ending.solve(expected, others):
            return None
    return ending.proof()


cdef double estimate_nodes(Sampler sampler, uint64_t max_nodes):
    # How many nodes a world has, estimated by a few random lines of play; some number above
    # `max_nodes` as soon as it is certain that there are more.
    #
    # D. E. Knuth, "Estimating the Efficiency of Backtrack Programs", 1975.
    cdef Game game = sampler.game
    cdef Action actions[MAX_ACTIONS]
    cdef Action joint[SEATS]
    cdef State state
    cdef Rng rng
    cdef double lines, size = 0
    cdef int seat, owed, count, turns, _probe
    rng_seed(&rng, 0)
    memset(&state, 0, sizeof(state))
    with nogil:
        for _probe in range(PROBES):
            sampler.draw(&state, &rng)
            lines = 1
            turns = 0
            while True:
                owed = game.deciders(&state)
                if owed == NOBODY:
                    break
                turns += 1
                for seat in range(SEATS):
                    joint[seat] = 0
                    if owed & (1 << seat):
                        count = game.legal(&state, seat, actions)
                        joint[seat] = actions[rng_below(&rng, count)]
                        lines *= count
                        size += lines
                if turns == MAX_TURNS or size > PROBES * max_nodes:
                    return max_nodes + 1.0
                game.apply(&state, joint, &rng, NULL)
    return size / PROBES


@cython.internal
cdef class Ending(EndingTree):
    """The rest of a match, and what it is worth to the searching seat."""

    cdef double* reach         # By node: the product of the probabilities of the world and chance.
    cdef double* action_scores
    cdef double* random_scores     # Of each action, against random play.
    cdef double value, win, draw
    cdef int best

    def __cinit__(self, Sampler sampler not None, size_t max_nodes, tuple legal not None,
                  Grant grant=None):
        self.action_scores = <double*> self.arena.take(len(legal), sizeof(double))
        self.random_scores = <double*> self.arena.take(len(legal), sizeof(double))

    cdef set_limits(self, double seconds, Stop stop):
        self.stop = stop
        if seconds > 0:
            self.end = now() + seconds
            self.deadline = now() + TIME_SHARE * seconds

    cdef continue_limits(self, Ending other):
        self.stop = other.stop
        self.end = other.end
        self.deadline = other.deadline

    cdef bint solve(self, double expected, list others):
        # False: there is no proof.
        cdef bint found = self.build(expected, others)
        if found:
            self.reach = <double*> self.arena.take_zeroed(self.node_count, sizeof(double))
            with nogil:
                self.solve_upwards()
                found = self.best_respond()
        raise_fault()
        return found

    cdef list opposing_samplers(self, uint64_t max_views):
        # The samplers of the views that the opponent may have; none if they are more than
        # `max_views`. The interpreter's lock is released now and then.
        cdef Script script
        cdef State state
        cdef View view
        cdef Rng rng
        cdef bint stopped, more = True
        views = {}
        samplers = []
        memset(&state, 0, sizeof(state))
        script_start(&script, &rng)
        while more:
            with nogil:
                self.sampler.draw(&state, &rng)
                self.game.view(&state, 1 - self.seat, &view)
            raise_fault()
            if not script.rejected:
                views[PyBytes_FromStringAndSize(<char*> &view, VIEW_BYTES)] = True
                if len(views) > max_views:
                    return []
            with nogil:
                more = script_next(&script)
        for data in views:
            with nogil:
                stopped = self.must_stop()
            if stopped:
                return []
            samplers.append(Sampler.of(SeatView(self.game, data), self.sampler.model))
        return samplers

    def proof(self):
        """What was found, as a Proof."""
        scores = {action: self.action_scores[i] for i, action in enumerate(self.legal)}
        equal = [action for i, action in enumerate(self.legal) if self.as_good(i)]
        return Proof(self.without_dominated(equal), scores, self.value, self.win, self.draw)

    cdef tuple without_dominated(self, list equal):
        # Equal actions without those that the game knows to be dominated. All worlds agree on them.
        cdef Action actions[MAX_ACTIONS]
        cdef State state
        cdef Rng rng
        cdef int i, count = len(equal)
        for i in range(count):
            actions[i] = equal[i]
        memset(&state, 0, sizeof(state))
        rng_seed(&rng, 0)
        with nogil:
            self.sampler.draw(&state, &rng)
            count = self.game.without_dominated(&state, self.seat, actions, count)
        raise_fault()
        return tuple([actions[i] for i in range(count)])

    cdef bint best_respond(self) noexcept nogil:
        # False: the opponent has decisions that are not solved.
        cdef uint32_t at
        cdef int i
        if not self.spread_reach(ROOT, 1):
            return False
        for i in range(<int> self.info_sets[self.root].count):
            self.action_scores[i] = self.random_scores[i] = 0
            at = self.info_sets[self.root].histories
            while at != NONE:
                self.action_scores[i] += self.response_value(self.child_of(at, i))
                self.random_scores[i] += self.reach[at] * self.random_value(self.child_of(at, i))
                at = self.nodes[at].next_in_set
            # Of equal actions, the one with the highest score against random play.
            if (i == 0 or self.action_scores[i] > self.value + EQUAL
                    or (self.action_scores[i] > self.value - EQUAL
                        and self.random_scores[i] > self.random_scores[self.best] + EQUAL)):
                self.best = i
                self.value = self.action_scores[i]
        self.info_sets[self.root].best = self.best
        self.add_outcomes(ROOT)
        return True

    cdef bint as_good(self, int number):
        # Whether an action is as good as the best in every world, so that no opponent can gain by
        # it, and as good against random play.
        cdef double more
        cdef uint32_t at = self.info_sets[self.root].histories
        if self.random_scores[number] < self.random_scores[self.best] - EQUAL:
            return False
        while at != NONE:
            more = (self.response_value(self.child_of(at, number))
                    - self.response_value(self.child_of(at, self.best)))
            if not -EQUAL * self.reach[at] <= more <= EQUAL * self.reach[at]:
                return False
            at = self.nodes[at].next_in_set
        return True

    cdef bint spread_reach(self, uint32_t at, double reach) noexcept nogil:
        # False: a decision of the opponent that can be reached is not solved.
        cdef const Node* node = &self.nodes[at]
        cdef uint32_t child = node.first_child
        self.reach[at] = reach
        if node.solved or reach == 0:
            return True
        if node.info_set != NONE and not self.info_sets[node.info_set].is_own:
            return False
        while child != NONE:
            if not self.spread_reach(
                    child,
                    reach * (self.nodes[child].probability if node.info_set == NONE else 1)):
                return False
            child = self.nodes[child].next_sibling
        return True

    cdef double response_value(self, uint32_t at) noexcept nogil:
        # The score of the searching seat from a node on by its best response, times the reach.
        cdef const Node* node = &self.nodes[at]
        cdef uint32_t child = node.first_child
        cdef double sum = 0
        if self.reach[at] == 0 or node.solved:
            return self.reach[at] * node.value
        if node.info_set != NONE:
            return self.response_value(
                self.child_of(at, self.best_response(&self.info_sets[node.info_set])))
        while child != NONE:
            sum += self.response_value(child)
            child = self.nodes[child].next_sibling
        return sum

    cdef int best_response(self, InfoSet* info_set) noexcept nogil:
        # The number of the best action.
        cdef double* sums = self.sums + info_set.first
        cdef uint32_t history = info_set.histories
        cdef uint32_t child
        cdef int i, best = 0
        if info_set.best >= 0:
            return info_set.best
        memset(sums, 0, info_set.count * sizeof(double))
        while history != NONE:
            i = 0
            child = self.nodes[history].first_child
            while child != NONE:
                sums[i] += self.response_value(child)
                child = self.nodes[child].next_sibling
                i += 1
            history = self.nodes[history].next_in_set
        for i in range(1, <int> info_set.count):
            if sums[i] > sums[best] + EQUAL:
                best = i
        info_set.best = best
        return best

    cdef void add_outcomes(self, uint32_t at) noexcept nogil:
        # Adds up how the match ends by the best response.
        cdef const Node* node = &self.nodes[at]
        cdef uint32_t child = node.first_child
        if self.reach[at] == 0 or node.solved:
            self.win += self.reach[at] * node.win
            self.draw += self.reach[at] * node.draw
        elif node.info_set != NONE:
            self.add_outcomes(self.child_of(at, self.info_sets[node.info_set].best))
        else:
            while child != NONE:
                self.add_outcomes(child)
                child = self.nodes[child].next_sibling
