"""The Python face of the rules, written once for all games.

`Position` is a full state with its legal actions, views and events. `Match` is a hosted position:
its chance comes from a secret, it keeps the first of two simultaneous decisions until the second is
in, and it counts versions. `View` is what one seat knows, and `Sampler` draws the positions that
fit it.

Everything that can be wrong is checked here, once; the C methods of a game trust their input:

    GameError(ValueError)
    ├── RulesetError      a ruleset breaks a rule
    ├── ActionError       an action cannot be read, or is not legal now
    └── ViewError         a view contradicts itself

Every `GameError` has `field`, the path of what is wrong (empty if it is the whole), and `rule`, a
sentence that says what must hold.
"""

import hashlib
from typing import NamedTuple

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

TAPE_BYTES = 136           # What SHAKE-256 gives at a time; a longer tape begins with the same.
SEATS_IN = ((), (0,), (1,), (0, 1))  # A set of seats, spelled out.
ANY_SEAT = -1              # The seat of an event that is nobody's.
PLACE_NAMES = {OPPONENT_HAND: "opponent_hand", OPPONENT_PILE: "opponent_pile",
               ASIDE: "set_aside", OPPONENT_GATE: "opponent_gate",
               OPPONENT_CASTLE: "opponent_castle"}
MAX_MIXED = 8


class GameError(ValueError):
    """Input that breaks a rule: `field` names it, `rule` says what must hold."""

    def __init__(self, field, rule):
        super().__init__(f"{field}: {rule}" if field else rule)
        self.field = field
        self.rule = rule


class RulesetError(GameError):
    """A ruleset breaks a rule."""


class ActionError(GameError):
    """An action cannot be read, or is not legal now."""


class ViewError(GameError):
    """A view contradicts itself."""


class Belief(NamedTuple):
    """A card that may lie at a hidden place, by its index among the game's cards.

    `expected` is how many copies on average, `probability` that there is at least one.
    """

    place: str
    card: int
    expected: float
    probability: float


class Event(NamedTuple):
    """Something that happened. `values` are small integers whose meaning depends on `kind`."""

    kind: str
    seat: int
    values: tuple
    audience: int

    def seen_by(self, viewer):
        """Whether seat 0 or 1, or SPECTATOR, sees it while the match runs."""
        return bool(self.audience & (1 << viewer))

    @property
    def recorded(self):
        """Whether it belongs to the record, which is read when the match is over."""
        return bool(self.audience & TO_RECORD)


# Chance

cdef uint64_t splitmix(uint64_t* x) noexcept nogil:
    # Steele, Lea and Flood, 2014: spreads a seed over the state of another generator.
    x[0] += <uint64_t> 0x9E3779B97F4A7C15
    cdef uint64_t z = x[0]
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    return z ^ (z >> 31)


cdef void rng_seed(Rng* rng, uint64_t seed) noexcept nogil:
    cdef int i
    for i in range(4):
        rng.s[i] = splitmix(&seed)
    rng.tape = NULL
    rng.tape_left = 0
    rng.tape_ran_out = False
    rng.script = NULL


cdef inline uint64_t rotl(uint64_t x, int k) noexcept nogil:
    return (x << k) | (x >> (64 - k))


cdef uint64_t rng_next(Rng* rng) noexcept nogil:
    cdef uint64_t result, t
    if rng.script != NULL:
        rng.script.broken = True
        return 0
    if rng.tape != NULL:
        if rng.tape_left < 8:
            rng.tape_ran_out = True
            return 0
        result = 0
        for t in range(8):           # Little-endian on every machine.
            result |= (<uint64_t> rng.tape[t]) << (8 * t)
        rng.tape += 8
        rng.tape_left -= 8
        return result
    result = rotl(rng.s[1] * 5, 7) * 9
    t = rng.s[1] << 17
    rng.s[2] ^= rng.s[0]
    rng.s[3] ^= rng.s[1]
    rng.s[1] ^= rng.s[2]
    rng.s[0] ^= rng.s[3]
    rng.s[2] ^= t
    rng.s[3] = rotl(rng.s[3], 45)
    return result


