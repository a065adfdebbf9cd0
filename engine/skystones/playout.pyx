"""Sensible placements in Skystones, and an estimate of the score at the start of a round.

A card goes to a square where it takes most cards. Among such squares, it goes to one where its weak
edges touch the border or other cards, so that it is not taken in turn. A playout ends with the
round, since later rounds hardly depend on it. The lead then goes on as a random walk that drifts
towards the stronger pile and towards the seat that starts.
"""

from libc.math cimport sqrt

from engine.chance cimport Rng, rng_below
from engine.game cimport Action, State
from engine.integers cimport uint8_t
from engine.numerics cimport erf
from engine.playout_policy cimport PlayoutPolicy
from engine.skystones.rules cimport Skystones
from engine.skystones.state cimport (
    BLOCKED, EDGES, KIND_SHIFT, MAX_EDGE, MAX_SQUARES, MAX_TYPES, OPPOSITE, PICK, PLACE_CARD,
    SkystonesState, accepts,
)


# The worth of a placement: TAKEN for each card taken, less WEAK for each open edge by its points,
# plus a random number below NOISE. The values were set by hand. `python -m
# lab.fit_skystones_policy` fits whole numbers to the strategies of searches with 5,000 iterations
# and random playouts, at 960 placements, and finds TAKEN 9, NOISE 12 (the most that it tries) and
# WEAK 1 for 0 to 3 points. At 480 other placements the mean log-likelihood is then -2.015, against
# -2.303 with the values below and -2.797 for uniform play: the noise stands for all that the policy
# does not look at. The fitted values play worse, with 37.1 % (±2.3) in 800 matches against those
# below; so do NOISE 8 (42.5 % ±2.1) and no WEAK at all (41.1 % ±2.5). NOISE 2 scores 53.5 % (±1.9);
# it was not tried in the search, where noise also spreads the playouts. So the values are kept.
cdef int TAKEN = 8
cdef int NOISE = 4
cdef int* WEAK = [5, 3, 1, 0, 0, 0, 0, 0, 0, 0]

# The lead in later rounds, in points of the match: what each point of the totals of a pile is
# worth, what it is worth to start, and the variance for each card of a pile beyond the LEFT cards
# that are never placed. Fitted to 2,799 starts of rounds in 700 matches of the policy against
# itself.
cdef double STRENGTH = 0.05
cdef double START = 0.23
cdef double VARIANCE = 0.145
cdef int LEFT = 4


def constants():
    """Return TAKEN, NOISE and WEAK, for lab/fit_skystones_policy.py."""
    return TAKEN, NOISE, [WEAK[points] for points in range(MAX_EDGE + 1)]


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
        # What each edge on such a square must exceed to take a card; -1: it lies open.
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
        draw[0] = max(0.0, 1 - win - loss)
        return win + draw[0] / 2
