"""Rules in plain Python: calls the methods of a PythonGame where the engine calls C methods.

Structures are laid over states and views, actions become tuples, and whatever the rules raise ends
the call, not the server (engine/faults.pyx).
"""

import ctypes

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.string cimport memcmp, memcpy, memset

from engine.chance cimport Rng, mix
from engine.events cimport EventLog
from engine.faults cimport begin_call, failed_here, keep_raised
from engine.game cimport (
    CARD_TYPES, MAX_ACTIONS, NOBODY, SEATS, STATE_BYTES, VIEW_BYTES, Cards, those_listed,
)
from engine.integers cimport uint8_t, uint64_t
from engine.python_tools cimport Chance, Log, chance_of, log_of

from engine.action_codes import ActionCodes
from engine.layouts import layout

cdef enum:
    SAFE_ACTION = 1            # Stands for the legal actions after a fault: no loop lists none.
    MAX_LAID = 256             # Structures that are kept for the next call.

cdef object WORD = (1 << 64) - 1


cdef object laid_at(size_t address, dict known, lay):
    # The structure over an address. Searches use the same few addresses again and again.
    struct = known.get(address)
    if struct is None:
        if len(known) >= MAX_LAID:
            known.clear()
        struct = known[address] = lay(address)
    return struct


cdef class PythonRules(Game):
    """What calls the rules of a PythonGame (engine/python_game.py)."""

    def __cinit__(self, *_args, **_kwargs):
        cls = type(self)
        self.name = cls.id
        self.state_layout, self.view_layout, self.action_codes = parts_of(cls)
        self.state_at = cls.State.from_address
        self.view_at = cls.View.from_address
        self.states = {}
        self.views = {}
        self.known_codes = self.action_codes.codes
        self.known_actions = self.action_codes.actions
        self.event_numbers = {text.partition(":")[0]: number
                              for number, text in cls.event_kinds.items()}
        self.place_numbers = {name: number for number, name in enumerate(cls.hidden_places)}
        self.view_words = (ctypes.sizeof(cls.View) + 7) // 8
        self.has_observe = hasattr(cls, "observe")
        self.has_hidden = hasattr(cls, "hidden")
        self.has_shuffle = hasattr(cls, "shuffle_unseen")
        self.has_root_key = hasattr(cls, "root_key")
        self.has_choose = hasattr(cls, "choose")
        self.has_stage = hasattr(cls, "stage")
        self.has_estimate = hasattr(cls, "estimate")
        self.listed_states = [b"", b""]
        self.listed_codes = [b"", b""]

    def __init__(self, ruleset=None):
        Game.__init__(self, ruleset)
        self.state_bytes = ctypes.sizeof(type(self).State)

    # Fields

    cdef state_fields(self, const State* state):
        return self.state_layout.read(self.state_at(<size_t> state))

    cdef fill_state(self, State* state, fields):
        self.state_layout.fill(self.state_at(<size_t> state), fields)

    cdef view_fields(self, const View* view):
        return self.view_layout.read(self.view_at(<size_t> view))

    cdef fill_view(self, View* view, fields):
        self.view_layout.fill(self.view_at(<size_t> view), fields)

    def read_action(self, action):
        return self.action_codes.read(action)

    def make_action(self, fields):
        return self.action_codes.make(fields)

    # What the methods of the contract have in common. These raise errors.

    cdef object state_struct(self, const State* state):
        return laid_at(<size_t> state, self.states, self.state_at)

    cdef object view_struct(self, const View* view):
        return laid_at(<size_t> view, self.views, self.view_at)

    cdef Action code_of(self, action) except? 1:
        code = self.known_codes.get(action)
        return self.action_codes.code(action) if code is None else code

    cdef object action_of(self, Action code):
        action = self.known_actions.get(code)
        return self.action_codes.action(code) if action is None else action

    cdef int owed_by(self, state) except -1:
        cdef int owed = NOBODY
        for seat in (<object> self).deciders(state):
            if seat != 0 and seat != 1:
                raise ValueError(f"a seat is 0 or 1, not {seat}")
            owed |= 1 << <int> seat
        return owed

    cdef bytes codes_of(self, state, int seat):
        # The legal actions, packed.
        cdef Action codes[MAX_ACTIONS]
        cdef list found = []
        cdef int i, n
        for action in (<object> self).legal(state, seat):
            found.append(self.code_of(action))
        found.sort()
        n = len(found)
        if not 0 < n <= MAX_ACTIONS:
            raise ValueError(f"a seat that decides has from 1 to {MAX_ACTIONS} actions, not {n}")
        for i in range(n):
            codes[i] = found[i]
            if i and codes[i] == codes[i - 1]:
                raise ValueError(f"{self.action_of(codes[i])} was listed twice")
        return PyBytes_FromStringAndSize(<char*> codes, n * sizeof(Action))

    cdef bytes listed(self, const State* state, int seat):
        # The same from what was listed last, if the state has not changed since.
        cdef bytes codes = self.listed_codes[seat]
        cdef bytes before = self.listed_states[seat]
        if (PyBytes_GET_SIZE(before) == <Py_ssize_t> self.state_bytes
                and memcmp(PyBytes_AS_STRING(before), state, self.state_bytes) == 0):
            return codes
        codes = self.codes_of(self.state_struct(state), seat)
        before = PyBytes_FromStringAndSize(<const char*> state, self.state_bytes)
        self.listed_states[seat] = before
        self.listed_codes[seat] = codes
        return codes

    cdef double score_of(self, state, int seat) except -1:
        cdef double score = (<object> self).outcome(state, seat)
        if not 0 <= score <= 1:
            raise ValueError(f"a score is from 0 to 1, not {score}")
        return score

    cdef dict joint_of(self, const Action* joint):
        cdef dict chosen = {}
        cdef int seat
        for seat in range(SEATS):
            if joint[seat]:
                chosen[seat] = self.action_of(joint[seat])
        return chosen

    # The contract. A method that raises an error is called as one that does not, and what it has
    # raised is kept as a fault. After a fault, the match is over until the fault is raised.

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        memset(state, 0, sizeof(State))
        if failed_here():
            return
        with gil:
            begin_call()
            (<Playing> play_on)(self, state, NULL, rng, log)
            keep_raised(self.name, "deal")

    cdef int deciders(self, const State* state) noexcept nogil:
        cdef int owed = NOBODY
        if failed_here():
            return NOBODY
        with gil:
            begin_call()
            owed = (<Asking> owed_in)(self, state)
            keep_raised(self.name, "deciders")
        return NOBODY if failed_here() else owed

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        cdef int count
        if not failed_here():
            with gil:
                begin_call()
                count = (<Listing> list_legal)(self, state, seat, actions)
                keep_raised(self.name, "legal")
            if not failed_here():
                return count
        actions[0] = SAFE_ACTION
        return 1

    cdef uint64_t legal_among(self, const State* state, int seat, const Action* actions,
                              size_t stride, int count) noexcept nogil:
        cdef uint64_t found = 0
        if failed_here():
            return 0
        with gil:
            begin_call()
            found = (<Finding> find_legal)(self, state, seat, actions, stride, count)
            keep_raised(self.name, "legal")
        return 0 if failed_here() else found

    cdef Action only_action(self, const State* state, int seat) noexcept nogil:
        cdef Action action = SAFE_ACTION
        if failed_here():
            return SAFE_ACTION
        with gil:
            begin_call()
            action = (<Single> only_listed)(self, state, seat)
            keep_raised(self.name, "legal")
        return SAFE_ACTION if failed_here() else action

    cdef void apply(self, State* state, const Action* joint, Rng* rng,
                    EventLog* log) noexcept nogil:
        if failed_here():
            return
        with gil:
            begin_call()
            (<Playing> play_on)(self, state, joint, rng, log)
            keep_raised(self.name, "apply")

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        cdef double score
        if failed_here():
            return 0.5
        with gil:
            begin_call()
            score = (<Scoring> score_in)(self, state, seat)
            keep_raised(self.name, "outcome")
        return 0.5 if failed_here() else score

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        memset(view, 0, sizeof(View))
        (<uint8_t*> view)[0] = seat
        if failed_here():
            return
        with gil:
            begin_call()
            (<Viewing> write_view)(self, state, seat, view)
            keep_raised(self.name, "view")

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        cdef View view
        cdef uint64_t key = 0
        cdef int i
        if failed_here():
            return 0
        if not self.has_observe:
            # The view holds all that the seat has seen.
            self.view(after, seat, &view)
            for i in range(<int> self.view_words):
                key = mix(key, view.words[i])
            return key
        with gil:
            begin_call()
            key = (<Observing> key_of)(self, after, joint, seat)
            keep_raised(self.name, "observe")
        return key

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        if not self.has_hidden or failed_here():
            return
        with gil:
            begin_call()
            (<Hiding> write_hidden)(self, state, seat, places)
            keep_raised(self.name, "hidden")

    cdef uint64_t root_key(self, const State* state, int seat) noexcept nogil:
        cdef uint64_t key
        if not self.has_root_key or failed_here():
            return 0
        with gil:
            begin_call()
            key = (<Observing> key_of)(self, state, NULL, seat)
            keep_raised(self.name, "root_key")
        return key

    cdef void shuffle_unseen(self, State* state, Rng* rng) noexcept nogil:
        if not self.has_shuffle or failed_here():
            return
        with gil:
            begin_call()
            (<Shuffling> shuffle_in)(self, state, rng)
            keep_raised(self.name, "shuffle_unseen")


