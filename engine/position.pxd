"""A position: a full state of a game."""

from engine.game cimport Game, State

cdef class Position:
    """A full state of a game, with its legal actions, views and events."""
    cdef readonly Game game
    cdef State state
