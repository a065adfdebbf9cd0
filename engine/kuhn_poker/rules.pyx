"""Kuhn poker: the smallest game that has every part of a game. A reference game.

There are three cards: Jack, Queen and King; the higher card wins. Each seat antes 1 and is dealt
one card, which only it sees; nobody sees the third card. First checks or bets 1.
- After a check, Second checks (showdown) or bets; after that bet, First calls (showdown) or folds.
- After First's bet, Second calls (showdown) or folds.
A seat that folds loses its ante and shows nothing. At a showdown both cards are shown, and the seat
with the higher card takes 1 from the other after two checks, 2 after a call.

Source: Harold W. Kuhn, "A simplified two-person poker", 1950. First loses 1/18 a match if both play
as well as possible.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from engine.chance cimport Rng, rng_shuffle
from engine.events cimport TO_PUBLIC, TO_RECORD, EventLog, log_event, log_private, to_seat
from engine.game cimport ABI, NOBODY, SEATS, Action, Cards, Game, State, View
from engine.integers cimport uint8_t
from engine.kuhn_poker.betting cimport (
    decisions_made, faces_bet, is_over, is_showdown, stake, to_decide,
)
from engine.kuhn_poker.state cimport (
    BET, CALL, CARDS, CHECK, FOLD, JACK, KING, QUEEN, KuhnState, KuhnView,
)

from engine.errors import ActionError

cdef enum:
    DEALT = 1
    DECIDED = 2
    SHOWN = 3

cdef enum:
    # Hidden places: rows of `hidden`, named in `hidden_places`.
    OPPONENT_HAND = 0

CARD_TITLES = {JACK: "Jack", QUEEN: "Queen", KING: "King"}
ACTION_KINDS = {CHECK: "check", BET: "bet", CALL: "call", FOLD: "fold"}

assert sizeof(KuhnState) <= sizeof(State) and sizeof(KuhnView) <= sizeof(View)


cdef class KuhnPoker(Game):
    """Kuhn poker. It has no options."""

    id = "kuhn_poker"
    abi = ABI
    title = "Kuhn poker"
    summary = __doc__
    event_kinds = {DEALT: "dealt", DECIDED: "decided", SHOWN: "shown"}
    hidden_places = ("opponent_hand",)
    reference = True
    sequential_regret = True

    def cards(self):
        return [{"id": str(rank), "title": title, "kind": "card", "copies": 1,
                 "numbers": {"Rank": rank}, "text": ""} for rank, title in CARD_TITLES.items()]

    cdef state_fields(self, const State* state):
        return (<KuhnState*> state)[0]

    cdef fill_state(self, State* state, fields):
        (<KuhnState*> state)[0] = fields

    cdef view_fields(self, const View* view):
        return (<KuhnView*> view)[0]

    cdef fill_view(self, View* view, fields):
        (<KuhnView*> view)[0] = fields

    def read_action(self, action):
        return {"kind": ACTION_KINDS[action]}

    def make_action(self, fields):
        for action, kind in ACTION_KINDS.items():
            if fields == {"kind": kind}:
                return action
        raise ActionError("kind", f"must be one of {', '.join(ACTION_KINDS.values())}")

    def explain(self, position, int seat, action):
        kinds = [ACTION_KINDS[legal] for legal in position.legal(seat)]
        kind = ACTION_KINDS.get(action, "this")
        return "NOT_LEGAL", f"{kind} is not possible now: {' or '.join(kinds)} is"

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        cdef KuhnState* poker = <KuhnState*> state
        cdef uint8_t deck[CARDS]
        cdef int i, seat
        for i in range(CARDS):
            deck[i] = i + 1
        rng_shuffle(rng, deck, CARDS)
        memset(state, 0, sizeof(State))
        for seat in range(SEATS):
            poker.cards[seat] = deck[seat]
            log_private(log, to_seat(seat), seat, DEALT, &deck[seat], 1, DEALT, NULL, 0)

    cdef int deciders(self, const State* state) noexcept nogil:
        cdef const KuhnState* poker = <const KuhnState*> state
        if is_over(poker.decisions):
            return NOBODY
        return 1 << to_decide(poker.decisions)

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        if faces_bet((<const KuhnState*> state).decisions):
            actions[0] = CALL
            actions[1] = FOLD
        else:
            actions[0] = CHECK
            actions[1] = BET
        return 2

    cdef void apply(self, State* state, const Action* joint, Rng* rng,
                    EventLog* log) noexcept nogil:
        cdef KuhnState* poker = <KuhnState*> state
        cdef int seat = to_decide(poker.decisions)
        cdef uint8_t decision = <uint8_t> joint[seat]
        poker.decisions[decisions_made(poker.decisions)] = decision
        log_event(log, TO_PUBLIC | TO_RECORD, DECIDED, seat, &decision, 1)
        if is_showdown(poker.decisions):
            for seat in range(SEATS):
                log_event(log, TO_PUBLIC | TO_RECORD, SHOWN, seat, &poker.cards[seat], 1)

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        cdef const KuhnState* poker = <const KuhnState*> state
        cdef int payoff = stake(poker.decisions)
        cdef int winner = poker.cards[1] > poker.cards[0]
        if not is_showdown(poker.decisions):
            winner = to_decide(poker.decisions)     # The turn after a fold is the other seat's.
        return (2 + payoff if winner == seat else 2 - payoff) / 4.0

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        cdef const KuhnState* poker = <const KuhnState*> state
        cdef KuhnView* seen = <KuhnView*> view
        cdef int side
        memset(view, 0, sizeof(View))
        seen.seat = seat
        memcpy(seen.decisions, poker.decisions, sizeof(seen.decisions))
        for side in range(SEATS):
            if side == seat or is_showdown(poker.decisions):
                seen.cards[side] = poker.cards[side]

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        return joint[0] | joint[1]                  # One seat decides at a time, and both see it.

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        cdef const KuhnState* poker = <const KuhnState*> state
        places[OPPONENT_HAND][poker.cards[1 - seat] - JACK] = 1

    cdef uint64_t root_key(self, const State* state, int seat) noexcept nogil:
        return (<const KuhnState*> state).cards[seat]
