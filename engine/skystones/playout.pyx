"""Sensible placements in Skystones, and an estimate of the score at the start of a round.

A card goes to a square where it takes most cards. Among such squares, it goes to one where its weak
edges touch the border or other cards, so that it is not taken in turn. A playout ends with the
round, since later rounds hardly depend on it. The lead then goes on as a random walk that drifts
towards the stronger pile and towards the seat that starts.
"""

from libc.math cimport sqrt

from engine.chance cimport Rng, rng_next
from engine.game cimport Action, State
from engine.integers cimport uint64_t, uint8_t
from engine.numerics cimport erf
from engine.playout_policy cimport PlayoutPolicy
from engine.skystones.board cimport (
    LANE, LANE_BITS, LANE_ONES, LANE_TOPS, MOST, Board, across, face, set_up_board,
)
from engine.skystones.compact cimport (
    Compact, can_place, compact_of, end_round, pick_hands, place, total_of,
)
from engine.skystones.rules cimport Skystones
from engine.skystones.stack cimport Stack, draw_bit, lowest_bit, pickable, stack_up, types_in
from engine.skystones.state cimport (
    EDGES, KIND_SHIFT, MAX_CARDS, MAX_EDGE, MAX_HAND, MAX_TYPES, OVER, PICK, PICK_CARD,
    PLACE_CARD, Side, SkystonesState,
)


cdef enum:
    BASE = 21

# The worth of a placement: TAKEN for each card taken, less WEAK for each open edge by its points,
# plus a random number below NOISE. The values were set by hand. `python -m
# lab.fit_skystones_policy` fits whole numbers to the strategies of searches with 5,000 iterations
# and random playouts, at 960 placements, and finds TAKEN 9, NOISE 12 (the most that it tries) and
# WEAK 1 for 0 to 3 points. At 480 other placements the mean log-likelihood is then -2.015, against
# -2.303 with the values below and -2.797 for uniform play: the noise stands for all that the policy
# does not look at. The fitted values play worse, with 37.1 % (±2.3) in 800 matches against those
# below; so do NOISE 8 (42.5 % ±2.1) and no WEAK at all (41.1 % ±2.5). NOISE 2 scores 53.5 % (±1.9);
# it was not tried in the search, where noise also spreads the playouts. So the values are kept.
cdef enum:
    TAKEN = 8
    NOISE = 4                    # A power of two.
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


# The normal distribution, at points of a distance of 1 / POINTS_PER_UNIT: the probability that a
# random number is positive whose mean is x times the square root of 2 of its standard deviation.
cdef enum:
    POINTS_PER_UNIT = 64
    LAST_POINT = 6
cdef double[LAST_POINT * POINTS_PER_UNIT + 1] shares


cdef void fill_shares() noexcept nogil:
    cdef int i
    for i in range(LAST_POINT * POINTS_PER_UNIT + 1):
        shares[i] = 0.5 * (1 + erf(<double> i / POINTS_PER_UNIT))


fill_shares()


cdef double share(double x) noexcept nogil:
    # By linear interpolation, which is within 0.00003.
    cdef double distance = POINTS_PER_UNIT * (x if x > 0 else -x)
    cdef double found
    cdef int i
    if distance >= LAST_POINT * POINTS_PER_UNIT:
        return x > 0
    i = <int> distance
    found = shares[i] + (distance - i) * (shares[i + 1] - shares[i])
    return found if x > 0 else 1 - found


