"""Writes what a viewer knows of PowerShot Soccer as the bytes of a PowerShotSoccerView."""

cimport powershot_soccer_fields as fields
from cpython.bytes cimport PyBytes_AS_STRING
from libc.string cimport memcpy

from engine.game cimport SEATS, SPECTATOR
from engine.integers cimport uint8_t
from games.powershot_soccer.rules.rules cimport PowerShotSoccer
from games.powershot_soccer.rules.state cimport MAX_TYPES, Common, Play, SoccerView
from wire.writer cimport (
    Writer, begin, end, end_list, put, put_counted, put_list, put_varint, written
)


def write_view(PowerShotSoccer game not None, view):
    """Returns the serialized message."""
    cdef bytes data = bytes(view)
    cdef SoccerView* seen = <SoccerView*> PyBytes_AS_STRING(data)
    cdef Common* common = &seen.common
    cdef Writer out
    cdef int i
    out.used = 0
    put(&out, fields.VIEW_PHASE, common.phase)
    put(&out, fields.VIEW_HALF, common.half)
    put(&out, fields.VIEW_POSSESSION, common.possession)
    put(&out, fields.VIEW_STANDING, common.standing)
    for i in range(SEATS):
        write_side(&out, game, common, i)
    put_counted(&out, fields.VIEW_HAND, seen.hand, MAX_TYPES, 0)
    if seen.seat != SPECTATOR:
        write_left(&out, fields.VIEW_DRAW_PILE, game, common, seen.seat, seen.hand)
        write_left(&out, fields.VIEW_UNSEEN, game, common, 1 - seen.seat, NULL)
    for i in range(common.play_count):
        write_play(&out, &common.plays[i])
    put(&out, fields.VIEW_ATTACK_START, common.attack_start)
    put(&out, fields.VIEW_FIRST_KICK_OFF, common.first_kick_off)
    for i in range(common.kick_offs):
        write_kick_off(&out, common.kick_off_cards[i])
    return written(&out)


cdef void write_side(
    Writer* out, PowerShotSoccer game, const Common* common, int side
) noexcept:
    cdef size_t begun = begin(out, fields.VIEW_SIDES)
    put(out, fields.SIDE_GOALS, common.goals[side])
    put(out, fields.SIDE_DRAW_PILE_SIZE, common.draw_sizes[side])
    put(out, fields.SIDE_HAND_SIZE, game.hand_size)
    write_pile(out, fields.SIDE_PLAY_PILE, common, side, common.attack_start, common.play_count)
    write_pile(out, fields.SIDE_DISCARD_PILE, common, side, 0, common.attack_start)
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


# Writes the cards that a side has neither played in this half nor, if it is given, in its hand.
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
    cdef size_t begun = begin(out, fields.VIEW_PLAYS)
    put(out, fields.PLAY_SEAT, play.seat)
    put(out, fields.PLAY_CARD, play.card)
    put(out, fields.PLAY_ROLE, play.role)
    put(out, fields.PLAY_OUTCOME, play.outcome)
    end(out, begun)


cdef void write_kick_off(Writer* out, const uint8_t* cards) noexcept nogil:
    cdef size_t begun = begin(out, fields.VIEW_KICK_OFFS)
    put_list(out, fields.KICK_OFF_CARDS, cards, SEATS, 0)
    end(out, begun)
