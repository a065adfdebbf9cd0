"""The game of Castle Rampage, as its sampler and its playout policy use it."""

from engine.game cimport Game
from games.castle_rampage.rules.state cimport Tables


cdef class CastleRampage(Game):
    cdef int set_ups
    cdef int most                # Legal actions of a hand that holds the whole deck.
    cdef int turn_limit
    cdef Tables tables
    cdef check_deck(self)
