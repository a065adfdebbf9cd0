"""A challenge of Champion Chess: who wins it, and what becomes of champions and aid.

Its phases are functions with the names of the rule sheet.
"""

from libc.string cimport memset

from engine.events cimport TO_PUBLIC, TO_RECORD, log_event
from engine.game cimport SEATS
from games.champion_chess.rules.hand cimport take_from
from games.champion_chess.rules.state cimport (
    AID_REVEALED, CHALLENGE_DECIDED, END, KING, OVER, Side, Turn,
)

cdef enum:
    CATEGORIES = 3

ctypedef int[CATEGORIES] Totals  # Of a champion and its aid.


cdef void play_aid(ChessState* chess, const Values* values, const Action* joint,
                   EventLog* log) noexcept nogil:
    cdef Totals totals[SEATS]
    cdef bint won[SEATS]
    aid(chess, joint)
    revelation(chess, log)
    calculations(chess, values, totals)
    resolution(totals, won)
    fate(chess, totals, won, log)


cdef inline Turn* turn_of(Side* side) noexcept nogil:
    # The turn that is being played.
    return &side.memory.turns[side.memory.size]


cdef inline void aid(ChessState* chess, const Action* joint) noexcept nogil:
    # Each seat plays aid cards from its hand.
    cdef Side* side
    cdef Turn* turn
    cdef int seat
    for seat in range(SEATS):
        side = &chess.side[seat]
        turn = turn_of(side)
        memset(turn, 0, sizeof(Turn))
        turn.champion = side.champion - 1
        turn.castled = side.castled
        turn.aid_count = take_from(chess.own[seat].hand, joint[seat], turn.cards)
        side.hand_size -= turn.aid_count


cdef inline void revelation(ChessState* chess, EventLog* log) noexcept nogil:
    # All aid cards are turned over.
    cdef Turn* turn
    cdef int seat
    for seat in range(SEATS):
        turn = turn_of(&chess.side[seat])
        log_event(log, TO_PUBLIC | TO_RECORD, AID_REVEALED, seat, turn.cards, turn.aid_count)


cdef inline void calculations(ChessState* chess, const Values* values,
                              Totals* totals) noexcept nogil:
    # Each side adds up move, attack and defend of its champion and aid.
    cdef Turn* turn
    cdef int seat, category, i
    for seat in range(SEATS):
        turn = turn_of(&chess.side[seat])
        for category in range(CATEGORIES):
            totals[seat][category] = values[turn.champion][category]
            for i in range(turn.aid_count):
                totals[seat][category] += values[turn.cards[i]][category]


cdef inline void resolution(const Totals* totals, bint* won) noexcept nogil:
    # The champion that is higher in more categories wins. If neither is, both lose.
    cdef int higher[SEATS]
    cdef int seat, category
    for seat in range(SEATS):
        higher[seat] = 0
        for category in range(CATEGORIES):
            higher[seat] += totals[seat][category] > totals[1 - seat][category]
    for seat in range(SEATS):
        won[seat] = higher[seat] > higher[1 - seat]


cdef inline void fate(ChessState* chess, const Totals* totals, const bint* won,
                      EventLog* log) noexcept nogil:
    # All aid is defeated, and so is a champion that lost; one that won goes to the reserve. A seat
    # that loses its King loses the match.
    cdef bint king_lost[SEATS]
    cdef uint8_t shown[2 + CATEGORIES]
    cdef Side* side
    cdef Turn* turn
    cdef int seat, category, i
    for seat in range(SEATS):
        side = &chess.side[seat]
        turn = turn_of(side)
        turn.won = won[seat]
        for i in range(turn.aid_count):
            side.defeated[turn.cards[i]] += 1
        if turn.won:
            side.reserve[turn.champion] += 1
        else:
            side.defeated[turn.champion] += 1
        king_lost[seat] = turn.champion == KING and not turn.won
        side.champion = 0
        side.castled = False
        side.memory.size += 1
        shown[0] = turn.champion
        shown[1] = turn.won
        for category in range(CATEGORIES):
            shown[2 + category] = totals[seat][category]
        log_event(log, TO_PUBLIC | TO_RECORD, CHALLENGE_DECIDED, seat, shown, sizeof(shown))
    chess.phase = END
    if king_lost[0] or king_lost[1]:
        chess.phase = OVER
        chess.half_points = 1 if king_lost[0] and king_lost[1] else 2 * king_lost[1]
