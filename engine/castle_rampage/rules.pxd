"""The game of Castle Rampage, as its sampler and its playout policy use it."""

from engine.castle_rampage.state cimport CastleState, Tables
from engine.game cimport Game


cdef class CastleRampage(Game):
    cdef int set_ups
    cdef int turn_limit
    cdef Tables tables

    # Makes room in hand histories that are full. Called after each decision.
    cdef void make_room(self, CastleState* rampage) noexcept nogil
    cdef check_deck(self)
