"""Writes what a viewer knows of Skystones as the bytes of a SkystonesView."""

cimport skystones_fields as fields
from cpython.bytes cimport PyBytes_AS_STRING

from engine.game cimport SEATS, SPECTATOR
from engine.integers cimport uint8_t
from games.skystones.rules.rules cimport Skystones
from games.skystones.rules.state cimport MAX_TYPES, Common, Placement, Side, SkystonesView, Square
from wire.writer cimport Writer, begin, end, put, put_counted, put_set, written


def write_view(Skystones game not None, view):
    """Returns the serialized message."""
    cdef bytes data = bytes(view)
    cdef SkystonesView* seen = <SkystonesView*> PyBytes_AS_STRING(data)
    cdef Common* common = &seen.common
    cdef Writer out
    cdef int i
    out.used = 0
    put(&out, fields.VIEW_PHASE, common.phase)
    put(&out, fields.VIEW_ROUND, common.round)
    put(&out, fields.VIEW_STARTER, common.starter)
    for i in range(game.squares):
        write_square(&out, &seen.board[i])
    for i in range(SEATS):
        write_side(&out, &common.sides[i])
    put_counted(&out, fields.VIEW_HAND, seen.hand, MAX_TYPES, 0)
    put_counted(&out, fields.VIEW_PILE, seen.pile, MAX_TYPES, 0)
    if seen.seat != SPECTATOR:
        write_unseen(&out, game, seen)
    for i in range(common.placement_count):
        write_placement(&out, &common.placements[i])
    put(&out, fields.VIEW_FIRST_STARTER, common.first_starter)
    put(&out, fields.VIEW_TURN, common.turn)
    return written(&out)


cdef void write_square(Writer* out, const Square* square) noexcept nogil:
    cdef size_t begun = begin(out, fields.VIEW_BOARD)
    put(out, fields.SQUARE_FIELD, square.field)
    if square.card:
        put_set(out, fields.SQUARE_CARD, square.card - 1)
        put_set(out, fields.SQUARE_OWNER, square.owner)
    end(out, begun)


cdef void write_side(Writer* out, const Side* side) noexcept nogil:
    cdef size_t begun = begin(out, fields.VIEW_SIDES)
    put(out, fields.SIDE_POINTS, side.points)
    put(out, fields.SIDE_HAND_SIZE, side.hand_size)
    put(out, fields.SIDE_PILE_SIZE, side.pile_size)
    end(out, begun)


cdef void write_unseen(Writer* out, Skystones game, const SkystonesView* seen) noexcept:
    cdef uint8_t[MAX_TYPES] counts
    cdef int card, i
    for card in range(MAX_TYPES):
        counts[card] = game.copies[card] - seen.hand[card] - seen.pile[card]
    for i in range(seen.common.placement_count):
        counts[seen.common.placements[i].card] -= 1
    put_counted(out, fields.VIEW_UNSEEN, counts, MAX_TYPES, 0)


cdef void write_placement(Writer* out, const Placement* placement) noexcept nogil:
    cdef size_t begun = begin(out, fields.VIEW_PLACEMENTS)
    put(out, fields.PLACEMENT_ROUND, placement.round)
    put(out, fields.PLACEMENT_SEAT, placement.seat)
    put(out, fields.PLACEMENT_CARD, placement.card)
    put(out, fields.PLACEMENT_SQUARE, placement.square)
    end(out, begun)
