"""Exact endings: the last decisions of a match, solved instead of searched.

Late in a match so few worlds fit a view, and so few lines of play are left, that all of them can be
gone through: each world with its probability (the sampler plays a `Script`), each action, each
outcome of chance (ai/ending_tree.pyx). Then it can be proven what to do.

- From the ends upwards, an information set is settled if one action is the best in all of its
  histories, what follows being settled: whatever its seat believes, it need not do anything else,
  and whatever it knew besides, it could not do better. So none of this depends on what either seat
  takes for likely.
- All that the opponent decides must be settled, and that in every world that he may think he is
  in. In the worlds of the sampler the asking seat holds its own cards, which the opponent does not
  know. Either his decisions make no difference in them; or else all worlds that fit what he
  knows are gone through too, those in which the asking seat holds something else.
- The asking seat then has its best response to that by what it believes: by the probabilities of
  the worlds. This is the answer, exact but for the sampler's assumption that the opponent has
  played at random so far.

Where that does not prove anything, as in most decisions that call for a mixture, the search goes
on. Most of a match is too large for it, and a few random lines of play tell so at once.
"""

from typing import NamedTuple

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from ai.ending_tree cimport NONE, ROOT, MAX_TURNS, EndingTree, Info, Node
from ai.worker cimport Stop, now
from engine.chance cimport Rng, Script, rng_below, rng_seed, script_next, script_start
from engine.game cimport MAX_ACTIONS, NOBODY, SEATS, VIEW_BYTES, Action, Game, State, View
from engine.sampler cimport Sampler

from engine.game import SeatView

cdef enum:
    PROBES = 8             # Random lines of play that tell how large the rest of the match is.

MAX_NODES = 1 << 18
BYTES_A_NODE = 256
NODES_A_VIEW = 500         # What it takes to make the sampler of one.
NODES_AN_ITERATION = 2     # What all of it may cost, beside the search that it may replace.
NODES_A_SECOND = 1_000_000
TIME_SHARE = 0.5

cdef double EXACT = 1e-9   # Scores that differ by less are equal.


class Proof(NamedTuple):
    """What is proven: the best action, the exact score of each, and how the match then ends."""

    action: int
    scores: dict
    expected_score: float
    win: float
    draw: float

    def complete(self, result):
        """A Result with the exact figures in place of those that were sampled."""
        actions = [one._replace(expected_score=self.scores[one.action], deviation=0.0,
                                probability=float(one.action == self.action))
                   for one in result.actions]
        actions.sort(key=lambda one: (-one.probability, -one.expected_score, one.action))
        return result._replace(
            action=self.action, actions=actions, expected_score=self.expected_score,
            win=self.win, draw=self.draw, loss=max(0.0, 1 - self.win - self.draw))


