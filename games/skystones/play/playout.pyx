"""Sensible placements in Skystones. Picks are drawn uniformly.

A card goes to a square where it takes most cards. Among such squares, it goes to one where its weak
edges touch the border or other cards, so that it is not taken in turn.

A playout ends with the round, since later rounds hardly depend on it. A net says what the start of
the next one is worth, where it was learned of such rounds. Elsewhere, the lead goes on as a random
walk that drifts towards the stronger pile and towards the seat that starts.
"""

cimport cython
from libc.math cimport sqrt

from engine.chance cimport Rng, rng_next
from engine.game cimport SEATS, Action, State
from engine.integers cimport uint64_t, uint8_t
from engine.net cimport expected_score
from engine.playout_policy cimport PlayoutPolicy
from games.skystones.play.features cimport SkystonesFeatures
from games.skystones.rules.lanes cimport LANE_BITS, LANE_ONES, LANE_TOPS, MOST, across
from games.skystones.rules.rules cimport Skystones
from games.skystones.rules.stack cimport draw_bit, lowest_bit, pickable
from games.skystones.rules.state cimport (
    EDGES, KIND_SHIFT, MAX_CARDS, MAX_HAND, MAX_TYPES, OPPOSITE, OVER, PICK, PICK_CARD, PLACE_CARD,
    Board, Side, SkystonesState,
)
from games.skystones.rules.tables cimport SkystonesTables

from engine.model import VALUE


# The worth of a placement: TAKEN for each card taken, less WEAK for each open edge by its points,
# plus a random number below NOISE. The values were set by hand; in 800 matches they beat values
# that were fitted to the strategies of searches (62.9 % ±2.3), NOISE 8 and no WEAK at all.
cdef enum:
    TAKEN = 8
    NOISE_BITS = 2
    NOISE = 1 << NOISE_BITS
    MOST_WEAK = 5                # The first of WEAK.
    # Added to each worth, so that all are above 0. All are below 1 << WORTH_BITS then.
    BASE = 1 + EDGES * MOST_WEAK
    WORTH_BITS = LANE_BITS - 1
cdef int* WEAK = [MOST_WEAK, 3, 1, 0, 0, 0, 0, 0, 0, 0]

# The lead in later rounds, in points of the match: what each point of the totals of a pile is
# worth, what it is worth to start, and the variance for each card of a pile beyond those that are
# never placed. Fitted to 2,799 starts of rounds in 700 matches of the policy against itself.
cdef double STRENGTH = 0.05
cdef double START = 0.23
cdef double VARIANCE = 0.145
cdef int UNPLACED = 4
cdef double LOGISTIC = 1.702     # Scaled by this, a logistic distribution is nearly a normal one.

cdef struct Weak:
    uint64_t lanes[MAX_TYPES][EDGES]    # The loss for each edge of a card, in all lanes.


cdef inline int draw_pick(SkystonesTables tables, const SkystonesState* stones, int seat,
                          Rng* rng) noexcept nogil:
    return draw_bit(tables, pickable(tables, &stones.piles[seat], &stones.picks[seat]), rng)


