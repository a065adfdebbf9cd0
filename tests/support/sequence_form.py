"""A naive solver for late positions: a sequence-form linear program over all lines of play.

D. Koller, N. Megiddo, B. von Stengel, "Fast Algorithms for Finding Randomized Strategies in
Game Trees", STOC 1994.
"""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, hstack

CHANCE_SEEDS = range(4)


class TooLargeError(Exception):
    """The rest of a match has more positions than allowed."""


class LeftToChanceError(Exception):
    """A joint action can lead to several positions, which this solver does not support."""


class Side:
    """The information sets and sequences of one seat, with the sequence before each set."""

    def __init__(self):
        self.sets = {}
        self.parents = []
        self.sequences = {(): 0}

    def enter(self, knows, sequence):
        """The index of the information set in which a seat knows this, added if it is new."""
        if knows not in self.sets:
            self.sets[knows] = len(self.sets)
            self.parents.append(sequence)
        return self.sets[knows]

    def extend(self, knows, action):
        """The index of the sequence that ends with this action, added if it is new."""
        return self.sequences.setdefault((self.sets[knows], action), len(self.sequences))

    def constraints(self):
        """The constraints of a realization plan: the matrix and the right-hand side."""
        rows, columns, values = [0], [0], [1]
        for number, parent in enumerate(self.parents):
            rows.append(number + 1)
            columns.append(parent)
            values.append(-1)
        for key, sequence in self.sequences.items():
            if key:
                rows.append(key[0] + 1)
                columns.append(sequence)
                values.append(1)
        shape = (len(self.sets) + 1, len(self.sequences))
        right = np.zeros(shape[0])
        right[0] = 1
        return coo_matrix((values, (rows, columns)), shape=shape).tocsr(), right


class Rest:
    """The rest of a match, as a zero-sum game that begins with a draw among the worlds of a view.

    `worlds` maps each world to its probability. More than `most` positions raise TooLargeError.
    """

    def __init__(self, worlds, seat, most):
        self.seat = seat
        self.sides = Side(), Side()
        self.left = most
        self.payoffs = {}
        self.root = None
        for world, chance in worlds.items():
            self.walk(world, chance, [(), ()], [0, 0])
        rows, columns = zip(*self.payoffs, strict=True)
        shape = tuple(len(side.sequences) for side in self.sides)
        self.matrix = coo_matrix((list(self.payoffs.values()), (rows, columns)), shape=shape)

    def walk(self, position, chance, past, sequences):
        """Adds all lines of play from a position.

        `chance` is the probability of the world, `past` what each seat has seen and done so far,
        and `sequences` the index of each side's sequence.
        """
        self.left -= 1
        if self.left < 0:
            raise TooLargeError
        if position.over:
            cell = tuple(sequences)
            self.payoffs[cell] = self.payoffs.get(cell, 0) + chance * position.scores[self.seat]
            return
        choices, knows = [(None,), (None,)], list(past)
        for seat in position.deciders:
            side = self.sides[seat != self.seat]
            choices[seat] = position.legal(seat)
            knows[seat] = (*past[seat], hash(bytes(position.view(seat))))
            side.enter(knows[seat], sequences[seat != self.seat])
        if self.root is None:
            self.root = self.sides[0].sets[knows[self.seat]]
        for first in choices[0]:
            for second in choices[1]:
                joint = {0: first, 1: second}
                after_past, after = list(past), list(sequences)
                for seat in position.deciders:
                    side = self.sides[seat != self.seat]
                    after[seat != self.seat] = side.extend(knows[seat], joint[seat])
                    after_past[seat] = (*knows[seat], joint[seat])
                joint = {seat: joint[seat] for seat in position.deciders}
                self.walk(step(position, joint), chance, after_past, after)

    def value(self, shares=None):
        """The expected score of the seat in an equilibrium.

        `shares` fixes the probabilities of its actions at the root.
        """
        mine, theirs = self.sides
        plan, plan_right = mine.constraints()
        reply, reply_right = theirs.constraints()
        # The variables are the plan and q, the values of the opponent's information sets. The goal
        # is to maximize q at the opponent's root.
        goal = np.concatenate([np.zeros(plan.shape[1]), -reply_right])
        least = hstack([-self.matrix.T, reply.T]).tocsr()
        equal = hstack([plan, coo_matrix((plan.shape[0], reply.shape[0]))]).tocsr()
        bounds = [(0, None)] * plan.shape[1] + [(None, None)] * reply.shape[0]
        for action, share in (shares or {}).items():
            bounds[mine.sequences[self.root, action]] = (share, share)
        solved = linprog(
            goal, A_ub=least, b_ub=np.zeros(least.shape[0]), A_eq=equal, b_eq=plan_right,
            bounds=bounds, method="highs",
        )  # fmt: skip
        assert solved.status == 0, solved.message
        return -solved.fun


def step(position, joint):
    """The position after a joint action. LeftToChanceError if chance decides between several."""
    results = set()
    for seed in CHANCE_SEEDS:
        after = position.copy()
        after.apply(joint, seed)
        results.add(after)
    if len(results) > 1:
        raise LeftToChanceError
    return after