def prove(Sampler sampler not None, legal, *, int iterations=0, double seconds=0.0,
          uint64_t nodes=0, uint64_t memory=0, Stop stop=None):
    """The Proof of what to do, of the `legal` actions; None: there is none, or it takes too much.

    The limits are those of the search that it may replace (0: none), of whose iterations or time it
    takes a share. Without a limit in time, the same question gets the same answer.
    """
    cdef uint64_t most = min(nodes or MAX_NODES, MAX_NODES)
    cdef double expected
    cdef double deadline = now() + TIME_SHARE * seconds if seconds > 0 else 0
    if memory:
        most = min(most, memory // BYTES_A_NODE)
    if iterations:
        most = min(most, <uint64_t> NODES_AN_ITERATION * iterations)
    if seconds > 0:
        most = min(most, <uint64_t> (NODES_A_SECOND * TIME_SHARE * seconds))
    expected = estimate(sampler, most)
    if expected > most:
        return None
    actions = tuple(sorted(legal))
    ending = Ending(sampler, most, actions)
    ending.limit(deadline, stop)
    if not ending.solve(expected, []):
        return None
    if ending.knowledge_matters:
        others = ending.opposing_samplers(most // NODES_A_VIEW)
        ending = Ending(sampler, most, actions)
        ending.limit(deadline, stop)
        if not others or not ending.solve(expected, others):
            return None
    return ending.proof()


cdef double estimate(Sampler sampler, uint64_t most):
    # How many nodes there will be in a world, by a few random lines of play; more than `most` if
    # that does not matter.
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
                if turns == MAX_TURNS or size > PROBES * most:
                    return most + 1.0
                game.apply(&state, joint, &rng, NULL)
    return size / PROBES


cdef class Ending(EndingTree):
    """The rest of a match, and what it is worth to the asking seat."""

    cdef double* reach         # By node: the probability of the worlds and the chance behind it.
    cdef double* action_scores
    cdef double value, win, draw
    cdef int best

    def __cinit__(self, Sampler sampler not None, size_t max_nodes, tuple legal not None):
        self.action_scores = <double*> malloc(len(legal) * sizeof(double))
        if self.action_scores == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.reach)
        free(self.action_scores)

    cdef limit(self, double deadline, Stop stop):
        self.deadline = deadline
        self.stop = &stop.flag if stop is not None else NULL

    cdef bint solve(self, double expected, list others):
        if not self.grow(expected, others):
            return False
        with nogil:
            self.settle()
            return self.answer()

    cdef list opposing_samplers(self, uint64_t most):
        # The samplers of the views that the opponent may have; none if they are more than `most`.
        # The interpreter's lock is given up now and then.
        cdef Script script
        cdef State state
        cdef View view
        cdef Rng rng
        cdef bint stopped, more = True
        views = {}
        samplers = []
        script_start(&script, &rng)
        while more:
            with nogil:
                self.sampler.draw(&state, &rng)
                self.game.view(&state, 1 - self.me, &view)
            if not script.rejected:
                views[PyBytes_FromStringAndSize(<char*> &view, VIEW_BYTES)] = True
                if len(views) > most:
                    return []
            with nogil:
                more = script_next(&script)
        for data in views:
            with nogil:
                stopped = self.ended()
            if stopped:
                return []
            samplers.append(Sampler.of(SeatView(self.game, data)))
        return samplers

    def proof(self):
        """What was found."""
        scores = {action: self.action_scores[i] for i, action in enumerate(self.legal)}
        return Proof(self.legal[self.best], scores, self.value, self.win, self.draw)

    cdef bint answer(self) noexcept nogil:
        # False: the opponent has decisions that are not settled.
        cdef double easy, easiest = -1
        cdef uint32_t at
        cdef int i
        self.reach = <double*> calloc(self.node_count, sizeof(double))
        if self.reach == NULL or not self.spread(ROOT, 1):
            return False
        for i in range(<int> self.infos[self.root].count):
            self.action_scores[i] = easy = 0
            at = self.infos[self.root].histories
            while at != NONE:
                self.action_scores[i] += self.worth(self.after(at, i))
                easy += self.reach[at] * self.easy(self.after(at, i))
                at = self.nodes[at].alike
            # Of equal ones, that with which the seat scores the most against random play.
            if (i == 0 or self.action_scores[i] > self.value + EXACT
                    or (self.action_scores[i] > self.value - EXACT and easy > easiest)):
                self.best = i
                self.value = self.action_scores[i]
                easiest = easy
        self.infos[self.root].choice = self.best
        self.add_up(ROOT)
        return True

    cdef bint spread(self, uint32_t at, double chance) noexcept nogil:
        # What is not settled of the worlds that fit the view must be the asking seat's.
        cdef const Node* node = &self.nodes[at]
        cdef uint32_t child = node.first
        self.reach[at] = chance
        if node.settled or chance == 0:
            return True
        if node.info != NONE and not self.infos[node.info].mine:
            return False
        while child != NONE:
            if not self.spread(child, chance * (self.nodes[child].chance if node.info == NONE
                                                else 1)):
                return False
            child = self.nodes[child].next
        return True

    cdef double worth(self, uint32_t at) noexcept nogil:
        # What the asking seat scores from a node on by its best response, times the probability.
        cdef const Node* node = &self.nodes[at]
        cdef uint32_t child = node.first
        cdef double sum = 0
        if self.reach[at] == 0 or node.settled:
            return self.reach[at] * node.value
        if node.info != NONE:
            return self.worth(self.after(at, self.best_choice(&self.infos[node.info])))
        while child != NONE:
            sum += self.worth(child)
            child = self.nodes[child].next
        return sum

    cdef int best_choice(self, Info* info) noexcept nogil:
        cdef double* sums = self.sums + info.first
        cdef uint32_t history = info.histories
        cdef uint32_t child
        cdef int i, best = 0
        if info.choice >= 0:
            return info.choice
        memset(sums, 0, info.count * sizeof(double))
        while history != NONE:
            i = 0
            child = self.nodes[history].first
            while child != NONE:
                sums[i] += self.worth(child)
                child = self.nodes[child].next
                i += 1
            history = self.nodes[history].alike
        for i in range(1, <int> info.count):
            if sums[i] > sums[best] + EXACT:
                best = i
        info.choice = best
        return best

    cdef void add_up(self, uint32_t at) noexcept nogil:
        # How the match ends by the answer.
        cdef const Node* node = &self.nodes[at]
        cdef uint32_t child = node.first
        if self.reach[at] == 0 or node.settled:
            self.win += self.reach[at] * node.win
            self.draw += self.reach[at] * node.draw
        elif node.info != NONE:
            self.add_up(self.after(at, self.infos[node.info].choice))
        else:
            while child != NONE:
                self.add_up(child)
                child = self.nodes[child].next
