"""Writes what a viewer knows of Castle Rampage as the bytes of a CastleRampageView."""

cimport castle_rampage_fields as fields
from cpython.bytes cimport PyBytes_AS_STRING

from engine.game cimport SEATS, SPECTATOR
from engine.integers cimport uint8_t
from games.castle_rampage.rules.rules cimport CastleRampage
from games.castle_rampage.rules.state cimport (
    CARDS, CASTLE, CATAPULT, GATE, GRANARY, STRUCTURES, CastleView, Common, Side, Stack,
)
from wire.writer cimport Writer, begin, end, put, put_bytes, put_counted, put_list, written


def write_view(CastleRampage game not None, view):
    """Returns the serialized message."""
    cdef bytes data = bytes(view)
    cdef CastleView* seen = <CastleView*> PyBytes_AS_STRING(data)
    cdef Common* common = &seen.common
    cdef Writer out
    cdef int seat
    out.used = 0
    put(&out, fields.VIEW_PHASE, common.phase)
    put(&out, fields.VIEW_SET_UPS, common.set_ups)
    put(&out, fields.VIEW_TURN, common.turn)
    put(&out, fields.VIEW_ACTIVE, common.active)
    put(&out, fields.VIEW_STRENGTHENED, common.strengthened)
    put(&out, fields.VIEW_DRAW_SIZE, common.draw_size)
    put_counted(&out, fields.VIEW_DISCARDS, common.discards, CARDS, 0)
    for seat in range(SEATS):
        write_side(&out, &common.sides[seat], &seen.stacks[seat * STRUCTURES])
    put_counted(&out, fields.VIEW_HAND, seen.own.hand, CARDS, 0)
    put(&out, fields.VIEW_KEPT, seen.own.kept)
    if seen.seat != SPECTATOR:
        write_unseen(&out, game, seen)
    put_bytes(&out, fields.VIEW_OPAQUE_DRAWS, seen.own.drawn, seen.own.drawn_length)
    put(&out, fields.VIEW_DECISIONS, common.decisions)
    return written(&out)


cdef void write_side(Writer* out, const Side* side, const Stack* stacks) noexcept nogil:
    cdef size_t begun = begin(out, fields.VIEW_SIDES)
    put(out, fields.SIDE_HAND_SIZE, side.hand_size)
    put(out, fields.SIDE_CATAPULTS, side.catapults)
    put(out, fields.SIDE_GRANARIES, side.granaries)
    write_stack(out, fields.SIDE_GATE, &stacks[GATE])
    write_stack(out, fields.SIDE_CASTLE, &stacks[CASTLE])
    put_bytes(out, fields.SIDE_OPAQUE_HISTORY, side.history, side.history_length)
    end(out, begun)


cdef void write_stack(Writer* out, int field, const Stack* stack) noexcept nogil:
    cdef size_t begun = begin(out, field)
    cdef size_t standing
    cdef int i
    for i in range(stack.top, stack.count):
        standing = begin(out, fields.STACK_STANDING)
        put(out, fields.STANDING_CARD, stack.cards[i])
        put(out, fields.STANDING_KNOWN, stack.known[i])
        end(out, standing)
    put_list(out, fields.STACK_FALLEN, stack.cards, stack.top, 0)
    end(out, begun)


cdef void write_unseen(Writer* out, CastleRampage game, const CastleView* seen) noexcept:
    cdef uint8_t[CARDS] counts
    cdef const Side* side
    cdef const Stack* stack
    cdef int card, seat, i
    for card in range(CARDS):
        counts[card] = game.tables.copies[card] - seen.own.hand[card] - seen.common.discards[card]
    for seat in range(SEATS):
        side = &seen.common.sides[seat]
        counts[CATAPULT] -= <uint8_t> side.catapults
        counts[GRANARY] -= <uint8_t> side.granaries
    counts[seen.own.kept] -= 1
    for i in range(SEATS * STRUCTURES):
        stack = &seen.stacks[i]
        for card in stack.cards[stack.top:stack.count]:
            counts[card] -= 1
    # Cards that are not known, and the lack of one.
    counts[0] = 0
    put_counted(out, fields.VIEW_UNSEEN, counts, CARDS, 0)