ctypedef int (*Playing)(PythonRules, State*, const Action*, Rng*, EventLog*) noexcept
ctypedef int (*Asking)(PythonRules, const State*) noexcept
ctypedef int (*Listing)(PythonRules, const State*, int, Action*) noexcept
ctypedef uint64_t (*Finding)(PythonRules, const State*, int, const Action*, size_t,
                             int) noexcept
ctypedef Action (*Single)(PythonRules, const State*, int) noexcept
ctypedef double (*Scoring)(PythonRules, const State*, int) noexcept
ctypedef int (*Viewing)(PythonRules, const State*, int, View*) noexcept
ctypedef uint64_t (*Observing)(PythonRules, const State*, const Action*, int) noexcept
ctypedef int (*Hiding)(PythonRules, const State*, int, Cards*) noexcept
ctypedef int (*Shuffling)(PythonRules, State*, Rng*) noexcept


cdef int play_on(PythonRules game, State* state, const Action* joint, Rng* rng,
                 EventLog* log) except -1:
    # Applies a joint action; deals if it is NULL.
    cdef Chance chance = chance_of(rng)
    cdef Log events = log_of(log, game.event_numbers)
    struct = game.state_struct(state)
    try:
        if joint == NULL:
            (<object> game).deal(struct, chance, events)
        else:
            (<object> game).apply(struct, game.joint_of(joint), chance, events)
    finally:
        chance.rng = NULL
        events.log = NULL
        events.over = True
    return 0


