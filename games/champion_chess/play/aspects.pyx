"""What follows from a decision in Champion Chess: the next challenges, and the Kings."""

from engine.aspects cimport Aspects
from engine.game cimport State
from games.champion_chess.rules.state cimport AID, CHAMPION, END, KING, OVER, ChessState, Side

from engine.aspects import CHANCE

cdef enum:
    CHALLENGE_WON = 0
    NEXT_WON
    OWN_KING
    THEIR_KING
    TURNS = 2                    # Within which a King falls.


cdef class ChampionChessAspects(Aspects):
    """Whether the next challenge is won, and whether a King falls within two turns."""

    units = {"challenge_won": CHANCE, "next_won": CHANCE, "own_king": CHANCE, "their_king": CHANCE}

    cdef bint follow(self, const State* begin, const State* now, int seat,
                     double* values) noexcept nogil:
        cdef const ChessState* before = <const ChessState*> begin
        cdef const ChessState* after = <const ChessState*> now
        cdef const Side* side = &after.side[seat]
        cdef bint discards = before.phase == END
        cdef int decided = after.challenge - before.challenge - discards
        # A challenge has just been decided; its champion stands last in what both seats remember.
        if after.phase != CHAMPION and after.phase != AID:
            if decided == 0:
                values[NEXT_WON if discards else CHALLENGE_WON] = (
                    side.memory.turns[side.memory.size - 1].won)
            decided += 1
        values[OWN_KING] = after.side[seat].defeated[KING] > before.side[seat].defeated[KING]
        values[THEIR_KING] = (
            after.side[1 - seat].defeated[KING] > before.side[1 - seat].defeated[KING])
        return after.phase == OVER or decided >= TURNS
