"""The contract of a game.

A `State` is everything about one position, hidden cards included; a `View` is what one seat knows
of it. Both are plain bytes of a fixed size without pointers, so an assignment copies them. A game
lays its own struct over them.

A `Game` is one game under one ruleset and never changes. Its methods trust their input, because
engine/position.pyx checks legality once for all games.
"""

from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.integers cimport uint8_t, uint64_t

cpdef enum:
    # The version of this contract. It rises whenever a compiled game must be compiled again, or a
    # game must be written otherwise (docs/adding-a-game.md).
    ABI = 2
    SEATS = 2
    SPECTATOR = 2          # A viewer without a seat, which sees only what both seats see.
    STATE_WORDS = 768
    STATE_BYTES = 8 * STATE_WORDS
    VIEW_WORDS = 640
    VIEW_BYTES = 8 * VIEW_WORDS
    LEGAL_BITS = 64        # Actions whose legality one number tells.
    MAX_ACTIONS = 4096     # Legal actions of one seat in one state.
    MAX_PLACES = 8         # Hidden places of one game: see `Game.hidden`.
    CARD_TYPES = 128       # The most different cards that one game can have.

    # Sets of seats.
    NOBODY = 0
    BOTH = 3

ctypedef uint8_t[CARD_TYPES] Cards     # Copies of each card, by its index in `Game.cards`.

ctypedef uint64_t Action   # One decision of one seat, encoded by its game; 0 is no action.

cdef struct State:
    uint64_t words[STATE_WORDS]

cdef struct View:
    uint64_t words[VIEW_WORDS]


# The action that stands `i` times `stride` bytes after another.
cdef inline Action action_at(const Action* actions, size_t stride, int i) noexcept nogil:
    return (<const Action*> (<const char*> actions + i * stride))[0]


# Which of some actions stand in a list, as `Game.legal_among` tells it.
cdef inline uint64_t those_listed(const Action* listed, int size, const Action* actions,
                                  size_t stride, int count) noexcept nogil:
    cdef uint64_t found = 0
    cdef int i, j
    for i in range(count):
        for j in range(size):
            if listed[j] == action_at(actions, stride, i):
                found |= <uint64_t> 1 << i
                break
    return found


cdef class Game:
    """One game under one ruleset. See engine/game.pyx for its Python interface."""
    cdef readonly dict ruleset
    # The bytes of a State that the game's struct takes. All others are always 0.
    cdef size_t state_bytes

    # Convert the game's structs to Python fields and back. Most take one line, because Cython
    # converts between a struct and a dict.
    cdef state_fields(self, const State* state)
    cdef fill_state(self, State* state, fields)
    cdef view_fields(self, const View* view)
    cdef fill_view(self, View* view, fields)

    # Deals a new match into `state` and plays on to the first decision.
    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil

    # The set of seats that must decide now: BOTH if they decide at the same time, NOBODY when the
    # match is over.
    cdef int deciders(self, const State* state) noexcept nogil

    # Writes the legal actions of a seat that must decide, ascending and distinct, and returns how
    # many there are. They depend on nothing that the seat does not know.
    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil

    # Which of at most LEGAL_BITS actions of a seat that must decide are legal: bit i is that of the
    # i-th. There are `stride` bytes from one action to the next (`action_at`). Each was legal in
    # another state in which the seat had observed the same, so only what differs between the two
    # must be checked: its cards. The default lists the legal actions.
    cdef uint64_t legal_among(self, const State* state, int seat, const Action* actions,
                              size_t stride, int count) noexcept nogil

    # The only legal action of a seat that must decide; 0 if there are several. The default lists
    # the legal actions.
    cdef Action only_action(self, const State* state, int seat) noexcept nogil

    # Takes out of the legal actions of a seat some that are never better than one that stays,
    # whatever the hidden cards are. Returns how many stay, at least one. The search names none of
    # the others. The default takes out none.
    cdef int without_dominated(self, const State* state, int seat, Action* actions,
                               int count) noexcept nogil

    # Applies the actions of all deciders, `joint[seat]` each, and plays on to the next decision.
    cdef void apply(self, State* state, const Action* joint, Rng* rng, EventLog* log) noexcept nogil

    # The score of a seat when the match is over, from 0 to 1. The scores of both seats add up to
    # 1. A win scores 1, a draw 0.5 and a loss 0; a game with stakes scales its payoffs to 0..1.
    cdef double outcome(self, const State* state, int seat) noexcept nogil

    # Writes what a viewer (seat 0, seat 1 or SPECTATOR) knows. All bytes that the game does not
    # use are 0.
    cdef void view(self, const State* state, int seat, View* view) noexcept nogil

    # A key of what a seat saw of `joint`, the actions that have led to `after`. The search merges
    # decisions whose keys are equal. The key may leave out some of what the seat saw, but must
    # depend on nothing else.
    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil

    # The key of all that a seat has observed, after it saw `joint`, the actions that have led to
    # `after`; `key` is the one before. The default mixes in `observe`. A game overrides it where
    # several orders of the same actions lead to the same decision.
    cdef uint64_t next_key(self, uint64_t key, const State* after, const Action* joint,
                           int seat) noexcept nogil

    # Writes which cards lie at each of the game's `hidden_places`, as `seat` names them: row i is
    # the i-th place and is all 0 before the call. The default writes nothing.
    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil

    # A key of what only `seat` knows in this state, such as its private cards. A game so small
    # that the search can keep decisions with different private cards apart returns one. The
    # default is 0 in every state.
    cdef uint64_t root_key(self, const State* state, int seat) noexcept nogil

    # Draws again, as likely as before, all order that neither seat has seen, such as that of a draw
    # pile: it only matters as cards are taken, so their draw counts as chance. A game that has such
    # an order says so by `unseen_order`. The default does nothing.
    cdef void shuffle_unseen(self, State* state, Rng* rng) noexcept nogil


cdef class SeatView:
    """What one seat, or a spectator, knows of a position."""
    cdef readonly Game game
    cdef View view
