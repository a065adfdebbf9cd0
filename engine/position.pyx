"""A position: a full state of any game, with its legal actions, views and events."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memcpy, memset

from engine.chance cimport (
    Rng, Script, rng_seed, script_next, script_probability, script_start,
)
from engine.events cimport EventLog, read_log
from engine.faults cimport raise_fault
from engine.game cimport (
    MAX_ACTIONS, MAX_PLACES, NOBODY, SEATS, STATE_BYTES, Action, Cards, Game, SeatView, State,
)
from engine.integers cimport uint64_t

from engine.errors import ActionError

LISTED = 8                 # Legal actions that a refusal names.
SEATS_IN = ((), (0,), (1,), (0, 1))  # The seats in each set of seats.


cdef class Position:
    """A full state of a game, outside any match. Its chance comes from seeds."""

    def __init__(self, Game game not None):
        self.game = game

    @staticmethod
    def deal(Game game not None, uint64_t seed):
        """A new deal."""
        cdef Position position = Position(game)
        cdef Rng rng
        rng_seed(&rng, seed)
        game.deal(&position.state, &rng, NULL)
        raise_fault()
        return position

    @staticmethod
    def from_bytes(Game game not None, bytes data not None):
        """The position that `bytes()` turned into `data`, which is trusted."""
        cdef Position position = Position(game)
        if len(data) != STATE_BYTES:
            raise ValueError(f"a state has {STATE_BYTES} bytes, not {len(data)}")
        memcpy(&position.state, PyBytes_AS_STRING(data), STATE_BYTES)
        return position

    @staticmethod
    def from_fields(Game game not None, fields):
        """The position with these fields, for tests. It trusts the fields."""
        return Position.from_bytes(game, game.make_state(fields))

    def __reduce__(self):
        return Position.from_bytes, (self.game, bytes(self))

    def __bytes__(self):
        return PyBytes_FromStringAndSize(<char*> &self.state, STATE_BYTES)

    def __eq__(self, other):
        return type(other) is type(self) and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))

    @property
    def fields(self):
        """The fields of the state, as dicts, lists and integers."""
        return self.game.read_state(bytes(self))

    def copy(self):
        """An independent copy."""
        cdef Position other = Position(self.game)
        other.state = self.state
        return other

    @property
    def deciders(self):
        """The seats that must decide now, ascending; empty when the match is over."""
        cdef int owed = self.game.deciders(&self.state)
        raise_fault()
        return SEATS_IN[owed]

    @property
    def over(self):
        """Whether the match is over."""
        cdef int owed = self.game.deciders(&self.state)
        raise_fault()
        return owed == NOBODY

    @property
    def scores(self):
        """The scores of both seats, from 0 to 1 with a sum of 1; None before the end."""
        if not self.over:
            return None
        scores = tuple([self.game.outcome(&self.state, seat) for seat in range(SEATS)])
        raise_fault()
        return scores

    def legal(self, int seat):
        """The legal actions of a seat, ascending; empty if it owes no decision."""
        cdef Action actions[MAX_ACTIONS]
        cdef int i, n = 0
        if seat in (0, 1) and self.game.deciders(&self.state) & (1 << seat):
            n = self.game.legal(&self.state, seat, actions)
        raise_fault()
        return tuple([actions[i] for i in range(n)])

    def is_legal(self, int seat, Action action):
        """Whether an action is legal, which was legal in another position that looks alike."""
        cdef bint legal = self.game.legal_among(
            &self.state, seat, &action, sizeof(Action), 1)
        raise_fault()
        return legal

    def only_action(self, int seat):
        """The only legal action of a seat that must decide; 0 if there are several."""
        cdef Action action = self.game.only_action(&self.state, seat)
        raise_fault()
        return action

    def without_dominated(self, int seat):
        """The legal actions of a seat that must decide, without those that are dominated."""
        cdef Action[MAX_ACTIONS] actions
        cdef int i, n = self.game.legal(&self.state, seat, actions)
        n = self.game.without_dominated(&self.state, seat, actions, n)
        raise_fault()
        return tuple([actions[i] for i in range(n)])

    def view(self, int viewer):
        """The view of seat 0, seat 1 or SPECTATOR."""
        cdef SeatView view = SeatView.__new__(SeatView)
        view.game = self.game
        self.game.view(&self.state, viewer, &view.view)
        raise_fault()
        return view

    def hidden(self, int seat):
        """Which cards lie at the hidden places that `seat` names: by place, the copies of each."""
        cdef Cards[MAX_PLACES] places
        cdef int place, card, cards = len(self.game.cards())
        memset(places, 0, sizeof(places))
        self.game.hidden(&self.state, seat, places)
        raise_fault()
        return {name: [places[place][card] for card in range(cards)]
                for place, name in enumerate(self.game.hidden_places)}

    def observe(self, joint, int seat):
        """The key of what a seat saw of the joint action, a pair, that led to this position."""
        cdef Action both[SEATS]
        cdef uint64_t key
        both[0], both[1] = joint
        key = self.game.observe(&self.state, both, seat)
        raise_fault()
        return key

    def next_key(self, uint64_t key, joint, int seat):
        """The key of all that a seat has observed, after it saw this joint action too."""
        cdef Action both[SEATS]
        both[0], both[1] = joint
        key = self.game.next_key(key, &self.state, both, seat)
        raise_fault()
        return key

    def root_key(self, int seat):
        """The key of what only this seat knows, such as its private cards."""
        cdef uint64_t key = self.game.root_key(&self.state, seat)
        raise_fault()
        return key

    def check(self, int seat, action):
        """Raises ActionError unless the action is legal for the seat now."""
        if seat not in self.deciders:
            raise ActionError("seat", f"seat {seat} owes no decision now", "NOT_TO_DECIDE")
        legal = self.legal(seat)
        if action not in legal:
            reason, why = self.game.explain(self, seat, action)
            if why:
                raise ActionError("action", why, reason)
            said = [" ".join(map(str, self.game.read_action(each).values()))
                    for each in (action, *legal[:LISTED])]
            error = ActionError("action", f"{said[0]} is not legal now; legal are {', '.join(said[1:])}", reason)
            error.legal = legal
            raise error

    def apply(self, joint, uint64_t seed):
        """Applies the actions of all deciders, a dict by seat, and returns the events.

        Raises ActionError if one of them is not legal, and RulesFault if the rules fail. The
        position is then as it was.
        """
        cdef State after
        cdef Rng rng
        cdef EventLog log
        cdef Action both[SEATS]
        owed = self.deciders
        if sorted(joint) != list(owed):
            raise ActionError("seat", f"the seats that must decide are {owed}")
        for seat, action in joint.items():
            self.check(seat, action)
        for seat in range(SEATS):
            both[seat] = joint.get(seat, 0)
        rng_seed(&rng, seed)
        log.used = 0
        log.overflowed = False
        after = self.state
        self.game.apply(&after, both, &rng, &log)
        raise_fault()
        events = read_log(self.game.event_kinds, &log)
        self.state = after
        return events

    @staticmethod
    def deals(Game game not None, int most):
        """Each deal with its probability; None if there are more than `most`."""
        return _outcomes(game, NULL, NULL, most)

    def outcomes(self, joint, int most):
        """Each position that may follow the actions of all deciders, with its probability.

        None if chance has more than `most` outcomes, equal positions included, or has outcomes that
        cannot be enumerated. The actions, a dict by seat, are trusted to be legal.
        """
        cdef Action both[SEATS]
        for seat in range(SEATS):
            both[seat] = joint.get(seat, 0)
        return _outcomes(self.game, &self.state, both, most)

    def perft(self, int depth, uint64_t seed=0):
        """The number of lines of `depth` joint actions, with one seed of chance for each ply.

        A line that ends earlier counts once. The number is a fingerprint of the rules for a seed.
        """
        if depth == 0 or self.over:
            return 1
        return sum(self.divide(depth, seed).values())

    def divide(self, int depth, uint64_t seed=0):
        """`perft` for each first joint action: a dict by tuple of actions, one for each decider."""
        counts = {}
        owed = self.deciders
        lines = [()]
        for seat in owed:
            lines = [(*line, action) for line in lines for action in self.legal(seat)]
        for line in lines:
            after = self.copy()
            after.apply(dict(zip(owed, line)), seed + depth)
            counts[line] = after.perft(depth - 1, seed)
        return counts


cdef _outcomes(Game game, const State* before, const Action* joint, int most):
    cdef Rng rng
    cdef Script script
    cdef Position after
    cdef int tried = 0
    cdef double whole = 0
    found = {}
    script_start(&script, &rng)
    while True:
        after = Position(game)
        if before == NULL:
            game.deal(&after.state, &rng, NULL)
        else:
            after.state = before[0]
            game.apply(&after.state, joint, &rng, NULL)
        raise_fault()
        tried += 1
        if script.broken or tried > most:
            return None
        if not script.rejected:
            found[after] = found.get(after, 0.0) + script_probability(&script)
            whole += script_probability(&script)
        if script.drawn == 0 or not script_next(&script):
            return [(probability / whole, position) for position, probability in found.items()]