cdef inline int best_placement(SkystonesTables tables, const Weak* weak,
                               const SkystonesState* stones, int seat, Rng* rng) noexcept nogil:
    # The first of the best placements: the first bit of its lane << 6 | its card.
    cdef const Board* board = &stones.board
    cdef uint64_t hand = stones.hands[seat].types
    cdef uint64_t open[EDGES]
    # What a card has to exceed on each square, as a guard: 0 where the edge does not touch a card
    # of the opponent.
    cdef uint64_t facing[EDGES]
    cdef uint64_t worths[MAX_HAND]
    cdef uint8_t cards[MAX_HAND]
    cdef uint64_t worth, lead, ahead, hits, best = 0, among = LANE_ONES, chosen = 0, noise = 0
    cdef int i, edge, card, n = 0, noises_left = 0
    for edge in range(EDGES):
        open[edge] = across(board.empty, edge)
        facing[edge] = across(board.guards[edge ^ OPPOSITE] & board.chips[1 - seat], edge)
    while hand:
        card = lowest_bit(hand)
        hand &= hand - 1
        if noises_left == 0:
            noise = rng_next(rng)
            noises_left = LANE_BITS // NOISE_BITS
        worth = BASE * LANE_ONES + (noise & (NOISE - 1) * LANE_ONES)
        noise >>= NOISE_BITS
        noises_left -= 1
        for edge in range(EDGES):
            worth -= weak.lanes[card][edge] & open[edge]
            worth += (tables.points[card][edge] + facing[edge] & LANE_TOPS) // (MOST + 1) * TAKEN
        worth &= board.empty & board.accepting[tables.elements[card]]
        worths[n] = worth
        cards[n] = card
        n += 1
        # The best worth on each square: where this one is ahead, it takes the lead.
        lead = (worth | LANE_TOPS) - best
        ahead = lead & LANE_TOPS
        best += lead & ahead - (ahead >> WORTH_BITS)
    # The squares with the best worth of all, bit by bit.
    for i in range(WORTH_BITS - 1, -1, -1):
        lead = among & best >> i
        among = lead if lead else among
    among <<= WORTH_BITS
    for i in range(n - 1, -1, -1):
        # The squares of these on which the card has that worth. A branch for whether there are any
        # would often be mispredicted.
        hits = ~((worths[i] ^ best) + MOST * LANE_ONES) & among
        chosen ^= (chosen ^ (hits | cards[i])) & (0 - <uint64_t> (hits != 0))
    return lowest_bit(chosen & LANE_TOPS) - WORTH_BITS << 6 | chosen & 63


@cython.final
cdef class SkystonesPlayoutPolicy(PlayoutPolicy):
    """Plays for what is taken now."""

    cdef Skystones rules
    cdef Weak weak
    cdef SkystonesFeatures value        # None: no net that was learned of such rounds.
    cdef double widths[MAX_CARDS]       # What the lead is scaled by, with so many cards in a pile.

    def __init__(self, game, model=None):
        super().__init__(game)
        self.rules = game
        if model is not None and VALUE in model.uses:
            self.value = model.features
        for card in range(self.rules.types):
            for edge in range(EDGES):
                self.weak.lanes[card][edge] = WEAK[self.rules.edges[card][edge]] * LANE_ONES
        for left in range(MAX_CARDS):
            self.widths[left] = LOGISTIC / sqrt(VARIANCE * max(1, left - UNPLACED))

    cdef int stage(self, const State* state) noexcept nogil:
        return (<const SkystonesState*> state).common.round

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef int placement
        if stones.common.phase == PICK:
            return (<Action> PICK_CARD << KIND_SHIFT
                    | <Action> draw_pick(self.rules, stones, seat, rng))
        placement = best_placement(self.rules, &self.weak, stones, seat, rng)
        return (<Action> PLACE_CARD << KIND_SHIFT | <Action> (placement & 63) << 8
                | self.rules.squares_at[placement >> 6])

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        # As that of the base class, but without actions on the way, which takes a tenth less time.
        cdef SkystonesState* stones = <SkystonesState*> state
        cdef int cards[SEATS]
        cdef int seat, placement, last = stones.common.round + self.horizon
        while stones.common.phase != OVER and stones.common.round < last:
            if stones.common.phase == PICK:
                for seat in range(SEATS):
                    cards[seat] = draw_pick(self.rules, stones, seat, rng)
                self.rules.pick(stones, cards, NULL)
            else:
                seat = stones.common.turn
                placement = best_placement(self.rules, &self.weak, stones, seat, rng)
                self.rules.place(stones, seat, placement & 63, placement >> 6, NULL)
        if stones.common.phase == OVER:
            return self.at_end(state, draw)
        return self.estimate(state, draw)

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef const Side* sides = stones.common.sides
        cdef double width = self.widths[(sides[0].pile_size + sides[1].pile_size) // 2]
        cdef double lead = <int> sides[0].points - <int> sides[1].points
        cdef int card
        if self.value is not None:
            return self.value.estimate(state, draw)
        for card in range(MAX_TYPES):
            lead += STRENGTH * self.rules.totals[card] * (
                <int> stones.piles[0].copies[card] - <int> stones.piles[1].copies[card])
        lead += -START if stones.common.starter else START
        return expected_score(lead * width, 0.5 * width, draw)
