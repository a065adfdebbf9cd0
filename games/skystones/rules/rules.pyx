"""Skystones: a tournament card game on a board of squares, by the rules of Freshkiwi.

45 characters are dealt to FIRST (seat 0) and SECOND (seat 1): 22 to the pile of each seat. The last
one is set aside unseen. A character has an element and points on its four edges; its total is their
sum.

A round:

1. *Pick.* Five times, both seats pick a card from their piles for their hands, at the same time and
   hidden from each other. The totals of a hand may add up to at most 20, so a card can be picked
   only if the hand can still be completed to five cards within that limit.
2. *Place.* In turn, the starter first, each seat places a card on an empty square. The card takes
   every card of the opponent beside it whose touching edge has fewer points than its own. A card
   that is taken takes nothing. A seat that cannot place passes; a seat that can place must.
3. *End.* When neither seat can place, the seat with more chips on the board gets a point; equal
   chips give none. The cards on the board are put aside, face up. The cards in hand go back to the
   piles.

Chance decides which seat starts the first round. The loser of a round starts the next one; after a
tie, the seat that did not start it. The match ends when a seat cannot form a hand at the start of a
round. It also ends after a round in which no card was placed, because such a round changes nothing
and the match could go on for ever. More points win; equal points are a draw.

Special fields (an option): squares chosen by chance get cards from the twelve shuffled special
fields, for the whole match. A blocked square takes no card; a square with an element takes only
cards of that element.

A seat knows its own cards, the board and every placement so far. It knows which cards the
opponent's pile and hand hold together, except for the one that was set aside. It does not know
which of them are in hand, nor which cards went back to the pile. For what can be known of the
opponent's hand, see games/skystones/play/sampler.pyx.
"""

from libc.string cimport memcpy, memset

from engine.chance cimport Rng, mix, rng_below, rng_shuffle
from engine.events cimport NO_SEAT, TO_PUBLIC, TO_RECORD, log_event, log_private, to_seat
from engine.game cimport ABI, BOTH, NOBODY, SEATS, SPECTATOR, Action, Cards, State, View, action_at
from games.skystones.rules.board cimport (
    can_place, clear_board, field_on, lay_card, lay_field, open_to, put, set_up_board, winner,
)
from games.skystones.rules.lanes cimport LANE_ONES, across, count_lanes
from games.skystones.rules.stack cimport (
    lowest_bit, pick_card, pickable, put_back, put_in, stack_up, start_picks, take_out,
)
from games.skystones.rules.state cimport *
from games.skystones.rules.tables cimport SkystonesTables

from engine.errors import ActionError
from games.skystones.rules.tables import ELEMENT_NAMES
from games.skystones.rules.words import PHRASES

cdef enum:
    # Hidden places: rows of `hidden`, named in `hidden_places`.
    OPPONENT_HAND = 0
    OPPONENT_PILE
    ASIDE


