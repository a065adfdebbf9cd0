"""A game, and what one seat knows of a position: see engine/game.pxd for the contract.

Python reads and makes rulesets, states, views and actions as fields here. These methods check what
comes from outside; the C methods of a game trust their input.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memcpy, memset

from engine.chance cimport mix

from engine.errors import RulesetError, ViewError
from engine.faults import guard_methods
from engine.parts import part

MAX_MIXED = 8


cdef class Game:
    """One game under one ruleset. It never changes. See engine/game.pxd for the rules.

    A subclass sets `id`, `abi` (the constant ABI, as it was when the game was compiled), `title`,
    `summary` (the rules in short), `rules_version`, `seat_titles`, `event_kinds` and
    `hidden_places`: the names of the places where cards lie that a seat does not see, at most
    MAX_PLACES, in the order in which beliefs are listed.

    `event_kinds` has for each number the name of a kind of event and, if a server hosts the game,
    the names of its values in order: "round_ended: winner? chips[2] cards*". A name with [2] stands
    for two values, one with * for all remaining values; one with ? may be NO_SEAT, for none. The
    kind "drawn_hidden" is the twin of "drawn" for readers who do not see all of it.

    `phrases` are what clients say that do not know the game: see `Game.phrases` in the API.

    `reference` marks a game for study, which no server lists. `sequential_regret` tells the search
    to answer with a mixture of actions even where a seat decides alone, because an action such as a
    bet gives away cards. `visits_before_mixing` and `widening` are parameters of the search
    (ai/results.py) that suit the game. `temperatures` has the temperature of each strength of a bot
    that does not choose as well as it can (ai/softness.py). `effective_rounds` tells how far scores
    of the search differ from search to search (ai/last_look.py). `utility_range` is what lies
    between the best and the worst result as the literature counts: chips, where it does.
    `unseen_order` says that something lies in an order that neither seat has seen, which
    `shuffle_unseen` draws again.
    """

    id = ""
    abi = 0
    title = ""
    summary = ""
    rules_version = 1
    seat_titles = ("First", "Second")
    event_kinds = {}
    hidden_places = ()
    phrases = {}
    reference = False
    sequential_regret = False
    visits_before_mixing = 0
    widening = 0.5
    temperatures = {"beginner": 1.5, "casual": 1.0, "regular": 0.8, "skilled": 0.5}
    effective_rounds = 20
    utility_range = 2.0
    unseen_order = False

    def __init__(self, ruleset=None):
        """Takes the options that differ from the defaults. Raises RulesetError."""
        self.state_bytes = STATE_BYTES
        self.ruleset = self.read_ruleset(dict(ruleset or {}))

    def __reduce__(self):
        return type(self), (self.ruleset,)

    def under(self, rules_version):
        """The game under the same ruleset and this version of its rules; None if it is not kept.

        A game keeps an earlier version as a subclass in the module `rules.rules_<version>`.
        """
        if rules_version == self.rules_version:
            return self
        kept = part(type(self), f"rules.rules_{rules_version}", type(self))
        guard_methods(kept)
        return kept(self.ruleset) if kept.rules_version == rules_version else None

    def read_ruleset(self, given):
        """Checks the options, builds the tables and returns the whole ruleset.

        Raises RulesetError if an option breaks a rule.
        """
        if given:
            raise RulesetError(next(iter(given)), "is not an option of this game", "UNKNOWN_OPTION")
        return {}

    def cards(self):
        """The cards for display: dicts of id, title, kind, copies, numbers (title: value), text."""
        return []

    def read_state(self, bytes data not None):
        """The fields of a state, as dicts, lists and integers. Raises ValueError for its length."""
        if len(data) != STATE_BYTES:
            raise ValueError(f"a state has {STATE_BYTES} bytes, not {len(data)}")
        return self.state_fields(<const State*> PyBytes_AS_STRING(data))

    def make_state(self, fields):
        """The bytes of a state with these fields, for tests. It trusts the fields."""
        cdef State state
        memset(&state, 0, sizeof(state))
        self.fill_state(&state, fields)
        return PyBytes_FromStringAndSize(<char*> &state, STATE_BYTES)

    def read_view(self, bytes data not None):
        """The fields of a view, as dicts, lists and integers. Raises ViewError for its length."""
        if len(data) != VIEW_BYTES:
            raise ViewError("", f"has {len(data)} bytes instead of {VIEW_BYTES}")
        return self.view_fields(<const View*> PyBytes_AS_STRING(data))

    def read_stored_view(self, bytes data not None):
        """As `read_view`, but what follows from other fields is as the bytes say, not computed."""
        return self.read_view(data)

    def make_view(self, fields):
        """The bytes of a view with these fields.

        Raises ViewError if a number does not fit its field.
        """
        cdef View view
        memset(&view, 0, sizeof(view))
        try:
            self.fill_view(&view, fields)
        except (IndexError, OverflowError, TypeError, ValueError) as error:
            raise ViewError("", f"a number does not fit its field: {error}") from None
        return PyBytes_FromStringAndSize(<char*> &view, VIEW_BYTES)

    def empty_view(self):
        """The fields of a view in which all is 0: they show how long each list is."""
        cdef View view
        memset(&view, 0, sizeof(view))
        return self.view_fields(&view)

    cdef state_fields(self, const State* state):
        raise NotImplementedError

    cdef fill_state(self, State* state, fields):
        raise NotImplementedError

    cdef view_fields(self, const View* view):
        raise NotImplementedError

    cdef fill_view(self, View* view, fields):
        raise NotImplementedError

    def read_action(self, action):
        """The fields of an action: a dict with its `kind` and its parameters."""
        raise NotImplementedError

    def make_action(self, fields):
        """The action with these fields. Raises ActionError if there is no such action."""
        raise NotImplementedError

    @property
    def max_mixed_actions(self):
        """The most actions for which the search answers a simultaneous decision with a mixture."""
        return MAX_MIXED

    @property
    def most_legal(self):
        """The most legal actions that a seat can have at once, at most MAX_ACTIONS."""
        return MAX_ACTIONS

    def stand_in(self, name):
        """The class for a part, such as "sampler", of which the game's package has no module.

        None for that of all games.
        """
        return None

    def explain(self, position, int seat, action):
        """Why an action is not legal now: an identifier of the rule, and a sentence.

        Without a sentence, whoever refuses it says which actions are legal, by the phrases.
        """
        return "NOT_LEGAL", ""

    # The rules

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        pass

    cdef int deciders(self, const State* state) noexcept nogil:
        return NOBODY

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        return 0

    cdef uint64_t legal_among(self, const State* state, int seat, const Action* actions,
                              size_t stride, int count) noexcept nogil:
        cdef Action listed[MAX_ACTIONS]
        cdef int size = self.legal(state, seat, listed)
        return those_listed(listed, size, actions, stride, count)

    cdef Action only_action(self, const State* state, int seat) noexcept nogil:
        cdef Action actions[MAX_ACTIONS]
        return actions[0] if self.legal(state, seat, actions) == 1 else 0

    cdef int without_dominated(self, const State* state, int seat, Action* actions,
                               int count) noexcept nogil:
        return count

    cdef void apply(self, State* state, const Action* joint, Rng* rng,
                    EventLog* log) noexcept nogil:
        pass

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        return 0.5

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        memset(view, 0, sizeof(View))

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        return 0

    cdef uint64_t next_key(self, uint64_t key, const State* after, const Action* joint,
                           int seat) noexcept nogil:
        return mix(key, self.observe(after, joint, seat))

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        pass

    cdef uint64_t root_key(self, const State* state, int seat) noexcept nogil:
        return 0

    cdef void shuffle_unseen(self, State* state, Rng* rng) noexcept nogil:
        pass


cdef class SeatView:
    """What one seat, or a spectator, knows of a position. Equal views are equal bytes."""

    def __init__(self, Game game not None, bytes data not None):
        if len(data) != VIEW_BYTES:
            raise ViewError("", f"has {len(data)} bytes instead of {VIEW_BYTES}")
        self.game = game
        memcpy(&self.view, PyBytes_AS_STRING(data), VIEW_BYTES)

    @staticmethod
    def from_fields(Game game not None, fields):
        """The view with these fields. Raises ViewError if a number does not fit its field."""
        return SeatView(game, game.make_view(fields))

    @property
    def fields(self):
        """The fields of the view, as dicts, lists and integers."""
        return self.game.read_view(bytes(self))

    @property
    def seat(self):
        """The viewer: 0, 1 or SPECTATOR."""
        return (<uint8_t*> &self.view)[0]

    def __bytes__(self):
        return PyBytes_FromStringAndSize(<char*> &self.view, VIEW_BYTES)

    def __eq__(self, other):
        return isinstance(other, SeatView) and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))

    def __repr__(self):
        return f"<View of {self.game.id} by {self.seat}: {self.fields}>"
