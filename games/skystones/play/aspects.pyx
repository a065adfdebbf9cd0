"""What follows from a card in Skystones, up to the end of the round."""

from engine.aspects cimport Aspects
from engine.game cimport State
from games.skystones.rules.board cimport put, winner
from games.skystones.rules.lanes cimport count_lanes
from games.skystones.rules.rules cimport Skystones
from games.skystones.rules.state cimport OVER, PLACE, Board, Common, Placement, SkystonesState

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
        cdef Board board
        cdef int i
        if after.round == before.round and after.phase != OVER:
            return False
        board = (<const SkystonesState*> begin).board
        for i in range(before.placement_count, after.placement_count):
            placement = &after.placements[i]
            put(self.rules, &board, placement.seat, placement.card,
                self.rules.lanes[placement.square])
        values[CHIPS] = count_lanes(board.chips[seat])
        values[ROUND_WON] = winner(&board) == seat
        if before.phase == PLACE:
            placement = &after.placements[before.placement_count]
            values[CARD_TAKEN] = board.chips[1 - seat] >> self.rules.lanes[placement.square] & 1
        return True
