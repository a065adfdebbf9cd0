"""Leduc poker: poker of two rounds with one common card, small enough to solve. A reference game.

There are six cards: two Jacks, two Queens and two Kings; suits do not count. Each seat antes 1 and
is dealt one card, which only it sees. In a round of betting First decides first, then the seats
take turns:
- A seat that faces no raise checks or raises. Two checks end the round.
- A seat that faces a raise folds, calls, or raises again unless the round has had two raises. A
  call ends the round.
A raise puts in 2 more than the other seat has, 4 more in the second round. Before the second round
the common card is turned up.

A seat that folds loses what it has put in and shows nothing. After the second round both cards are
shown: a pair with the common card wins, otherwise the higher card. The winner takes what the other
seat has put in; with equal cards nobody wins. A score is the payoff, from a loss of 13 (0) to a win
of 13 (1).

The common card is drawn in the deal and lies face down until it is turned up, so that all chance
precedes the first decision.

Source: F. Southey, M. Bowling, B. Larson, C. Piccione, N. Burch, D. Billings, C. Rayner, "Bayes'
bluff: opponent modelling in poker", UAI 2005.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from engine.chance cimport Rng, rng_below
from engine.events cimport (
    NO_SEAT, TO_PUBLIC, TO_RECORD, EventLog, log_event, log_private, to_seat,
)
from engine.game cimport ABI, NOBODY, SEATS, Action, Cards, Game, State, View
from games.leduc_poker.rules.betting cimport (
    decisions_made, faces_raise, is_over, is_showdown, latest, raises, round_of, stake, to_decide,
)
from games.leduc_poker.rules.state cimport (
    CALL, CARDS, CHECK, FOLD, JACK, KING, MAX_DECISIONS, NO_CARD, QUEEN, RAISE, ROUNDS, SUITS,
    LeducState, LeducView,
)

from engine.errors import ActionError

cdef enum:
    # Hidden places: rows of `hidden`, named in `hidden_places`.
    OPPONENT_HAND = 0

CARD_TITLES = {JACK: "Jack", QUEEN: "Queen", KING: "King"}

assert sizeof(LeducState) <= sizeof(State) and sizeof(LeducView) <= sizeof(View)


cdef class LeducPoker(Game):
    """Leduc poker. It has no options."""

    id = "leduc_poker"
    abi = ABI
    title = "Leduc poker"
    summary = __doc__
    event_kinds = {DEALT: "dealt", DECIDED: "decided", TURNED_UP: "turned_up", SHOWN: "shown"}
    action_kinds = {CHECK: "check", RAISE: "raise", CALL: "call", FOLD: "fold"}
    hidden_places = ("opponent_hand",)
    reference = True
    sequential_regret = True

    def __init__(self, ruleset=None):
        super().__init__(ruleset)
        self.suits = SUITS
        self.rounds = ROUNDS
        self.max_raises = self.raise_by = 2
        self.max_loss = 13

    @property
    def utility_range(self):
        return 2.0 * self.max_loss  # In chips.

    @property
    def most_legal(self):
        return 3  # Call, raise and fold.

    def cards(self):
        return [{"id": str(rank), "title": title, "kind": "card", "copies": self.suits,
                 "numbers": {"Rank": rank}, "text": ""} for rank, title in CARD_TITLES.items()]

    cdef state_fields(self, const State* state):
        return (<LeducState*> state)[0]

    cdef fill_state(self, State* state, fields):
        (<LeducState*> state)[0] = fields

    cdef view_fields(self, const View* view):
        return (<LeducView*> view)[0]

    cdef fill_view(self, View* view, fields):
        (<LeducView*> view)[0] = fields

    def read_action(self, action):
        return {"kind": self.action_kinds[action]}

    def make_action(self, fields):
        for action, kind in self.action_kinds.items():
            if fields == {"kind": kind}:
                return action
        raise ActionError("kind", f"must be one of {', '.join(self.action_kinds.values())}")

    def explain(self, position, int seat, action):
        kinds = [self.action_kinds[legal] for legal in position.legal(seat)]
        kind = self.action_kinds.get(action, "this")
        return "NOT_LEGAL", f"{kind} is not possible now: {' or '.join(kinds)} is"

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        cdef LeducState* poker = <LeducState*> state
        cdef uint8_t deck[CARDS]
        cdef int i, seat, left
        for i in range(CARDS):
            deck[i] = i // SUITS + 1
        memset(state, 0, sizeof(State))
        for seat in range(SEATS):
            left = CARDS - seat
            poker.cards[seat] = take(deck, left, rng)
            log_private(log, to_seat(seat), seat, DEALT, &poker.cards[seat], 1, DEALT, NULL, 0)
        poker.common = take(deck, CARDS - SEATS, rng)
        log_private(log, 0, NO_SEAT, DEALT, &poker.common, 1, DEALT, NULL, 0)

    cdef int deciders(self, const State* state) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> state
        if is_over(poker.decisions, self.rounds):
            return NOBODY
        return 1 << to_decide(poker.decisions, self.rounds)

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> state
        cdef const uint8_t* decisions = latest(poker.decisions, self.rounds)
        cdef int n = 0
        if not faces_raise(decisions):
            actions[0] = CHECK
            actions[1] = RAISE
            return 2
        if raises(decisions) < self.max_raises:
            actions[0] = RAISE
            n = 1
        actions[n] = CALL
        actions[n + 1] = FOLD
        return n + 2

    cdef void apply(self, State* state, const Action* joint, Rng* rng,
                    EventLog* log) noexcept nogil:
        cdef LeducState* poker = <LeducState*> state
        cdef int now = round_of(poker.decisions, self.rounds)
        cdef int seat = to_decide(poker.decisions, self.rounds)
        cdef int made = decisions_made(latest(poker.decisions, self.rounds))
        cdef uint8_t decision = <uint8_t> joint[seat]
        poker.decisions[MAX_DECISIONS * now + made] = decision
        log_event(log, TO_PUBLIC | TO_RECORD, DECIDED, seat, &decision, 1)
        if is_showdown(poker.decisions, self.rounds):
            for seat in range(SEATS):
                log_event(log, TO_PUBLIC | TO_RECORD, SHOWN, seat, &poker.cards[seat], 1)
        elif round_of(poker.decisions, self.rounds) > now:
            log_event(log, TO_PUBLIC | TO_RECORD, TURNED_UP, NO_SEAT, &poker.common, 1)

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> state
        cdef int other = 1 - seat
        cdef int own_value = value(poker.cards, seat, poker.common)
        cdef int other_value = value(poker.cards, other, poker.common)
        cdef int payoff = 0
        if not is_showdown(poker.decisions, self.rounds):
            # The turn after a fold is the other seat's.
            if to_decide(poker.decisions, self.rounds) == seat:
                payoff = stake(poker.decisions, self.raise_by, other)
            else:
                payoff = -stake(poker.decisions, self.raise_by, seat)
        elif own_value > other_value:
            payoff = stake(poker.decisions, self.raise_by, other)
        elif own_value < other_value:
            payoff = -stake(poker.decisions, self.raise_by, seat)
        return (self.max_loss + payoff) / (2.0 * self.max_loss)

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> state
        cdef LeducView* seen = <LeducView*> view
        cdef int side
        memset(view, 0, sizeof(View))
        seen.seat = seat
        memcpy(seen.decisions, poker.decisions, sizeof(seen.decisions))
        if round_of(poker.decisions, self.rounds) == 1:
            seen.common = poker.common
        for side in range(SEATS):
            if side == seat or is_showdown(poker.decisions, self.rounds):
                seen.cards[side] = poker.cards[side]

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> after
        cdef uint64_t key = joint[0] | joint[1]     # One seat decides at a time, and both see it.
        return key << 2 | (poker.common if round_of(poker.decisions, self.rounds) == 1 else NO_CARD)

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> state
        places[OPPONENT_HAND][poker.cards[1 - seat] - JACK] = 1

    cdef uint64_t root_key(self, const State* state, int seat) noexcept nogil:
        return (<const LeducState*> state).cards[seat]


cdef uint8_t take(uint8_t* deck, int n, Rng* rng) noexcept nogil:
    cdef int i = rng_below(rng, n)
    cdef uint8_t card = deck[i]
    deck[i] = deck[n - 1]
    return card


cdef int value(const uint8_t* cards, int seat, int common) noexcept nogil:
    return cards[seat] + KING if cards[seat] == common else cards[seat]