cdef class Skystones(SkystonesTables):
    """Skystones under one ruleset."""

    id = "skystones"
    abi = ABI
    title = "Skystones"
    summary = (
        "Each seat gets a pile of characters with points on their four edges. In each round both "
        "seats pick a hand of five in secret, whose points may add up to at most 20. Then they "
        "place cards in turn on a board of 3 x 3 squares.\n\n"
        "A card takes every card of the opponent beside it whose touching edge has fewer points "
        "than its own. A seat that cannot place passes. When neither seat can place, the round "
        "ends, and the seat with more chips on the board gets a point. The cards on the board are "
        "out; the others go back to the piles. The loser starts the next round.\n\n"
        "The match ends when a seat cannot form a hand at the start of a round, or after a round "
        "in which no card could be placed at all. More points win; equal points are a draw. With "
        "special fields, some squares are blocked or take only cards of one element."
    )
    seat_titles = ("First", "Second")
    phrases = PHRASES
    event_kinds = {
        DEALT: "dealt: cards*",
        DEALT_HIDDEN: "dealt_hidden: count",
        SET_ASIDE: "set_aside: card",
        SET_ASIDE_HIDDEN: "set_aside_hidden",
        FIELD_LAID: "field_laid: square field",
        ROUND_STARTED: "round_started: round",
        PICKED: "picked: card",
        PICKED_HIDDEN: "picked_hidden",
        PLACED: "placed: card square taken*",
        PASSED: "passed",
        ROUND_ENDED: "round_ended: round winner? chips[2] returned[2]",
    }
    hidden_places = ("opponent_hand", "opponent_pile", "set_aside")
    temperatures = {"beginner": 4.0, "casual": 1.55, "regular": 1.15, "skilled": 0.8}

    cdef state_fields(self, const State* state):
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef Square[MAX_SQUARES] board
        memset(board, 0, sizeof(board))
        self.show_board(stones, board)
        return {"common": {**stones.common, "board": board},
                "hands": [stones.hands[seat].copies for seat in range(SEATS)],
                "piles": [stones.piles[seat].copies for seat in range(SEATS)],
                "aside": stones.aside}

    cdef fill_state(self, State* state, fields):
        cdef SkystonesState* stones = <SkystonesState*> state
        cdef Square[MAX_SQUARES] board = fields["common"]["board"]
        cdef uint8_t[SEATS][MAX_TYPES] hands = fields["hands"]
        cdef uint8_t[SEATS][MAX_TYPES] piles = fields["piles"]
        cdef int square, seat
        stones.common = fields["common"]
        stones.aside = fields["aside"]
        set_up_board(self, &stones.board)
        for square in range(self.squares):
            if board[square].field:
                lay_field(&stones.board, self.lanes[square], board[square].field)
            if board[square].card:
                lay_card(self, &stones.board, board[square].owner, board[square].card - 1,
                         self.lanes[square])
        for seat in range(SEATS):
            stack_up(hands[seat], &stones.hands[seat])
            stack_up(piles[seat], &stones.piles[seat])
            if stones.common.phase == PICK:
                start_picks(self, &stones.piles[seat], &stones.hands[seat],
                            stones.common.sides[seat].hand_size, &stones.picks[seat])

    # The board of a view counts as what everyone sees, as in the schema.

    cdef view_fields(self, const View* view):
        cdef dict fields = (<const SkystonesView*> view)[0]
        fields["common"]["board"] = fields.pop("board")
        return fields

    cdef fill_view(self, View* view, fields):
        (<SkystonesView*> view)[0] = {**fields, "board": fields["common"]["board"]}

    def read_action(self, action):
        if action >> KIND_SHIFT == PICK_CARD:
            return {"kind": "pick_card", "card": action & 255}
        return {"kind": "place_card", "card": action >> 8 & 255, "square": action & 255}

    def make_action(self, fields):
        if fields["kind"] not in ("pick_card", "place_card"):
            raise ActionError("kind", "must be pick_card or place_card")
        if not 0 <= fields["card"] < self.types:
            raise ActionError("card", f"must be 0 to {self.types - 1}")
        if fields["kind"] == "pick_card":
            return <Action> PICK_CARD << KIND_SHIFT | <Action> fields["card"]
        if not 0 <= fields["square"] < self.squares:
            raise ActionError("square", f"must be 0 to {self.squares - 1}")
        return (<Action> PLACE_CARD << KIND_SHIFT | <Action> fields["card"] << 8
                | <Action> fields["square"])

    def explain(self, position, int seat, action):
        fields = position.fields
        common = fields["common"]
        given = self.read_action(action)
        owed = "pick_card" if common["phase"] == PICK else "place_card"
        if action >> KIND_SHIFT not in (PICK_CARD, PLACE_CARD) or given["kind"] != owed:
            return "WRONG_PHASE", f"this phase asks for {owed}"
        place, cards = (("pile", fields["piles"][seat]) if owed == "pick_card" else
                        ("hand", fields["hands"][seat]))
        if given["card"] >= self.types or not cards[given["card"]]:
            return f"NOT_IN_{place.upper()}", f"card {given['card']} is not in the {place}"
        if owed == "pick_card":
            return "HAND_LIMIT", (
                    f"with card {given['card']}, of total {self.totals[given['card']]}, the hand "
                    f"could not be completed to {self.hand_size} cards within {self.hand_limit}")
        if given["square"] >= self.squares:
            return "NO_SUCH_SQUARE", f"there is no square {given['square']}"
        square = common["board"][given["square"]]
        if square["card"]:
            return "SQUARE_OCCUPIED", f"square {given['square']} is occupied"
        if square["field"] == BLOCKED:
            return "SQUARE_BLOCKED", f"square {given['square']} is blocked"
        return "WRONG_ELEMENT", (
                f"square {given['square']} takes only {ELEMENT_NAMES[square['field']]} cards, and "
                f"card {given['card']} is {ELEMENT_NAMES[self.elements[given['card']]]}")

    @property
    def most_legal(self):
        return max(self.hand_size * self.squares, self.types)

    # The rules

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        cdef SkystonesState* stones = <SkystonesState*> state
        cdef uint8_t deck[MAX_CARDS]
        cdef const uint8_t* cards
        cdef uint8_t count = self.pile_size
        cdef int card, seat, _i, n = 0
        memset(state, 0, sizeof(State))
        for card in range(self.types):
            for _i in range(self.copies[card]):
                deck[n] = card
                n += 1
        rng_shuffle(rng, deck, n)
        for seat in range(SEATS):
            cards = deck + seat * self.pile_size
            for i in range(self.pile_size):
                put_in(&stones.piles[seat], cards[i])
            stones.common.sides[seat].pile_size = self.pile_size
            log_private(log, to_seat(seat), seat, DEALT, cards, self.pile_size,
                        DEALT_HIDDEN, &count, 1)
        if n > SEATS * self.pile_size:
            stones.aside = deck[n - 1] + 1
            log_private(log, 0, NO_SEAT, SET_ASIDE, &deck[n - 1], 1, SET_ASIDE_HIDDEN, NULL, 0)
        set_up_board(self, &stones.board)
        self.lay_fields(stones, rng, log)
        stones.common.first_starter = rng_below(rng, SEATS)
        self.begin_round(stones, stones.common.first_starter, log)

    cdef int deciders(self, const State* state) noexcept nogil:
        cdef const Common* common = &(<const SkystonesState*> state).common
        if common.phase == PICK:
            return BOTH
        return 1 << common.turn if common.phase == PLACE else NOBODY

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        cdef const SkystonesState* stones = <const SkystonesState*> state
        if stones.common.phase == PICK:
            return self.legal_picks(stones, seat, actions)
        return self.legal_placements(stones, seat, actions)

    cdef int legal_picks(self, const SkystonesState* stones, int seat,
                         Action* actions) noexcept nogil:
        cdef uint64_t cards = pickable(self, &stones.piles[seat], &stones.picks[seat])
        cdef int n = 0
        while cards:
            actions[n] = <Action> PICK_CARD << KIND_SHIFT | <Action> lowest_bit(cards)
            cards &= cards - 1
            n += 1
        return n

    cdef int legal_placements(self, const SkystonesState* stones, int seat,
                              Action* actions) noexcept nogil:
        cdef uint64_t hand = stones.hands[seat].types
        cdef uint64_t open
        cdef int card, n = 0
        while hand:
            card = lowest_bit(hand)
            hand &= hand - 1
            open = open_to(&stones.board, self.elements[card]) & LANE_ONES
            while open:
                actions[n] = (<Action> PLACE_CARD << KIND_SHIFT | card << 8
                              | self.squares_at[lowest_bit(open)])
                open &= open - 1
                n += 1
        return n

    cdef uint64_t legal_among(self, const State* state, int seat, const Action* actions,
                              size_t stride, int count) noexcept nogil:
        # Everybody sees which squares are open to a card.
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef uint64_t cards = stones.hands[seat].types
        cdef uint64_t legal = 0
        cdef int i, shift = 8
        if stones.common.phase == PICK:
            cards = pickable(self, &stones.piles[seat], &stones.picks[seat])
            shift = 0
        for i in range(count):
            legal |= (cards >> (action_at(actions, stride, i) >> shift & 255) & 1) << i
        return legal

    cdef Action only_action(self, const State* state, int seat) noexcept nogil:
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef Action actions[MAX_TYPES]
        cdef uint64_t cards, open
        if stones.common.phase == PICK:
            cards = pickable(self, &stones.piles[seat], &stones.picks[seat])
            return (0 if cards & (cards - 1) else
                    <Action> PICK_CARD << KIND_SHIFT | <Action> lowest_bit(cards))
        # Without special fields, a card can go to any empty square.
        if not self.special_fields:
            open = stones.board.empty & LANE_ONES
            if open & (open - 1):
                return 0
        return actions[0] if self.legal_placements(stones, seat, actions) == 1 else 0

    cdef void apply(self, State* state, const Action* joint, Rng* rng,
                    EventLog* log) noexcept nogil:
        cdef SkystonesState* stones = <SkystonesState*> state
        cdef int turn = stones.common.turn
        cdef int[SEATS] cards
        if stones.common.phase == PICK:
            cards[0] = joint[0] & 255
            cards[1] = joint[1] & 255
            self.pick(stones, cards, log)
        else:
            self.place(stones, turn, joint[turn] >> 8 & 255, self.lanes[joint[turn] & 255], log)

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        cdef const Side* sides = (<const SkystonesState*> state).common.sides
        cdef int lead = sides[seat].points - sides[1 - seat].points
        return 0.5 * (1 + (lead > 0) - (lead < 0))

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        cdef const SkystonesState* stones = <const SkystonesState*> state
        cdef SkystonesView* seen = <SkystonesView*> view
        memset(view, 0, sizeof(View))
        seen.seat = seat
        seen.common = stones.common
        self.show_board(stones, seen.board)
        if seat != SPECTATOR:
            memcpy(seen.hand, stones.hands[seat].copies, MAX_TYPES)
            memcpy(seen.pile, stones.piles[seat].copies, MAX_TYPES)

    cdef void show_board(self, const SkystonesState* stones, Square* board) noexcept nogil:
        # Writes what lies on each square, which was empty. The cards are those of this round.
        cdef const Common* common = &stones.common
        cdef const Placement* placement
        cdef int square, i
        if self.special_fields:
            for square in range(self.squares):
                board[square].field = field_on(&stones.board, self.lanes[square])
        if common.phase != PLACE:
            return
        for i in range(common.placement_count - 1, -1, -1):
            placement = &common.placements[i]
            if placement.round != common.round:
                return
            square = placement.square
            board[square].card = placement.card + 1
            board[square].owner = stones.board.chips[1] >> self.lanes[square] & 1

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        # Only its own seat sees a pick; both see a placement. The turn afterwards shows whether a
        # seat has passed.
        cdef const Common* common = &(<const SkystonesState*> after).common
        cdef Action seen = joint[0] | joint[1]
        if joint[seat] >> KIND_SHIFT == PICK_CARD:
            seen = joint[seat]
        return mix(seen, common.phase | common.turn << 2 | common.round << 3)

    cdef uint64_t next_key(self, uint64_t key, const State* after, const Action* joint,
                           int seat) noexcept nogil:
        # In whichever order a seat picks the same cards, it then decides about the same: a sum of
        # mixed picks does not depend on the order.
        cdef const Common* common = &(<const SkystonesState*> after).common
        cdef uint64_t public = common.phase | common.turn << 2 | common.round << 3
        if joint[seat] >> KIND_SHIFT == PICK_CARD:
            key += mix(joint[seat], common.round)
            return key if common.phase == PICK else mix(key, public)
        # An action has the bits above its card and square to spare.
        return mix(key, (joint[0] | joint[1]) ^ public << 16)

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        cdef const SkystonesState* stones = <const SkystonesState*> state
        memcpy(places[OPPONENT_HAND], stones.hands[1 - seat].copies, self.types)
        memcpy(places[OPPONENT_PILE], stones.piles[1 - seat].copies, self.types)
        if stones.aside:
            places[ASIDE][stones.aside - 1] = 1

    # The phases

    cdef void lay_fields(self, SkystonesState* stones, Rng* rng, EventLog* log) noexcept nogil:
        cdef uint8_t fields[FIELD_CARDS]
        cdef uint8_t squares[MAX_SQUARES]
        cdef uint8_t values[2]
        cdef int i
        if self.special_fields == 0:
            return
        for i in range(FIELD_CARDS):
            fields[i] = FIRE + i // 2
        for i in range(self.squares):
            squares[i] = i
        rng_shuffle(rng, fields, FIELD_CARDS)
        rng_shuffle(rng, squares, self.squares)
        for i in range(self.special_fields):
            lay_field(&stones.board, self.lanes[squares[i]], fields[i])
            values[0] = squares[i]
            values[1] = fields[i]
            log_event(log, TO_PUBLIC | TO_RECORD, FIELD_LAID, NO_SEAT, values, 2)

    cdef void begin_round(self, SkystonesState* stones, int starter, EventLog* log) noexcept nogil:
        cdef int seat
        stones.common.phase = OVER
        for seat in range(SEATS):
            if not start_picks(self, &stones.piles[seat], &stones.hands[seat], 0,
                               &stones.picks[seat]):
                memset(stones.picks, 0, sizeof(stones.picks))
                return
        stones.common.phase = PICK
        stones.common.round += 1
        stones.common.starter = starter
        stones.common.turn = starter
        log_event(log, TO_PUBLIC | TO_RECORD, ROUND_STARTED, starter, &stones.common.round, 1)

    cdef void pick(self, SkystonesState* stones, const int* cards, EventLog* log) noexcept nogil:
        cdef int seat
        cdef uint8_t card
        for seat in range(SEATS):
            card = cards[seat]
            pick_card(self, &stones.piles[seat], &stones.hands[seat], &stones.picks[seat], card)
            stones.common.sides[seat].pile_size -= 1
            stones.common.sides[seat].hand_size += 1
            if log != NULL:
                log_private(log, to_seat(seat), seat, PICKED, &card, 1, PICKED_HIDDEN, NULL, 0)
        if stones.common.sides[0].hand_size == self.hand_size:
            stones.common.phase = PLACE
            memset(stones.picks, 0, sizeof(stones.picks))
            self.find_turn(stones, stones.common.starter, log)

    cdef void find_turn(self, SkystonesState* stones, int seat, EventLog* log) noexcept nogil:
        # The next turn is for `seat` if it can place. Otherwise it passes, and if the other seat
        # cannot place either, the round ends.
        if not can_place(self, &stones.board, stones.hands[seat].types):
            if not can_place(self, &stones.board, stones.hands[1 - seat].types):
                self.end_round(stones, log)
                return
            log_event(log, TO_PUBLIC | TO_RECORD, PASSED, seat, NULL, 0)
            seat = 1 - seat
        stones.common.turn = seat

    cdef void place(self, SkystonesState* stones, int seat, int card, int at,
                    EventLog* log) noexcept nogil:
        cdef Common* common = &stones.common
        cdef Placement* placement = &common.placements[common.placement_count]
        cdef uint64_t taken = put(self, &stones.board, seat, card, at)
        take_out(&stones.hands[seat], card)
        common.sides[seat].hand_size -= 1
        placement.round = common.round
        placement.seat = seat
        placement.card = card
        placement.square = self.squares_at[at]
        common.placement_count += 1
        if log != NULL:
            self.log_placement(log, placement, taken)
        self.find_turn(stones, 1 - seat, log)

    cdef void log_placement(self, EventLog* log, const Placement* placement,
                            uint64_t taken) noexcept nogil:
        # The squares of the cards that were taken follow in the order of the edges.
        cdef uint8_t values[2 + EDGES]
        cdef uint64_t other
        cdef int edge, n = 2
        values[0] = placement.card
        values[1] = placement.square
        for edge in range(EDGES):
            other = taken & LANE_ONES & across(
                <uint64_t> 1 << self.lanes[placement.square], edge ^ OPPOSITE)
            if other:
                values[n] = self.squares_at[lowest_bit(other)]
                n += 1
        log_event(log, TO_PUBLIC | TO_RECORD, PLACED, placement.seat, values, n)

    cdef void end_round(self, SkystonesState* stones, EventLog* log) noexcept nogil:
        cdef Common* common = &stones.common
        cdef uint8_t values[2 + 2 * SEATS]
        cdef int seat, won_by = winner(&stones.board)
        cdef bint nothing_placed = not (stones.board.chips[0] or stones.board.chips[1])
        values[0] = common.round
        values[1] = won_by
        for seat in range(SEATS):
            values[2 + seat] = count_lanes(stones.board.chips[seat])
            values[2 + SEATS + seat] = common.sides[seat].hand_size
            common.sides[seat].pile_size += common.sides[seat].hand_size
            common.sides[seat].hand_size = 0
            put_back(&stones.hands[seat], &stones.piles[seat])
        if won_by != NONE:
            common.sides[won_by].points += 1
        log_event(log, TO_PUBLIC | TO_RECORD, ROUND_ENDED, NO_SEAT, values, 2 + 2 * SEATS)
        clear_board(&stones.board)
        common.turn = common.starter
        # A round in which nothing could be placed changes nothing: the match could go on for ever.
        if nothing_placed:
            common.phase = OVER
        # After a tie, the seat that did not start this round starts the next one.
        elif won_by == NONE:
            self.begin_round(stones, 1 - common.starter, log)
        else:
            self.begin_round(stones, 1 - won_by, log)
