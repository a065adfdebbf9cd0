"""German Whist in Cython. `german_whist.rules` tells the rules, and has the same states."""

from libc.string cimport memcpy, memset

from engine.chance cimport Rng, rng_shuffle
from engine.events cimport (
    NO_SEAT, TO_PUBLIC, TO_RECORD, EventLog, log_event, log_private, to_seat,
)
from engine.game cimport ABI, NOBODY, SEATS, Action, Cards, Game, State, View, action_at
from engine.integers cimport uint8_t, uint64_t
from german_whist_twin.state cimport MAX_CARDS, RANKS, SUIT, WhistState, WhistView

from german_whist.rules import GermanWhist

cdef enum:
    DEALT = 1
    DEALT_HIDDEN
    TURNED_UP
    PLAYED
    TRICK_WON
    TAKEN
    DRAWN
    DRAWN_HIDDEN

cdef enum:
    # Hidden places.
    OPPONENT_HAND = 0
    STOCK

assert sizeof(WhistState) <= sizeof(State) and sizeof(WhistView) <= sizeof(View)


cdef class CompiledGermanWhist(Game):
    """German Whist, as a reference game."""

    cdef readonly int size
    cdef uint8_t pack[MAX_CARDS]
    cdef readonly object rules     # The same game in Python, for what is asked once.

    id = "german_whist_twin"
    abi = ABI
    title = GermanWhist.title
    summary = GermanWhist.summary
    event_kinds = GermanWhist.event_kinds
    hidden_places = GermanWhist.hidden_places
    unseen_order = True
    reference = True

    def read_ruleset(self, given):
        self.rules = GermanWhist(given)
        self.size = self.rules.size
        for i, card in enumerate(self.rules.pack):
            self.pack[i] = card
        return self.rules.ruleset

    def cards(self):
        return self.rules.cards()

    def read_action(self, action):
        return self.rules.read_action(action)

    def make_action(self, fields):
        return self.rules.make_action(fields)

    cdef state_fields(self, const State* state):
        return (<WhistState*> state)[0]

    cdef fill_state(self, State* state, fields):
        (<WhistState*> state)[0] = fields

    cdef view_fields(self, const View* view):
        return (<WhistView*> view)[0]

    cdef fill_view(self, View* view, fields):
        (<WhistView*> view)[0] = fields

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        cdef WhistState* whist = <WhistState*> state
        cdef uint8_t pack[MAX_CARDS]
        cdef uint8_t hand[RANKS]
        cdef uint8_t size = <uint8_t> self.size
        cdef int i, seat
        memcpy(pack, self.pack, 4 * size)
        rng_shuffle(rng, pack, 4 * size)
        memset(state, 0, sizeof(State))
        for seat in range(SEATS):
            for i in range(size):
                whist.hands[seat] |= <uint64_t> 1 << pack[size * seat + i]
            log_private(log, to_seat(seat), seat, DEALT, hand, list_cards(whist.hands[seat], hand),
                        DEALT_HIDDEN, &size, 1)
        whist.stock_count = 2 * size
        memcpy(whist.stock, pack + 2 * size, 2 * size)
        turn_up(whist, log)

    cdef int deciders(self, const State* state) noexcept nogil:
        cdef const WhistState* whist = <const WhistState*> state
        if whist.plays_count == 4 * self.size:
            return NOBODY
        return 1 << (whist.leader ^ (whist.plays_count & 1))

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        cdef uint8_t cards[MAX_CARDS]
        cdef int i, n = list_cards(choices(<const WhistState*> state, seat), cards)
        for i in range(n):
            actions[i] = cards[i] + 1
        return n

    cdef uint64_t legal_among(self, const State* state, int seat, const Action* actions,
                              size_t stride, int count) noexcept nogil:
        cdef uint64_t cards = choices(<const WhistState*> state, seat), legal = 0
        cdef int i
        for i in range(count):
            legal |= (cards >> (action_at(actions, stride, i) - 1) & 1) << i
        return legal

    cdef Action only_action(self, const State* state, int seat) noexcept nogil:
        cdef uint64_t cards = choices(<const WhistState*> state, seat)
        cdef uint8_t card
        if cards & (cards - 1):
            return 0
        list_cards(cards, &card)
        return card + 1

    cdef void apply(self, State* state, const Action* joint, Rng* rng,
                    EventLog* log) noexcept nogil:
        cdef WhistState* whist = <WhistState*> state
        cdef int played = whist.plays_count
        cdef int seat = whist.leader ^ (played & 1)
        cdef uint8_t card = <uint8_t> (joint[seat] - 1)
        cdef int winner
        whist.hands[seat] ^= <uint64_t> 1 << card
        whist.plays[played] = card
        whist.plays_count += 1
        log_event(log, TO_PUBLIC | TO_RECORD, PLAYED, seat, &card, 1)
        if not played & 1:
            return
        winner = seat if beats(card, whist.plays[played - 1], whist.exposed[0] // RANKS) else (
            1 - seat)
        whist.leader = winner
        log_event(log, TO_PUBLIC | TO_RECORD, TRICK_WON, winner, NULL, 0)
        if played < 2 * self.size:
            take_cards(whist, winner, log)
        else:
            whist.tricks[winner] += 1

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        cdef const WhistState* whist = <const WhistState*> state
        if whist.tricks[seat] == whist.tricks[1 - seat]:
            return 0.5
        return whist.tricks[seat] > whist.tricks[1 - seat]

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        cdef const WhistState* whist = <const WhistState*> state
        cdef WhistView* seen = <WhistView*> view
        memset(view, 0, sizeof(View))
        seen.seat = seat
        seen.trump = whist.exposed[0] // RANKS
        seen.leader = whist.leader
        memcpy(seen.tricks, whist.tricks, sizeof(seen.tricks))
        seen.exposed_count = whist.exposed_count
        memcpy(seen.exposed, whist.exposed, sizeof(seen.exposed))
        seen.plays_count = whist.plays_count
        memcpy(seen.plays, whist.plays, sizeof(seen.plays))
        if seat < SEATS:
            seen.hand_count = list_cards(whist.hands[seat], seen.hand)

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        cdef const WhistState* whist = <const WhistState*> after
        cdef uint64_t count = whist.exposed_count
        return (joint[0] | joint[1] | count << 8
                | (<uint64_t> whist.exposed[count - 1] + 1) << 16)

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        cdef const WhistState* whist = <const WhistState*> state
        cdef uint8_t cards[MAX_CARDS]
        cdef int i
        for i in range(list_cards(whist.hands[1 - seat], cards)):
            places[OPPONENT_HAND][cards[i]] = 1
        for i in range(whist.stock_count):
            places[STOCK][whist.stock[i]] = 1

    cdef void shuffle_unseen(self, State* state, Rng* rng) noexcept nogil:
        cdef WhistState* whist = <WhistState*> state
        rng_shuffle(rng, whist.stock, whist.stock_count)