cdef int shuffle_in(PythonRules game, State* state, Rng* rng) except -1:
    cdef Chance chance = chance_of(rng)
    try:
        (<object> game).shuffle_unseen(game.state_struct(state), chance)
    finally:
        chance.rng = NULL
    return 0


cdef int owed_in(PythonRules game, const State* state) except -1:
    return game.owed_by(game.state_struct(state))


cdef int list_legal(PythonRules game, const State* state, int seat, Action* actions) except -1:
    cdef bytes codes = game.listed(state, seat)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(codes)
    memcpy(actions, PyBytes_AS_STRING(codes), size)
    return <int> (size // <Py_ssize_t> sizeof(Action))


cdef Action only_listed(PythonRules game, const State* state, int seat) except? 1:
    # The only legal action; 0 if there are several.
    cdef bytes codes = game.listed(state, seat)
    if PyBytes_GET_SIZE(codes) != <Py_ssize_t> sizeof(Action):
        return 0
    return (<const Action*> PyBytes_AS_STRING(codes))[0]


cdef uint64_t find_legal(PythonRules game, const State* state, int seat, const Action* actions,
                         size_t stride, int count) except? 1:
    cdef bytes listed = game.listed(state, seat)
    return those_listed(
        <const Action*> PyBytes_AS_STRING(listed),
        PyBytes_GET_SIZE(listed) // <Py_ssize_t> sizeof(Action), actions, stride, count)


cdef double score_in(PythonRules game, const State* state, int seat) except -1:
    return game.score_of(game.state_struct(state), seat)


cdef int write_view(PythonRules game, const State* state, int seat, View* view) except -1:
    (<object> game).view(game.state_struct(state), seat, game.view_struct(view))
    return 0


cdef uint64_t key_of(PythonRules game, const State* state, const Action* joint,
                     int seat) except? 1:
    # The key of what a seat saw of a joint action; that of what only the seat knows, for NULL.
    struct = game.state_struct(state)
    if joint == NULL:
        return (<object> game).root_key(struct, seat) & WORD
    return (<object> game).observe(struct, game.joint_of(joint), seat) & WORD


cdef int write_hidden(PythonRules game, const State* state, int seat, Cards* places) except -1:
    cdef int place
    found = (<object> game).hidden(game.state_struct(state), seat)
    for name, cards in found.items():
        place = game.place_numbers[name]
        for card in cards:
            if not 0 <= card < CARD_TYPES:
                raise ValueError(f"{card} is the index of no card")
            places[place][<int> card] += 1
    return 0


cdef dict _parts = {}


def parts_of(cls):
    """The layouts of the State and the View of a class, and its codes; raises TypeError."""
    if cls not in _parts:
        where = cls.__name__
        _parts[cls] = (
            layout(cls.State, f"{where}.State", STATE_BYTES),
            layout(cls.View, f"{where}.View", VIEW_BYTES, seat=True),
            ActionCodes(cls.actions, f"{where}.actions"),
        )
    return _parts[cls]
