"""Leduc poker: poker of two rounds with a card in common, small enough to be solved. A reference
game.

Six cards: two Jacks, two Queens, two Kings; suits do not count. Each seat antes 1 and is dealt one
card, which only it sees. In a round of betting First decides first, and then each in turn:
- Who faces no raise checks or raises. Two checks end the round.
- Who faces a raise folds, calls, or raises in turn, unless the round has had two raises. A call
  ends the round.
A raise is 2 above what the other has put in, 4 in the second round. Before the second round a
third card is turned up, for both.

Who folds loses what it has put in, and shows nothing. After the second round both cards are shown:
a pair with the card in common wins, else the higher card, and the winner takes what the other has
put in; between two cards alike nobody wins. A score is the payoff, from a loss of 13 (0) to a win
of 13 (1).

The card in common is drawn in the deal and lies face down until it is turned up, so that all
chance falls before the first decision.

Source: F. Southey, M. Bowling, B. Larson, C. Piccione, N. Burch, D. Billings, C. Rayner, "Bayes'
bluff: opponent modelling in poker", UAI 2005.
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
    uint8_t,
)

from engine.game import ActionError, ViewError

cdef enum:
    SUITS = 2
    NO_CARD = 0
    JACK = 1
    QUEEN = 2
    KING = 3
    CARDS = SUITS * KING

cdef enum:
    ROUNDS = 2
    MAX_DECISIONS = 4             # In a round.
    MAX_RAISES = 2                # In a round.
    ANTE = 1
    RAISE_BY = 2                  # In the first round; twice that in the second.
    MOST = 13                     # That a seat can lose.
    CHECK = 1
    RAISE = 2
    CALL = 3
    FOLD = 4

cdef enum:
    DEALT = 1
    DECIDED = 2
    TURNED_UP = 3
    SHOWN = 4
    NOBODYS = 255                 # The seat of an event that is nobody's.

CARD_TITLES = {JACK: "Jack", QUEEN: "Queen", KING: "King"}
ACTION_KINDS = {CHECK: "check", RAISE: "raise", CALL: "call", FOLD: "fold"}


cdef struct LeducState:
    uint8_t cards[2]              # By seat.
    uint8_t common                # Face down in the first round.
    uint8_t decisions[8]          # A round after the other, 0 where there is none yet.


cdef struct LeducView:
    uint8_t seat
    uint8_t cards[2]              # By seat; NO_CARD if the viewer has not seen it.
    uint8_t common                # NO_CARD in the first round.
    uint8_t decisions[8]


assert sizeof(LeducState) <= sizeof(State) and sizeof(LeducView) <= sizeof(View)


cdef class LeducPoker(Game):
    """Leduc poker. It has no options."""

    id = "leduc_poker"
    title = "Leduc poker"
    summary = __doc__
    event_kinds = {DEALT: "dealt", DECIDED: "decided", TURNED_UP: "turned_up", SHOWN: "shown"}
    reference = True
    sequential_regret = True
    from_deal = True

    def cards(self):
        return [{"id": str(rank), "title": title, "kind": "card", "copies": SUITS,
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
        return LeducSampler(view)

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
            log_event(log, (TO_SEAT_0 << seat) | TO_RECORD, DEALT, seat, &poker.cards[seat], 1)
            log_event(log, TO_PUBLIC & ~(TO_SEAT_0 << seat), DEALT, seat, NULL, 0)
        poker.common = take(deck, CARDS - SEATS, rng)
        log_event(log, TO_RECORD, DEALT, NOBODYS, &poker.common, 1)
        log_event(log, TO_PUBLIC, DEALT, NOBODYS, NULL, 0)

    cdef int deciders(self, const State* state) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> state
        if is_over(poker.decisions):
            return NOBODY
        return 1 << to_decide(poker.decisions)

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> state
        cdef const uint8_t* decisions = latest(poker.decisions)
        cdef int n = 0
        if not faces_raise(decisions):
            actions[0] = CHECK
            actions[1] = RAISE
            return 2
        if raises(decisions) < MAX_RAISES:
            actions[0] = RAISE
            n = 1
        actions[n] = CALL
        actions[n + 1] = FOLD
        return n + 2

    cdef void apply(self, State* state, const Action* joint, Rng* rng, EventLog* log) noexcept nogil:
        cdef LeducState* poker = <LeducState*> state
        cdef int now = round_of(poker.decisions)
        cdef int seat = to_decide(poker.decisions)
        cdef int made = decisions_made(latest(poker.decisions))
        cdef uint8_t decision = <uint8_t> joint[seat]
        poker.decisions[MAX_DECISIONS * now + made] = decision
        log_event(log, TO_PUBLIC | TO_RECORD, DECIDED, seat, &decision, 1)
        if is_showdown(poker.decisions):
            for seat in range(SEATS):
                log_event(log, TO_PUBLIC | TO_RECORD, SHOWN, seat, &poker.cards[seat], 1)
        elif round_of(poker.decisions) > now:
            log_event(log, TO_PUBLIC | TO_RECORD, TURNED_UP, NOBODYS, &poker.common, 1)

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> state
        cdef int other = 1 - seat
        cdef int own_value = value(poker.cards, seat, poker.common)
        cdef int other_value = value(poker.cards, other, poker.common)
        cdef int payoff = 0
        if not is_showdown(poker.decisions):
            # The turn after a fold is the other seat's.
            if to_decide(poker.decisions) == seat:
                payoff = stake(poker.decisions, other)
            else:
                payoff = -stake(poker.decisions, seat)
        elif own_value > other_value:
            payoff = stake(poker.decisions, other)
        elif own_value < other_value:
            payoff = -stake(poker.decisions, seat)
        return (MOST + payoff) / (2.0 * MOST)

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> state
        cdef LeducView* seen = <LeducView*> view
        cdef int side
        memset(view, 0, sizeof(View))
        seen.seat = seat
        memcpy(seen.decisions, poker.decisions, sizeof(seen.decisions))
        if round_of(poker.decisions) == 1:
            seen.common = poker.common
        for side in range(SEATS):
            if side == seat or is_showdown(poker.decisions):
                seen.cards[side] = poker.cards[side]

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> after
        cdef uint64_t key = joint[0] | joint[1]     # One seat decides at a time, for all to see.
        return key << 2 | (poker.common if round_of(poker.decisions) == 1 else NO_CARD)

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        cdef const LeducState* poker = <const LeducState*> state
        places[OPPONENT_HAND][poker.cards[1 - seat] - JACK] = 1

    cdef uint64_t root_key(self, const State* state, int seat) noexcept nogil:
        return (<const LeducState*> state).cards[seat]


cdef class LeducSampler(Sampler):
    # What a seat may decide never depends on its card, so an opponent who chooses at random tells
    # nothing: every card that is left is equally likely.

    cdef uint8_t deck[CARDS]      # The cards that the seat has not seen.
    cdef int deck_size

    def __init__(self, view):
        Sampler.__init__(self, view)
        cdef LeducView* seen = <LeducView*> &self.view
        cdef int own = seen.cards[self.seat], other = seen.cards[1 - self.seat]
        cdef int left[KING + 1]
        cdef int rank
        if not is_history(seen.decisions):
            raise ViewError("decisions", "must be a line of play")
        if not JACK <= own <= KING:
            raise ViewError(f"cards[{self.seat}]", "must be a card: a seat knows its own")
        if round_of(seen.decisions) == 0:
            if seen.common != NO_CARD:
                raise ViewError("common", "must be unseen in the first round")
        elif not JACK <= seen.common <= KING:
            raise ViewError("common", "must be a card in the second round")
        if not is_showdown(seen.decisions):
            if other != NO_CARD:
                raise ViewError(f"cards[{1 - self.seat}]", "must be unseen before a showdown")
        elif not JACK <= other <= KING:
            raise ViewError(f"cards[{1 - self.seat}]", "must be a card at a showdown")
        left[JACK] = left[QUEEN] = left[KING] = SUITS
        for rank in (own, other, seen.common):
            if rank != NO_CARD:
                left[rank] -= 1
        if min(left[JACK], left[QUEEN], left[KING]) < 0:
            raise ViewError("cards", f"must have no card more than {SUITS} times")
        for rank in range(JACK, KING + 1):
            for _ in range(left[rank]):
                self.deck[self.deck_size] = rank
                self.deck_size += 1

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef LeducState* poker = <LeducState*> state
        cdef const LeducView* seen = <const LeducView*> &self.view
        cdef uint8_t deck[CARDS]
        cdef int other = 1 - self.seat, n = self.deck_size
        memcpy(deck, self.deck, n)
        memset(state, 0, sizeof(State))
        memcpy(poker.cards, seen.cards, sizeof(poker.cards))
        memcpy(poker.decisions, seen.decisions, sizeof(poker.decisions))
        poker.common = seen.common
        if poker.cards[other] == NO_CARD:
            poker.cards[other] = take(deck, n, rng)
            n -= 1
        if poker.common == NO_CARD:
            poker.common = take(deck, n, rng)


cdef uint8_t take(uint8_t* deck, int n, Rng* rng) noexcept nogil:
    # One of n cards; the last one takes its place.
    cdef int i = rng_below(rng, n)
    cdef uint8_t card = deck[i]
    deck[i] = deck[n - 1]
    return card


cdef int value(const uint8_t* cards, int seat, int common) noexcept nogil:
    return cards[seat] + KING if cards[seat] == common else cards[seat]


# A round

cdef int decisions_made(const uint8_t* decisions) noexcept nogil:
    cdef int n = 0
    while n < MAX_DECISIONS and decisions[n]:
        n += 1
    return n


cdef int raises(const uint8_t* decisions) noexcept nogil:
    cdef int i, n = 0
    for i in range(MAX_DECISIONS):
        n += decisions[i] == RAISE
    return n


cdef bint faces_raise(const uint8_t* decisions) noexcept nogil:
    cdef int n = decisions_made(decisions)
    return n > 0 and decisions[n - 1] == RAISE


cdef bint is_round_over(const uint8_t* decisions) noexcept nogil:
    cdef int n = decisions_made(decisions)
    return n > 0 and (decisions[n - 1] == CALL or (n == 2 and decisions[1] == CHECK))


# A match

cdef int round_of(const uint8_t* decisions) noexcept nogil:
    return 1 if is_round_over(decisions) else 0


cdef const uint8_t* latest(const uint8_t* decisions) noexcept nogil:
    # Those of the round that is played.
    return decisions + MAX_DECISIONS * round_of(decisions)


cdef int to_decide(const uint8_t* decisions) noexcept nogil:
    return decisions_made(latest(decisions)) % SEATS


cdef bint is_showdown(const uint8_t* decisions) noexcept nogil:
    return is_round_over(decisions + MAX_DECISIONS)


cdef bint is_over(const uint8_t* decisions) noexcept nogil:
    cdef const uint8_t* now = latest(decisions)
    cdef int n = decisions_made(now)
    return is_showdown(decisions) or (n > 0 and now[n - 1] == FOLD)


cdef int stake(const uint8_t* decisions, int seat) noexcept nogil:
    # What a seat has put in.
    cdef int put_in[SEATS]
    cdef int now, i, side
    put_in[0] = put_in[1] = ANTE
    for now in range(ROUNDS):
        for i in range(MAX_DECISIONS):
            side = i % SEATS
            if decisions[MAX_DECISIONS * now + i] == RAISE:
                put_in[side] = put_in[1 - side] + RAISE_BY * (now + 1)
            elif decisions[MAX_DECISIONS * now + i] == CALL:
                put_in[side] = put_in[1 - side]
    return put_in[seat]


cdef bint is_history(const uint8_t* decisions) noexcept nogil:
    # Whether the decisions are those of a match, from its first on.
    cdef uint8_t past[ROUNDS * MAX_DECISIONS]
    cdef const uint8_t* now
    cdef int i, decision
    memset(past, 0, sizeof(past))
    for i in range(ROUNDS * MAX_DECISIONS):
        decision = decisions[i]
        if decision == 0:
            continue
        now = latest(past)
        if is_over(past) or now + decisions_made(now) != past + i:
            return False
        if faces_raise(now):
            if not (decision == CALL or decision == FOLD
                    or (decision == RAISE and raises(now) < MAX_RAISES)):
                return False
        elif decision != CHECK and decision != RAISE:
            return False
        past[i] = decision
    return True
