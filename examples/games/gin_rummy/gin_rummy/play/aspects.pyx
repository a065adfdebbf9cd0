"""What follows from a decision in Gin Rummy, up to the opponent's next card."""

from engine.aspects cimport Aspects
from engine.game cimport State
from gin_rummy.rules.melds cimport deadwood
from gin_rummy.rules.state cimport NO_CARD, OVER, TO_DISCARD, Common, GinState

from engine.aspects import AMOUNT, CHANCE

cdef enum:
    DEADWOOD = 0
    TAKEN


cdef class GinRummyAspects(Aspects):
    """The deadwood after the seat's next discard, and whether the opponent takes that card."""

    units = {"deadwood": AMOUNT, "discard_taken": CHANCE}

    cdef bint follow(self, const State* begin, const State* now, int seat,
                     double* values) noexcept nogil:
        cdef const Common* before = &(<const GinState*> begin).common
        cdef const Common* after = &(<const GinState*> now).common
        cdef bint discarded
        if after.hand_number != before.hand_number:
            return True
        values[DEADWOOD] = deadwood((<const GinState*> now).hands[seat])
        discarded = (after.turns_count > before.turns_count
                     and after.turns[after.turns_count - 1].seat == seat)
        if discarded and after.phase == TO_DISCARD:
            values[TAKEN] = after.taken != NO_CARD
        return after.phase == OVER or discarded and after.phase == TO_DISCARD
