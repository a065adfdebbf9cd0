"""Sensible placements in Skystones, and what a match is worth at the start of a round.

A card goes where it takes most; of such squares, to one where its weak edges touch the border or
cards that lie already, so that it is not taken in turn. A playout ends with the round, for how the
later ones go hardly depends on it. They are a random walk of the lead, with a drift towards the
stronger piles and towards who starts.
"""

from libc.math cimport erf, sqrt

from engine.chance cimport Rng, rng_below
from engine.game cimport Action, State
from engine.integers cimport uint8_t
from engine.playout_policy cimport PlayoutPolicy
from engine.skystones.rules cimport Skystones
from engine.skystones.state cimport (
    BLOCKED, EDGES, KIND_SHIFT, MAX_SQUARES, MAX_TYPES, OPPOSITE, PICK, PLACE_CARD,
    SkystonesState, accepts,
)


cdef int TAKEN = 8               # For each card taken.
cdef int NOISE = 4
cdef int* WEAK = [5, 3, 1, 0, 0, 0, 0, 0, 0, 0]      # An edge that lies open, by its points.

# Of the later rounds, fitted to 2,799 starts of rounds in 700 matches that the policy played against
# itself: what a point of a pile's totals and the start are worth, in points of the match, and the
# variance for each card of a pile beyond those that are never placed.
cdef double STRENGTH = 0.05
cdef double START = 0.23
cdef double VARIANCE = 0.145
cdef int LEFT = 4


cdef class SkystonesPlayoutPolicy(PlayoutPolicy):
    """Plays for what is taken now, to the end of the round."""

    cdef Skystones rules

    def __init__(self, game):
        super().__init__(game)
        self.rules = game
        self.horizon = 1

    cdef int stage(self, const State* state) noexcept nogil:
        return (<const SkystonesState*> state).common.round

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef Action actions[MAX_TYPES]
        if stones.common.phase == PICK:
            return actions[rng_below(rng, self.rules.legal_picks(stones, seat, actions))]
        return self.place(stones, seat, rng)

    cdef Action place(self, const SkystonesState* stones, int seat, Rng* rng) noexcept nogil:
        cdef const uint8_t* hand = stones.hands[seat]
        cdef uint8_t squares[MAX_SQUARES]
        # What an edge of a card on such a square must be above to take; -1: it lies open.
        cdef int facing[MAX_SQUARES][EDGES]
        cdef int n = 0, i, square, other, edge, card, worth, points
        cdef int best = -1000
        cdef Action action = 0
        for square in range(self.rules.squares):
            if stones.common.board[square].card or stones.common.board[square].field == BLOCKED:
                continue
            squares[n] = square
            for edge in range(EDGES):
                other = self.rules.beside[square][edge]
                facing[n][edge] = 100
                if other == MAX_SQUARES:
                    continue
                if not stones.common.board[other].card:
                    if stones.common.board[other].field != BLOCKED:
                        facing[n][edge] = -1
                elif stones.common.board[other].owner != seat:
                    facing[n][edge] = self.rules.edges[
                        stones.common.board[other].card - 1][edge ^ OPPOSITE]
            n += 1
        for card in range(self.rules.types):
            if not hand[card]:
                continue
            for i in range(n):
                if not accepts(stones.common.board[squares[i]].field, self.rules.elements[card]):
                    continue
                worth = rng_below(rng, NOISE)
                for edge in range(EDGES):
                    points = self.rules.edges[card][edge]
                    if facing[i][edge] < 0:
                        worth -= WEAK[points]
                    elif points > facing[i][edge]:
                        worth += TAKEN
                if worth > best:
                    best = worth
                    action = (<Action> PLACE_CARD << KIND_SHIFT | <Action> card << 8
                              | squares[i])
        return action

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef int card
        cdef double lead = (<int> stones.common.sides[0].points
                            - <int> stones.common.sides[1].points)
        cdef double strength = 0
        for card in range(self.rules.types):
            strength += self.rules.totals[card] * (
                <int> stones.piles[0][card] - <int> stones.piles[1][card])
        cdef int left = (stones.common.sides[0].pile_size + stones.common.sides[1].pile_size) // 2
        cdef double width = 1 / sqrt(2 * VARIANCE * max(1, left - LEFT))
        cdef double win, loss
        lead += STRENGTH * strength + (START if stones.common.starter == 0 else -START)
        win = 0.5 * (1 + erf((lead - 0.5) * width))
        loss = 0.5 * (1 - erf((lead + 0.5) * width))
        draw[0] = 1 - win - loss
        return win + draw[0] / 2
