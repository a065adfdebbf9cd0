"""What a viewer knows of Skystones, as the bytes of a SkystonesView."""

from cpython.bytes cimport PyBytes_AS_STRING

from engine.game cimport SEATS, SPECTATOR
from engine.integers cimport uint8_t
from engine.skystones.rules cimport Skystones
from engine.skystones.state cimport MAX_TYPES, Common, Placement, Side, SkystonesView, Square
from service.wire.writer cimport Writer, begin, end, put, put_counted, put_set, written

cdef enum:
    # The fields of the schema, by number.
    VIEW_PHASE = 1
    VIEW_ROUND
    VIEW_STARTER
    VIEW_BOARD
    VIEW_SIDES
    VIEW_HAND
    VIEW_PILE
    VIEW_UNSEEN
    VIEW_PLACEMENTS
    VIEW_FIRST_STARTER
    VIEW_TURN

    SQUARE_FIELD = 1
    SQUARE_CARD
    SQUARE_OWNER

    SIDE_POINTS = 1
    SIDE_HAND_SIZE
    SIDE_PILE_SIZE

    PLACEMENT_ROUND = 1
    PLACEMENT_SEAT
    PLACEMENT_CARD
    PLACEMENT_SQUARE


def write_view(Skystones game not None, view):
    """The message, serialized."""
    cdef bytes data = bytes(view)
    cdef SkystonesView* seen = <SkystonesView*> PyBytes_AS_STRING(data)
    cdef Common* common = &seen.common
    cdef Writer out
    cdef int i
    out.used = 0
    put(&out, VIEW_PHASE, common.phase)
    put(&out, VIEW_ROUND, common.round)
    put(&out, VIEW_STARTER, common.starter)
    for i in range(game.squares):
        write_square(&out, &common.board[i])
    for i in range(SEATS):
        write_side(&out, &common.sides[i])
    put_counted(&out, VIEW_HAND, seen.hand, MAX_TYPES, 0)
    put_counted(&out, VIEW_PILE, seen.pile, MAX_TYPES, 0)
    if seen.seat != SPECTATOR:
        write_unseen(&out, game, seen)
    for i in range(common.placement_count):
        write_placement(&out, &common.placements[i])
    put(&out, VIEW_FIRST_STARTER, common.first_starter)
    put(&out, VIEW_TURN, common.turn)
    return written(&out)


cdef void write_square(Writer* out, const Square* square) noexcept nogil:
    cdef size_t begun = begin(out, VIEW_BOARD)
    put(out, SQUARE_FIELD, square.field)
    if square.card:
        put_set(out, SQUARE_CARD, square.card - 1)
        put_set(out, SQUARE_OWNER, square.owner)
    end(out, begun)


cdef void write_side(Writer* out, const Side* side) noexcept nogil:
    cdef size_t begun = begin(out, VIEW_SIDES)
    put(out, SIDE_POINTS, side.points)
    put(out, SIDE_HAND_SIZE, side.hand_size)
    put(out, SIDE_PILE_SIZE, side.pile_size)
    end(out, begun)


cdef void write_unseen(Writer* out, Skystones game, const SkystonesView* seen) noexcept:
    cdef uint8_t[MAX_TYPES] counts
    cdef int card, i
    for card in range(MAX_TYPES):
        counts[card] = game.copies[card] - seen.hand[card] - seen.pile[card]
    for i in range(seen.common.placement_count):
        counts[seen.common.placements[i].card] -= 1
    put_counted(out, VIEW_UNSEEN, counts, MAX_TYPES, 0)


cdef void write_placement(Writer* out, const Placement* placement) noexcept nogil:
    cdef size_t begun = begin(out, VIEW_PLACEMENTS)
    put(out, PLACEMENT_ROUND, placement.round)
    put(out, PLACEMENT_SEAT, placement.seat)
    put(out, PLACEMENT_CARD, placement.card)
    put(out, PLACEMENT_SQUARE, placement.square)
    end(out, begun)
