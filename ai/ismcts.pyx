"""Multi-observer information-set Monte Carlo tree search.

The search is given the view of one seat and nothing else. Each iteration determinizes: it draws a
world that fits the view (`Sampler.draw`). It selects actions in this world down the trees, expands
a new node where it leaves them, plays out by the game's `PlayoutPolicy`, to the end of the match or
until the policy can estimate the score, and backpropagates that score. Each seat has a tree of its
own, whose nodes are what that seat has observed since the root (`Game.next_key`), so that no
decision depends on what its seat has not seen: neither on a hidden card nor on the other half of a
simultaneous choice. Which actions are available at a node depends on the world, and each action
counts how often it was available (`Game.legal_among`), from when it was first tried.

    P. I. Cowling, E. J. Powley, D. Whitehouse, "Information Set Monte Carlo Tree Search", IEEE
    Transactions on Computational Intelligence and AI in Games 4(2), 2012: MO-ISMCTS, availability.

Some decisions call for a mixed strategy: those made at the same time as another, and those that the
other seat must not be able to foresee. Where such a decision has few enough actions for the visits
that it gets, it is made by regret matching (ai/regret_matching.pyx). Where a mixture takes long to
learn, the first visits are by UCB1 (`Game.visits_before_mixing`), and the regrets begin with what
these say.

All other decisions are made by UCB1 over the available actions, and the answer is the most visited
action; or by regret matching too, in a game where what a seat does gives its cards away. The scores
of playouts that stop before the end of the match vary less than wins and losses do, so the constant
of UCB1 is in standard deviations of the scores that the node has seen. UCB1 would try every action
before it returns to the best. A node with many actions therefore begins with the few that the
playout policy would play, and tries more of them the more often it is visited. Where the cards of a
seat differ much from world to world, so that its node has many children and none of them is legal,
the policy plays.

At the root, the search names none of the actions that the game knows to be dominated
(`Game.without_dominated`).

*The last look.* The scores that the search has seen do not compare its actions fairly: the best of
many estimates is too high on average, and an action that seems worse is hardly visited. So a few
actions of the root can be tried in turn, equally often (`look`): a round draws one world and one
seed, in which each of them is played once. They differ by less chance than in worlds of their own
(common random numbers). What follows is learned as before, but the root learns nothing of it, and
an opponent who decides at the same time plays what the search has found for it. Their aspects are
watched meanwhile (ai/aspect_rounds.pyx).

    J.-Y. Audibert, R. Munos, C. Szepesvári, "Exploration-exploitation tradeoff using variance
    estimates in multi-armed bandits", Theoretical Computer Science 410(19), 2009.
    G. Chaslot, M. Winands, H. J. van den Herik, J. Uiterwijk, B. Bouzy, "Progressive Strategies for
    Monte-Carlo Tree Search", New Mathematics and Natural Computation 4(3), 2008: unpruning.
    R. Coulom, "Computing Elo Ratings of Move Patterns in the Game of Go", ICGA Journal 30(4), 2007:
    progressive widening.

A game that is small enough is searched from the deal instead (ai/cfr.pyx).
"""

from libc.math cimport sqrt
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from ai.aspect_rounds cimport AspectRounds
from ai.look_rounds cimport LookRounds
from ai.memory cimport NO_ENTRY, Arena, Grant, prefetch
from ai.regret_matching cimport Mixture, begin_regrets, choose_by_regret, update_regrets
from ai.search_tree cimport Child, Figures, Node, SearchTree, sqrt_log
from ai.worker cimport Worker
from engine.chance cimport Rng, mix, rng_below, rng_double, rng_next, rng_seed
from engine.faults cimport raise_fault
from engine.game cimport BOTH, LEGAL_BITS, MAX_ACTIONS, NOBODY, SEATS, Action, Game, State
from engine.playout_policy cimport PlayoutPolicy
from engine.sampler cimport Sampler

from ai.worker import RootAction, Summary