cdef class SkystonesPlayoutPolicy(PlayoutPolicy):
    """Plays for what is taken now, to the end of the round."""

    cdef Skystones rules
    cdef uint64_t weak[MAX_TYPES][EDGES]     # WEAK of each edge, in all lanes.
    cdef double widths[MAX_CARDS]

    def __init__(self, game):
        super().__init__(game)
        self.rules = game
        self.horizon = 1
        for card in range(self.rules.types):
            for edge in range(EDGES):
                self.weak[card][edge] = WEAK[self.rules.edges[card][edge]] * LANE_ONES
        for left in range(MAX_CARDS):
            self.widths[left] = 1 / sqrt(2 * VARIANCE * max(1, left - LEFT))

    cdef int stage(self, const State* state) noexcept nogil:
        return (<const SkystonesState*> state).common.round

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef Board board
        cdef Stack pile, hand
        cdef uint64_t facing[EDGES]
        cdef int placement
        if stones.common.phase == PICK:
            stack_up(stones.piles[seat], &pile)
            stack_up(stones.hands[seat], &hand)
            return <Action> PICK_CARD << KIND_SHIFT | <Action> draw_bit(
                pickable(self.rules, &pile, stones.common.sides[seat].hand_size,
                         total_of(self.rules, &hand)), rng)
        set_up_board(self.rules, stones.common.board, &board)
        face(&board, seat, facing)
        placement = self.best_placement(&board, facing, types_in(stones.hands[seat]), rng)
        return (<Action> PLACE_CARD << KIND_SHIFT | <Action> (placement >> 8) << 8
                | self.rules.squares_at[(placement & 255) // LANE_BITS])

    cdef int best_placement(self, const Board* board, const uint64_t* facing, uint64_t hand,
                            Rng* rng) noexcept nogil:
        # The card << 8 | the first bit of the lane of its square.
        cdef uint64_t open[EDGES]
        cdef uint64_t worths[MAX_HAND]
        cdef uint8_t cards[MAX_HAND]
        cdef uint64_t worth, lead, among, most = 0, noise = 0
        cdef int i, edge, card, n = 0
        for edge in range(EDGES):
            open[edge] = across(board.empty, edge)
        while hand:
            card = lowest_bit(hand)
            hand &= hand - 1
            if n % 3 == 0:
                noise = rng_next(rng)
            worth = BASE * LANE_ONES
            for edge in range(EDGES):
                worth += (self.rules.points[card][edge] + facing[edge] & LANE_TOPS
                          ) >> LANE_BITS - 1 << 3
                worth -= self.weak[card][edge] & open[edge]
            worth += noise & (NOISE - 1) * LANE_ONES
            noise >>= 2
            worth &= board.empty & board.accepting[self.rules.elements[card]]
            worths[n] = worth
            cards[n] = card
            n += 1
            # The greater one of each lane.
            lead = (worth | LANE_TOPS) - most
            among = lead & LANE_TOPS
            most += lead & among - (among >> LANE_BITS - 1)
        # The greatest of all lanes.
        among = LANE_ONES
        for i in range(LANE_BITS - 2, -1, -1):
            lead = among & most >> i
            if lead:
                among = lead
        worth = (most >> lowest_bit(among) & LANE) * LANE_ONES
        i = 0
        while True:
            # The lanes of the card with that worth.
            lead = ~((worths[i] ^ worth) + MOST * LANE_ONES) & LANE_TOPS
            if lead:
                return cards[i] << 8 | lowest_bit(lead) - (LANE_BITS - 1)
            i += 1

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        cdef SkystonesState* stones = <SkystonesState*> state
        cdef Compact compact
        cdef uint64_t facing[EDGES]
        cdef int placement
        cdef int rounds = self.horizon
        compact_of(self.rules, stones, &compact)
        while compact.phase != OVER and rounds > 0:
            if compact.phase == PICK:
                pick_hands(self.rules, &compact, rng)
            while can_place(self.rules, &compact, compact.turn):
                face(&compact.board, compact.turn, facing)
                placement = self.best_placement(&compact.board, facing,
                                                compact.hands[compact.turn].types, rng)
                place(self.rules, &compact, facing, placement >> 8, placement & 255)
            end_round(self.rules, &compact)
            rounds -= 1
        stones.common.phase = compact.phase
        stones.common.sides[0].points = compact.points[0]
        stones.common.sides[1].points = compact.points[1]
        if compact.phase == OVER:
            return self.at_end(state, draw)
        return self.expected(compact.points[0] - compact.points[1],
                             self.strength(compact.piles[0].copies, compact.piles[1].copies),
                             compact.starter, compact.unplaced // 2, draw)

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef const Side* sides = stones.common.sides
        return self.expected(sides[0].points - sides[1].points,
                             self.strength(stones.piles[0], stones.piles[1]),
                             stones.common.starter,
                             (sides[0].pile_size + sides[1].pile_size) // 2, draw)

    cdef int strength(self, const uint8_t* pile, const uint8_t* other) noexcept nogil:
        cdef int card, strength = 0
        for card in range(MAX_TYPES):
            strength += self.rules.totals[card] * (<int> pile[card] - <int> other[card])
        return strength

    cdef double expected(self, double lead, int strength, int starter, int left,
                         double* draw) noexcept nogil:
        cdef double win, loss
        lead += STRENGTH * strength + (START if starter == 0 else -START)
        win = share((lead - 0.5) * self.widths[left])
        loss = share(-(lead + 0.5) * self.widths[left])
        draw[0] = max(0.0, 1 - win - loss)
        return win + draw[0] / 2