cdef uint32_t rng_below(Rng* rng, uint32_t n) noexcept nogil:
    # Lemire, 2019: the high half of a product, and a rejection that removes the bias.
    cdef uint64_t m
    cdef uint32_t threshold
    if rng.script != NULL:
        return script_below(rng.script, n)
    m = (rng_next(rng) >> 32) * n
    if <uint32_t> m < n:
        threshold = (<uint32_t> (-<int64_t> n)) % n
        while <uint32_t> m < threshold and not rng.tape_ran_out:
            m = (rng_next(rng) >> 32) * n
    return <uint32_t> (m >> 32)


cdef double rng_double(Rng* rng) noexcept nogil:
    return <double> (rng_next(rng) >> 11) * (1.0 / 9007199254740992.0)


cdef size_t rng_weighted(Rng* rng, const double* sums, size_t n) noexcept nogil:
    cdef size_t low = 0, high = n - 1, middle
    cdef double at
    if rng.script != NULL:
        return script_weighted(rng.script, sums, n)
    at = rng_double(rng) * sums[n - 1]
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > at:
            high = middle
        else:
            low = middle + 1
    return low


cdef bint rng_reject(Rng* rng) noexcept nogil:
    if rng.script == NULL:
        return False
    rng.script.rejected = True
    return True


cdef void rng_shuffle(Rng* rng, uint8_t* cards, int n) noexcept nogil:
    cdef int i
    for i in range(n - 1, 0, -1):
        swap(cards, i, rng_below(rng, i + 1) if rng.script == NULL
             else script_card(rng.script, cards, i + 1))


cdef void rng_part(Rng* rng, uint8_t* cards, int n, int k) noexcept nogil:
    cdef double sums[2]
    cdef int i, end = n
    if rng.script == NULL:
        for i in range(n - 1, n - 1 - k, -1):
            swap(cards, i, rng_below(rng, i + 1))
        return
    for i in range(n - 1, -1, -1):
        sums[0] = k - n + end
        sums[1] = i + 1
        if script_weighted(rng.script, sums, 2) == 0:
            end -= 1
            swap(cards, i, end)


cdef inline void swap(uint8_t* cards, int i, int j) noexcept nogil:
    cdef uint8_t card = cards[i]
    cards[i] = cards[j]
    cards[j] = card


# All that can come of chance

cdef uint32_t script_below(Script* script, uint32_t n) noexcept nogil:
    cdef int at = script_draw(script, n)
    if at < 0:
        return 0
    script.divisors[at] = n
    return script.digits[at]


cdef int script_draw(Script* script, uint32_t n) noexcept nogil:
    # The place of the next digit, which can have `n` values; -1: it is 0.
    cdef int at = script.drawn
    if n == 1:
        return -1
    if at == MAX_DRAWS:
        script.broken = True
        return -1
    if script.sizes[at] == 0:           # Not drawn before with these digits ahead of it.
        script.digits[at] = 0
        script.sizes[at] = n
    script.drawn += 1
    return at


cdef size_t script_weighted(Script* script, const double* sums, size_t n) noexcept nogil:
    # What has no weight is passed over.
    cdef size_t digit = 0
    cdef double before
    cdef int at
    while n > 1 and sums[n - 1] <= sums[n - 2]:
        n -= 1
    at = script_draw(script, n)
    if at >= 0:
        digit = script.digits[at]
    while digit < n - 1 and sums[digit] <= (sums[digit - 1] if digit else 0):
        digit += 1
    if at >= 0:
        before = sums[digit - 1] if digit else 0
        script.digits[at] = digit
        script.divisors[at] = sums[n - 1] / (sums[digit] - before)
    return digit


cdef int script_card(Script* script, const uint8_t* cards, int n) noexcept nogil:
    # The place of one of the cards, equal ones taken together.
    cdef double sums[256]
    cdef int places[256]
    cdef int i, j, count = 0
    for i in range(n):
        j = 0
        while j < count and cards[places[j]] != cards[i]:
            j += 1
        if j == count:
            places[j] = i
            sums[j] = 0
            count += 1
        sums[j] += 1
    for j in range(1, count):
        sums[j] += sums[j - 1]
    return places[script_weighted(script, sums, count)]


cdef void script_start(Script* script, Rng* rng) noexcept nogil:
    memset(script, 0, sizeof(Script))
    rng_seed(rng, 0)
    rng.script = script


