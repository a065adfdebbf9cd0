"""The game of Castle Rampage, as its sampler and its playout policy use it."""

from engine.castle_rampage.state cimport Tables
from engine.game cimport Game


cdef class CastleRampage(Game):
    cdef int set_ups
    cdef int turn_limit
    cdef Tables tables
    cdef check_deck(self)
