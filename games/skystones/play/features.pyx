"""What is learned of Skystones: what describes its decisions, and what a model's weights give.

A *pick* is described by the card, and by how the shape of the card goes with the circumstances of
the round: whether the seat starts it, whether it leads, and how late it is. The hand so far is left
out, so that all picks of a round have the same weights, which the sampler needs. A *placement* is
described by what the card would touch. The *start of a round* is described by the lead and by the
totals of both piles in parts of their mean, as the seat sees them that starts.

The probability of an action is a mixture: a share UNIFORM of uniform play, so that no choice of an
opponent is taken for impossible, and otherwise a softmax of the weighted features.
"""

from libc.string cimport memset

from engine.features cimport UNIFORM, UNIT, Features
from engine.game cimport Action, State
from engine.integers cimport uint64_t
from engine.net cimport Inputs, put
from engine.numerics cimport exp
from games.skystones.rules.board cimport taken_by
from games.skystones.rules.lanes cimport across, count_lanes
from games.skystones.rules.state cimport (
    EDGES, MAX_HAND, MAX_SQUARES, OPPOSITE, PICK, PLACE, SkystonesState,
)

SHAPES = ("total", "strongest", "zeros")
ROUND_FACTS = ("starts", "leads", "late")
PLACEMENT = ("taken", "takes several", "own", "held", "closed", "open 0", "open 1", "open 2",
             "open 3", "total", "early total")


cdef inline int sign(int x) noexcept nogil:
    return (x > 0) - (x < 0)