cdef double script_probability(const Script* script) noexcept nogil:
    cdef double probability = 1
    cdef int i
    for i in range(script.drawn):
        probability /= script.divisors[i]
    return probability


cdef bint script_next(Script* script) noexcept nogil:
    cdef int at = script.drawn - 1
    script.drawn = 0
    script.rejected = False
    while at >= 0:
        script.digits[at] += 1
        if script.digits[at] < script.sizes[at]:
            return True
        script.sizes[at] = 0
        at -= 1
    return False


cdef uint64_t mix(uint64_t key, uint64_t value) noexcept nogil:
    cdef uint64_t x = key ^ rotl(value * <uint64_t> 0x9FB21C651E98DF25, 29)
    return splitmix(&x)


# What happened

cdef void log_event(EventLog* log, int audience, int kind, int seat,
                    const uint8_t* values, int n) noexcept nogil:
    cdef uint8_t* at
    if log == NULL:
        return
    if log.used + 4 + n > sizeof(log.bytes):
        log.overflowed = True
        return
    at = log.bytes + log.used
    at[0] = <uint8_t> audience
    at[1] = <uint8_t> kind
    at[2] = <uint8_t> seat
    at[3] = <uint8_t> n
    if n > 0:
        memcpy(at + 4, values, n)
    log.used += 4 + n


cdef list read_log(Game game, const EventLog* log):
    cdef size_t at = 0
    cdef int n
    cdef list events = []
    if log.overflowed:
        raise AssertionError(f"{game.id}: the events of one action do not fit the log")
    kinds = game.event_kinds
    while at < log.used:
        n = log.bytes[at + 3]
        seat = log.bytes[at + 2]
        events.append(Event(kinds[log.bytes[at + 1]], ANY_SEAT if seat == 255 else seat,
                            tuple([log.bytes[at + 4 + i] for i in range(n)]), log.bytes[at]))
        at += 4 + n
    return events


# A game

cdef class Game:
    """One game under one ruleset; it never changes. See engine/game.pxd for the rules' side.

    A subclass sets `id`, `title`, `summary` (the rules in short), `rules_version`, `seat_titles`
    and `event_kinds`; `reference` marks a game that is there to be studied, which no server lists.
    `sequential_regret` tells the search to look for a mixture of actions also where a seat decides
    alone, because what it does gives its cards away, as a bet does. `from_deal` tells it
    to set out from the deal and not from the present (see ai/mccfr.pyx), for a game whose
    views remember all that their seat has seen, and with so few lines of play that all of them fit
    in memory.
    """

    id = ""
    title = ""
    summary = ""
    rules_version = 1
    seat_titles = ("First", "Second")
    event_kinds = {}
    reference = False
    sequential_regret = False
    from_deal = False

    def __init__(self, ruleset=None):
        """Takes the options that differ from the defaults; raises RulesetError."""
        self.ruleset = self.read_ruleset(dict(ruleset or {}))

    def read_ruleset(self, given):
        """Returns the whole ruleset, checked, and builds the tables; raises RulesetError."""
        if given:
            raise RulesetError(next(iter(given)), "is not an option of this game")
        return {}

    def cards(self):
        """The cards for display: dicts of id, title, kind, copies, numbers (title: value), text."""
        return []

    def read_state(self, bytes data not None):
        """The fields of a state, as dicts, lists and integers."""
        return self.state_fields(<const State*> PyBytes_AS_STRING(data))

    def make_state(self, fields):
        """A state out of its fields, for tests; its content is trusted."""
        cdef State state
        memset(&state, 0, sizeof(state))
        self.fill_state(&state, fields)
        return PyBytes_FromStringAndSize(<char*> &state, STATE_BYTES)

    def read_view(self, bytes data not None):
        """The fields of a view, as dicts, lists and integers."""
        return self.view_fields(<const View*> PyBytes_AS_STRING(data))

    def make_view(self, fields):
        """A view out of its fields; raises ViewError if a number does not fit its field."""
        cdef View view
        memset(&view, 0, sizeof(view))
        try:
            self.fill_view(&view, fields)
        except (IndexError, OverflowError, TypeError, ValueError) as error:
            raise ViewError("", f"a number does not fit its field: {error}") from None
        return PyBytes_FromStringAndSize(<char*> &view, VIEW_BYTES)

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
        """An action out of its fields; raises ActionError if there is no such action."""
        raise NotImplementedError

    def sampler(self, view):
        """The worlds that fit a seat's view: a Sampler. Raises ViewError if there are none."""
        raise NotImplementedError

    @property
    def max_mixed_actions(self):
        """The most actions with which the search answers a simultaneous decision by a mixture."""
        return MAX_MIXED

    def playout_policy(self):
        """How to play it sensibly: a PlayoutPolicy. The default plays uniformly."""
        return PlayoutPolicy(self)

    def explain(self, position, int seat, action):
        """Why an action is not legal now, in a sentence."""
        legal = ", ".join(str(self.read_action(a)) for a in position.legal(seat)[:8])
        return f"{self.read_action(action)} is not legal now; legal are {legal}, ..."

    # The rules

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        pass

    cdef int deciders(self, const State* state) noexcept nogil:
        return NOBODY

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        return 0

    cdef void apply(self, State* state, const Action* joint, Rng* rng, EventLog* log) noexcept nogil:
        pass

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        return 0.5

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        memset(view, 0, sizeof(View))

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        return 0

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        pass

    cdef uint64_t root_key(self, const State* state, int seat) noexcept nogil:
        return 0

    cdef void playout(self, State* state, Rng* rng) noexcept nogil:
        cdef Action actions[MAX_ACTIONS]
        cdef Action joint[SEATS]
        cdef int seat, owed
        while True:
            owed = self.deciders(state)
            if owed == NOBODY:
                return
            for seat in range(SEATS):
                joint[seat] = 0
                if owed & (1 << seat):
                    joint[seat] = actions[rng_below(rng, self.legal(state, seat, actions))]
            self.apply(state, joint, rng, NULL)


