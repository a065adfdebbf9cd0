"""What a strategy is worth in a small game, exactly, over all of its lines of play.

An `ExtensiveGame` holds all lines of play, as they lead through the graph of the game
(ai/game_graph.pyx). A strategy is a list with a probability for each action of each information
set, one information set after the other, in the order of `ExtensiveGame.info_sets`. An information
set is all that its seat has seen and done (perfect recall), so that a best response forgets
nothing, whatever the views of the game remember.
"""

from typing import NamedTuple

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from ai.game_graph cimport CHANCE, NONE, TERMINAL, GameGraph, Node, hash_words
from ai.game_graph cimport ROOT as BEFORE_DEAL
from ai.memory cimport Arena, HashIndex
from engine.chance cimport mix
from engine.faults cimport raise_fault
from engine.game cimport SEATS, VIEW_WORDS, State, View
from engine.position cimport Position

from ai.worker import Stop

cdef enum:
    BYTES_A_NODE = 1 << 10     # A node has few actions, and its state few words that are not 0.
    BYTES_A_HISTORY = 256      # With its share of everything else.
    FIRST_INFO_SETS = 500      # That the index has slots for at the start.
    ROOT = 1                   # The first history; no array uses its first place.


cdef struct History:           # A line of play with everything that was hidden in it.
    uint32_t node              # Of the graph.
    uint32_t info_sets[SEATS]  # Of a decision: that of each seat that must decide, else NONE.
    uint32_t first             # The children: a run of histories, in the order of the node's.
    uint64_t observed[SEATS]   # A key of all that each seat has seen and done.


cdef struct Known:             # An information set.
    uint64_t key
    uint32_t in_graph          # The information set of its view.
    uint32_t first             # Its actions: a run of a strategy.
    uint32_t count
    uint32_t example           # A history in it.


class InfoSet(NamedTuple):
    """What a seat knows when it must decide.

    A strategy has the probabilities of the `actions` from `first` on. `parent` is the place in a
    strategy of the last action of the same seat before; -1 if this is its first decision.
    """

    view: object
    actions: tuple
    first: int
    parent: int


