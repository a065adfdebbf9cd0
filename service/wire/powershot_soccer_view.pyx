"""What a viewer knows of PowerShot Soccer, as the bytes of a PowerShotSoccerView."""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.string cimport memcpy

from engine.game cimport SEATS, SPECTATOR
from engine.integers cimport uint8_t
from engine.powershot_soccer.rules cimport PowerShotSoccer
from engine.powershot_soccer.state cimport MAX_TYPES, Common, Play, SoccerView
from service.wire.writer cimport (
    Writer, begin, end, end_list, put, put_counted, put_list, put_varint, written
)

cdef enum:
    # The fields of the schema, by number.
    VIEW_PHASE = 1
    VIEW_HALF
    VIEW_POSSESSION
    VIEW_STANDING
    VIEW_SIDES
    VIEW_HAND
    VIEW_DRAW_PILE
    VIEW_UNSEEN
    VIEW_PLAYS
    VIEW_ATTACK_START
    VIEW_FIRST_KICK_OFF
    VIEW_KICK_OFFS

    SIDE_GOALS = 1
    SIDE_DRAW_PILE_SIZE
    SIDE_HAND_SIZE
    SIDE_PLAY_PILE
    SIDE_DISCARD_PILE

    PLAY_SEAT = 1
    PLAY_CARD
    PLAY_ROLE
    PLAY_OUTCOME

    KICK_OFF_CARDS = 1


def write_view(PowerShotSoccer game not None, view):
    """The message, serialized."""
    cdef bytes data = bytes(view)
    cdef SoccerView* seen = <SoccerView*> PyBytes_AS_STRING(data)
    cdef Common* common = &seen.common
    cdef Writer out
    cdef int i
    out.used = 0
    put(&out, VIEW_PHASE, common.phase)
    put(&out, VIEW_HALF, common.half)
    put(&out, VIEW_POSSESSION, common.possession)
    put(&out, VIEW_STANDING, common.standing)
    for i in range(SEATS):
        write_side(&out, game, common, i)
    put_counted(&out, VIEW_HAND, seen.hand, MAX_TYPES, 0)
    if seen.seat != SPECTATOR:
        write_left(&out, VIEW_DRAW_PILE, game, common, seen.seat, seen.hand)
        write_left(&out, VIEW_UNSEEN, game, common, 1 - seen.seat, NULL)
    for i in range(common.play_count):
        write_play(&out, &common.plays[i])
    put(&out, VIEW_ATTACK_START, common.attack_start)
    put(&out, VIEW_FIRST_KICK_OFF, common.first_kick_off)
    for i in range(common.kick_offs):
        write_kick_off(&out, common.kick_off_cards[i])
    return written(&out)


cdef void write_side(
    Writer* out, PowerShotSoccer game, const Common* common, int side
) noexcept:
    cdef size_t begun = begin(out, VIEW_SIDES)
    put(out, SIDE_GOALS, common.goals[side])
    put(out, SIDE_DRAW_PILE_SIZE, common.draw_sizes[side])
    put(out, SIDE_HAND_SIZE, game.hand_size)
    write_pile(out, SIDE_PLAY_PILE, common, side, common.attack_start, common.play_count)
    write_pile(out, SIDE_DISCARD_PILE, common, side, 0, common.attack_start)
    end(out, begun)


cdef void write_pile(
    Writer* out, int field, const Common* common, int side, int first, int last
) noexcept nogil:
    cdef size_t begun = begin(out, field)
    cdef int i
    for i in range(first, last):
        if common.plays[i].seat == side:
            put_varint(out, common.plays[i].card)
    end_list(out, begun)


# What a side has not played in this half, nor has in its hand.
cdef void write_left(
    Writer* out, int field, PowerShotSoccer game, const Common* common, int side,
    const uint8_t* hand
) noexcept:
    cdef uint8_t[MAX_TYPES] counts
    cdef int card, i
    memcpy(counts, game.copies, sizeof(counts))
    for i in range(common.play_count):
        if common.plays[i].seat == side:
            counts[common.plays[i].card] -= 1
    if hand:
        for card in range(MAX_TYPES):
            counts[card] -= hand[card]
    put_counted(out, field, counts, MAX_TYPES, 0)


cdef void write_play(Writer* out, const Play* play) noexcept nogil:
    cdef size_t begun = begin(out, VIEW_PLAYS)
    put(out, PLAY_SEAT, play.seat)
    put(out, PLAY_CARD, play.card)
    put(out, PLAY_ROLE, play.role)
    put(out, PLAY_OUTCOME, play.outcome)
    end(out, begun)


cdef void write_kick_off(Writer* out, const uint8_t* cards) noexcept nogil:
    cdef size_t begun = begin(out, VIEW_KICK_OFFS)
    put_list(out, KICK_OFF_CARDS, cards, SEATS, 0)
    end(out, begun)