# What one seat knows

cdef class SeatView:
    """What one seat, or a spectator, knows of a position. Equal views are equal bytes."""

    cdef readonly Game game
    cdef View view

    def __init__(self, Game game not None, bytes data not None):
        if len(data) != VIEW_BYTES:
            raise ViewError("", f"has {len(data)} bytes instead of {VIEW_BYTES}")
        self.game = game
        memcpy(&self.view, PyBytes_AS_STRING(data), VIEW_BYTES)

    @staticmethod
    def from_fields(Game game not None, fields):
        """A view out of its fields; raises ViewError if a number does not fit its field."""
        return SeatView(game, game.make_view(fields))

    @property
    def fields(self):
        """The fields of the view, as dicts, lists and integers."""
        return self.game.read_view(bytes(self))

    @property
    def seat(self):
        """Whose view it is: 0, 1 or SPECTATOR."""
        return (<uint8_t*> &self.view)[0]

    def __bytes__(self):
        return PyBytes_FromStringAndSize(<char*> &self.view, VIEW_BYTES)

    def __eq__(self, other):
        return isinstance(other, SeatView) and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))

    def __repr__(self):
        return f"<View of {self.game.id} by {self.seat}: {self.fields}>"


cdef class Sampler:
    """The worlds that fit one view."""

    def __init__(self, SeatView view not None):
        self.game = view.game
        self.seat = view.seat
        self.view = view.view
        if self.seat >= SEATS:
            raise ViewError("seat", "must be 0 or 1: a spectator's view has no seat to search for")

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        memset(state, 0, sizeof(State))

    def sample(self, uint64_t seed):
        """Draws one position."""
        cdef Position position = Position(self.game)
        cdef Rng rng
        rng_seed(&rng, seed)
        with nogil:
            self.draw(&position.state, &rng)
        return position

    def draws(self, int n, uint64_t seed):
        """Draws so many states, and keeps none: for measuring."""
        cdef State state
        cdef Rng rng
        cdef int _n
        rng_seed(&rng, seed)
        with nogil:
            for _n in range(n):
                self.draw(&state, &rng)

    def worlds(self, int most):
        """All positions that can be drawn, each with its probability; None if there are more than
        `most` ways to draw, or if they cannot be gone through.
        """
        cdef Position position
        cdef Script script
        cdef Rng rng
        chances = {}
        script_start(&script, &rng)
        for _ in range(most):
            position = Position(self.game)
            self.draw(&position.state, &rng)
            if script.broken:
                return None
            if not script.rejected:
                chance = script_probability(&script)
                chances[position] = chances.get(position, 0.0) + chance
            if not script_next(&script):
                total = sum(chances.values())
                return {position: chance / total for position, chance in chances.items()}
        return None

    def beliefs(self, int worlds, uint64_t seed):
        """What may lie at the places that the seat does not see: Beliefs, by place and card.

        They are shares of so many worlds. A place where nothing can lie is left out.
        """
        cdef State state
        cdef Cards[PLACES] places
        cdef uint64_t[PLACES][CARD_TYPES] copies
        cdef uint32_t[PLACES][CARD_TYPES] present
        cdef Rng rng
        cdef int _world, place, card
        rng_seed(&rng, seed)
        memset(copies, 0, sizeof(copies))
        memset(present, 0, sizeof(present))
        with nogil:
            for _world in range(worlds):
                memset(places, 0, sizeof(places))
                self.draw(&state, &rng)
                self.game.hidden(&state, self.seat, places)
                for place in range(PLACES):
                    for card in range(CARD_TYPES):
                        copies[place][card] += places[place][card]
                        present[place][card] += places[place][card] > 0
        return [Belief(PLACE_NAMES[place], card, copies[place][card] / <double> worlds,
                       present[place][card] / <double> worlds)
                for place in range(PLACES) for card in range(CARD_TYPES) if present[place][card]]