cdef class ExtensiveGame:
    """A game with all its lines of play.

    Raises MemoryError if they do not fit in `memory` bytes.
    """

    cdef GameGraph graph
    cdef readonly object game
    cdef readonly list info_sets
    cdef Arena arena
    cdef History* histories
    cdef Known* known          # The information sets.
    cdef HashIndex known_index
    cdef size_t capacity       # Of the histories, and of the information sets.
    cdef size_t size, known_count, action_count
    # For one strategy of both seats:
    cdef double* strategy      # By action.
    cdef double* reach         # By history: the probability that chance and the opponent go there.
    cdef double* value         # By history,
    cdef bint* has_value       # once it is known.
    cdef int* best             # By information set: the best action, or -1 while it is not known.
    cdef uint32_t* next        # By history: the next one in its information set.
    cdef uint32_t* head        # By information set: the last history in it.

    def __cinit__(self, game, size_t memory=1 << 31):
        cdef Arena arena = Arena()
        self.game = game
        self.arena = arena
        self.graph = GameGraph(game, memory // BYTES_A_NODE)
        self.graph.run(0, 0, Stop())
        self.capacity = memory // BYTES_A_HISTORY
        self.histories = <History*> arena.take(self.capacity, sizeof(History))
        self.known = <Known*> arena.take(self.capacity, sizeof(Known))
        self.known_index = HashIndex()
        self.known_index.use(arena, self.known, sizeof(Known), FIRST_INFO_SETS)
        fits = self.graph.complete and self.unroll()
        raise_fault()
        if not fits:
            raise MemoryError(f"{game.id}: too many lines of play under this ruleset")
        self.strategy = <double*> arena.take_zeroed(self.action_count + 1, sizeof(double))
        self.reach = <double*> arena.take_zeroed(self.size, sizeof(double))
        self.value = <double*> arena.take_zeroed(self.size, sizeof(double))
        self.has_value = <bint*> arena.take_zeroed(self.size, sizeof(bint))
        self.next = <uint32_t*> arena.take_zeroed(self.size, sizeof(uint32_t))
        self.head = <uint32_t*> arena.take_zeroed(self.known_count, sizeof(uint32_t))
        self.best = <int*> arena.take_zeroed(self.known_count, sizeof(int))
        self.list_info_sets()

    cdef bint unroll(self) noexcept nogil:
        # Follows all lines of play through the graph. False: they do not fit.
        cdef uint32_t at = ROOT
        self.known_count = NONE + 1
        self.size = ROOT + 1
        memset(&self.histories[ROOT], 0, sizeof(History))
        self.histories[ROOT].node = self.graph.children[self.graph.nodes[BEFORE_DEAL].first]
        self.add_views(&self.histories[ROOT])
        while at < self.size:
            if not self.expand(at):
                return False
            at += 1
        return True

    cdef bint expand(self, uint32_t at) noexcept nogil:
        # Adds the children of a history. False: they do not fit.
        cdef History* history = &self.histories[at]
        cdef History* child
        cdef const Node* node = self.node_of(history)
        cdef uint32_t i
        cdef int seat
        if self.size + node.count > self.capacity:
            return False
        for seat in range(SEATS):
            if node.info_sets[seat] != NONE:
                history.info_sets[seat] = self.find_or_add_known(
                    history.observed[seat], node.info_sets[seat], at)
                if history.info_sets[seat] == NONE:
                    return False
        history.first = self.size
        self.size += node.count
        for i in range(node.count):
            child = &self.histories[history.first + i]
            child[0] = history[0]
            child.node = self.graph.children[node.first + i]
            for seat in range(SEATS):
                child.info_sets[seat] = NONE
                if history.info_sets[seat] != NONE:
                    child.observed[seat] = mix(child.observed[seat], self.choice(history, i, seat))
            self.add_views(child)
        return True

    cdef const Node* node_of(self, const History* history) noexcept nogil:
        return &self.graph.nodes[history.node]

    cdef uint32_t choice(self, const History* history, uint32_t i, int seat) noexcept nogil:
        # Which of its actions a seat that decides takes on the way to the i-th child.
        cdef uint32_t own = self.known[history.info_sets[seat]].count
        return i // (self.node_of(history).count // own) if seat == 0 else i % own

    cdef void add_views(self, History* history) noexcept nogil:
        # Lets the seats observe what they are shown, unless chance or nobody is to act.
        cdef const Node* node = self.node_of(history)
        cdef State state
        cdef View view
        cdef int seat
        if node.kind == CHANCE or node.kind == TERMINAL:
            return
        self.graph.load_state(node, &state)
        for seat in range(SEATS):
            self.graph.game.view(&state, seat, &view)
            history.observed[seat] = mix(
                history.observed[seat], hash_words(view.words, VIEW_WORDS))

    cdef uint32_t find_or_add_known(self, uint64_t key, uint32_t in_graph,
                                    uint32_t example) noexcept nogil:
        # NONE: it does not fit.
        cdef uint32_t at = self.known_index.find(key)
        cdef Known* known
        if at != NONE:
            return at
        at = self.known_count
        known = &self.known[at]
        known.key = key
        known.in_graph = in_graph
        known.first = self.action_count
        known.count = self.graph.info_sets[in_graph].count
        known.example = example
        if at == self.capacity - 1 or not self.known_index.insert(at):
            return NONE
        self.known_count += 1
        self.action_count += known.count
        return at

    cdef void list_info_sets(self):
        cdef Arena arena = Arena()
        cdef const History* history
        cdef const Known* known
        cdef Position position
        cdef uint32_t at, i, child
        cdef int seat
        # By history and seat: the last action of the seat before the history, from 1 on.
        cdef uint32_t* last = <uint32_t*> arena.take_zeroed(
            SEATS * self.size, sizeof(uint32_t))
        for at in range(ROOT, self.size):
            history = &self.histories[at]
            for i in range(self.node_of(history).count):
                child = history.first + i
                for seat in range(SEATS):
                    last[SEATS * child + seat] = last[SEATS * at + seat]
                    if history.info_sets[seat] != NONE:
                        last[SEATS * child + seat] = (self.known[history.info_sets[seat]].first
                                                      + self.choice(history, i, seat) + 1)
        self.info_sets = []
        for i in range(1, self.known_count):
            known = &self.known[i]
            seat = self.graph.info_sets[known.in_graph].seat
            position = Position(self.game)
            self.graph.load_state(self.node_of(&self.histories[known.example]), &position.state)
            at = self.graph.info_sets[known.in_graph].first
            actions = tuple([self.graph.actions[at + n] for n in range(known.count)])
            self.info_sets.append(
                InfoSet(position.view(seat), actions, known.first,
                        <int> last[SEATS * known.example + seat] - 1))

    @property
    def history_count(self):
        """How many histories there are: lines of play, and the positions on the way."""
        return self.size - ROOT

    def uniform_strategy(self):
        """The strategy that chooses uniformly."""
        strategy = []
        for info_set in self.info_sets:
            strategy += [1.0 / len(info_set.actions)] * len(info_set.actions)
        return strategy

    def collect_strategy(self, play):
        """The strategy of a player: `play(info_set)` gives the probabilities of its actions.

        A player is not asked about an information set that its own strategy never reaches, whatever
        the opponent does; nothing depends on what it would do there.
        """
        strategy = []
        reached = {-1}
        for info_set in self.info_sets:
            if info_set.parent in reached:
                answer = play(info_set)
                reached.update(info_set.first + i for i, p in enumerate(answer) if p > 0)
            else:
                answer = [1.0 / len(info_set.actions)] * len(info_set.actions)
            strategy += answer
        return strategy

    # Best responses

    def best_response_values(self, strategy):
        """The score, from 0 to 1, of each seat's best response to the strategy of the other."""
        cdef size_t i
        for i in range(self.action_count):
            self.strategy[i] = strategy[i]
        return tuple([self.best_response_value(seat) for seat in range(SEATS)])

    def nash_conv(self, strategy):
        """How much both seats together gain, in scores, if each plays its best response instead.

        The scores of the two seats add up to 1, so this is what the best responses score, less 1.
        """
        return sum(self.best_response_values(strategy)) - 1

    cdef double best_response_value(self, int seat) noexcept nogil:
        cdef size_t at
        cdef uint32_t known
        memset(self.has_value, 0, self.size * sizeof(bint))
        memset(self.reach, 0, self.size * sizeof(double))
        memset(self.head, 0, self.known_count * sizeof(uint32_t))
        for at in range(self.known_count):
            self.best[at] = -1
        self.reach[ROOT] = 1
        # The number of a history is larger than that of its parent.
        for at in range(ROOT, self.size):
            known = self.histories[at].info_sets[seat]
            if known != NONE:
                self.next[at] = self.head[known]
                self.head[known] = at
            self.spread_reach(at, seat)
        return self.value_of(ROOT, seat)

    cdef double probability(self, const History* history, uint32_t i, int seat) noexcept nogil:
        # With which chance, or the opponent of a seat, takes the i-th child.
        cdef const Node* node = self.node_of(history)
        if node.kind == CHANCE:
            return self.graph.probabilities[node.first + i]
        if history.info_sets[1 - seat] == NONE:
            return 1
        return self.strategy[self.known[history.info_sets[1 - seat]].first
                             + self.choice(history, i, 1 - seat)]

    cdef void spread_reach(self, size_t at, int seat) noexcept nogil:
        cdef const History* history = &self.histories[at]
        cdef uint32_t i
        for i in range(self.node_of(history).count):
            self.reach[history.first + i] = self.reach[at] * self.probability(history, i, seat)

    cdef double value_of(self, uint32_t at, int seat) noexcept nogil:
        # The score of the seat from a history on by its best response.
        cdef const History* history = &self.histories[at]
        cdef const Node* node = self.node_of(history)
        cdef uint32_t i
        cdef double probability, value = 0
        if node.kind == TERMINAL:
            return node.score if seat == 0 else 1 - node.score
        if self.has_value[at]:
            return self.value[at]
        if history.info_sets[seat] != NONE:
            i = self.best_action(history.info_sets[seat], seat)
            value = self.action_value(history, i, seat)
        else:
            for i in range(node.count):
                probability = self.probability(history, i, seat)
                if probability > 0:
                    value += probability * self.value_of(history.first + i, seat)
        self.value[at] = value
        self.has_value[at] = True
        return value

    cdef double action_value(self, const History* history, uint32_t action,
                             int seat) noexcept nogil:
        # The same from an action of the seat on.
        cdef uint32_t child
        cdef double probability, value = 0
        for child in range(self.node_of(history).count):
            if self.choice(history, child, seat) == action:
                probability = self.probability(history, child, seat)
                if probability > 0:
                    value += probability * self.value_of(history.first + child, seat)
        return value

    cdef int best_action(self, uint32_t at, int seat) noexcept nogil:
        cdef uint32_t action, member
        cdef double value, highest = -1
        if self.best[at] >= 0:
            return self.best[at]
        for action in range(self.known[at].count):
            value = 0
            member = self.head[at]
            while member != NONE:
                if self.reach[member] > 0:
                    value += self.reach[member] * self.action_value(
                        &self.histories[member], action, seat)
                member = self.next[member]
            if value > highest:
                highest = value
                self.best[at] = action
        return self.best[at]
