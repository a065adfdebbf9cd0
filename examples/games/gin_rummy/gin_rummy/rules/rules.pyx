"""Gin Rummy, for two: a hand of ten cards is arranged in melds, and what is left over counts.

*Melds.* A run is three or more cards of one suit in sequence, the ace low; a set is three or four
cards of one rank. A card belongs to one meld at most. What is in no meld is deadwood: an ace counts
1, a Jack, Queen or King 10, any other card its rank.

*The deal.* Each seat is dealt 10 of the 52 cards. The next one is turned up and begins the discard
pile; the others are the stock, face down. Chance names the dealer of the first hand. The non-dealer
may take the upcard; if it passes, the dealer may; if both pass, the non-dealer draws from the
stock.

*A turn.* A seat draws the top card of the stock or takes the top card of the discard pile. Then it
discards a card, but not the one that it has just taken from the discard pile. The seats take turns.

*Knocking.* A seat whose deadwood is at most 10 after its discard may knock with that discard, which
ends the hand. With no deadwood at all that is gin.

- The knocker's hand is melded so that it has the least deadwood; of several ways, in the one on
  which the fewest other cards can be laid off.
- The opponent's hand is melded too, and its other cards are laid off on the melds of the knocker: a
  fourth card on a set of three, and cards in sequence on either end of a run. That is done in the
  way that leaves the least deadwood. Against gin nothing is laid off.
- The knocker wins if its deadwood is lower, and always with gin. Otherwise that is an undercut, and
  the opponent wins.

*The end without a knock.* A hand ends undecided when two cards are left in the stock after a
discard; with the 100th discard it does so anyway, since seats could take each other's discards for
ever.

*A match* is one hand: the winner scores 1, the loser 0, and both 0.5 if it is undecided.

With a `target`, a match is several hands, and the winner of each gets points: the difference of the
deadwood, and 25 more for gin or for an undercut. The match ends when a seat has as many points as
the target; that seat wins. The loser of a hand deals the next one; after an undecided hand the same
seat deals again. After 20 hands the seat with more points wins, and equal points are a draw.

Other options make a smaller game: `ranks` (from the ace) and `suits` in the deck, `hand_size`, and
the `knock_limit`.

Source: J. McLeod, "Gin Rummy", pagat.com. The limits of 100 discards and 20 hands are ours.
"""

from libc.string cimport memcpy, memset

from engine.chance cimport Rng, mix, rng_below, rng_shuffle
from engine.events cimport (
    NO_SEAT, TO_PUBLIC, TO_RECORD, EventLog, log_event, log_private, to_seat,
)
from engine.game cimport (
    ABI, NOBODY, SEATS, SPECTATOR, Action, Cards, Game, State, View, action_at,
)
from engine.integers cimport uint8_t, uint64_t
from gin_rummy.rules.melds cimport (
    Melding, bit, card_at, deadwood, knocking, lay_off, lowest_one, meld,
)
from gin_rummy.rules.state cimport (
    CARD_BITS, DEALT, DEALT_HIDDEN, DISCARD, DISCARDED, DRAWN, DRAWN_HIDDEN, DRAW_STOCK, GIN,
    GIN_BONUS, HAND_ENDED, KNOCK, KNOCKED, KNOCKED_WITH, LAID_OFF, LEFT_OVER, MAX_DECK, MAX_HAND,
    MAX_HANDS, MAX_HELD, MAX_KNOCK_LIMIT, MAX_RANKS, MAX_SUITS, MAX_TARGET, MAX_TURNS, MELDED,
    NO_CARD, OFFERED, OPEN, OVER, PASS, PASSED, PILE, SHUFFLED, SHUFFLED_HIDDEN, STOCK, TAKEN,
    TAKE_DISCARD, TO_DISCARD, TO_DRAW, TURNED_UP, UNDECIDED, UNDERCUT, UNDERCUT_BONUS, Common,
    GinState, GinView,
)

from engine.card_list import check_ranges
from engine.errors import ActionError, RulesetError
from gin_rummy.rules import deck
from gin_rummy.rules.words import PHRASES

cdef enum:
    CARD_MASK = (1 << CARD_BITS) - 1
    # Hidden places: rows of `hidden`, named in `hidden_places`.
    OPPONENT_HAND = 0
    HIDDEN_STOCK