# Sensible play

cdef class PlayoutPolicy:
    """How to play a game sensibly and cheaply, for the playouts of the search."""

    def __init__(self, Game game not None):
        self.game = game
        self.horizon = 1

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef Action actions[MAX_ACTIONS]
        return actions[rng_below(rng, self.game.legal(state, seat, actions))]

    cdef int stage(self, const State* state) noexcept nogil:
        return 0

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        draw[0] = 0
        return 0.5

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        cdef Action joint[SEATS]
        cdef int seat, owed
        cdef int last = self.stage(state) + self.horizon
        cdef double score
        while True:
            owed = self.game.deciders(state)
            if owed == NOBODY:
                score = self.game.outcome(state, 0)
                draw[0] = score == 0.5
                return score
            if self.stage(state) >= last:
                return self.estimate(state, draw)
            for seat in range(SEATS):
                joint[seat] = 0
                if owed & (1 << seat):
                    joint[seat] = self.choose(state, seat, rng)
            self.game.apply(state, joint, rng, NULL)

    def action(self, Position position not None, int seat, uint64_t seed):
        """What it chooses for a seat that must decide."""
        cdef Rng rng
        rng_seed(&rng, seed)
        return self.choose(&position.state, seat, &rng)

    def score(self, Position position not None):
        """What seat 0 is estimated to score, and the probability of a draw."""
        cdef double draw = 0
        cdef double score = self.estimate(&position.state, &draw)
        return score, draw

    def at(self, Position position not None):
        """The stage of a position."""
        return self.stage(&position.state)

    def playouts(self, Position position not None, int n, uint64_t seed):
        """The mean score of seat 0 and share of draws of `n` playouts."""
        cdef State state
        cdef Rng rng
        cdef double score = 0, draw = 0, draws = 0
        rng_seed(&rng, seed)
        for _ in range(n):
            state = position.state
            with nogil:
                score += self.playout(&state, &rng, &draw)
            draws += draw
        return score / n, draws / n


# A position