cdef class SkystonesFeatures(Features):
    """Describes picks, placements and the starts of rounds."""

    uses = ("beliefs", "value")

    def __init__(self, game, weights=None, net=None):
        self.rules = game
        super().__init__(game, weights, net)
        self.usual_rounds = (FEWEST_CARDS <= self.rules.deck_size <= USUAL_CARDS
                             and self.rules.hand_size == MAX_HAND
                             and self.rules.squares == MAX_SQUARES
                             and not self.rules.special_fields)
        totals = sum(self.rules.copies[i] * self.rules.totals[i] for i in range(self.rules.types))
        self.by_mean = (<double> USUAL_TOTALS * self.rules.deck_size
                        / (USUAL_CARDS * max(1, <int> totals)))
        if weights is not None:
            self.set_picks(weights["pick"])
            for i, weight in enumerate(weights["place"]):
                self.place_weights[i] = weight

    @property
    def holding(self):
        return ("value",) if self.usual_rounds else ()

    @property
    def decisions(self):
        cards = [f"card {card}" for card in range(self.rules.types)]
        shapes = [f"{shape}, {fact}" for fact in ROUND_FACTS for shape in SHAPES]
        return {"pick": (*cards, *shapes), "place": PLACEMENT}

    @property
    def inputs(self):
        return (
            *(f"rounds left {left}{what}" for left in range(1, MOST_LEFT + 1)
              for what in ("", ": lead", ": strength")),
            *(f"lead {lead}" for lead in range(-MOST_LEAD, MOST_LEAD + 1)),
        )

    cdef int decision_kind(self, const State* state, int seat) noexcept nogil:
        cdef int phase = (<const SkystonesState*> state).common.phase
        return 0 if phase == PICK else 1 if phase == PLACE else -1

    @property
    def moments(self):
        return tuple(f"round {n + 1}, {what} {i + 1}" for n in range(ROUNDS)
                     for what, count in (("pick", MAX_HAND), ("placement", MAX_SQUARES))
                     for i in range(count))

    cdef int moment(self, const State* state, int seat) noexcept nogil:
        # Scores are off by more with each good card that the opponent has picked, and with each
        # that it has kept. Which cards those are changes from round to round.
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef int decided = <int> self.rules.hand_size - stones.picks[seat].missing
        if stones.common.phase == PLACE:
            decided = MAX_HAND + MAX_SQUARES - count_lanes(stones.board.empty)
        return ((min(<int> stones.common.round, ROUNDS) - 1) * (MAX_HAND + MAX_SQUARES) + decided)

    cdef void describe_action(self, const State* state, int seat, Action action,
                              int* row) noexcept nogil:
        cdef const Common* common = &(<const SkystonesState*> state).common
        if common.phase == PICK:
            self.describe_pick(
                common.starter == seat,
                sign(common.sides[seat].points - common.sides[1 - seat].points), common.round,
                action & 255, row)
        else:
            self.describe_placement(&(<const SkystonesState*> state).board, seat,
                                    action >> 8 & 255, self.rules.lanes[action & 255], row)

    cdef int perspective(self, const State* state) noexcept nogil:
        return (<const SkystonesState*> state).common.starter

    cdef void describe_position(self, const State* state, Inputs* inputs) noexcept nogil:
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef const Common* common = &stones.common
        cdef int seat = common.starter
        self.describe_round(
            stones.piles[seat].copies, stones.piles[1 - seat].copies,
            <int> common.sides[seat].points - <int> common.sides[1 - seat].points,
            (common.sides[0].pile_size + common.sides[1].pile_size) // 2, inputs)

    # Features

    cdef void describe_pick(self, int starts, int lead, int round, int card,
                            int* row) noexcept nogil:
        cdef int facts[CIRCUMSTANCES]
        cdef int shapes[PICK_SHAPES]
        cdef int i, j, edge
        facts[STARTS] = starts
        facts[LEADS] = lead
        facts[LATE] = min(round, ROUNDS) - 1
        shapes[PICK_TOTAL] = self.rules.totals[card]
        shapes[PICK_STRONGEST] = shapes[PICK_ZEROS] = 0
        for edge in range(EDGES):
            shapes[PICK_STRONGEST] = max(shapes[PICK_STRONGEST], self.rules.edges[card][edge])
            shapes[PICK_ZEROS] += self.rules.edges[card][edge] == 0
        for i in range(self.rules.types):
            row[i] = i == card
        for i in range(CIRCUMSTANCES):
            for j in range(PICK_SHAPES):
                row[self.rules.types + i * PICK_SHAPES + j] = facts[i] * shapes[j]

    cdef void describe_placement(self, const Board* board, int seat, int card, int at,
                                 int* row) noexcept nogil:
        cdef uint64_t taken = taken_by(self.rules, board, seat, card, at)
        cdef uint64_t beside
        cdef int edge
        memset(row, 0, PLACE_FEATURES * sizeof(int))
        for edge in range(EDGES):
            beside = across(<uint64_t> 1 << at, edge ^ OPPOSITE)
            if beside & board.empty:
                row[OPEN + min(self.rules.edges[card][edge], OPEN_KINDS - 1)] += 1
            elif beside & board.chips[seat]:
                row[OWN] += 1
            elif beside & taken:
                row[TAKEN] += 1
            elif beside & board.chips[1 - seat]:
                row[HELD] += 1
            else:
                row[CLOSED] += 1
        row[TAKES_SEVERAL] = row[TAKEN] > 1
        row[TOTAL] = self.rules.totals[card]
        row[EARLY_TOTAL] = row[TOTAL] if count_lanes(board.empty) > EARLY else 0

    cdef void describe_round(self, const uint8_t* own, const uint8_t* other, int lead, int left,
                             Inputs* inputs) noexcept nogil:
        cdef int card, strength = 0
        cdef int by_left = (max(1, min(MOST_LEFT, rounds_left(left))) - 1) * BY_LEFT
        for card in range(MAX_TYPES):
            strength += self.rules.totals[card] * (<int> own[card] - <int> other[card])
        put(inputs, by_left + LEFT, 1)
        put(inputs, by_left + LEAD, lead)
        put(inputs, by_left + STRENGTH, <int> (strength * self.by_mean))
        put(inputs, LEAD_IS + max(0, min(lead + MOST_LEAD, LEADS_TOLD - 1)), 1)

    # What the weights give

    cdef set_picks(self, weights):
        cdef int row[PICK_FEATURES]
        cdef int given[PICK_FEATURES]
        cdef double* likely
        cdef double mean
        cdef int starts, lead, round, card, i, n = len(weights), sum
        for i in range(n):
            given[i] = weights[i]
        for starts in range(2):
            for lead in range(-1, 2):
                for round in range(ROUNDS):
                    likely = self.picks[starts][lead + 1][round]
                    mean = 0
                    for card in range(self.rules.types):
                        self.describe_pick(starts, lead, round + 1, card, row)
                        sum = 0
                        for i in range(n):
                            sum += given[i] * row[i]
                        likely[card] = exp(sum * UNIT)
                        mean += likely[card] / self.rules.types
                    for card in range(self.rules.types):
                        likely[card] = UNIFORM + (1 - UNIFORM) * likely[card] / mean

    cdef const double* picks_of(self, const Common* common, int seat) noexcept nogil:
        cdef int lead = sign(common.sides[seat].points - common.sides[1 - seat].points)
        return self.picks[common.starter == seat][lead + 1][min(<int> common.round, ROUNDS) - 1]

    cdef double placement(self, const Board* board, int seat, int card, int at) noexcept nogil:
        cdef int row[PLACE_FEATURES]
        cdef int i, sum = 0
        self.describe_placement(board, seat, card, at, row)
        for i in range(PLACE_FEATURES):
            sum += self.place_weights[i] * row[i]
        return exp(sum * UNIT)
