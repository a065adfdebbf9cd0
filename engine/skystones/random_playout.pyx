"""Random playouts of Skystones: no actions are listed."""

from engine.chance cimport Rng, rng_below
from engine.game cimport State
from engine.integers cimport uint64_t
from engine.playout_policy cimport PlayoutPolicy
from engine.skystones.board cimport face
from engine.skystones.compact cimport (
    Compact, can_place, compact_of, end_round, pick_hands, place,
)
from engine.skystones.lanes cimport LANE_BITS, LANE_TOPS, count_lanes
from engine.skystones.stack cimport draw_bit, lowest_bit
from engine.skystones.state cimport EDGES, OVER, PICK, SkystonesState
from engine.skystones.tables cimport SkystonesTables


cdef void place_at_random(SkystonesTables tables, Compact* compact, Rng* rng) noexcept nogil:
    cdef uint64_t facing[EDGES]
    cdef uint64_t hand = compact.hands[compact.turn].types
    cdef uint64_t squares = compact.board.empty
    cdef int card, n, ways = 0
    if tables.special_fields:
        # Each card counts as often as it has squares.
        while hand:
            card = lowest_bit(hand)
            hand &= hand - 1
            n = count_lanes(compact.board.empty
                            & compact.board.accepting[tables.elements[card]])
            ways += n
        n = rng_below(rng, ways)
        hand = compact.hands[compact.turn].types
        while True:
            card = lowest_bit(hand)
            squares = compact.board.empty & compact.board.accepting[tables.elements[card]]
            n -= count_lanes(squares)
            if n < 0:
                break
            hand &= hand - 1
    else:
        card = draw_bit(tables, hand, rng)
    face(&compact.board, compact.turn, facing)
    place(tables, compact, facing, card,
          draw_bit(tables, squares & LANE_TOPS, rng) - (LANE_BITS - 1))


cdef void play_to_end(SkystonesTables tables, SkystonesState* stones, Rng* rng) noexcept nogil:
    # Updates only the phase and the points of the state, from which the outcome is read.
    cdef Compact compact
    cdef const double* uniform[2]
    uniform[0] = uniform[1] = NULL
    compact_of(tables, stones, &compact)
    while compact.phase != OVER:
        if compact.phase == PICK:
            pick_hands(tables, &compact, uniform, rng)
        while can_place(tables, &compact, compact.turn):
            place_at_random(tables, &compact, rng)
        end_round(tables, &compact)
    stones.common.phase = OVER
    stones.common.sides[0].points = compact.points[0]
    stones.common.sides[1].points = compact.points[1]


cdef class SkystonesRandomPlayout(PlayoutPolicy):
    """Chooses uniformly."""

    cdef SkystonesTables tables

    def __init__(self, game):
        super().__init__(game)
        self.tables = game

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        play_to_end(self.tables, <SkystonesState*> state, rng)
        return self.at_end(state, draw)
