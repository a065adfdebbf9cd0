"""What follows from a decision in Castle Rampage, up to the end of the next turn."""

from engine.aspects cimport Aspects
from engine.game cimport State
from games.castle_rampage.rules.state cimport (
    CASTLE, GATE, OVER, SET_UP, STRUCTURES, CastleState,
)

from engine.aspects import AMOUNT

cdef enum:
    THEIR_CASTLE = 0
    THEIR_GATE
    OWN_CASTLE
    OWN_GATE


cdef inline int fallen(const CastleState* before, const CastleState* after, int seat,
                       int structure) noexcept nogil:
    return (after.stacks[seat * STRUCTURES + structure].top
            - before.stacks[seat * STRUCTURES + structure].top)


cdef class CastleRampageAspects(Aspects):
    """The cards of their structures that fall in this turn, and of one's own up to the next."""

    units = {
        "their_castle": AMOUNT, "their_gate": AMOUNT, "own_castle": AMOUNT, "own_gate": AMOUNT}

    cdef bint follow(self, const State* begin, const State* now, int seat,
                     double* values) noexcept nogil:
        cdef const CastleState* before = <const CastleState*> begin
        cdef const CastleState* after = <const CastleState*> now
        cdef bint over = after.common.phase == OVER
        if before.common.phase == SET_UP:
            # The turns that follow at once hardly tell what was put where.
            return True
        if after.common.turn == before.common.turn:
            values[THEIR_CASTLE] = fallen(before, after, 1 - seat, CASTLE)
            values[THEIR_GATE] = fallen(before, after, 1 - seat, GATE)
        values[OWN_CASTLE] = fallen(before, after, seat, CASTLE)
        values[OWN_GATE] = fallen(before, after, seat, GATE)
        return over or after.common.turn > before.common.turn + 1
