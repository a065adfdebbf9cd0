"""Kuhn poker: the smallest game that shows everything a game here is made of. A reference game.

Three cards: Jack, Queen, King; the higher card wins. Each seat antes 1 and is dealt one card, which
only it sees; the third card stays unseen. First checks or bets 1.
- After a check, Second checks (showdown) or bets; after that bet, First calls (showdown) or folds.
- After First's bet, Second calls (showdown) or folds.
Who folds loses the ante and shows nothing. At a showdown both cards are shown, and the higher takes
1 from the other after two checks, 2 after a call.

Source: Harold W. Kuhn, "A simplified two-person poker", 1950. First loses 1/18 a match if both play
as well as possible.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from engine.game cimport (
    NOBODY,
    OPPONENT_HAND,
    SEATS,
    TO_PUBLIC,
    TO_RECORD,
    TO_SEAT_0,
    Action,
    Cards,
    Game,
    EventLog,
    Rng,
    Sampler,
    State,
    View,
    log_event,
    rng_below,
    rng_shuffle,
    uint8_t,
)

from engine.game import ActionError, ViewError

cdef enum:
    CARDS = 3
    NO_CARD = 0
    JACK = 1
    QUEEN = 2
    KING = 3

cdef enum:
    MAX_DECISIONS = 3
    CHECK = 1
    BET = 2
    CALL = 3
    FOLD = 4

cdef enum:
    DEALT = 1
    DECIDED = 2
    SHOWN = 3

CARD_TITLES = {JACK: "Jack", QUEEN: "Queen", KING: "King"}
ACTION_KINDS = {CHECK: "check", BET: "bet", CALL: "call", FOLD: "fold"}


cdef struct KuhnState:
    uint8_t cards[2]              # By seat.
    uint8_t decisions[3]          # In order; 0 where there is none yet.


cdef struct KuhnView:
    uint8_t seat
    uint8_t cards[2]              # By seat; NO_CARD if the viewer has not seen it.
    uint8_t decisions[3]


assert sizeof(KuhnState) <= sizeof(State) and sizeof(KuhnView) <= sizeof(View)


cdef class KuhnPoker(Game):
    """Kuhn poker. It has no options."""

    id = "kuhn_poker"
    title = "Kuhn poker"
    summary = __doc__
    event_kinds = {DEALT: "dealt", DECIDED: "decided", SHOWN: "shown"}
    reference = True
    sequential_regret = True
    from_deal = True

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
        return f"{ACTION_KINDS.get(action, 'this')} is not possible now: {' or '.join(kinds)} is"

    def sampler(self, view):
        return KuhnSampler(view)

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
            log_event(log, (TO_SEAT_0 << seat) | TO_RECORD, DEALT, seat, &deck[seat], 1)
            log_event(log, TO_PUBLIC & ~(TO_SEAT_0 << seat), DEALT, seat, NULL, 0)

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

    cdef void apply(self, State* state, const Action* joint, Rng* rng, EventLog* log) noexcept nogil:
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
        return joint[0] | joint[1]                  # One seat decides at a time, for all to see.

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        cdef const KuhnState* poker = <const KuhnState*> state
        places[OPPONENT_HAND][poker.cards[1 - seat] - JACK] = 1

    cdef uint64_t root_key(self, const State* state, int seat) noexcept nogil:
        return (<const KuhnState*> state).cards[seat]


cdef class KuhnSampler(Sampler):
    # Both decisions that a seat ever has are legal whatever its card is, so an opponent who chooses
    # at random tells nothing: the two cards that he can hold are equally likely.

    def __init__(self, view):
        Sampler.__init__(self, view)
        cdef KuhnView* seen = <KuhnView*> &self.view
        cdef int own = seen.cards[self.seat], other = seen.cards[1 - self.seat]
        if not is_history(seen.decisions):
            raise ViewError("decisions", "must be a line of play")
        if not JACK <= own <= KING:
            raise ViewError(f"cards[{self.seat}]", "must be a card: a seat knows its own")
        if not is_showdown(seen.decisions):
            if other != NO_CARD:
                raise ViewError(f"cards[{1 - self.seat}]", "must be unseen before a showdown")
        elif not JACK <= other <= KING or other == own:
            raise ViewError(f"cards[{1 - self.seat}]", "must be another card at a showdown")

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef KuhnState* poker = <KuhnState*> state
        cdef const KuhnView* seen = <const KuhnView*> &self.view
        cdef int other = 1 - self.seat
        memset(state, 0, sizeof(State))
        memcpy(poker.cards, seen.cards, sizeof(poker.cards))
        memcpy(poker.decisions, seen.decisions, sizeof(poker.decisions))
        if poker.cards[other] == NO_CARD:
            # 1 or 2 places after the own card, in the circle Jack, Queen, King.
            poker.cards[other] = (poker.cards[self.seat] + rng_below(rng, 2)) % CARDS + 1


cdef int decisions_made(const uint8_t* decisions) noexcept nogil:
    cdef int n = 0
    while n < MAX_DECISIONS and decisions[n]:
        n += 1
    return n


cdef int to_decide(const uint8_t* decisions) noexcept nogil:
    return decisions_made(decisions) % SEATS


cdef bint faces_bet(const uint8_t* decisions) noexcept nogil:
    cdef int n = decisions_made(decisions)
    return n > 0 and decisions[n - 1] == BET


cdef bint is_showdown(const uint8_t* decisions) noexcept nogil:
    cdef int n = decisions_made(decisions)
    return n > 0 and (decisions[n - 1] == CALL or (n == 2 and decisions[1] == CHECK))


cdef bint is_over(const uint8_t* decisions) noexcept nogil:
    cdef int n = decisions_made(decisions)
    return is_showdown(decisions) or (n > 0 and decisions[n - 1] == FOLD)


cdef int stake(const uint8_t* decisions) noexcept nogil:
    return 2 if decisions[decisions_made(decisions) - 1] == CALL else 1


cdef bint is_history(const uint8_t* decisions) noexcept nogil:
    # Whether the decisions are those of a match, from its first on.
    cdef uint8_t past[MAX_DECISIONS]
    cdef int i, n = decisions_made(decisions)
    memset(past, 0, sizeof(past))
    for i in range(MAX_DECISIONS):
        if i >= n:
            if decisions[i]:
                return False
            continue
        if is_over(past):
            return False
        if faces_bet(past):
            if decisions[i] != CALL and decisions[i] != FOLD:
                return False
        elif decisions[i] != CHECK and decisions[i] != BET:
            return False
        past[i] = decisions[i]
    return True
