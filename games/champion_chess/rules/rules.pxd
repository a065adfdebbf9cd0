"""The rules of Champion Chess, for its playout policy and its views in the API."""

from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Action, Game
from engine.integers cimport uint8_t
from games.champion_chess.rules.state cimport *


cdef class ChampionChess(Game):
    cdef uint8_t castling
    cdef int max_hand
    cdef uint8_t copies[CARDS]
    cdef uint8_t points[CARDS][3]

    cdef int legal_champions(self, const ChessState* chess, int seat,
                             Action* actions) noexcept nogil
    cdef bint may_castle(self, const ChessState* chess, int seat) noexcept nogil
    cdef void begin_turn(self, ChessState* chess, Rng* rng, EventLog* log) noexcept nogil
    cdef void fill_hand(self, ChessState* chess, int seat, Rng* rng, EventLog* log) noexcept nogil
    cdef void reshuffle(self, ChessState* chess, int seat, Rng* rng, EventLog* log) noexcept nogil
    cdef void mulligan(self, ChessState* chess, int seat, EventLog* log) noexcept nogil
    cdef void remember_point(self, Side* side, const uint8_t* hand, const uint8_t* deck,
                             const uint8_t* reserve) noexcept nogil
    cdef void play_champions(self, ChessState* chess, const Action* joint, Rng* rng,
                             EventLog* log) noexcept nogil
    cdef void swap_rook_for_king(self, ChessState* chess, int seat) noexcept nogil
    cdef void discard(self, ChessState* chess, const Action* joint, EventLog* log) noexcept nogil
    cdef void shuffle(self, ChessState* chess, int seat, bint from_reserve, Rng* rng,
                      EventLog* log) noexcept nogil
    cdef void log_drawn(self, int seat, const uint8_t* cards, int n, EventLog* log) noexcept nogil
