"""The contract of a game.

A `State` is everything about one position, hidden cards and all; a `View` is what one seat knows of
it. Both are plain bytes of a fixed size and hold no pointer, so that an assignment copies them. A
game lays its own struct over them.

A `Game` is one game under one ruleset and never changes. Its methods trust their input: legality is
checked once, in engine/position.pyx.
"""

from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.integers cimport uint8_t, uint64_t

cpdef enum:
    SEATS = 2
    SPECTATOR = 2          # As a viewer: someone who sees what both seats see.
    STATE_WORDS = 768
    STATE_BYTES = 8 * STATE_WORDS
    VIEW_WORDS = 640
    VIEW_BYTES = 8 * VIEW_WORDS
    MAX_ACTIONS = 4096     # Legal actions of one seat.
    MAX_PLACES = 8         # Hidden places of one game: see `Game.hidden`.
    CARD_TYPES = 128       # At most so many cards in one game, copies aside.

    # Sets of seats.
    NOBODY = 0
    BOTH = 3

ctypedef uint8_t[CARD_TYPES] Cards     # Copies of each card, by its index in `Game.cards`.

ctypedef uint64_t Action   # One decision of one seat, as the game encodes it; 0 is no action.

cdef struct State:
    uint64_t words[STATE_WORDS]

cdef struct View:
    uint64_t words[VIEW_WORDS]


cdef class Game:
    """One game under one ruleset. See engine/game.pyx for what Python sees of it."""
    cdef readonly dict ruleset

    # The game's structs and Python, one line each: Cython turns a struct into a dict, and back.
    cdef state_fields(self, const State* state)
    cdef fill_state(self, State* state, fields)
    cdef view_fields(self, const View* view)
    cdef fill_view(self, View* view, fields)

    # Deals a new match into `state` and plays on to the first decision.
    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil

    # The set of seats that must decide now, at the same time if it is both; NOBODY when it is over.
    cdef int deciders(self, const State* state) noexcept nogil

    # Writes the legal actions of a seat that must decide, ascending and distinct; how many.
    # They depend on nothing that the seat does not know.
    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil

    # Applies what every decider has decided, `joint[seat]` each, and plays on to the next decision.
    cdef void apply(self, State* state, const Action* joint, Rng* rng, EventLog* log) noexcept nogil

    # The score of a seat when it is over, in [0, 1]; the two add up to 1. A win is 1, a draw 0.5
    # and a loss 0, unless the game has stakes: then the payoff, scaled to that range.
    cdef double outcome(self, const State* state, int seat) noexcept nogil

    # Writes what a seat, or SPECTATOR, knows. Bytes that the game does not use are zero.
    cdef void view(self, const State* state, int seat, View* view) noexcept nogil

    # A key of what a seat saw of `joint`, which has led to `after`: the search keeps decisions
    # apart whose keys differ. It may be coarser than what was seen, never finer.
    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil

    # Writes what lies at each of the game's `hidden_places`, as they are for `seat`: row i is the
    # i-th place, and is all 0 before. The default has no such place.
    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil

    # A key of what `seat` alone knows in this state, its private cards, for a game so small that
    # the search should keep decisions apart by it. The default is 0: one key for all.
    cdef uint64_t root_key(self, const State* state, int seat) noexcept nogil

    # Plays to the end. The default chooses uniformly among the legal actions.
    cdef void playout(self, State* state, Rng* rng) noexcept nogil


cdef class SeatView:
    """What one seat, or a spectator, knows of a position."""
    cdef readonly Game game
    cdef View view
