"""Aspects: quantities of a game that people talk about, by which a hint says why.

A game may have some in its module `aspects`. The base class, which has none, stands in for it.
"""

from engine.faults cimport raise_fault
from engine.game cimport NOBODY, Game, State
from engine.position cimport Position

from engine.parts import part

CHANCE, AMOUNT = "chance", "amount"   # The units: a probability, from 0 to 1, and any number.


cdef class Aspects:
    """The aspects of one game. This base class has none."""

    # By name: CHANCE or AMOUNT. The game's phrase `aspect.<name>` says it in words.
    units = {}

    @staticmethod
    def of(Game game not None):
        """The aspects of a game."""
        kind = part(type(game), "play.aspects", Aspects)
        if kind is Aspects:
            kind = game.stand_in("aspects") or Aspects
        return kind(game)

    def __init__(self, Game game not None):
        self.game = game
        if len(self.units) > MAX_ASPECTS or not set(self.units.values()) <= {CHANCE, AMOUNT}:
            raise TypeError(f"a game has at most {MAX_ASPECTS} aspects, each a chance or an amount")

    cdef bint follow(self, const State* begin, const State* now, int seat,
                     double* values) noexcept nogil:
        return True

    def measure(self, positions, int seat):
        """The values along the positions that follow from a decision of a seat, the first of them.

        None if they end before the horizon.
        """
        cdef double[MAX_ASPECTS] values
        cdef Position begin = positions[0]
        cdef Position now
        cdef bint reached = False
        cdef int i
        for i in range(MAX_ASPECTS):
            values[i] = 0
        for now in positions[1:]:
            reached = self.follow(&begin.state, &now.state, seat, values)
            raise_fault()
            if reached or self.game.deciders(&now.state) == NOBODY:
                return dict(zip(self.units, [values[i] for i in range(len(self.units))]))
        return None