cdef int list_cards(uint64_t hand, uint8_t* cards) noexcept nogil:
    # Writes the cards of a set, sorted, and returns how many there are.
    cdef int card, n = 0
    for card in range(MAX_CARDS):
        if hand >> card & 1:
            cards[n] = card
            n += 1
    return n


cdef uint64_t choices(const WhistState* whist, int seat) noexcept nogil:
    cdef uint64_t hand = whist.hands[seat]
    cdef uint64_t suit = SUIT
    if whist.plays_count & 1:
        suit <<= RANKS * (whist.plays[whist.plays_count - 1] // RANKS)
        if hand & suit:
            return hand & suit
    return hand


cdef bint beats(int second, int first, int trump) noexcept nogil:
    if second // RANKS == first // RANKS:
        return second > first
    return second // RANKS == trump


cdef uint8_t draw_from(WhistState* whist) noexcept nogil:
    cdef uint8_t card
    whist.stock_count -= 1
    card = whist.stock[whist.stock_count]
    whist.stock[whist.stock_count] = 0
    return card


cdef void turn_up(WhistState* whist, EventLog* log) noexcept nogil:
    cdef uint8_t card = draw_from(whist)
    whist.exposed[whist.exposed_count] = card
    whist.exposed_count += 1
    log_event(log, TO_PUBLIC | TO_RECORD, TURNED_UP, NO_SEAT, &card, 1)


cdef void take_cards(WhistState* whist, int winner, EventLog* log) noexcept nogil:
    cdef uint8_t taken = whist.exposed[whist.exposed_count - 1]
    cdef uint8_t drawn
    whist.hands[winner] |= <uint64_t> 1 << taken
    log_event(log, TO_PUBLIC | TO_RECORD, TAKEN, winner, &taken, 1)
    drawn = draw_from(whist)
    whist.hands[1 - winner] |= <uint64_t> 1 << drawn
    log_private(log, to_seat(1 - winner), 1 - winner, DRAWN, &drawn, 1, DRAWN_HIDDEN, NULL, 0)
    if whist.stock_count:
        turn_up(whist, log)
