"""What a strategy is worth in a small game, exactly, over all of its lines of play.

A `GameTree` holds them all. A strategy is a probability for each action of each information set,
one after the other, in the order of `GameTree.infos`. An information set is all that its seat has
seen and done, so that whoever plays best against a strategy forgets nothing, whatever the views of
the game remember.
"""

from typing import NamedTuple

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from ai.game_tree cimport (
    CHANCE, DECISION, END, NO_ROOM, NONE, ROOT, UNSEEN, Histories, History, Info,
)
from engine.game cimport SEATS

from engine.position import Position


class InfoSet(NamedTuple):
    """What a seat knows when it must decide.

    A strategy has the probabilities of its `actions` from `first` on. `after` is the place of the
    last action of the same seat before, -1 if this is its first.
    """

    view: object
    actions: tuple
    first: int
    after: int


cdef class GameTree:
    """All lines of play of a game; raises MemoryError if they do not fit in `memory` bytes."""

    cdef Histories all
    cdef readonly object game
    cdef readonly list infos
    # For one strategy of both seats:
    cdef double* strategy      # By action.
    cdef double* reach         # By history: the probability that chance and the one seat go there.
    cdef double* value         # By history,
    cdef bint* valued          # once it is known.
    cdef int* best             # By information set: the best action, or -1 while it is not known.
    cdef uint32_t* next        # By history: the next one in its information set.
    cdef uint32_t* head        # By information set: the last history in it.
    cdef double* regret        # For `cfr_plus`.

    def __cinit__(self, game, size_t memory=1 << 31):
        cdef size_t at = ROOT
        cdef Histories all = Histories(game, memory, True)
        self.all = all
        self.game = game
        while at < all.history_count:
            if all.histories[at].kind == UNSEEN:
                all.expand(at)
            if all.histories[at].kind == NO_ROOM:
                raise MemoryError(f"{game.id}: too many lines of play under this ruleset")
            at += 1
        self.strategy = <double*> calloc(all.action_count + 1, sizeof(double))
        self.regret = <double*> calloc(all.action_count + 1, sizeof(double))
        self.reach = <double*> calloc(all.history_count, sizeof(double))
        self.value = <double*> calloc(all.history_count, sizeof(double))
        self.valued = <bint*> calloc(all.history_count, sizeof(bint))
        self.next = <uint32_t*> calloc(all.history_count, sizeof(uint32_t))
        self.head = <uint32_t*> calloc(all.info_count, sizeof(uint32_t))
        self.best = <int*> calloc(all.info_count, sizeof(int))
        if (self.strategy == NULL or self.regret == NULL or self.reach == NULL
                or self.value == NULL or self.valued == NULL or self.next == NULL
                or self.head == NULL or self.best == NULL):
            raise MemoryError
        self.list_infos()

    def __dealloc__(self):
        free(self.strategy)
        free(self.regret)
        free(self.reach)
        free(self.value)
        free(self.valued)
        free(self.next)
        free(self.head)
        free(self.best)

    cdef void list_infos(self):
        cdef Histories all = self.all
        cdef History* history
        cdef Info* info
        cdef uint32_t at, i, row
        cdef int seat
        # The last action of a seat before a history, from 1 on.
        cdef uint32_t* last = <uint32_t*> calloc(SEATS * all.history_count, sizeof(uint32_t))
        if last == NULL:
            raise MemoryError
        for at in range(ROOT, all.history_count):
            history = &all.histories[at]
            if history.kind == END:
                continue
            for i in range(history.count):
                for seat in range(SEATS):
                    last[SEATS * (history.first + i) + seat] = last[SEATS * at + seat]
                    if history.infos[seat] != NONE:
                        info = &all.infos[history.infos[seat]]
                        row = i // (history.count // info.count) if seat == 0 else i % info.count
                        last[SEATS * (history.first + i) + seat] = info.first + row + 1
        self.infos = []
        for i in range(1, all.info_count):
            info = &all.infos[i]
            position = Position.from_bytes(all.game, all.state(info.example))
            actions = tuple([all.actions[info.first + at] for at in range(info.count)])
            self.infos.append(InfoSet(position.view(info.seat), actions, info.first,
                                      <int> last[SEATS * info.example + info.seat] - 1))
        free(last)

    @property
    def histories(self):
        """How many lines of play there are, those on the way included."""
        return self.all.history_count - 1

    def uniform(self):
        """The strategy that chooses uniformly."""
        strategy = []
        for info in self.infos:
            strategy += [1.0 / len(info.actions)] * len(info.actions)
        return strategy

    # Best responses

    def gains(self, strategy):
        """What each seat gets at best against the strategy of the other: its score, 0 to 1."""
        cdef size_t i
        for i in range(self.all.action_count):
            self.strategy[i] = strategy[i]
        return tuple([self.best_response(seat) for seat in range(SEATS)])

    def nash_conv(self, strategy):
        """How much the seats together gain at most by leaving the strategy alone, in scores.

        In a game whose two scores add up to 1 that is what they get at best, less 1.
        """
        return sum(self.gains(strategy)) - 1

    cdef double best_response(self, int seat) noexcept nogil:
        cdef size_t at
        cdef uint32_t info
        cdef History* history
        memset(self.valued, 0, self.all.history_count * sizeof(bint))
        memset(self.reach, 0, self.all.history_count * sizeof(double))
        memset(self.head, 0, self.all.info_count * sizeof(uint32_t))
        for at in range(self.all.info_count):
            self.best[at] = -1
        self.reach[ROOT] = 1
        # A history comes after the one that it follows.
        for at in range(ROOT, self.all.history_count):
            history = &self.all.histories[at]
            if history.kind == DECISION and history.infos[seat] != NONE:
                info = history.infos[seat]
                self.next[at] = self.head[info]
                self.head[info] = at
            self.pass_reach(at, seat)
        return self.worth(ROOT, seat)

    cdef double odds(self, const History* history, uint32_t i, int seat) noexcept nogil:
        # With which probability chance, or the other of a seat, takes the i-th link.
        cdef Info* info
        if history.kind == CHANCE:
            return self.all.chance[history.first + i]
        if history.infos[1 - seat] == NONE:
            return 1
        info = &self.all.infos[history.infos[1 - seat]]
        if seat == 0:
            return self.strategy[info.first + i % info.count]
        return self.strategy[info.first + i // (history.count // info.count)]

    cdef void pass_reach(self, size_t at, int seat) noexcept nogil:
        cdef History* history = &self.all.histories[at]
        cdef uint32_t i
        if history.kind == DECISION or history.kind == CHANCE:
            for i in range(history.count):
                self.reach[history.first + i] = (
                    self.reach[at] * self.odds(history, i, seat))

    cdef double worth(self, uint32_t at, int seat) noexcept nogil:
        # What the seat gets at best from a history on.
        cdef History* history = &self.all.histories[at]
        cdef uint32_t i
        cdef double odds, value = 0
        if history.kind == END:
            return history.score if seat == 0 else 1 - history.score
        if self.valued[at]:
            return self.value[at]
        if history.kind == DECISION and history.infos[seat] != NONE:
            i = self.best_action(history.infos[seat], seat)
            value = self.worth_of(history, i, seat)
        else:
            for i in range(history.count):
                odds = self.odds(history, i, seat)
                if odds > 0:
                    value += odds * self.worth(history.first + i, seat)
        self.value[at] = value
        self.valued[at] = True
        return value

    cdef double worth_of(self, const History* history, uint32_t action, int seat) noexcept nogil:
        # What an action of the seat is worth there.
        cdef uint32_t own = self.all.infos[history.infos[seat]].count
        cdef uint32_t others = history.count // own
        cdef uint32_t i, link
        cdef double odds, value = 0
        for i in range(others):
            link = action * others + i if seat == 0 else i * own + action
            odds = self.odds(history, link, seat)
            if odds > 0:
                value += odds * self.worth(history.first + link, seat)
        return value

    cdef int best_action(self, uint32_t at, int seat) noexcept nogil:
        cdef Info* info = &self.all.infos[at]
        cdef uint32_t action, member
        cdef double value, most = -1
        if self.best[at] >= 0:
            return self.best[at]
        for action in range(info.count):
            value = 0
            member = self.head[at]
            while member != NONE:
                if self.reach[member] > 0:
                    value += self.reach[member] * self.worth_of(
                        &self.all.histories[member], action, seat)
                member = self.next[member]
            if value > most:
                most = value
                self.best[at] = action
        return self.best[at]

    def strategy_of(self, play):
        """The strategy of a player: `play(info)` gives the probabilities of its actions.

        A player is not asked for what it cannot come to by its own strategy, whatever the other
        does; nothing depends on that.
        """
        strategy = []
        reached = {-1}
        for info in self.infos:
            if info.after in reached:
                answer = play(info)
                reached.update(info.first + i for i, p in enumerate(answer) if p > 0)
            else:
                answer = [1.0 / len(info.actions)] * len(info.actions)
            strategy += answer
        return strategy

    # The equilibrium

    def cfr_plus(self, int iterations):
        """A strategy close to an equilibrium: counterfactual regret minimisation over all lines.

        O. Tammelin, "Solving Large Imperfect Information Games Using CFR+", 2014.
        """
        cdef size_t i, n = self.all.action_count
        cdef int t, seat
        cdef double total
        cdef double* average = <double*> calloc(n + 1, sizeof(double))
        if average == NULL:
            raise MemoryError
        memset(self.regret, 0, n * sizeof(double))
        with nogil:
            for t in range(1, iterations + 1):
                for seat in range(SEATS):
                    self.match_regrets()
                    self.solve(ROOT, seat, 1, 1, t, average)
                    for i in range(n):
                        if self.regret[i] < 0:
                            self.regret[i] = 0
        strategy = []
        for info in self.infos:
            weights = [average[info.first + i] for i in range(len(info.actions))]
            total = sum(weights)
            strategy += [weight / total if total else 1.0 / len(weights) for weight in weights]
        free(average)
        return strategy

    cdef void match_regrets(self) noexcept nogil:
        cdef Info* info
        cdef size_t at
        cdef uint32_t i
        cdef double positive
        for at in range(1, self.all.info_count):
            info = &self.all.infos[at]
            positive = 0
            for i in range(info.first, info.first + info.count):
                positive += self.regret[i]
            for i in range(info.first, info.first + info.count):
                self.strategy[i] = self.regret[i] / positive if positive > 0 else 1.0 / info.count

    cdef double solve(self, uint32_t at, int seat, double own, double others, int weight,
                      double* average) noexcept nogil:
        # The score of the seat from a history on, as both play; learns what it regrets.
        cdef History* history = &self.all.histories[at]
        cdef Info* info
        cdef uint32_t i, j, rest, link
        cdef double odds, value = 0, one
        if history.kind == END:
            return history.score if seat == 0 else 1 - history.score
        if history.kind == CHANCE or history.infos[seat] == NONE:
            for i in range(history.count):
                odds = self.odds(history, i, seat)
                if odds > 0 or own > 0:
                    value += odds * self.solve(
                        history.first + i, seat, own, others * odds, weight,
                        average)
            return value
        info = &self.all.infos[history.infos[seat]]
        rest = history.count // info.count
        for i in range(info.count):
            one = 0
            for j in range(rest):
                link = i * rest + j if seat == 0 else j * info.count + i
                odds = self.odds(history, link, seat)
                one += odds * self.solve(
                    history.first + link, seat, own * self.strategy[info.first + i],
                    others * odds, weight, average)
            self.regret[info.first + i] += others * one
            value += self.strategy[info.first + i] * one
        for i in range(info.count):
            self.regret[info.first + i] -= others * value
            average[info.first + i] += weight * own * self.strategy[info.first + i]
        return value