cdef enum:
    MIN_EXPECTED_VISITS = 16   # From here on, a node predicts the action of its seat.
    MAX_PATH = 256             # Decisions of one iteration that are updated.
    SCRATCH = 1 << 15          # Actions available at these decisions, together.
    DRAWS = 8                  # Of an untried action at random, before all are looked through.
    MANY = 32                  # Children; with the root of the visits, the most that a node has.
    RETRY = 4                  # If nothing is untried, a quarter of the visits go by until a retry.

cdef double MAX_EXPLORATION_SHARE = 0.6


cdef extern from *:
    int lowest_one "__builtin_ctzll"(uint64_t bits) noexcept nogil


cdef struct Step:              # A decision of the current iteration.
    uint32_t node
    uint16_t seat
    bint by_regret             # By regret matching, not by UCB1.
    int chosen                 # The number of the child that was chosen.
    Mixture mixture            # By regret matching.


cdef struct Window:            # The figures of a child of the root as they were,
    uint32_t visits[2]         # when it had half as many visits as at the last power of two, and
    double totals[2]           # when it had that many.
    double squares[2]


cdef class IsmctsWorker(Worker):
    """The trees of both seats from one view, grown by one thread."""

    cdef Game game
    cdef PlayoutPolicy policy
    cdef Sampler sampler
    cdef Rng rng
    cdef State state           # The world of the current iteration.
    cdef float exploration
    cdef double uniform, widening
    cdef bint sequential_regret
    cdef int max_mixed_actions, visits_before_mixing

    cdef SearchTree tree
    cdef Arena arena
    cdef Step path[MAX_PATH]
    cdef uint16_t* available   # Scratch: children that are available in this iteration,
    cdef double* sigma         # and their probabilities by regret matching.
    cdef int path_length
    cdef uint32_t expected     # What `Child.next` says of the last action that was chosen.
    cdef size_t scratch_used

    cdef uint64_t root_key
    cdef uint32_t root         # The node; NO_ENTRY until the first iteration.
    cdef Action* legal         # At the root; of these, only those that were asked for.
    cdef int legal_count
    cdef Action* candidates    # Those that are not dominated.
    cdef int candidate_count
    cdef Window* windows       # By child of the root.
    cdef double total, draws   # Of all playouts but those of the last look, for its seat.
    cdef uint64_t playouts
    cdef bint stops_when_full

    cdef LookRounds looked     # Of the last look; None: of the search itself.
    cdef AspectRounds aspects  # Or None: nobody asks for them.

    def __cinit__(self, Sampler sampler not None, uint64_t seed, uint64_t thread, parameters,
                  size_t max_nodes, root_actions=None, bint stops_when_full=False,
                  Grant grant=None):
        cdef Arena arena = Arena(grant)
        self.arena = arena
        self.sampler = sampler
        self.game = sampler.game
        if parameters.playout_policy:
            self.policy = PlayoutPolicy.of(self.game, sampler.model)
            if parameters.horizon is not None:
                self.policy.horizon = parameters.horizon
        else:
            self.policy = PlayoutPolicy.uniform(self.game)
        self.exploration = parameters.exploration
        self.uniform = parameters.uniform
        self.widening = (
            self.game.widening if parameters.widening is None else parameters.widening)
        self.sequential_regret = (
            self.game.sequential_regret if parameters.sequential_regret is None
            else parameters.sequential_regret)
        self.max_mixed_actions = (
            self.game.max_mixed_actions if parameters.max_mixed_actions is None
            else parameters.max_mixed_actions)
        self.visits_before_mixing = (
            self.game.visits_before_mixing if parameters.visits_before_mixing is None
            else parameters.visits_before_mixing)
        self.stops_when_full = stops_when_full
        rng_seed(&self.rng, mix(seed, thread))
        memset(&self.state, 0, sizeof(State))
        self.tree = SearchTree(max_nodes, parameters.memory, grant)
        self.available = <uint16_t*> arena.take(SCRATCH, sizeof(uint16_t))
        self.sigma = <double*> arena.take(SCRATCH, sizeof(double))
        self.find_root(root_actions)

    cdef find_root(self, root_actions):
        # The legal actions at the root are the same in all worlds, and so is its key.
        cdef Rng rng
        cdef Action* legal = <Action*> self.arena.take(MAX_ACTIONS, sizeof(Action))
        cdef int i, count, seat = self.sampler.seat
        rng_seed(&rng, 0)
        self.sampler.draw(&self.state, &rng)
        self.root_key = mix(self.game.root_key(&self.state, seat), seat)
        count = self.game.legal(&self.state, seat, legal)
        for i in range(count):
            if root_actions is None or legal[i] in root_actions:
                legal[self.legal_count] = legal[i]
                self.legal_count += 1
        self.legal = legal
        self.candidates = <Action*> self.arena.take(self.legal_count, sizeof(Action))
        memcpy(self.candidates, legal, self.legal_count * sizeof(Action))
        self.candidate_count = self.game.without_dominated(
            &self.state, seat, self.candidates, self.legal_count)
        raise_fault()
        self.windows = <Window*> self.arena.take_zeroed(self.legal_count, sizeof(Window))
        self.root = self.tree.add_node(self.root_key)

    cdef bint iterate(self) noexcept nogil:
        cdef double score, draw = 0
        if self.looked is not None:
            self.look_once()
        else:
            if self.tree.full and self.stops_when_full:
                return False
            self.sampler.draw(&self.state, &self.rng)
            score = self.simulate(0, &draw)
            self.total += score if self.sampler.seat == 0 else 1 - score
            self.draws += draw
            self.playouts += 1
        self.iterations += 1
        return True

    cdef double simulate(self, Action looked_at, double* draw) noexcept nogil:
        # One iteration in the world of `state`: the score of seat 0. The first decision is the
        # action that is looked at (0: none), of which the root learns nothing.
        cdef State* state = &self.state
        cdef Action joint[SEATS]
        cdef uint64_t keys[SEATS]
        cdef double score
        cdef int seat, owed
        cdef bint at_leaf = False
        self.path_length = 0
        self.scratch_used = 0
        self.expected = NO_ENTRY
        for seat in range(SEATS):
            keys[seat] = mix(self.game.root_key(state, seat), seat)
        while not at_leaf:
            owed = self.game.deciders(state)
            if owed == NOBODY:
                break
            for seat in range(SEATS):
                joint[seat] = 0
                if owed & (1 << seat):
                    joint[seat] = (
                        self.first_action(state, seat, keys[seat], looked_at) if looked_at
                        else self.select(state, seat, owed == BOTH, keys[seat], &at_leaf))
            looked_at = 0
            self.game.apply(state, joint, &self.rng, NULL)
            if not at_leaf:
                prefetch(&self.tree.children[self.tree.nodes[self.expected].first])
                for seat in range(SEATS):
                    keys[seat] = self.game.next_key(keys[seat], state, joint, seat)
                    self.tree.index.prefetch(keys[seat])
        if at_leaf:
            score = self.policy.playout(state, &self.rng, draw)
        else:
            score = self.policy.at_end(state, draw)
        self.backpropagate(score)
        return score

    # The last look

    def look(self, actions, bint aspects):
        """Until `end_look`, iterations try these actions of the root in turn, equally often.

        They watch their `aspects`, if asked to.
        """
        self.looked = LookRounds(actions)
        if aspects:
            self.aspects = AspectRounds(
                self.game, self.policy, self.sampler.seat, len(actions), self.looked.arena)

    def end_look(self):
        """From now on, iterations search again."""
        self.looked = None

    def rounds_seen(self):
        """What the iterations since `look` found, as Rounds."""
        cdef int i
        return self.looked.seen(
            tuple([self.aspects.seen(i) for i in range(self.looked.count)])
            if self.aspects is not None and self.aspects.count else ())

    cdef void look_once(self) noexcept nogil:
        # One action in the world of its round.
        cdef Rng own = self.rng
        cdef double score, draw = 0
        if self.looked.turn == 0:
            self.sampler.draw(&self.looked.world, &own)
            self.looked.seed = rng_next(&own)
        self.state = self.looked.world
        rng_seed(&self.rng, self.looked.seed)
        score = self.simulate(self.looked.actions[self.looked.turn], &draw)
        if self.aspects is not None and self.aspects.watches(self.looked.rounds):
            self.aspects.watch(self, &self.looked.world, self.looked.seed,
                               self.looked.actions[self.looked.turn], self.looked.turn)
        self.rng = own
        self.looked.add(score if self.sampler.seat == 0 else 1 - score, draw)

    cdef Action first_action(self, const State* state, int seat, uint64_t key,
                             Action looked_at) noexcept nogil:
        # Of a last look. An opponent who decides at the same time plays as it is expected to.
        cdef Action action
        if seat == self.sampler.seat:
            return looked_at
        action = self.expected_action(state, seat, key, &self.rng)
        return action if action else self.policy.choose(state, seat, &self.rng)

    # Selection and expansion

    cdef Action select(self, const State* state, int seat, bint simultaneous, uint64_t key,
                       bint* at_leaf) noexcept nogil:
        # The action of one seat; that of the playout policy where the iteration leaves the tree.
        cdef Action action
        cdef Node* node
        cdef Step* step
        cdef Child* child
        cdef uint32_t at
        if key == self.root_key:
            at = self.root
        else:
            # A forced action needs no node, except at the root, where its score is reported.
            action = self.game.only_action(state, seat)
            if action:
                return action
            at = self.find_or_expand(key, at_leaf)
            if at != self.expected and self.path_length > 0:
                step = &self.path[self.path_length - 1]
                self.tree.children[self.tree.nodes[step.node].first + step.chosen].next = at
        if at != NO_ENTRY and self.path_length < MAX_PATH:
            node = &self.tree.nodes[at]
            step = &self.path[self.path_length]
            step.node = at
            step.seat = seat
            step.chosen = -1
            step.by_regret = False
            if self.sequential_regret or (simultaneous and self.max_mixed_actions > 0):
                self.select_by_regret_matching(step, node, state)
            if not step.by_regret:
                self.select_by_ucb1(step, node, state)
            if step.chosen >= 0:
                self.path_length += 1
                child = &self.tree.children[node.first + step.chosen]
                self.expected = child.next
                prefetch(&self.tree.nodes[child.next])
                prefetch(&self.tree.figures[node.first + step.chosen])
                return child.action
            return self.policy.choose(state, seat, &self.rng)
        at_leaf[0] = True
        return self.leaf_action(state, seat)

    cdef Action leaf_action(self, const State* state, int seat) noexcept nogil:
        # The action of the policy or, of a few, each with the same probability: first choices that
        # favour some make a small game more exploitable.
        cdef Action actions[MAX_ACTIONS]
        cdef int count
        if self.sequential_regret or self.max_mixed_actions > 0:
            count = self.game.legal(state, seat, actions)
            if self.sequential_regret or count <= self.max_mixed_actions:
                return actions[rng_below(&self.rng, count)]
        return self.policy.choose(state, seat, &self.rng)

    cdef uint32_t find_or_expand(self, uint64_t key, bint* at_leaf) noexcept nogil:
        # The node of a key, if it has been visited. A new node makes this the leaf of the
        # iteration.
        cdef uint32_t at = self.tree.index.find(key)
        if at == NO_ENTRY:
            self.tree.add_node(key)
            at_leaf[0] = True
        return at

    cdef void select_by_ucb1(self, Step* step, Node* node, const State* state) noexcept nogil:
        # Of the children that are legal in this world, or one that is new. None where a node has
        # many children already, since the seat's cards differ much from world to world, but in this
        # world too few.
        cdef Child* children = self.tree.children + node.first
        cdef Child* child
        cdef float value, best = -1
        cdef float exploration = self.exploration * node.spread
        cdef bint is_root = step.node == self.root
        cdef uint64_t legal
        cdef int i, count, first = 0, chosen = -1, tried = 0
        while first < node.count:
            count = min(<int> LEGAL_BITS, node.count - first)
            legal = (~<uint64_t> 0 >> (LEGAL_BITS - count) if is_root else self.game.legal_among(
                state, step.seat, &children[first].action, sizeof(Child), count))
            while legal:
                i = first + lowest_one(legal)
                legal &= legal - 1
                child = &children[i]
                tried += 1
                child.availability += 1
                value = child.mean + exploration * sqrt_log(child.availability) * child.inverse_root
                if value > best:
                    best = value
                    chosen = i
            first += LEGAL_BITS
        step.chosen = chosen
        if tried == 0 or (
                (tried < node.exhausted or node.visits >= node.next_widening)
                and (self.widening == 0
                     or tried * tried < self.widening * self.widening * (node.visits + 1))):
            if not is_root and node.count >= MANY + sqrt(<double> node.visits):
                step.chosen = -1
                return
            i = self.widen(step, node, state)
            if i >= 0:
                step.chosen = i
            else:
                node.exhausted = tried
                node.next_widening = node.visits + node.visits // RETRY + 1

    cdef int widen(self, const Step* step, Node* node, const State* state) noexcept nogil:
        # A new child: the action of the playout policy or, if that has been tried, one of the
        # others, all with the same probability. -1: all were tried, or there is no room.
        cdef Action actions[MAX_ACTIONS]
        cdef const Action* untried = actions
        cdef Action action
        cdef bint is_root = step.node == self.root
        cdef int i, _i, count, left
        if self.widening > 0:
            action = self.policy.choose(state, step.seat, &self.rng)
            if (self.tree.child_of(node, action, -1) < 0
                    and (not is_root or self.is_candidate(action))):
                return self.add_child(node, action)
        if is_root:
            untried = self.candidates
            count = self.candidate_count
        else:
            count = self.game.legal(state, step.seat, actions)
        # Most are untried, or else there are few.
        for _i in range(DRAWS):
            action = untried[rng_below(&self.rng, count)]
            if self.tree.child_of(node, action, -1) < 0:
                return self.add_child(node, action)
        left = 0
        for i in range(count):
            left += self.tree.child_of(node, untried[i], -1) < 0
        if left == 0:
            return -1
        left = rng_below(&self.rng, left)
        for i in range(count):
            if self.tree.child_of(node, untried[i], -1) < 0:
                if left == 0:
                    return self.add_child(node, untried[i])
                left -= 1
        return -1

    cdef bint is_candidate(self, Action action) noexcept nogil:
        cdef int i
        for i in range(self.candidate_count):
            if self.candidates[i] == action:
                return True
        return False

    cdef int add_child(self, Node* node, Action action) noexcept nogil:
        # As far as a node knows, an action that is new could have been chosen all the time.
        cdef int number = self.tree.add_child(node, action)
        if number >= 0:
            self.tree.children[node.first + number].availability = node.visits + 1
        return number

    cdef double exploration_share(self, int count, uint32_t visits) noexcept nogil:
        # As in Exp3, the share falls with the square root of the visits to each action.
        return min(MAX_EXPLORATION_SHARE, self.uniform * sqrt(count / (visits + 1.0)))

    cdef void select_by_regret_matching(self, Step* step, Node* node,
                                        const State* state) noexcept nogil:
        # Where the actions are few enough; else this does nothing.
        cdef Action listed[MAX_ACTIONS]
        cdef const Action* actions = listed
        cdef uint16_t* available = self.available + self.scratch_used
        cdef int i, count, number = -1
        if step.node == self.root:
            actions = self.candidates
            count = self.candidate_count
        else:
            count = self.game.legal(state, step.seat, listed)
        if not self.sequential_regret and (
                count > self.max_mixed_actions
                or node.visits < <uint32_t> (count * self.visits_before_mixing)):
            return
        if self.scratch_used + count > SCRATCH:
            return
        if not node.is_mixed:
            node.is_mixed = True
            begin_regrets(node, self.tree.children + node.first,
                          self.tree.figures + node.first)
        for i in range(count):
            number = self.tree.child_of(node, actions[i], number)
            if number < 0:
                number = self.add_child(node, actions[i])
            if number < 0:
                return
            available[i] = number
        step.mixture.count = count
        step.mixture.available = available
        step.mixture.sigma = self.sigma + self.scratch_used
        step.mixture.share = self.exploration_share(count, node.visits)
        self.scratch_used += count
        choose_by_regret(&step.mixture, self.tree.children + node.first,
                         self.tree.figures + node.first, rng_double(&self.rng))
        step.by_regret = True
        step.chosen = available[step.mixture.place]

    # Backpropagation

    cdef void backpropagate(self, double score) noexcept nogil:
        # Updates the decisions of the iteration, the last one first, by the score of seat 0.
        cdef const Step* step
        cdef Node* node
        cdef double own
        while self.path_length > 0:
            self.path_length -= 1
            step = &self.path[self.path_length]
            node = &self.tree.nodes[step.node]
            own = score if step.seat == 0 else 1 - score
            if step.by_regret:
                update_regrets(&step.mixture, node, self.tree.children + node.first,
                               self.tree.figures + node.first, own)
            self.tree.update(node, step.chosen, own)
            if step.node == self.root:
                self.move_window(node, step.chosen)

    cdef void move_window(self, const Node* node, int number) noexcept nogil:
        cdef const Child* child = &self.tree.children[node.first + number]
        cdef const Figures* figures = &self.tree.figures[node.first + number]
        cdef Window* window = &self.windows[number]
        if child.visits & (child.visits - 1) == 0:
            window.visits[0], window.visits[1] = window.visits[1], child.visits
            window.totals[0], window.totals[1] = window.totals[1], figures.total
            window.squares[0], window.squares[1] = window.squares[1], figures.squares

    # What was found

    cdef Action expected_action(self, const State* state, int seat, uint64_t key,
                                Rng* rng) noexcept nogil:
        # Of the available actions, by the average strategy where there is one, else the most
        # visited.
        cdef Action action = self.game.only_action(state, seat)
        cdef const Child* child
        cdef const Node* node
        cdef Action likeliest = 0, most_visited = 0
        cdef double share, total = 0, highest = 0, visits = 0
        cdef uint32_t at
        cdef int i
        if action:
            return action
        at = self.tree.index.find(key)
        if at == NO_ENTRY or self.tree.nodes[at].visits < MIN_EXPECTED_VISITS:
            return 0
        node = &self.tree.nodes[at]
        for i in range(node.count):
            child = &self.tree.children[node.first + i]
            if child.availability == 0 or not self.game.legal_among(
                    state, seat, &child.action, sizeof(Child), 1):
                continue
            share = <double> child.visits / child.availability
            if share > visits:
                visits = share
                most_visited = child.action
            share = self.tree.figures[node.first + i].strategy / child.availability
            total += share
            if rng == NULL:
                if share > highest:
                    highest = share
                    likeliest = child.action
            elif share > 0 and rng_double(rng) * total < share:
                likeliest = child.action
        return likeliest or most_visited

    def root_actions(self):
        """The statistics of each action of the root, as RootActions."""
        cdef const Node* node = &self.tree.nodes[self.root]
        return [self.root_action(node, self.legal[i], self.tree.child_of(node, self.legal[i], -1))
                for i in range(self.legal_count)]

    cdef root_action(self, const Node* node, Action action, int number):
        cdef const Child* child = &self.tree.children[node.first + number]
        cdef const Figures* figures = &self.tree.figures[node.first + number]
        cdef const Window* window = &self.windows[number]
        if number < 0:
            return RootAction(action, 0, node.visits, 0, 0.0, 0.0, 0.0,
                              dominated=not self.is_candidate(action))
        return RootAction(
            action, child.visits, node.visits, child.visits, figures.total, figures.squares,
            figures.strategy, window.visits[0], window.totals[0], window.squares[0],
            not self.is_candidate(action))

    def summary(self):
        """What was done, as a Summary."""
        return Summary(self.iterations, self.playouts, self.total, self.draws,
                       self.tree.node_count - 1, bool(self.tree.full))


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