cdef class Position:
    """A full state of a game. It knows no match: its chance comes from seeds."""

    cdef readonly Game game
    cdef State state

    def __init__(self, Game game not None):
        self.game = game

    @staticmethod
    def deal(Game game not None, uint64_t seed):
        """A new deal."""
        cdef Position position = Position(game)
        cdef Rng rng
        rng_seed(&rng, seed)
        game.deal(&position.state, &rng, NULL)
        return position

    @staticmethod
    def from_bytes(Game game not None, bytes data not None):
        """A position out of what `bytes()` made of one; trusted."""
        cdef Position position = Position(game)
        if len(data) != STATE_BYTES:
            raise ValueError(f"a state has {STATE_BYTES} bytes, not {len(data)}")
        memcpy(&position.state, PyBytes_AS_STRING(data), STATE_BYTES)
        return position

    @staticmethod
    def from_fields(Game game not None, fields):
        """A position out of its fields, for tests; trusted."""
        return Position.from_bytes(game, game.make_state(fields))

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
        """A copy that goes its own way."""
        cdef Position other = Position(self.game)
        other.state = self.state
        return other

    @property
    def deciders(self):
        """The seats that must decide now, ascending; none when it is over."""
        return SEATS_IN[self.game.deciders(&self.state)]

    @property
    def over(self):
        """Whether it is over."""
        return self.game.deciders(&self.state) == NOBODY

    @property
    def scores(self):
        """The score of each seat when it is over, 0 to 1, adding up to 1; None before."""
        if not self.over:
            return None
        return tuple([self.game.outcome(&self.state, seat) for seat in range(SEATS)])

    def legal(self, int seat):
        """The legal actions of a seat, ascending; none if it owes no decision."""
        cdef Action actions[MAX_ACTIONS]
        cdef int i, n
        if seat not in (0, 1) or not self.game.deciders(&self.state) & (1 << seat):
            return ()
        n = self.game.legal(&self.state, seat, actions)
        return tuple([actions[i] for i in range(n)])

    def view(self, int viewer):
        """What seat 0 or 1, or SPECTATOR, knows."""
        cdef SeatView view = SeatView.__new__(SeatView)
        view.game = self.game
        self.game.view(&self.state, viewer, &view.view)
        return view

    def observe(self, joint, int seat):
        """The key of what a seat saw of the joint action (a pair) that has led here."""
        cdef Action both[SEATS]
        both[0], both[1] = joint
        return self.game.observe(&self.state, both, seat)

    def root_key(self, int seat):
        """The key of what a seat alone knows here."""
        return self.game.root_key(&self.state, seat)

    def check(self, int seat, action):
        """Raises ActionError unless the seat may do this now."""
        if seat not in self.deciders:
            raise ActionError("seat", f"seat {seat} owes no decision now")
        legal = self.legal(seat)
        if action not in legal:
            raise ActionError("action", self.game.explain(self, seat, action))

    def apply(self, joint, uint64_t seed):
        """Applies the actions of all deciders, a dict by seat, and returns what happened."""
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
        self.game.apply(&self.state, both, &rng, &log)
        return read_log(self.game, &log)

    def playouts(self, int n, uint64_t seed, bint plain=False):
        """Plays to the end `n` times at random; how often each score of seat 0 came, by score.

        `plain` chooses among listed actions where the game has a faster way to the same.
        """
        cdef State state
        cdef Rng rng
        cdef double score
        counts = {}
        rng_seed(&rng, seed)
        for _ in range(n):
            state = self.state
            with nogil:
                if plain:
                    Game.playout(self.game, &state, &rng)
                else:
                    self.game.playout(&state, &rng)
                score = self.game.outcome(&state, 0)
            counts[score] = counts.get(score, 0) + 1
        return counts

    def perft(self, int depth, uint64_t seed=0):
        """How many lines of `depth` joint actions there are, chance drawn from a seed a ply.

        A line that ends earlier counts once. For a fixed seed this is one number of a game's rules.
        """
        if depth == 0 or self.over:
            return 1
        return sum(self.divide(depth, seed).values())

    def divide(self, int depth, uint64_t seed=0):
        """`perft` for each joint action: a dict by tuple of actions, in the deciders' order."""
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


# A hosted match

