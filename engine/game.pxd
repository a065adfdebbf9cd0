"""The contract of a game: the one declaration that the search cimports.

A `State` is everything about one position, hidden cards and all; a `View` is what one seat knows of
it. Both are plain bytes of a fixed size and hold no pointer, so that an assignment copies them. A
game lays its own struct over them.

A `Game` is one game under one ruleset and never changes. Its methods trust their input: legality is
checked once, in the Python face (`engine/game.pyx`).
"""

from libc.stdint cimport uint32_t, uint64_t

cdef extern from "<stdint.h>":
    # Not libc.stdint's own: Cython turns an array of that type into a C string, which ends at the
    # first 0, where it turns this one into a list.
    ctypedef unsigned short uint8_t

cdef enum:
    SEATS = 2
    SPECTATOR = 2          # As a viewer: someone who sees what both seats see.
    STATE_WORDS = 768
    STATE_BYTES = 8 * STATE_WORDS
    VIEW_WORDS = 640
    VIEW_BYTES = 8 * VIEW_WORDS
    MAX_ACTIONS = 4096     # Legal actions of one seat, at the most.

    # Sets of seats.
    NOBODY = 0
    BOTH = 3

    # Who reads an event: any sum of these. The record of a match is read when the match is over.
    TO_SEAT_0 = 1
    TO_SEAT_1 = 2
    TO_SPECTATORS = 4
    TO_RECORD = 8
    TO_PUBLIC = 7          # Everyone, while the match runs.

cdef enum:
    # Where cards lie that a seat does not see: rows of `Game.hidden`.
    OPPONENT_HAND = 0
    OPPONENT_PILE          # That it will draw or pick from.
    ASIDE
    OPPONENT_GATE          # Under its structures, where cards lie face down.
    OPPONENT_CASTLE
    PLACES
    CARD_TYPES = 128       # Of a game, at the most.

ctypedef uint8_t[CARD_TYPES] Cards     # Copies of each card, by its index in `Game.cards`.

ctypedef uint64_t Action   # One decision of one seat, as the game encodes it; 0 is no action.

cdef struct State:
    uint64_t words[STATE_WORDS]

cdef struct View:
    uint64_t words[VIEW_WORDS]


# Chance

cdef enum:
    MAX_DRAWS = 64

cdef struct Script:
    # Goes through all that can come of chance in one call, as an odometer goes through numbers:
    # each draw is the next digit, and takes down how many values it can have.
    uint32_t digits[MAX_DRAWS]
    uint32_t sizes[MAX_DRAWS]
    double divisors[MAX_DRAWS]   # 1 / the probability of the digit.
    int drawn              # In this call.
    bint rejected          # What came of the call does not count: see `rng_reject`.
    bint broken            # It drew more often than that, or by `rng_next` or `rng_double`.

cdef struct Rng:
    # A source of chance. The search draws from a fast generator, xoshiro256** (Blackman and Vigna,
    # 2018); a hosted match from a tape of cryptographic bytes that the Python face has prepared.
    uint64_t s[4]
    const uint8_t* tape    # NULL: draw from the generator.
    size_t tape_left       # Bytes not read yet.
    bint tape_ran_out      # What was drawn since is worthless; try again with a longer tape.
    Script* script         # NULL: draw from one of those.

cdef void rng_seed(Rng* rng, uint64_t seed) noexcept nogil
cdef uint64_t rng_next(Rng* rng) noexcept nogil
# Uniform in 0..n-1, without modulo bias; n > 0.
cdef uint32_t rng_below(Rng* rng, uint32_t n) noexcept nogil
# Uniform in [0, 1).
cdef double rng_double(Rng* rng) noexcept nogil
# An index in 0..n-1 in proportion to weights, of which these are the running sums.
cdef size_t rng_weighted(Rng* rng, const double* sums, size_t n) noexcept nogil
# Asked by a call that starts anew because what it drew does not fit: True if it must return
# instead, because it plays a script, whose next outcome then comes.
cdef bint rng_reject(Rng* rng) noexcept nogil
# Makes the generator play a script, from the first outcome of a call on.
cdef void script_start(Script* script, Rng* rng) noexcept nogil
# The probability of what came of the call; where calls are rejected, in relation to the others.
cdef double script_probability(const Script* script) noexcept nogil
# Turns to the next outcome of the same call; False if there is none left.
cdef bint script_next(Script* script) noexcept nogil
# Fisher-Yates. A script goes through each order of equal cards once.
cdef void rng_shuffle(Rng* rng, uint8_t* cards, int n) noexcept nogil
# Moves `k` of the cards to the end, any of them alike, in no certain order.
cdef void rng_part(Rng* rng, uint8_t* cards, int n, int k) noexcept nogil


# What happened

cdef struct EventLog:
    # The events of one call, one after the other: audience, kind, seat, number of values, values.
    # The search passes NULL.
    size_t used
    bint overflowed
    uint8_t bytes[8192]

# Say that something happened. A hidden thing is said twice: to those who see it, with its values,
# and to those who only see that it happened, without.
cdef void log_event(EventLog* log, int audience, int kind, int seat,
                    const uint8_t* values, int n) noexcept nogil

# Mixes `value` into the running key `key`, for keys of what a seat has observed.
cdef uint64_t mix(uint64_t key, uint64_t value) noexcept nogil


cdef class Sampler:
    """The worlds that fit one view: what `Game.sampler` makes."""
    cdef readonly Game game
    cdef readonly int seat
    cdef View view
    # Draws a state that would have shown the seat its view, in proportion to how likely it is when
    # the opponent chooses uniformly among his legal actions. Thread-safe.
    cdef void draw(self, State* state, Rng* rng) noexcept nogil


cdef class PlayoutPolicy:
    """How to play sensibly and cheaply, for the search's playouts: what `Game.playout_policy` makes."""
    cdef readonly Game game
    # How many stages a playout goes on for: see `stage`.
    cdef int horizon
    # A legal action of a seat that must decide, chosen with some chance. The default is uniform.
    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil
    # A number that never falls while a match goes on, such as its round: a playout ends when it
    # has grown by the horizon. The default is 0, so that all matches are played to the end.
    cdef int stage(self, const State* state) noexcept nogil
    # What seat 0 can expect to score where a playout has ended, and the probability of a draw.
    cdef double estimate(self, const State* state, double* draw) noexcept nogil
    # Plays on by `choose`, to the end or for `horizon` stages; what seat 0 has scored, or can
    # expect to, and the probability of a draw.
    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil


cdef class Game:
    """One game under one ruleset. See engine/game.pyx for the Python side of it."""
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

    # Writes what lies at each of the places that are hidden from `seat`, for those who ask what may
    # lie there; all is 0 before. The default knows of none.
    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil

    # A key of what `seat` alone knows in this state, its private cards, for a game so small that
    # the search should keep decisions apart by it. The default is 0: one key for all.
    cdef uint64_t root_key(self, const State* state, int seat) noexcept nogil

    # Plays to the end. The default chooses uniformly among the legal actions.
    cdef void playout(self, State* state, Rng* rng) noexcept nogil
