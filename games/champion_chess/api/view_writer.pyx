"""Writes what a viewer knows of Champion Chess as the bytes of a ChampionChessView."""

cimport champion_chess_fields as fields
from cpython.bytes cimport PyBytes_AS_STRING

from engine.game cimport SEATS
from engine.integers cimport uint8_t
from games.champion_chess.rules.rules cimport ChampionChess
from games.champion_chess.rules.state cimport CARDS, ChessView, Memory, Side, Turn
from wire.writer cimport Writer, begin, end, put, put_counted, put_list, written

cdef enum:
    FIRST = 1              # The number in the schema of the engine's card 0.


def write_view(ChampionChess game not None, view):
    """Returns the serialized message."""
    cdef bytes data = bytes(view)
    cdef ChessView* seen = <ChessView*> PyBytes_AS_STRING(data)
    cdef Writer out
    cdef int seat
    cdef size_t side
    out.used = 0
    put(&out, fields.VIEW_PHASE, seen.phase)
    put(&out, fields.VIEW_CHALLENGE, seen.challenge)
    for seat in range(SEATS):
        side = begin(&out, fields.VIEW_SIDES)
        write_side(&out, game, &seen.side[seat], seen.known[seat])
        end(&out, side)
    put_counted(&out, fields.VIEW_HAND, seen.own.hand, CARDS, FIRST)
    put(&out, fields.VIEW_CASTLING_USED, seen.own.castling_used)
    return written(&out)


cdef void write_side(
    Writer* out, ChampionChess game, const Side* side, const uint8_t* known
) noexcept:
    cdef uint8_t[CARDS] unseen
    cdef size_t memory
    cdef int card
    for card in range(CARDS):
        unseen[card] = game.copies[card] - side.reserve[card] - side.defeated[card]
    if side.champion:
        unseen[side.champion - 1] -= 1
    put(out, fields.SIDE_HAND_SIZE, side.hand_size)
    put(out, fields.SIDE_DECK_SIZE, side.deck_size)
    put_counted(out, fields.SIDE_RESERVE, side.reserve, CARDS, FIRST)
    put_counted(out, fields.SIDE_DEFEATED, side.defeated, CARDS, FIRST)
    put_counted(out, fields.SIDE_UNSEEN, unseen, CARDS, FIRST)
    put_counted(out, fields.SIDE_KNOWN_HAND, known, CARDS, FIRST)
    put(out, fields.SIDE_CHAMPION, side.champion)
    put(out, fields.SIDE_CASTLED, side.castled)
    memory = begin(out, fields.SIDE_MEMORY)
    write_memory(out, &side.memory)
    end(out, memory)


cdef void write_memory(Writer* out, const Memory* memory) noexcept nogil:
    cdef size_t turn
    cdef int i
    put_counted(out, fields.MEMORY_HAND, memory.hand, CARDS, FIRST)
    put_counted(out, fields.MEMORY_DECK, memory.deck, CARDS, FIRST)
    put_counted(out, fields.MEMORY_RESERVE, memory.reserve, CARDS, FIRST)
    put(out, fields.MEMORY_CASTLING, memory.castling)
    for i in range(memory.size):
        turn = begin(out, fields.MEMORY_TURNS)
        write_turn(out, &memory.turns[i])
        end(out, turn)


cdef void write_turn(Writer* out, const Turn* turn) noexcept nogil:
    if not turn.mulligan:
        put(out, fields.TURN_CHAMPION, turn.champion + FIRST)
    put(out, fields.TURN_CASTLED, turn.castled)
    put(out, fields.TURN_WON, turn.won)
    put_list(out, fields.TURN_AID, turn.cards, turn.aid_count, FIRST)
    put_list(out, fields.TURN_DISCARDS, turn.cards + turn.aid_count, turn.discard_count, FIRST)