cdef class Match:
    """A position that is hosted: secret chance, simultaneous decisions held back, versions.

    All chance is expanded from `secret` (32 bytes) by SHAKE-256, domain-separated by the match's id
    and the version, and drawn without modulo bias, so a match is a function of its ruleset, id,
    secret and actions, and nobody can compute cards from cards.
    """

    cdef readonly Game game
    cdef readonly bytes secret
    cdef readonly str match_id
    cdef readonly Position position
    cdef readonly int version
    cdef readonly list since      # By seat.
    cdef readonly dict held       # Action by seat.
    cdef readonly list events

    def __init__(
        self, Game game not None, bytes secret not None, str match_id="", int version=0
    ):
        """Deals, at a version; `events` then holds what happened. `secret` has 32 bytes."""
        if len(secret) != 32:
            raise ValueError("the secret of a match has 32 bytes")
        self.game = game
        self.secret = secret
        self.match_id = match_id
        self.position = Position(game)
        self.version = version
        self.since = [version, version]
        self.held = {}
        self.events = self.draw(None)

    cdef list draw(self, joint):
        # Deals, or applies a joint action, on a copy; a tape that ran out is made longer, which
        # changes nothing of what was drawn from it before. Most decisions draw nothing at all.
        cdef Position after
        cdef Rng rng
        cdef EventLog log
        cdef Action both[SEATS]
        cdef bytes tape = b""
        source = None
        while True:
            after = self.position.copy()
            rng_seed(&rng, 0)
            rng.tape = <const uint8_t*> PyBytes_AS_STRING(tape)
            rng.tape_left = len(tape)
            log.used = 0
            log.overflowed = False
            if joint is None:
                self.game.deal(&after.state, &rng, &log)
            else:
                for seat in range(SEATS):
                    both[seat] = joint.get(seat, 0)
                self.game.apply(&after.state, both, &rng, &log)
            if not rng.tape_ran_out:
                break
            if source is None:
                domain = b"croupier/chance/v1\0" + self.match_id.encode() + b"\0"
                source = hashlib.shake_256(domain + self.version.to_bytes(8, "big") + self.secret)
            tape = source.digest(8 * len(tape) or TAPE_BYTES)
        events = read_log(self.game, &log)
        self.position = after
        return events

    @property
    def secret_hash(self):
        """SHA-256 of the secret, to be published before the first action."""
        return hashlib.sha256(self.secret).digest()

    @property
    def deciders(self):
        """The seats that owe a decision, ascending; none when it is over."""
        owed = self.position.deciders
        return tuple([seat for seat in owed if seat not in self.held]) if self.held else owed

    @property
    def over(self):
        """Whether it is over."""
        return self.position.over

    @property
    def scores(self):
        """The score of each seat when it is over, 0 to 1, adding up to 1; None before."""
        return self.position.scores

    def legal(self, int seat):
        """The legal actions of a seat that owes a decision, ascending."""
        return () if seat in self.held else self.position.legal(seat)

    def view(self, int viewer):
        """What seat 0 or 1, or SPECTATOR, knows. A decision that is held back does not show."""
        return self.position.view(viewer)

    def apply(self, int seat, action):
        """Applies one seat's action and returns what happened; raises ActionError, unchanged.

        Where the other seat decides at the same time and has not, the action is held and nothing
        happens yet. `since[seat]` is the version from which the seat's view has been as it is: an
        answer to any version from there on is an answer to what the seat sees now.
        """
        if seat in self.held:
            raise ActionError("seat", f"seat {seat} has decided already")
        self.position.check(seat, action)
        joint = {**self.held, seat: action}
        self.version += 1
        if len(joint) < len(self.position.deciders):
            self.held = joint
            self.since[seat] = self.version
            return []
        events = self.draw(joint)
        self.held = {}
        self.since = [self.version, self.version]
        return events

    def copy(self):
        """A copy that goes its own way."""
        cdef Match other = Match.__new__(Match)
        other.game = self.game
        other.secret = self.secret
        other.match_id = self.match_id
        other.position = self.position  # Never changed: a decision puts another in its place.
        other.version = self.version
        other.since = list(self.since)
        other.held = dict(self.held)
        other.events = []
        return other

    def __bytes__(self):
        """The whole match but for its game: for `from_bytes`."""
        head = [self.version, *self.since, *[self.held.get(seat, 0) for seat in range(SEATS)]]
        return (b"".join(n.to_bytes(8, "big") for n in head) + self.secret + bytes(self.position)
                + self.match_id.encode())

    @staticmethod
    def from_bytes(Game game not None, bytes data not None):
        """A match out of what `bytes()` made of one; trusted."""
        cdef Match match = Match.__new__(Match)
        head = [int.from_bytes(data[8 * i:8 * i + 8], "big") for i in range(5)]
        match.game = game
        match.version = head[0]
        match.since = head[1:3]
        match.held = {seat: action for seat, action in enumerate(head[3:5]) if action}
        match.secret = data[40:72]
        match.position = Position.from_bytes(game, data[72:72 + STATE_BYTES])
        match.match_id = data[72 + STATE_BYTES:].decode()
        match.events = []
        return match

    def __eq__(self, other):
        return isinstance(other, Match) and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))
