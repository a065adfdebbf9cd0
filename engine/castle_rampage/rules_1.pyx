"""The first rules of Castle Rampage: a match was also a draw when a hand history was full.

A match that began under these rules is played on under them, and its record is verified under them.
A history was full with 1,600 bytes, as now, but counted cards differently: a shown hand and a new
draw pile took 23 bytes each, one for each card type and two more. A turn never had 800 decisions,
because each takes two bytes.
"""

from engine.castle_rampage.history cimport sum_up_if_full
from engine.castle_rampage.rules cimport CastleRampage
from engine.castle_rampage.state cimport (
    CARDS, ENTRY_MASK, MAX_DRAWN, MAX_HISTORY, NEW_PILE, OVER, SHOWED, CastleState, Side,
)
from engine.game cimport SEATS


cdef class FirstCastleRampage(CastleRampage):
    """Castle Rampage under its first rules."""

    rules_version = 1

    cdef void make_room(self, CastleState* rampage) noexcept nogil:
        cdef int seat
        for seat in range(SEATS):
            if (first_length(&rampage.common.sides[seat]) >= MAX_HISTORY
                    or rampage.own[seat].drawn_length == MAX_DRAWN):
                rampage.common.phase = OVER
                return
        # With many copies of many cards, a history can take more bytes now than under these rules.
        sum_up_if_full(rampage)


cdef int first_length(const Side* side) noexcept nogil:
    # The length of the history as the first rules wrote it.
    cdef int kind, at = 0, length = 0
    while at < side.history_length:
        kind = side.history[at] & ENTRY_MASK
        at += 1
        length += 1
        if kind == SHOWED or kind == NEW_PILE:
            length += CARDS
            while at < side.history_length and side.history[at]:
                at += 1
            at += 1
    return length
