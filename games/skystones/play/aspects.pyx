"""What follows from a card in Skystones, up to the end of the round."""

from libc.string cimport memcpy

from engine.aspects cimport Aspects
from engine.game cimport SEATS, State
from engine.integers cimport uint8_t
from games.skystones.rules.rules cimport Skystones
from games.skystones.rules.state cimport (
    EDGES, MAX_SQUARES, OVER, PLACE, Common, Placement, SkystonesState, Square,
)

from engine.aspects import AMOUNT, CHANCE

cdef enum:
    CHIPS = 0
    ROUND_WON
    CARD_TAKEN


cdef class SkystonesAspects(Aspects):
    """The chips at the end of the round, and whether the card that is placed is taken."""

    cdef Skystones rules

    units = {"chips": AMOUNT, "round_won": CHANCE, "card_taken": CHANCE}

    def __init__(self, game):
        super().__init__(game)
        self.rules = game

    cdef bint follow(self, const State* begin, const State* now, int seat,
                     double* values) noexcept nogil:
        # The end of the round clears the board, so the placements are made again.
        cdef const Common* before = &(<const SkystonesState*> begin).common
        cdef const Common* after = &(<const SkystonesState*> now).common
        cdef const Placement* placement
        cdef Square[MAX_SQUARES] board
        cdef uint8_t[EDGES] taken
        cdef uint8_t[SEATS] chips
        cdef int i
        if after.round == before.round and after.phase != OVER:
            return False
        memcpy(board, before.board, sizeof(board))
        for i in range(before.placement_count, after.placement_count):
            placement = &after.placements[i]
            self.rules.put(board, placement.seat, placement.card, placement.square, taken)
        chips[0] = chips[1] = 0
        for i in range(self.rules.squares):
            if board[i].card:
                chips[board[i].owner] += 1
        values[CHIPS] = chips[seat]
        values[ROUND_WON] = chips[seat] > chips[1 - seat]
        if before.phase == PLACE:
            placement = &after.placements[before.placement_count]
            values[CARD_TAKEN] = board[placement.square].owner != seat
        return True
