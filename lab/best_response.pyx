"""What a strategy is worth in a small game, exactly, over all of its lines of play.

An `ExtensiveGame` holds the whole game tree. A strategy is a list with a probability for each
action of each information set, one information set after the other, in the order of
`ExtensiveGame.info_sets`. An information set is all that its seat has seen and done (perfect
recall), so that a best response forgets nothing, whatever the views of the game remember.
"""

from typing import NamedTuple

from libc.stdint cimport uint32_t
from libc.string cimport memset

from ai.memory cimport Arena
from engine.faults cimport raise_fault
from engine.game cimport SEATS
from lab.game_tree cimport (
    CHANCE, DECISION, NO_MEMORY, NONE, ROOT, TERMINAL, UNEXPANDED, GameTree, History,
)
from lab.game_tree cimport InfoSet as TreeInfoSet

from engine.position import Position


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

    cdef GameTree tree
    cdef readonly object game
    cdef readonly list info_sets
    cdef Arena arena
    # For one strategy of both seats:
    cdef double* strategy      # By action.
    cdef double* reach         # By history: the probability that chance and the opponent go there.
    cdef double* value         # By history,
    cdef bint* has_value       # once it is known.
    cdef int* best             # By information set: the best action, or -1 while it is not known.
    cdef uint32_t* next        # By history: the next one in its information set.
    cdef uint32_t* head        # By information set: the last history in it.

    def __cinit__(self, game, size_t memory=1 << 31):
        cdef size_t at = ROOT
        cdef GameTree tree = GameTree(game, memory)
        cdef Arena arena = Arena()
        self.tree = tree
        self.game = game
        self.arena = arena
        while at < tree.history_count:
            if tree.histories[at].kind == UNEXPANDED:
                tree.expand(at)
                raise_fault()
            if tree.histories[at].kind == NO_MEMORY:
                raise MemoryError(f"{game.id}: too many lines of play under this ruleset")
            at += 1
        self.strategy = <double*> arena.take_zeroed(tree.action_count + 1, sizeof(double))
        self.reach = <double*> arena.take_zeroed(tree.history_count, sizeof(double))
        self.value = <double*> arena.take_zeroed(tree.history_count, sizeof(double))
        self.has_value = <bint*> arena.take_zeroed(tree.history_count, sizeof(bint))
        self.next = <uint32_t*> arena.take_zeroed(tree.history_count, sizeof(uint32_t))
        self.head = <uint32_t*> arena.take_zeroed(tree.info_set_count, sizeof(uint32_t))
        self.best = <int*> arena.take_zeroed(tree.info_set_count, sizeof(int))
        self.list_info_sets()

    cdef void list_info_sets(self):
        cdef Arena arena = Arena()
        cdef GameTree tree = self.tree
        cdef History* history
        cdef TreeInfoSet* info_set
        cdef uint32_t at, i, row
        cdef int seat
        # By history and seat: the last action of the seat before the history, from 1 on.
        cdef uint32_t* last = <uint32_t*> arena.take_zeroed(
            SEATS * tree.history_count, sizeof(uint32_t))
        for at in range(ROOT, tree.history_count):
            history = &tree.histories[at]
            if history.kind == TERMINAL:
                continue
            for i in range(history.count):
                for seat in range(SEATS):
                    last[SEATS * (history.first + i) + seat] = last[SEATS * at + seat]
                    if history.info_sets[seat] != NONE:
                        info_set = &tree.info_sets[history.info_sets[seat]]
                        row = (i // (history.count // info_set.count) if seat == 0
                               else i % info_set.count)
                        last[SEATS * (history.first + i) + seat] = info_set.first + row + 1
        self.info_sets = []
        for i in range(1, tree.info_set_count):
            info_set = &tree.info_sets[i]
            position = Position.from_bytes(tree.game, tree.state_bytes(info_set.example))
            actions = tuple([tree.actions[info_set.first + at] for at in range(info_set.count)])
            self.info_sets.append(
                InfoSet(position.view(info_set.seat), actions, info_set.first,
                        <int> last[SEATS * info_set.example + info_set.seat] - 1))

    @property
    def history_count(self):
        """How many histories there are: lines of play, and the positions on the way."""
        return self.tree.history_count - 1

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
        for i in range(self.tree.action_count):
            self.strategy[i] = strategy[i]
        return tuple([self.best_response_value(seat) for seat in range(SEATS)])

    def nash_conv(self, strategy):
        """How much both seats together gain, in scores, if each plays its best response instead.

        The scores of the two seats add up to 1, so this is what the best responses score, less 1.
        """
        return sum(self.best_response_values(strategy)) - 1

    cdef double best_response_value(self, int seat) noexcept nogil:
        cdef size_t at
        cdef uint32_t info_set
        cdef History* history
        memset(self.has_value, 0, self.tree.history_count * sizeof(bint))
        memset(self.reach, 0, self.tree.history_count * sizeof(double))
        memset(self.head, 0, self.tree.info_set_count * sizeof(uint32_t))
        for at in range(self.tree.info_set_count):
            self.best[at] = -1
        self.reach[ROOT] = 1
        # The number of a history is larger than that of its parent.
        for at in range(ROOT, self.tree.history_count):
            history = &self.tree.histories[at]
            if history.kind == DECISION and history.info_sets[seat] != NONE:
                info_set = history.info_sets[seat]
                self.next[at] = self.head[info_set]
                self.head[info_set] = at
            self.spread_reach(at, seat)
        return self.value_of(ROOT, seat)

    cdef double probability(self, const History* history, uint32_t i, int seat) noexcept nogil:
        # With which chance, or the opponent of a seat, takes the i-th child.
        cdef TreeInfoSet* info_set
        if history.kind == CHANCE:
            return self.tree.probabilities[history.first + i]
        if history.info_sets[1 - seat] == NONE:
            return 1
        info_set = &self.tree.info_sets[history.info_sets[1 - seat]]
        if seat == 0:
            return self.strategy[info_set.first + i % info_set.count]
        return self.strategy[info_set.first + i // (history.count // info_set.count)]

    cdef void spread_reach(self, size_t at, int seat) noexcept nogil:
        cdef History* history = &self.tree.histories[at]
        cdef uint32_t i
        if history.kind == DECISION or history.kind == CHANCE:
            for i in range(history.count):
                self.reach[history.first + i] = (
                    self.reach[at] * self.probability(history, i, seat))

    cdef double value_of(self, uint32_t at, int seat) noexcept nogil:
        # The score of the seat from a history on by its best response.
        cdef History* history = &self.tree.histories[at]
        cdef uint32_t i
        cdef double probability, value = 0
        if history.kind == TERMINAL:
            return history.score if seat == 0 else 1 - history.score
        if self.has_value[at]:
            return self.value[at]
        if history.kind == DECISION and history.info_sets[seat] != NONE:
            i = self.best_action(history.info_sets[seat], seat)
            value = self.action_value(history, i, seat)
        else:
            for i in range(history.count):
                probability = self.probability(history, i, seat)
                if probability > 0:
                    value += probability * self.value_of(history.first + i, seat)
        self.value[at] = value
        self.has_value[at] = True
        return value

    cdef double action_value(self, const History* history, uint32_t action,
                             int seat) noexcept nogil:
        # The same from an action of the seat on.
        cdef uint32_t own = self.tree.info_sets[history.info_sets[seat]].count
        cdef uint32_t others = history.count // own
        cdef uint32_t i, child
        cdef double probability, value = 0
        for i in range(others):
            child = action * others + i if seat == 0 else i * own + action
            probability = self.probability(history, child, seat)
            if probability > 0:
                value += probability * self.value_of(history.first + child, seat)
        return value

    cdef int best_action(self, uint32_t at, int seat) noexcept nogil:
        cdef TreeInfoSet* info_set = &self.tree.info_sets[at]
        cdef uint32_t action, member
        cdef double value, highest = -1
        if self.best[at] >= 0:
            return self.best[at]
        for action in range(info_set.count):
            value = 0
            member = self.head[at]
            while member != NONE:
                if self.reach[member] > 0:
                    value += self.reach[member] * self.action_value(
                        &self.tree.histories[member], action, seat)
                member = self.next[member]
            if value > highest:
                highest = value
                self.best[at] = action
        return self.best[at]
