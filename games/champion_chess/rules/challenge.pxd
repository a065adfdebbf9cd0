"""A challenge of Champion Chess, from the aid to the fate of the champions."""

from engine.events cimport EventLog
from engine.game cimport Action
from engine.integers cimport uint8_t
from games.champion_chess.rules.state cimport CARDS, ChessState

ctypedef uint8_t[3] Values       # Of a card: move, attack and defend.

# Plays the aid of both seats, and decides the challenge. `values` are those of each card.
cdef void play_aid(ChessState* chess, const Values* values, const Action* joint,
                   EventLog* log) noexcept nogil