DEFAULTS = {"ranks": MAX_RANKS, "suits": MAX_SUITS, "hand_size": MAX_HAND, "knock_limit": 10,
            "target": 0}
RANGES = {"ranks": (1, MAX_RANKS), "suits": (1, MAX_SUITS), "hand_size": (1, MAX_HAND),
          "knock_limit": (0, MAX_KNOCK_LIMIT), "target": (0, MAX_TARGET)}
KINDS = {PASS: "pass", DRAW_STOCK: "draw_stock", TAKE_DISCARD: "take_discard", DISCARD: "discard",
         KNOCK: "knock"}
WITH_CARD = (TAKE_DISCARD, DISCARD, KNOCK)

assert sizeof(GinState) <= sizeof(State)
assert sizeof(GinView) <= sizeof(View)


cdef inline int index_of(int card, int ranks) noexcept nogil:
    # In `Game.cards`, of a deck with so many ranks.
    return (card - 1) // MAX_RANKS * ranks + (card - 1) % MAX_RANKS


cdef class GinRummy(Game):
    """Gin Rummy under one ruleset: `ranks`, `suits`, `hand_size`, `knock_limit` and `target`."""

    id = "gin_rummy"
    abi = ABI
    title = "Gin Rummy"
    summary = (
        "Each seat has a hand of ten cards and arranges it in melds: runs of three or more cards "
        "of one suit, the ace low, and sets of three or four cards of one rank. What is in no "
        "meld is deadwood: an ace counts 1, a Jack, Queen or King 10, any other card its rank.\n\n"
        "The first card of the discard pile is offered to the non-dealer, then to the dealer. From "
        "then on a turn is to draw from the stock or to take the top card of the discard pile, "
        "and to discard a card, but not the one just taken.\n\n"
        "A seat whose deadwood is at most 10 after its discard may knock, which ends the hand. "
        "Both hands are melded, and the opponent lays off cards on the melds of the knocker, "
        "unless the knocker has gin: no deadwood. The knocker wins with less deadwood than the "
        "opponent, and always with gin; otherwise the opponent wins, by an undercut. The hand is "
        "undecided when two cards are left in the stock after a discard.\n\n"
        "A match is one hand. With a target, seats play for points: the difference of the "
        "deadwood, and 25 more for gin or an undercut. The loser of a hand deals the next one."
    )
    seat_titles = ("North", "South")
    event_kinds = {
        SHUFFLED: "shuffled: cards*",
        SHUFFLED_HIDDEN: "shuffled_hidden: count",
        DEALT: "dealt: cards*",
        DEALT_HIDDEN: "dealt_hidden: count",
        TURNED_UP: "turned_up: card",
        PASSED: "passed",
        DRAWN: "drawn: card",
        DRAWN_HIDDEN: "drawn_hidden",
        TAKEN: "taken: card",
        DISCARDED: "discarded: card",
        KNOCKED_WITH: "knocked: card",
        MELDED: "melded: cards*",
        LAID_OFF: "laid_off: cards*",
        HAND_ENDED: "hand_ended: result points deadwood[2] winner?",
    }
    hidden_places = ("opponent_hand", "stock")
    unseen_order = True
    # A discard has eleven cards to choose from that differ by little. Against the playout policy,
    # 1,000 iterations score 0.48 with this over 500 matches, and 0.46 with the default of 0.5;
    # 8,000 score 0.54 over 140 with either.
    widening = 0.1
    phrases = PHRASES

    def read_ruleset(self, given):
        cdef int card
        self.state_bytes = sizeof(GinState)
        ruleset = dict(DEFAULTS)
        for option, value in given.items():
            if option not in ruleset:
                raise RulesetError(option, "is not an option of Gin Rummy", "UNKNOWN_OPTION")
            ruleset[option] = value
        check_ranges(ruleset, RANGES)
        self.ranks, self.suits = ruleset["ranks"], ruleset["suits"]
        self.hand_size, self.knock_limit = ruleset["hand_size"], ruleset["knock_limit"]
        self.target = ruleset["target"]
        self.deck_size = self.ranks * self.suits
        # One upcard, and at least one card to draw.
        if self.deck_size < 2 * self.hand_size + 2 + LEFT_OVER:
            raise RulesetError(
                "hand_size", f"must leave {2 + LEFT_OVER} of the {self.deck_size} cards undealt",
                "TOO_FEW_CARDS")
        self.deck = 0
        for card in range(self.deck_size):
            self.cards_of_deck[card] = (
                1 + MAX_RANKS * (card // self.ranks) + card % self.ranks)
            self.deck |= bit(self.cards_of_deck[card])
        return ruleset

    def cards(self):
        return deck.describe(self.ranks, self.suits)

    cdef state_fields(self, const State* state):
        return (<GinState*> state)[0]

    cdef fill_state(self, State* state, fields):
        # Member by member, since a made struct may have anything in the bytes behind the last one.
        cdef GinState made = fields
        cdef GinState* gin = <GinState*> state
        memcpy(gin.hands, made.hands, sizeof(made.hands))
        memcpy(gin.known, made.known, sizeof(made.known))
        memcpy(gin.stock, made.stock, sizeof(made.stock))
        gin.common = made.common

    cdef view_fields(self, const View* view):
        # In Python, the common part stands beside the rest, as in the schema.
        cdef dict fields = (<GinView*> view)[0]
        common = fields.pop("common")
        return {**fields, **common}

    cdef fill_view(self, View* view, fields):
        cdef GinView* seen = <GinView*> view
        own = {name: fields[name] for name in ("seat", "hand_count", "hand", "sides")}
        own["common"] = {name: value for name, value in fields.items() if name not in own}
        seen[0] = own

    def read_action(self, action):
        kind, card = action >> CARD_BITS, action & CARD_MASK
        if kind in WITH_CARD:
            return {"kind": KINDS[kind], "card": card}
        return {"kind": KINDS[kind]}

    def make_action(self, fields):
        kinds = {name: kind for kind, name in KINDS.items()}
        if fields["kind"] not in kinds:
            raise ActionError("kind", f"must be one of {', '.join(kinds)}")
        kind = kinds[fields["kind"]]
        card = fields["card"] if kind in WITH_CARD else NO_CARD
        if kind in WITH_CARD and not (1 <= card <= MAX_DECK and bit(card) & self.deck):
            raise ActionError("card", "must be a card of the deck")
        return <Action> kind << CARD_BITS | <Action> card

    def explain(self, position, int seat, action):
        fields = position.fields
        common = fields["common"]
        kind, card = action >> CARD_BITS, action & CARD_MASK
        kinds = sorted({legal >> CARD_BITS for legal in position.legal(seat)})
        if kind not in kinds and not (kind == KNOCK and common["phase"] == TO_DISCARD):
            now = " or ".join(KINDS[legal] for legal in kinds)
            return "NOT_NOW", f"{KINDS.get(kind, 'this')} is not possible now: {now} is"
        if kind == TAKE_DISCARD:
            return "NOT_ON_TOP", f"the {deck.title(card)} is not on top of the discard pile"
        if not fields["hands"][seat] & bit(card):
            return "NOT_IN_HAND", f"the {deck.title(card)} is not in the hand"
        if card == common["taken"]:
            return "JUST_TAKEN", f"the {deck.title(card)} has just been taken from the discard pile"
        left = deadwood(fields["hands"][seat] & ~bit(card))
        return "TOO_MUCH_DEADWOOD", f"a knock needs at most {self.knock_limit} deadwood, not {left}"

    # The rules

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        cdef GinState* gin = <GinState*> state
        memset(state, 0, sizeof(State))
        self.deal_hand(gin, rng_below(rng, SEATS), rng, log)

    cdef int deciders(self, const State* state) noexcept nogil:
        cdef const Common* common = &(<const GinState*> state).common
        return NOBODY if common.phase == OVER else 1 << common.to_play

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        cdef const GinState* gin = <const GinState*> state
        cdef uint64_t cards, knocks
        cdef int n = 0
        if gin.common.phase != TO_DISCARD:
            actions[0] = (PASS if gin.common.phase == OFFERED else DRAW_STOCK) << CARD_BITS
            actions[1] = TAKE_DISCARD << CARD_BITS | top_card(&gin.common)
            return 2
        cards = discardable(gin)
        knocks = knocking(gin.hands[seat], cards, self.knock_limit)
        while cards:
            actions[n] = DISCARD << CARD_BITS | card_at(lowest_one(cards))
            cards &= cards - 1
            n += 1
        while knocks:
            actions[n] = KNOCK << CARD_BITS | card_at(lowest_one(knocks))
            knocks &= knocks - 1
            n += 1
        return n

    cdef uint64_t legal_among(self, const State* state, int seat, const Action* actions,
                              size_t stride, int count) noexcept nogil:
        cdef const GinState* gin = <const GinState*> state
        cdef uint64_t card, legal = 0
        cdef Action action
        cdef int i
        for i in range(count):
            action = action_at(actions, stride, i)
            card = bit(action & CARD_MASK) & gin.hands[seat]
            legal |= <uint64_t> (
                gin.common.phase != TO_DISCARD
                or (card and (action >> CARD_BITS == DISCARD
                              or deadwood(gin.hands[seat] ^ card) <= self.knock_limit))) << i
        return legal

    cdef Action only_action(self, const State* state, int seat) noexcept nogil:
        cdef const GinState* gin = <const GinState*> state
        cdef uint64_t cards
        if gin.common.phase != TO_DISCARD:
            return 0
        cards = discardable(gin)
        if cards & (cards - 1) or knocking(gin.hands[seat], cards, self.knock_limit):
            return 0
        return DISCARD << CARD_BITS | card_at(lowest_one(cards))

    cdef int without_dominated(self, const State* state, int seat, Action* actions,
                               int count) noexcept nogil:
        # In a match of one hand gin wins at once, and no win is better than another.
        cdef const GinState* gin = <const GinState*> state
        cdef int i
        if self.target or gin.common.phase != TO_DISCARD:
            return count
        for i in range(count - 1, -1, -1):
            if actions[i] >> CARD_BITS != KNOCK:
                break
            if deadwood(gin.hands[seat] & ~bit(actions[i] & CARD_MASK)) == 0:
                actions[0] = actions[i]
                return 1
        return count

    cdef void apply(self, State* state, const Action* joint, Rng* rng,
                    EventLog* log) noexcept nogil:
        cdef GinState* gin = <GinState*> state
        cdef Action action = joint[gin.common.to_play]
        cdef int kind = action >> CARD_BITS
        if kind == PASS:
            self.pass_up(gin, log)
        elif kind == DRAW_STOCK:
            self.draw_card(gin, log)
        elif kind == TAKE_DISCARD:
            self.take_card(gin, log)
        elif kind == DISCARD:
            self.discard(gin, action & CARD_MASK, rng, log)
        else:
            self.knock(gin, action & CARD_MASK, rng, log)

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        cdef const Common* common = &(<const GinState*> state).common
        if common.points[0] == common.points[1]:
            return 0.5
        return common.points[seat] > common.points[1 - seat]

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        cdef const GinState* gin = <const GinState*> state
        cdef GinView* seen = <GinView*> view
        cdef int side
        memset(view, 0, sizeof(View))
        seen.seat = seat
        seen.common = gin.common
        if seat != SPECTATOR:
            seen.hand_count = list_cards(gin.hands[seat], seen.hand)
        for side in range(SEATS):
            seen.sides[side].known_count = list_cards(gin.known[side], seen.sides[side].known)
            if gin.common.result > UNDECIDED:
                seen.sides[side].shown_count = list_cards(gin.hands[side], seen.sides[side].shown)

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        # Both seats see the action, and a seat its own hand: what it best discards depends on the
        # card that it has drawn.
        return mix(joint[0] ^ joint[1], (<const GinState*> after).hands[seat])

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        cdef const GinState* gin = <const GinState*> state
        cdef uint64_t cards = gin.hands[1 - seat]
        cdef int i
        while cards:
            places[OPPONENT_HAND][index_of(card_at(lowest_one(cards)), self.ranks)] = 1
            cards &= cards - 1
        for i in range(gin.common.stock_size):
            places[HIDDEN_STOCK][index_of(gin.stock[i], self.ranks)] = 1

    cdef void shuffle_unseen(self, State* state, Rng* rng) noexcept nogil:
        cdef GinState* gin = <GinState*> state
        rng_shuffle(rng, gin.stock, gin.common.stock_size)

    # Moves

    cdef void pass_up(self, GinState* gin, EventLog* log) noexcept nogil:
        log_event(log, TO_PUBLIC | TO_RECORD, PASSED, gin.common.to_play, NULL, 0)
        put_pass(&gin.common)
        if gin.common.phase == TO_DRAW:
            self.draw_card(gin, log)

    cdef void draw_card(self, GinState* gin, EventLog* log) noexcept nogil:
        cdef int seat = gin.common.to_play
        cdef uint8_t card
        put_draw(&gin.common)
        card = gin.stock[gin.common.stock_size]
        # No byte may be left over from a card that has gone.
        gin.stock[gin.common.stock_size] = NO_CARD
        gin.hands[seat] |= bit(card)
        log_private(log, to_seat(seat), seat, DRAWN, &card, 1, DRAWN_HIDDEN, NULL, 0)

    cdef void take_card(self, GinState* gin, EventLog* log) noexcept nogil:
        cdef int seat = gin.common.to_play
        cdef uint8_t card = put_take(&gin.common)
        gin.hands[seat] |= bit(card)
        gin.known[seat] |= bit(card)
        log_event(log, TO_PUBLIC | TO_RECORD, TAKEN, seat, &card, 1)

    cdef void discard(self, GinState* gin, int card, Rng* rng, EventLog* log) noexcept nogil:
        cdef int seat = gin.common.to_play
        cdef uint8_t value = card
        cdef int result
        gin.hands[seat] &= ~bit(card)
        gin.known[seat] &= ~bit(card)
        result = put_discard(&gin.common, card)
        log_event(log, TO_PUBLIC | TO_RECORD, DISCARDED, seat, &value, 1)
        if result != OPEN:
            self.end_hand(gin, result, 0, rng, log)

    cdef void knock(self, GinState* gin, int card, Rng* rng, EventLog* log) noexcept nogil:
        cdef int seat = gin.common.to_play, other = 1 - seat
        cdef uint8_t* left = gin.common.deadwood
        cdef uint8_t value = card
        cdef Melding own, answer
        cdef int result, points = 0
        gin.hands[seat] &= ~bit(card)
        gin.known[seat] &= ~bit(card)
        put_card(&gin.common, card)
        log_event(log, TO_PUBLIC | TO_RECORD, KNOCKED_WITH, seat, &value, 1)
        result = self.settle(gin.hands, seat, &own, &answer, &points)
        if log != NULL:
            log_melds(log, seat, &own)
            log_melds(log, other, &answer)
            log_cards(log, LAID_OFF, other, answer.laid_off)
        left[seat] = own.deadwood
        left[other] = answer.deadwood
        self.end_hand(gin, result, points, rng, log)

    cdef int settle(self, const uint64_t* hands, int seat, Melding* own, Melding* answer,
                    int* points) noexcept nogil:
        cdef Melding nothing
        meld(hands[seat], self.deck, own)
        if own.deadwood == 0:
            nothing.sets = nothing.runs = 0
            lay_off(hands[1 - seat], self.deck, &nothing, answer)
            points[0] = GIN_BONUS + answer.deadwood
            return GIN
        lay_off(hands[1 - seat], self.deck, own, answer)
        points[0] = answer.deadwood - own.deadwood
        if points[0] > 0:
            return KNOCKED
        points[0] = UNDERCUT_BONUS - points[0]
        return UNDERCUT

    # Hands

    cdef void deal_hand(self, GinState* gin, int dealer, Rng* rng, EventLog* log) noexcept nogil:
        # All that is left of an earlier hand are the points.
        cdef Common* common = &gin.common
        cdef uint8_t hand[MAX_HELD]
        cdef uint8_t number
        cdef int seat, _i, stock_size = self.deck_size
        memset(gin.known, 0, sizeof(gin.known))
        memset(common.deadwood, 0, sizeof(common.deadwood))
        memset(common.turns, 0, sizeof(common.turns))
        memset(common.pile, 0, sizeof(common.pile))
        memset(gin.stock, 0, sizeof(gin.stock))
        memcpy(gin.stock, self.cards_of_deck, self.deck_size)
        rng_shuffle(rng, gin.stock, self.deck_size)
        number = stock_size
        log_private(log, 0, NO_SEAT, SHUFFLED, gin.stock, self.deck_size,
                    SHUFFLED_HIDDEN, &number, 1)
        number = self.hand_size
        for seat in range(SEATS):
            gin.hands[seat] = 0
            for _i in range(self.hand_size):
                stock_size -= 1
                gin.hands[seat] |= bit(gin.stock[stock_size])
                gin.stock[stock_size] = NO_CARD
            if log != NULL:
                list_cards(gin.hands[seat], hand)
                log_private(log, to_seat(seat), seat, DEALT, hand, self.hand_size,
                            DEALT_HIDDEN, &number, 1)
        stock_size -= 1
        common.hand_number += 1
        common.phase = OFFERED
        common.dealer = dealer
        common.to_play = 1 - dealer
        common.upcard = common.pile[0] = gin.stock[stock_size]
        gin.stock[stock_size] = NO_CARD
        common.pile_count = 1
        common.passes = 0
        common.stock_size = stock_size
        common.taken = NO_CARD
        common.result = OPEN
        common.turns_count = 0
        log_event(log, TO_PUBLIC | TO_RECORD, TURNED_UP, NO_SEAT, &common.upcard, 1)

    cdef void end_hand(self, GinState* gin, int result, int points, Rng* rng,
                       EventLog* log) noexcept nogil:
        cdef Common* common = &gin.common
        cdef int winner = common.to_play if result != UNDERCUT else 1 - common.to_play
        cdef uint8_t values[5]
        common.result = result
        common.points[winner] += points
        values[0] = result
        values[1] = points
        values[2] = common.deadwood[0]
        values[3] = common.deadwood[1]
        values[4] = winner if result != UNDECIDED else NO_SEAT
        log_event(log, TO_PUBLIC | TO_RECORD, HAND_ENDED, NO_SEAT, values, 5)
        if common.points[winner] >= self.target or common.hand_number == MAX_HANDS:
            common.phase = OVER
        elif result == UNDECIDED:
            self.deal_hand(gin, common.dealer, rng, log)
        else:
            self.deal_hand(gin, 1 - winner, rng, log)


# Turns as everyone sees them

cdef void put_pass(Common* common) noexcept nogil:
    common.passes += 1
    common.to_play = 1 - common.to_play
    if common.passes == SEATS:
        common.phase = TO_DRAW


cdef void put_draw(Common* common) noexcept nogil:
    common.stock_size -= 1
    common.taken = NO_CARD
    common.phase = TO_DISCARD


cdef int put_take(Common* common) noexcept nogil:
    common.pile_count -= 1
    common.taken = common.pile[common.pile_count]
    common.pile[common.pile_count] = NO_CARD
    common.phase = TO_DISCARD
    return common.taken


cdef void put_card(Common* common, int card) noexcept nogil:
    common.turns[common.turns_count].seat = common.to_play
    common.turns[common.turns_count].source = PILE if common.taken else STOCK
    common.turns[common.turns_count].card = card
    common.turns_count += 1
    common.pile[common.pile_count] = card
    common.pile_count += 1
    common.taken = NO_CARD


cdef int put_discard(Common* common, int card) noexcept nogil:
    put_card(common, card)
    if common.stock_size <= LEFT_OVER or common.turns_count == MAX_TURNS:
        return UNDECIDED
    common.phase = TO_DRAW
    common.to_play = 1 - common.to_play
    return OPEN


# Lists of cards

cdef int list_cards(uint64_t cards, uint8_t* listed) noexcept nogil:
    cdef int n = 0
    while cards:
        listed[n] = card_at(lowest_one(cards))
        cards &= cards - 1
        n += 1
    return n


cdef void log_cards(EventLog* log, int kind, int seat, uint64_t cards) noexcept nogil:
    cdef uint8_t listed[MAX_HELD]
    if cards:
        log_event(log, TO_PUBLIC | TO_RECORD, kind, seat, listed, list_cards(cards, listed))


cdef void log_melds(EventLog* log, int seat, const Melding* melds) noexcept nogil:
    # An event for each meld.
    cdef uint64_t cards = melds.sets, one, next
    cdef int i
    while cards:
        one = 0
        for i in range(MAX_SUITS):
            one |= cards & <uint64_t> 1 << (lowest_one(cards) & 15) + 16 * i
        log_cards(log, MELDED, seat, one)
        cards &= ~one
    cards = melds.runs
    while cards:
        next = one = cards & (0 - cards)
        while next:
            next = next << 1 & cards
            one |= next
        log_cards(log, MELDED, seat, one)
        cards &= ~one
