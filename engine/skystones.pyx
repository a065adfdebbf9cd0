"""Skystones: a tournament card game about the squares of a board, by the rules of Freshkiwi.

FIRST (seat 0) and SECOND (seat 1) share out 45 characters: 22 to the pile of each, and the last is
set aside unseen. A character has an element and points on its four edges; its total is their sum.

A round:

1. *Pick.* Five times, both seats at the same time pick a card from their piles for their hands,
   hidden from each other. A hand's totals may add up to 20 at the most, so a card can be picked
   only if the hand can still be completed to five cards within that limit.
2. *Place.* In turn, the starter first, each seat places a card on an empty square. It takes every
   card of the opponent beside it whose touching edge has fewer points than its own; what is taken
   takes nothing. A seat that cannot place passes; a seat that can, must.
3. *End.* When neither can place, the seat with more chips on the board gets a point, none if they
   are equal. The cards on the board are put aside, face up; those in hand go back to the piles.

Chance decides who starts the first round. The loser starts the next; after a tie, the seat that did
not start. When a seat cannot form a hand at the start of a round, the match ends: more points win,
equal points are a draw. The match also ends after a round in which no card was placed, since
nothing has changed then and it could go on for ever.

Special fields (an option): some squares, chosen by chance, get a card from the twelve shuffled
special fields, for the whole match. Blocked takes no card, an element only cards of that element.

What a seat knows: its own cards, the board, and every placement so far. The cards of the opponent's
pile and hand are known but for the one that was set aside; which of them are in hand is not, nor
what went back to the pile. The sampler has the exact distribution of both, if the opponent chooses
uniformly: each hand is as likely as the orders in which it can be picked, each placement has the
probability 1 / (number of placements that the hand allowed), and a seat that passed holds nothing
that fits. Past rounds tell nothing of the hand now, but something of the card that was set aside.
"""

import csv
from pathlib import Path

from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove, memset

from engine.game cimport (
    BOTH, NOBODY, SEATS, SPECTATOR, TO_PUBLIC, TO_RECORD, TO_SEAT_0, TO_SEAT_1,
    Action, Game, Log, Rng, Sampler, State, View, log_event, mix, rng_below, rng_double,
    rng_shuffle, uint8_t, uint64_t,
)

from engine.game import ActionError, RulesetError, ViewError, struct_error

cdef enum:
    FIRE = 1
    EARTH
    ELECTRO
    WATER
    AIR
    BLOCKED                      # Of a field only.
    ELEMENTS = AIR + 1           # With none, 0.
    ANY_ELEMENT = 0b111110       # As a set of elements.

    NORTH = 0
    EAST
    SOUTH
    WEST
    EDGES
    OPPOSITE = 2                 # `edge ^ OPPOSITE` is the edge that touches it.

    SIDE_MOST = 3
    SQUARES_MOST = SIDE_MOST * SIDE_MOST
    HAND_MOST = 5
    TYPES_MOST = 60
    CARDS_MOST = 90
    COPIES_MOST = 15
    EDGE_MOST = 9
    TOTAL_MOST = EDGES * EDGE_MOST
    LIMIT_MOST = 99
    FIELD_CARDS = 12
    TITLE_MOST = 40

    NONE = 255                   # No card, no square, no seat.

    # Phases
    OVER = 0
    PICK
    PLACE

    # Actions: the kind in the upper four bits, the square in the lowest byte but for PICK_CARD, the
    # card in the next.
    PICK_CARD = 1
    PLACE_CARD
    KIND_SHIFT = 60

    # Events
    DEALT = 1
    DEALT_HIDDEN
    SET_ASIDE
    SET_ASIDE_HIDDEN
    FIELD_LAID
    ROUND_STARTED
    PICKED
    PICKED_HIDDEN
    PLACED
    PASSED
    ROUND_ENDED

ELEMENT_NAMES = ("", "Fire", "Earth", "Electro", "Water", "Air")
EDGE_KEYS = ("north", "east", "south", "west")

cdef struct Placement:
    uint8_t round
    uint8_t seat
    uint8_t card
    uint8_t square

cdef struct Square:
    uint8_t field
    uint8_t card                 # The card + 1; 0: empty.
    uint8_t owner                # Whose chip lies on the card; 0 if there is none.

cdef struct Side:
    uint8_t points
    uint8_t hand_size
    uint8_t pile_size

cdef struct Common:              # What everyone sees.
    uint8_t phase
    uint8_t round                # 1 for the first.
    uint8_t first_starter        # Who placed first in round 1: the results tell the later ones.
    uint8_t starter
    uint8_t turn                 # Who places; the starter in any other phase.
    Square board[SQUARES_MOST]
    Side sides[SEATS]
    uint8_t placement_count
    Placement placements[CARDS_MOST]

cdef struct Table:               # Laid over a State.
    Common common
    uint8_t hands[SEATS][TYPES_MOST]     # Copies of each card.
    uint8_t piles[SEATS][TYPES_MOST]
    uint8_t aside                # The card that was set aside + 1; 0: none.

cdef struct Sight:               # Laid over a View.
    uint8_t seat
    Common common
    uint8_t hand[TYPES_MOST]     # Zero for a spectator.
    uint8_t pile[TYPES_MOST]

assert sizeof(Table) <= sizeof(State)
assert sizeof(Sight) <= sizeof(View)

cdef struct Stack:               # A pile or hand with a list of its cards; a pile's by total.
    int size
    uint8_t cards[TYPES_MOST]
    uint8_t copies[TYPES_MOST]   # Of each card, by card.


cdef void take_at(Stack* stack, int i) noexcept nogil:
    cdef int card = stack.cards[i]
    stack.copies[card] -= 1
    if stack.copies[card] == 0:
        stack.size -= 1
        memmove(stack.cards + i, stack.cards + i + 1, stack.size - i)


cdef inline bint accepts(int field, int element) noexcept nogil:
    return field == 0 or field == element


cdef void clear(Square* board) noexcept nogil:
    cdef int square
    for square in range(SQUARES_MOST):
        board[square].card = 0
        board[square].owner = 0


cdef int bits(int n) noexcept nogil:
    cdef int count = 0
    while n:
        n &= n - 1
        count += 1
    return count


cdef class Skystones(Game):
    """Skystones under one ruleset: `special_fields`, `board_size`, `hand_size`, `hand_limit` and
    `cards`.
    """

    cdef int special_fields
    cdef int squares
    cdef int hand_size
    cdef int hand_limit
    cdef int types
    cdef int deck_size
    cdef int pile_size           # At the start.
    cdef uint8_t copies[TYPES_MOST]
    cdef uint8_t elements[TYPES_MOST]
    cdef uint8_t edges[TYPES_MOST][EDGES]
    cdef uint8_t totals[TYPES_MOST]
    cdef uint8_t by_total[TYPES_MOST]    # The cards by ascending total.
    cdef uint8_t rank[TYPES_MOST]        # Where a card stands in `by_total`.
    cdef uint8_t beside[SQUARES_MOST][EDGES]     # The square at each edge; SQUARES_MOST: none.

    id = "skystones"
    title = "Skystones"
    summary = (
        "Each seat gets a pile of characters with points on their four edges. In each round both "
        "pick a hand of five in secret, whose points may add up to 20 at the most, and then place "
        "cards in turn on a board of 3 x 3 squares.\n\n"
        "A card takes every card of the opponent beside it whose touching edge has fewer points "
        "than its own. When neither seat can place, whoever has more chips on the board gets a "
        "point. The cards on the board are out; the others go back to the piles. The loser starts "
        "the next round.\n\n"
        "The match ends when a seat cannot form a hand any more; more points win. With special "
        "fields, some squares are blocked or take only cards of one element."
    )
    seat_titles = ("First", "Second")
    event_kinds = {
        DEALT: "dealt", DEALT_HIDDEN: "dealt_hidden",
        SET_ASIDE: "set_aside", SET_ASIDE_HIDDEN: "set_aside_hidden",
        FIELD_LAID: "field_laid", ROUND_STARTED: "round_started",
        PICKED: "picked", PICKED_HIDDEN: "picked_hidden",
        PLACED: "placed", PASSED: "passed", ROUND_ENDED: "round_ended",
    }

    def read_ruleset(self, given):
        ruleset = {"special_fields": 0, "board_size": SIDE_MOST, "hand_size": HAND_MOST,
                   "hand_limit": 20, "cards": None}
        for option, value in given.items():
            if option not in ruleset:
                raise RulesetError(option, "is not an option of Skystones")
            ruleset[option] = value
        for option, least, most in (("board_size", 2, SIDE_MOST), ("hand_size", 1, HAND_MOST),
                                    ("hand_limit", 0, LIMIT_MOST),
                                    ("special_fields", 0, ruleset["board_size"] ** 2)):
            if not least <= ruleset[option] <= most:
                raise RulesetError(option, f"must be {least} to {most}")
        ruleset["cards"] = read_cards(ruleset["cards"]) if ruleset["cards"] else default_cards()
        self.special_fields = ruleset["special_fields"]
        self.hand_size = ruleset["hand_size"]
        self.hand_limit = ruleset["hand_limit"]
        self.set_board(ruleset["board_size"])
        self.set_cards(ruleset["cards"])
        if self.pile_size < self.hand_size:
            raise RulesetError("cards", f"must give each seat the {self.hand_size} cards of a hand")
        # The worst deal for a seat is the dearest half of the cards.
        totals = sorted(self.totals[card] for card in range(self.types)
                        for _ in range(self.copies[card]))
        cheapest = sum(totals[self.deck_size - self.pile_size:][:self.hand_size])
        if cheapest > self.hand_limit:
            raise RulesetError("hand_limit", f"must allow a first hand whatever the deal: the "
                               f"{self.hand_size} cheapest of the {self.pile_size} dearest cards "
                               f"add up to {cheapest}")
        return ruleset

    cdef set_board(self, int side):
        cdef int square, row, column
        self.squares = side * side
        for square in range(self.squares):
            row, column = square // side, square % side
            self.beside[square][NORTH] = square - side if row > 0 else SQUARES_MOST
            self.beside[square][EAST] = square + 1 if column < side - 1 else SQUARES_MOST
            self.beside[square][SOUTH] = square + side if row < side - 1 else SQUARES_MOST
            self.beside[square][WEST] = square - 1 if column > 0 else SQUARES_MOST

    cdef set_cards(self, specs):
        self.types = len(specs)
        self.deck_size = sum(spec["copies"] for spec in specs)
        self.pile_size = self.deck_size // SEATS
        for card, spec in enumerate(specs):
            self.copies[card] = spec["copies"]
            self.elements[card] = spec["element"]
            for edge, key in enumerate(EDGE_KEYS):
                self.edges[card][edge] = spec[key]
            self.totals[card] = sum(spec[key] for key in EDGE_KEYS)
        for i, card in enumerate(sorted(range(self.types), key=lambda card: self.totals[card])):
            self.by_total[i] = card
            self.rank[card] = i

    def cards(self):
        return [
            {"id": str(card), "title": spec["title"], "kind": ELEMENT_NAMES[spec["element"]],
             "copies": spec["copies"],
             "numbers": {"Total": self.totals[card],
                         **{key.capitalize(): spec[key] for key in EDGE_KEYS}},
             "text": ""}
            for card, spec in enumerate(self.ruleset["cards"])
        ]

    def read_state(self, bytes data):
        return (<Table*> <char*> data)[0]

    def make_state(self, fields):
        cdef State state
        memset(&state, 0, sizeof(state))
        cdef Table table = fields
        memcpy(&state, &table, sizeof(table))
        return (<char*> &state)[:sizeof(state)]

    def read_view(self, bytes data):
        return (<Sight*> <char*> data)[0]

    def make_view(self, fields):
        cdef View view
        cdef Sight sight
        memset(&view, 0, sizeof(view))
        try:
            sight = fields
        except (OverflowError, ValueError, IndexError, TypeError) as error:
            raise struct_error(ViewError, error) from None
        memcpy(&view, &sight, sizeof(sight))
        return (<char*> &view)[:sizeof(view)]

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
            return f"this phase asks for {owed}"
        place, cards = (("pile", fields["piles"][seat]) if owed == "pick_card" else
                        ("hand", fields["hands"][seat]))
        if given["card"] >= self.types or not cards[given["card"]]:
            return f"card {given['card']} is not in the {place}"
        if owed == "pick_card":
            return (f"with card {given['card']}, of total {self.totals[given['card']]}, the hand "
                    f"could not be completed to {self.hand_size} cards within {self.hand_limit}")
        if given["square"] >= self.squares:
            return f"there is no square {given['square']}"
        square = common["board"][given["square"]]
        if square["card"]:
            return f"square {given['square']} is occupied"
        if square["field"] == BLOCKED:
            return f"square {given['square']} is blocked"
        return (f"square {given['square']} takes only {ELEMENT_NAMES[square['field']]} cards, and "
                f"card {given['card']} is {ELEMENT_NAMES[self.elements[given['card']]]}")

    def sampler(self, view):
        return SkystonesSampler(view)

    # The rules

    cdef void deal(self, State* state, Rng* rng, Log* log) noexcept nogil:
        cdef Table* table = <Table*> state
        cdef uint8_t deck[CARDS_MOST]
        cdef const uint8_t* cards
        cdef uint8_t count = self.pile_size
        cdef int card, seat, i, n = 0
        memset(state, 0, sizeof(State))
        for card in range(self.types):
            for i in range(self.copies[card]):
                deck[n] = card
                n += 1
        rng_shuffle(rng, deck, n)
        for seat in range(SEATS):
            cards = deck + seat * self.pile_size
            for i in range(self.pile_size):
                table.piles[seat][cards[i]] += 1
            table.common.sides[seat].pile_size = self.pile_size
            log_event(log, only(seat) | TO_RECORD, DEALT, seat, cards, self.pile_size)
            log_event(log, TO_PUBLIC & ~only(seat), DEALT_HIDDEN, seat, &count, 1)
        if n > SEATS * self.pile_size:
            table.aside = deck[n - 1] + 1
            log_event(log, TO_RECORD, SET_ASIDE, NONE, &deck[n - 1], 1)
            log_event(log, TO_PUBLIC, SET_ASIDE_HIDDEN, NONE, NULL, 0)
        self.lay_fields(table, rng, log)
        table.common.first_starter = rng_below(rng, SEATS)
        self.begin_round(table, table.common.first_starter, log)

    cdef int deciders(self, const State* state) noexcept nogil:
        cdef const Common* common = &(<const Table*> state).common
        if common.phase == PICK:
            return BOTH
        return 1 << common.turn if common.phase == PLACE else NOBODY

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        cdef const Table* table = <const Table*> state
        if table.common.phase == PICK:
            return self.legal_picks(table, seat, actions)
        return self.legal_placements(table, seat, actions)

    cdef int legal_picks(self, const Table* table, int seat, Action* actions) noexcept nogil:
        cdef const uint8_t* pile = table.piles[seat]
        cdef int most = self.hand_limit
        cdef int others = self.hand_size - table.common.sides[seat].hand_size - 1
        cdef int card, i = 0, n = 0
        for card in range(self.types):
            most -= table.hands[seat][card] * self.totals[card]
        # What is left when the hand is completed with the cheapest cards. A card that is one of
        # these itself is legal, for the hand can be completed.
        while others > 0:
            card = self.by_total[i]
            most -= min(others, pile[card]) * self.totals[card]
            others -= min(others, pile[card])
            i += 1
        for card in range(self.types):
            if pile[card] and self.totals[card] <= most:
                actions[n] = <Action> PICK_CARD << KIND_SHIFT | card
                n += 1
        return n

    cdef int legal_placements(self, const Table* table, int seat, Action* actions) noexcept nogil:
        cdef int card, square, n = 0
        for card in range(self.types):
            if not table.hands[seat][card]:
                continue
            for square in range(self.squares):
                if (not table.common.board[square].card
                        and accepts(table.common.board[square].field, self.elements[card])):
                    actions[n] = <Action> PLACE_CARD << KIND_SHIFT | card << 8 | square
                    n += 1
        return n

    cdef void apply(self, State* state, const Action* joint, Rng* rng, Log* log) noexcept nogil:
        cdef Table* table = <Table*> state
        cdef int turn = table.common.turn
        if table.common.phase == PICK:
            self.pick(table, joint, log)
        else:
            self.place(table, turn, joint[turn] >> 8 & 255, joint[turn] & 255, log)
            self.find_turn(table, 1 - turn, log)

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        cdef const Side* sides = (<const Table*> state).common.sides
        cdef int lead = sides[seat].points - sides[1 - seat].points
        return 0.5 * (1 + (lead > 0) - (lead < 0))

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        cdef const Table* table = <const Table*> state
        cdef Sight* sight = <Sight*> view
        memset(view, 0, sizeof(View))
        sight.seat = seat
        sight.common = table.common
        if seat != SPECTATOR:
            memcpy(sight.hand, table.hands[seat], TYPES_MOST)
            memcpy(sight.pile, table.piles[seat], TYPES_MOST)

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        # A pick is seen by its own seat alone, a placement by both; whose turn it is then shows
        # who has passed.
        cdef const Common* common = &(<const Table*> after).common
        cdef Action seen = joint[0] | joint[1]
        if joint[seat] >> KIND_SHIFT == PICK_CARD:
            seen = joint[seat]
        return mix(seen, common.phase | common.turn << 2 | common.round << 3)

    cdef void playout(self, State* state, Rng* rng) noexcept nogil:
        # As the default, on a form made for speed. Of the state only the phase and the points are
        # kept up, which is what the outcome is read from.
        cdef Common* common = &(<Table*> state).common
        cdef Playout game
        cdef int seat, turn
        self.start_playout(<const Table*> state, &game)
        while common.phase != OVER:
            if common.phase == PICK:
                for seat in range(SEATS):
                    while game.hand_sizes[seat] < self.hand_size:
                        self.pick_any(&game, seat, rng)
                turn = game.starter
                common.phase = PLACE
                if not self.playout_can_place(&game, turn):
                    turn = 1 - turn
            else:
                turn = common.turn
            while self.playout_can_place(&game, turn):
                self.place_any(&game, turn, rng)
                if self.playout_can_place(&game, 1 - turn):
                    turn = 1 - turn
            self.end_playout_round(&game, common)

    # The phases

    cdef void lay_fields(self, Table* table, Rng* rng, Log* log) noexcept nogil:
        cdef uint8_t fields[FIELD_CARDS]
        cdef uint8_t squares[SQUARES_MOST]
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
            table.common.board[squares[i]].field = fields[i]
            values[0] = squares[i]
            values[1] = fields[i]
            log_event(log, TO_PUBLIC | TO_RECORD, FIELD_LAID, NONE, values, 2)

    cdef void begin_round(self, Table* table, int starter, Log* log) noexcept nogil:
        cdef int seat
        table.common.phase = OVER
        for seat in range(SEATS):
            if not self.can_form_hand(table.piles[seat], NONE):
                return
        table.common.phase = PICK
        table.common.round += 1
        table.common.starter = starter
        table.common.turn = starter
        log_event(log, TO_PUBLIC | TO_RECORD, ROUND_STARTED, starter, &table.common.round, 1)

    cdef bint can_form_hand(self, const uint8_t* pile, int missing) noexcept nogil:
        # Out of a pile without one card that is `missing`.
        return self.cheapest(pile, missing, self.hand_size, 0) <= self.hand_limit

    cdef int cheapest(self, const uint8_t* pile, int missing, int n, int barred) noexcept nogil:
        # The least that the totals of n cards can add up to, none of an element that is barred;
        # more than any limit if there are not so many.
        cdef int card, i, copies, sum = 0
        for i in range(self.types):
            card = self.by_total[i]
            copies = min(n, pile[card] - (card == missing))
            if copies > 0 and not barred & 1 << self.elements[card]:
                sum += copies * self.totals[card]
                n -= copies
        return sum if n == 0 else LIMIT_MOST + 1

    cdef void pick(self, Table* table, const Action* joint, Log* log) noexcept nogil:
        cdef int seat
        cdef uint8_t card
        for seat in range(SEATS):
            card = joint[seat] & 255
            table.piles[seat][card] -= 1
            table.hands[seat][card] += 1
            table.common.sides[seat].pile_size -= 1
            table.common.sides[seat].hand_size += 1
            log_event(log, only(seat) | TO_RECORD, PICKED, seat, &card, 1)
            log_event(log, TO_PUBLIC & ~only(seat), PICKED_HIDDEN, seat, NULL, 0)
        if table.common.sides[0].hand_size == self.hand_size:
            table.common.phase = PLACE
            self.find_turn(table, table.common.starter, log)

    cdef void find_turn(self, Table* table, int seat, Log* log) noexcept nogil:
        # To the next placement, which is for `seat` if it can.
        if not self.can_place(table, seat):
            if not self.can_place(table, 1 - seat):
                self.end_round(table, log)
                return
            log_event(log, TO_PUBLIC | TO_RECORD, PASSED, seat, NULL, 0)
            seat = 1 - seat
        table.common.turn = seat

    cdef bint can_place(self, const Table* table, int seat) noexcept nogil:
        cdef int card, open = self.open_elements(&table.common)
        for card in range(self.types):
            if table.hands[seat][card] and open & 1 << self.elements[card]:
                return True
        return False

    cdef int open_elements(self, const Common* common) noexcept nogil:
        # The set of elements that some empty square takes.
        cdef int square, field, open = 0
        for square in range(self.squares):
            field = common.board[square].field
            if not common.board[square].card:
                open |= 1 << field if field else ANY_ELEMENT
        return open & ANY_ELEMENT

    cdef void place(self, Table* table, int seat, int card, int square, Log* log) noexcept nogil:
        cdef Common* common = &table.common
        cdef Placement* placement = &common.placements[common.placement_count]
        cdef uint8_t values[2 + EDGES]
        cdef int n
        table.hands[seat][card] -= 1
        common.sides[seat].hand_size -= 1
        placement.round = common.round
        placement.seat = seat
        placement.card = card
        placement.square = square
        common.placement_count += 1
        values[0] = card
        values[1] = square
        n = self.put(common.board, seat, card, square, values + 2)
        log_event(log, TO_PUBLIC | TO_RECORD, PLACED, seat, values, 2 + n)

    cdef int put(self, Square* board, int seat, int card, int square,
                 uint8_t* taken) noexcept nogil:
        # Puts a card on the board; the squares that it takes, and how many.
        cdef int edge, other, n = 0
        board[square].card = card + 1
        board[square].owner = seat
        for edge in range(EDGES):
            other = self.beside[square][edge]
            if (other != SQUARES_MOST and board[other].card and board[other].owner != seat and
                    self.edges[card][edge] > self.edges[board[other].card - 1][edge ^ OPPOSITE]):
                board[other].owner = seat
                taken[n] = other
                n += 1
        return n

    cdef void end_round(self, Table* table, Log* log) noexcept nogil:
        cdef Common* common = &table.common
        cdef uint8_t values[2 + 2 * SEATS]
        cdef int seat, card, winner
        values[0] = common.round
        winner = self.winner(common, values + 2)
        values[1] = winner
        for seat in range(SEATS):
            values[2 + SEATS + seat] = common.sides[seat].hand_size
            common.sides[seat].pile_size += common.sides[seat].hand_size
            common.sides[seat].hand_size = 0
            for card in range(self.types):
                table.piles[seat][card] += table.hands[seat][card]
            memset(table.hands[seat], 0, TYPES_MOST)
        if winner != NONE:
            common.sides[winner].points += 1
        log_event(log, TO_PUBLIC | TO_RECORD, ROUND_ENDED, NONE, values, 2 + 2 * SEATS)
        clear(common.board)
        common.turn = common.starter
        if values[2] + values[3] == 0:
            common.phase = OVER
        else:
            self.begin_round(table, 1 - (common.starter if winner == NONE else winner), log)

    cdef int winner(self, const Common* common, uint8_t* chips) noexcept nogil:
        # Who has won the round, or NONE; and the chips of each seat.
        cdef int square
        memset(chips, 0, SEATS)
        for square in range(self.squares):
            if common.board[square].card:
                chips[common.board[square].owner] += 1
        return NONE if chips[0] == chips[1] else chips[1] > chips[0]

    # A fast playout

    cdef void stack_up(self, const uint8_t* counts, Stack* stack) noexcept nogil:
        cdef int i, card
        stack.size = 0
        for i in range(self.types):
            card = self.by_total[i]
            if counts[card]:
                stack.cards[stack.size] = card
                stack.size += 1
        memcpy(stack.copies, counts, TYPES_MOST)

    cdef int pickable(self, const Stack* pile, int hand_size, int hand_total) noexcept nogil:
        # How many of the pile's types, from the cheapest on, can be picked: as `legal_picks`.
        cdef int most = self.hand_limit - hand_total
        cdef int others = self.hand_size - hand_size - 1
        cdef int copies, i = 0, n = pile.size
        while others > 0:
            copies = min(others, pile.copies[pile.cards[i]])
            most -= copies * self.totals[pile.cards[i]]
            others -= copies
            i += 1
        while self.totals[pile.cards[n - 1]] > most:
            n -= 1
        return n

    cdef void start_playout(self, const Table* table, Playout* game) noexcept nogil:
        cdef int seat, i, card, square
        for seat in range(SEATS):
            self.stack_up(table.piles[seat], &game.piles[seat])
            self.stack_up(table.hands[seat], &game.hands[seat])
            game.hand_sizes[seat] = table.common.sides[seat].hand_size
            game.hand_totals[seat] = 0
            for i in range(game.hands[seat].size):
                card = game.hands[seat].cards[i]
                game.hand_totals[seat] += game.hands[seat].copies[card] * self.totals[card]
        game.starter = table.common.starter
        game.open_count = 0
        for square in range(self.squares):
            game.fields[square] = table.common.board[square].field
            game.cards[square] = table.common.board[square].card - 1
            game.owners[square] = table.common.board[square].owner
            if table.common.board[square].card == 0:
                game.owners[square] = NONE
                if table.common.board[square].field != BLOCKED:
                    game.open[game.open_count] = square
                    game.open_count += 1
        game.owners[SQUARES_MOST] = NONE

    cdef void pick_any(self, Playout* game, int seat, Rng* rng) noexcept nogil:
        cdef Stack* pile = &game.piles[seat]
        cdef int i = rng_below(rng, self.pickable(pile, game.hand_sizes[seat],
                                                  game.hand_totals[seat]))
        cdef int card = pile.cards[i]
        take_at(pile, i)
        game.hand_sizes[seat] += 1
        game.hand_totals[seat] += self.totals[card]
        if game.hands[seat].copies[card] == 0:
            game.hands[seat].cards[game.hands[seat].size] = card
            game.hands[seat].size += 1
        game.hands[seat].copies[card] += 1

    cdef void put_back(self, Stack* pile, int card, int copies) noexcept nogil:
        cdef int i = pile.size
        if pile.copies[card] == 0:
            while i > 0 and self.rank[pile.cards[i - 1]] > self.rank[card]:
                pile.cards[i] = pile.cards[i - 1]
                i -= 1
            pile.cards[i] = card
            pile.size += 1
        pile.copies[card] += copies

    cdef int playout_choices(self, const Playout* game, int seat, int i) noexcept nogil:
        # How many open squares take a card of a hand.
        cdef int j, n = 0
        if self.special_fields == 0:
            return game.open_count
        for j in range(game.open_count):
            n += accepts(game.fields[game.open[j]], self.elements[game.hands[seat].cards[i]])
        return n

    cdef bint playout_can_place(self, const Playout* game, int seat) noexcept nogil:
        cdef int i
        for i in range(game.hands[seat].size):
            if self.playout_choices(game, seat, i):
                return True
        return False

    cdef void place_any(self, Playout* game, int seat, Rng* rng) noexcept nogil:
        cdef Stack* hand = &game.hands[seat]
        cdef int choices[HAND_MOST]
        cdef int i, j, edge, card, square, other, n = 0
        for i in range(hand.size):
            choices[i] = self.playout_choices(game, seat, i)
            n += choices[i]
        n = rng_below(rng, n)
        i = 0
        while n >= choices[i]:
            n -= choices[i]
            i += 1
        card = hand.cards[i]
        j = n
        if self.special_fields:
            j = 0
            while n > 0 or not accepts(game.fields[game.open[j]], self.elements[card]):
                n -= accepts(game.fields[game.open[j]], self.elements[card])
                j += 1
        square = game.open[j]
        game.open_count -= 1
        game.open[j] = game.open[game.open_count]
        take_at(hand, i)
        game.hand_sizes[seat] -= 1
        game.cards[square] = card
        game.owners[square] = seat
        for edge in range(EDGES):
            other = self.beside[square][edge]
            if (game.owners[other] == 1 - seat and
                    self.edges[card][edge] > self.edges[game.cards[other]][edge ^ OPPOSITE]):
                game.owners[other] = seat

    cdef void end_playout_round(self, Playout* game, Common* common) noexcept nogil:
        cdef int square, seat, i, placed = 0, lead = 0
        cdef Stack* hand
        game.open_count = 0
        for square in range(self.squares):
            lead += (game.owners[square] == 0) - (game.owners[square] == 1)
            placed += game.owners[square] != NONE
            game.owners[square] = NONE
            if game.fields[square] != BLOCKED:
                game.open[game.open_count] = square
                game.open_count += 1
        if lead:
            game.starter = lead > 0
            common.sides[1 - game.starter].points += 1
        else:
            game.starter = 1 - game.starter
        common.phase = PICK if placed else OVER
        for seat in range(SEATS):
            hand = &game.hands[seat]
            for i in range(hand.size):
                self.put_back(&game.piles[seat], hand.cards[i], hand.copies[hand.cards[i]])
                hand.copies[hand.cards[i]] = 0
            hand.size = 0
            game.hand_sizes[seat] = 0
            game.hand_totals[seat] = 0
            if not self.stack_forms_hand(&game.piles[seat]):
                common.phase = OVER

    cdef bint stack_forms_hand(self, const Stack* pile) noexcept nogil:
        cdef int copies, i, sum = 0, n = self.hand_size
        for i in range(pile.size):
            copies = min(n, pile.copies[pile.cards[i]])
            sum += copies * self.totals[pile.cards[i]]
            n -= copies
            if n == 0:
                return sum <= self.hand_limit
        return False


cdef struct Playout:
    Stack piles[SEATS]
    Stack hands[SEATS]
    int hand_sizes[SEATS]
    int hand_totals[SEATS]
    int starter
    int open_count
    uint8_t open[SQUARES_MOST]   # Empty squares that are not blocked, in any order.
    uint8_t fields[SQUARES_MOST]
    uint8_t cards[SQUARES_MOST]
    uint8_t owners[SQUARES_MOST + 1]     # NONE: an empty square, or beyond the board.


cdef inline int only(int seat) noexcept nogil:
    return TO_SEAT_0 if seat == 0 else TO_SEAT_1


def default_cards():
    """The characters of the rule sheet."""
    with open(Path(__file__).parent / "data" / "skystones_cards.csv", newline="") as file:
        return [{"title": row["title"],
                 "element": ELEMENT_NAMES.index(row["element"].capitalize()),
                 "copies": 1, **{key: int(row[key]) for key in EDGE_KEYS}}
                for row in csv.DictReader(file)]


def read_cards(given):
    """A given card list with its defaults, checked; raises RulesetError."""
    if len(given) > TYPES_MOST:
        raise RulesetError("cards", f"must be at most {TYPES_MOST}")
    cards = []
    for i, spec in enumerate(given):
        card = {"title": "", "element": 0, "copies": 1, **dict.fromkeys(EDGE_KEYS, 0), **spec}
        if len(card) > 7:
            raise RulesetError(f"cards[{i}]", "must have title, element, copies and edges only")
        if len(card["title"]) > TITLE_MOST:
            raise RulesetError(f"cards[{i}].title", f"must be at most {TITLE_MOST} characters")
        for key, least, most in (("element", FIRE, AIR), ("copies", 1, COPIES_MOST),
                                 *[(edge, 0, EDGE_MOST) for edge in EDGE_KEYS]):
            if not least <= card[key] <= most:
                raise RulesetError(f"cards[{i}].{key}", f"must be {least} to {most}")
        cards.append(card)
    if sum(card["copies"] for card in cards) > CARDS_MOST:
        raise RulesetError("cards", f"must be at most {CARDS_MOST} with all copies")
    return cards


# What a view tells of the hidden cards

cdef struct Play:                # What a seat has shown in one round.
    int placed
    uint8_t cards[HAND_MOST]
    uint8_t open[HAND_MOST][ELEMENTS]    # For each placement, the squares that took each element.
    int barred                   # Elements that no card still in hand can have: the seat passed.
    int needed                   # It places next, so it has a card of one of these; 0: it does not.

cdef struct Kind:                # Cards that are alike for all that the play tells.
    uint8_t element
    uint8_t copies               # 1, or of its only card all that can be in hand beyond the placed.
    uint8_t size                 # How many cards.
    uint8_t cards[TYPES_MOST]

cdef struct Class:               # Kinds that are alike for the picks.
    int total
    int card                     # The only one, if the pile holds several copies; else NONE.
    int size                     # Cards, or copies.
    int first                    # Its kinds.
    int end

cdef struct Absence:             # What it does to the picks that a certain card is set aside.
    int total                    # -1: none is.
    int card                     # Of several copies; else NONE.

cdef struct Hands:
    # All hands that a seat may have had in one round, out of a pile that may still hold the card
    # that was set aside, and how likely each was.
    Play play
    int unplayed                 # Cards of the hand that were not placed, or not yet.
    int unplayed_limit           # What their totals may add up to.
    uint8_t pile[TYPES_MOST]
    uint8_t types_up_to[TOTAL_MOST + 1]  # Cards of the pile by total, cumulated.
    int cheapest[HAND_MOST]      # Totals of the cheapest cards of the pile.
    int base[HAND_MOST]          # Choices at each placement that the placed cards made.
    int kind_count
    Kind kinds[TYPES_MOST]
    uint8_t kind_of[TYPES_MOST]  # NONE: it cannot have been left in hand.
    int class_count
    Class classes[TYPES_MOST]
    int absence_count
    Absence absences[TYPES_MOST]
    uint8_t absence_of[TYPES_MOST + 1]   # By candidate for the card set aside.

    # The hand on its way through the recursion.
    uint8_t class_at[HAND_MOST]  # The classes of the unplayed cards, ascending.
    uint8_t kind_at[HAND_MOST]
    uint8_t of_class[TYPES_MOST] # How many of each.
    uint8_t of_kind[TYPES_MOST]
    double picked[TYPES_MOST]    # The probability that the hand is picked, by absence.

    # What comes of it.
    bint keep                    # Keep a row for each hand, or just add up by candidate.
    bint too_many
    double likelihood[TYPES_MOST + 1]
    uint64_t* work_left


cdef enum:
    # Hands weighed for past rounds. It is only passed where several cards went unplayed in many
    # rounds of a game with many different cards; what the rest of such rounds tell of the card set
    # aside is then left out, but for what they rule out.
    WORK_MOST = 20_000_000
    # Hands kept where nothing was placed yet. Where there are more, every other hand fits, or so,
    # and it is as well to pick hands until one does.
    ROWS_MOST = 1 << 16


cdef class SkystonesSampler(Sampler):
    """The worlds that fit a view: the card set aside and the opponent's hand by their posterior."""

    cdef Skystones rules
    cdef State base              # All that the view shows; the opponent's pile is all unseen cards.
    cdef int other
    cdef uint8_t start[SEATS][TYPES_MOST]    # The piles at the start of the round that is replayed.
    cdef int candidates          # For the card set aside; NONE is the only one where there is none.
    cdef uint8_t aside[TYPES_MOST + 1]
    cdef double weight[TYPES_MOST + 1]
    cdef int picks               # The opponent's hand is to be picked anew; how many cards.
    cdef Play play               # And must allow this.
    cdef bint from_rows          # Or else it is in the rows of `hands`.
    cdef Hands hands
    cdef size_t rows
    cdef size_t room
    cdef double* cumulated       # By row and absence.
    cdef uint8_t* kinds_of_row
    cdef bint out_of_memory
    cdef uint64_t work_left

    def __dealloc__(self):
        free(self.cumulated)
        free(self.kinds_of_row)

    def __init__(self, view):
        super().__init__(view)
        self.rules = self.game
        self.other = 1 - self.seat
        self.work_left = WORK_MOST
        self.check_ranges()
        self.check_cards()
        self.replay()

    # Whether the view contradicts itself

    cdef check_ranges(self):
        cdef Skystones game = self.rules
        cdef const Sight* sight = <const Sight*> &self.view
        cdef const Common* common = &sight.common
        cdef const Placement* placement
        cdef int laid[BLOCKED + 1]
        cdef int i
        memset(laid, 0, sizeof(laid))
        if common.phase > PLACE:
            raise ViewError("common.phase", "must be pick, place or over")
        if common.round == 0:
            raise ViewError("common.round", "must be 1 or more")
        for name, seat in (("first_starter", common.first_starter), ("starter", common.starter),
                           ("turn", common.turn)):
            if seat > 1:
                raise ViewError(f"common.{name}", "must be 0 or 1")
        if common.phase != PLACE and common.turn != common.starter:
            raise ViewError("common.turn", "must be the starter but in the placing phase")
        for i in range(SQUARES_MOST):
            at = f"common.board[{i}].field"
            if common.board[i].field > BLOCKED or (common.board[i].field and i >= game.squares):
                raise ViewError(at, "must be a special field, on the board")
            laid[common.board[i].field] += 1
            if common.board[i].field and laid[common.board[i].field] > FIELD_CARDS // BLOCKED:
                raise ViewError(at, "must be one of the special fields that there are")
        if SQUARES_MOST - laid[0] != game.special_fields:
            raise ViewError("common.board", f"must have {game.special_fields} special fields")
        if common.placement_count > CARDS_MOST:
            raise ViewError("common.placement_count", f"must be at most {CARDS_MOST}")
        for i in range(CARDS_MOST):
            placement = &common.placements[i]
            at = f"common.placements[{i}]"
            if i >= common.placement_count:
                if placement.round or placement.seat or placement.card or placement.square:
                    raise ViewError(at, "must be zero after the last placement")
            elif placement.seat > 1:
                raise ViewError(f"{at}.seat", "must be 0 or 1")
            elif placement.card >= game.types:
                raise ViewError(f"{at}.card", f"must be 0 to {game.types - 1}")
            elif placement.square >= game.squares:
                raise ViewError(f"{at}.square", f"must be 0 to {game.squares - 1}")

    cdef check_cards(self):
        # Fills `start` with both piles as they were dealt, the other's with the card set aside.
        cdef Skystones game = self.rules
        cdef const Sight* sight = <const Sight*> &self.view
        cdef const Common* common = &sight.common
        cdef Side side
        cdef int dealt[SEATS]
        cdef int card, seat, i, hand = 0, pile = 0
        dealt[self.seat] = dealt[self.other] = 0
        for card in range(TYPES_MOST):
            self.start[self.seat][card] = 0
            hand += sight.hand[card]
            pile += sight.pile[card]
            for name, count in (("hand", sight.hand[card]), ("pile", sight.pile[card])):
                if count > (game.copies[card] if card < game.types else 0):
                    raise ViewError(name, f"must not hold more of card {card} than there are")
            self.start[self.seat][card] = sight.hand[card] + sight.pile[card]
        for i in range(common.placement_count):
            dealt[common.placements[i].seat] += 1
            if common.placements[i].seat == self.seat:
                self.start[self.seat][common.placements[i].card] += 1
        for card in range(game.types):
            if self.start[self.seat][card] > game.copies[card]:
                raise ViewError("pile", f"must not hold more of card {card} than there are")
            self.start[self.other][card] = game.copies[card] - self.start[self.seat][card]
        for name, size, count in (("hand_size", common.sides[self.seat].hand_size, hand),
                                  ("pile_size", common.sides[self.seat].pile_size, pile)):
            if size != count:
                raise ViewError(f"common.sides[{self.seat}].{name}",
                                f"must be {count}, the viewer's own cards")
        for seat in range(SEATS):
            side = common.sides[seat]
            if dealt[seat] + side.hand_size + side.pile_size != game.pile_size:
                raise ViewError(f"common.sides[{seat}].pile_size", "must make, with the hand and "
                                f"what was placed, {game.pile_size} cards in all")
        self.candidates = 0
        for card in range(game.types):
            hand = self.start[self.other][card]
            for i in range(common.placement_count):
                hand -= (common.placements[i].seat == self.other
                         and common.placements[i].card == card)
            if hand < 0:
                raise ViewError("common.placements",
                                f"must not hold more of card {card} than there are")
            if hand and game.deck_size > SEATS * game.pile_size:
                self.aside[self.candidates] = card
                self.weight[self.candidates] = self.start[self.other][card]
                self.candidates += 1
        if game.deck_size == SEATS * game.pile_size:
            self.aside[0] = NONE
            self.weight[0] = 1
            self.candidates = 1

    cdef replay(self):
        # Plays all rounds again from what everybody saw, and learns from each what it tells.
        cdef Skystones game = self.rules
        cdef const Common* common = &(<const Sight*> &self.view).common
        cdef const Placement* placement
        cdef Common shown
        cdef Play plays[SEATS]
        cdef uint8_t chips[SEATS]
        cdef uint8_t taken[EDGES]
        cdef int round, seat, square, field, winner, element, at = 0
        cdef int first = 0
        cdef bint ended
        cdef bint passed[SEATS]
        memset(&shown, 0, sizeof(shown))
        memcpy(shown.board, common.board, sizeof(shown.board))
        clear(shown.board)
        shown.starter = common.first_starter
        for round in range(1, common.round + 1):
            ended = round < common.round or common.phase == OVER
            memset(plays, 0, sizeof(plays))
            passed[0] = passed[1] = False
            seat = shown.starter
            first = at
            while at < common.placement_count and common.placements[at].round == round:
                placement = &common.placements[at]
                square = placement.square
                field = shown.board[square].field
                name = f"common.placements[{at}]"
                if common.phase == PICK and not ended:
                    raise ViewError(f"{name}.round", "must be a round before this one")
                if placement.seat != seat:
                    passed[seat] = True
                    plays[seat].barred |= game.open_elements(&shown)
                seat = placement.seat
                if passed[seat]:
                    raise ViewError(f"{name}.seat", "must not be a seat that has passed before")
                if plays[seat].placed == game.hand_size:
                    raise ViewError(f"{name}.seat", "must still have a card in hand")
                if shown.board[square].card or not accepts(field, game.elements[placement.card]):
                    raise ViewError(f"{name}.square", "must be open to the card")
                for element in range(FIRE, ELEMENTS):
                    plays[seat].open[plays[seat].placed][element] = open_squares(
                        game, &shown, element)
                plays[seat].cards[plays[seat].placed] = placement.card
                plays[seat].placed += 1
                game.put(shown.board, seat, placement.card, square, taken)
                seat = 1 - seat
                at += 1
            if ended:
                if at == first and not (round == common.round and common.phase == OVER):
                    raise ViewError("common.placements", f"must not leave out round {round}")
                for seat in range(SEATS):
                    plays[seat].barred |= game.open_elements(&shown)
                self.judge(game, &plays[self.seat])
                self.learn(&plays[self.other])
                winner = game.winner(&shown, chips)
                if winner != NONE:
                    shown.sides[winner].points += 1
                clear(shown.board)
                if round < common.round:
                    shown.starter = 1 - (shown.starter if winner == NONE else winner)
            elif common.phase == PLACE and seat != common.turn:
                passed[seat] = True
                plays[seat].barred |= game.open_elements(&shown)
        if at < common.placement_count:
            raise ViewError(f"common.placements[{at}].round", "must ascend to the view's round")
        if common.starter != shown.starter:
            raise ViewError("common.starter", f"must be {shown.starter} by the rounds before")
        if common.phase == PLACE and passed[common.turn]:
            raise ViewError("common.turn", "must not be a seat that could not place before")
        for seat in range(SEATS):
            if common.sides[seat].points != shown.sides[seat].points:
                raise ViewError(f"common.sides[{seat}].points",
                                f"must be {shown.sides[seat].points} by the rounds")
        for square in range(SQUARES_MOST):
            if (common.board[square].card != shown.board[square].card
                    or common.board[square].owner != shown.board[square].owner):
                raise ViewError(f"common.board[{square}]", "must be as the placements have left it")
        if common.phase == PLACE:
            plays[common.turn].needed = game.open_elements(&shown)
        self.conclude(game, plays, at == first)

    cdef judge(self, Skystones game, const Play* play):
        # A past round of the viewer's own, whose hand the view does not show.
        cdef uint8_t left[TYPES_MOST]
        if not possible(game, play, self.start[self.seat], NONE, left):
            raise ViewError("common.placements", "must be what the viewer's own hands allowed")
        memcpy(self.start[self.seat], left, TYPES_MOST)

    cdef learn(self, const Play* play):
        # A past round of the opponent: what it tells of the card set aside.
        cdef Skystones game = self.rules
        cdef uint8_t left[TYPES_MOST]
        cdef double most = 0
        cdef int i
        for i in range(self.candidates):
            if not possible(game, play, self.start[self.other], self.aside[i], left):
                self.weight[i] = 0
        if self.aside[0] != NONE:
            prepare(game, self, &self.hands, play, self.start[self.other])
            with nogil:
                choose_classes(game, self, &self.hands, 0, 0, self.hands.unplayed_limit)
            for i in range(self.candidates):
                if not self.hands.too_many:
                    self.weight[i] *= self.hands.likelihood[i]
                most = max(most, self.weight[i])
            for i in range(self.candidates):
                self.weight[i] /= most if most > 0 else 1
        memcpy(self.start[self.other], left, TYPES_MOST)

    cdef conclude(self, Skystones game, const Play* plays, bint nothing_placed):
        # The round that is not over, or how the match ended.
        cdef const Sight* sight = <const Sight*> &self.view
        cdef const Common* common = &sight.common
        cdef const Play* play = &plays[self.other]
        cdef Table* table = <Table*> &self.base
        cdef uint8_t left[TYPES_MOST]
        cdef int expected[SEATS]
        cdef int card, seat, i, total = 0, held = 0
        cdef bint own = game.can_form_hand(self.start[self.seat], NONE)
        for seat in range(SEATS):
            expected[seat] = 0
            if common.phase == PICK:
                expected[seat] = common.sides[0].hand_size
            elif common.phase == PLACE:
                expected[seat] = game.hand_size - plays[seat].placed
            if common.sides[seat].hand_size != expected[seat]:
                raise ViewError(f"common.sides[{seat}].hand_size",
                                f"must be {expected[seat]} by the round")
        if common.phase == PICK and common.sides[0].hand_size >= game.hand_size:
            raise ViewError("common.sides[0].hand_size", "must not be full in the picking phase")
        for card in range(game.types):
            total += sight.hand[card] * game.totals[card]
            if sight.hand[card]:
                held |= 1 << game.elements[card]
        for i in range(plays[self.seat].placed):
            total += game.totals[plays[self.seat].cards[i]]
        if common.phase == PICK:
            total += game.cheapest(sight.pile, NONE, game.hand_size - common.sides[0].hand_size, 0)
        if common.phase != OVER and total > game.hand_limit:
            raise ViewError("hand", f"must keep within {game.hand_limit}")
        if held & plays[self.seat].barred:
            raise ViewError("hand", "must hold no card that could have been placed")
        if plays[self.seat].needed and not held & plays[self.seat].needed:
            raise ViewError("hand", "must hold a card that can be placed now")

        for i in range(self.candidates):
            if common.phase != OVER:
                self.weight[i] *= game.can_form_hand(self.start[self.other], self.aside[i])
            elif own and not nothing_placed:
                self.weight[i] *= not game.can_form_hand(self.start[self.other], self.aside[i])
        self.picks = common.sides[self.other].hand_size
        self.play = play[0]
        self.from_rows = common.phase == PLACE and (play.placed or tells(game, play))
        if self.from_rows:
            prepare(game, self, &self.hands, play, self.start[self.other])
            self.hands.keep = True
            with nogil:
                choose_classes(game, self, &self.hands, 0, 0, self.hands.unplayed_limit)
                self.cumulate()
            if self.out_of_memory:
                raise MemoryError
            self.from_rows = not self.hands.too_many
        total = 0
        for i in range(self.candidates):
            total += self.weight[i] > 0
        if total == 0 or (self.from_rows and self.rows == 0):
            raise ViewError("common.placements", "must be what some cards of the opponent allowed")

        table.common = common[0]
        memcpy(table.hands[self.seat], sight.hand, TYPES_MOST)
        memcpy(table.piles[self.seat], sight.pile, TYPES_MOST)
        memcpy(table.piles[self.other], self.start[self.other], TYPES_MOST)
        for i in range(play.placed):
            if common.phase == PLACE:
                table.piles[self.other][play.cards[i]] -= 1

    # The rows: one for each kind of hand

    cdef void add_row(self, const Hands* hands, const double* weights) noexcept nogil:
        cdef size_t room, i
        cdef void* memory
        if self.rows == self.room:
            room = 2 * self.room if self.room else 256
            memory = realloc(self.cumulated, room * hands.absence_count * sizeof(double))
            if memory != NULL:
                self.cumulated = <double*> memory
                memory = realloc(self.kinds_of_row, room * HAND_MOST)
            if memory == NULL:
                self.out_of_memory = True
                return
            self.kinds_of_row = <uint8_t*> memory
            self.room = room
        for i in range(hands.absence_count):
            self.cumulated[self.rows * hands.absence_count + i] = weights[i]
        memcpy(self.kinds_of_row + self.rows * HAND_MOST, hands.kind_at, HAND_MOST)
        self.rows += 1

    cdef void cumulate(self) noexcept nogil:
        cdef size_t i
        for i in range(1, self.rows * self.hands.absence_count):
            self.cumulated[i] += self.cumulated[i - 1]

    # Drawing

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef Table* table = <Table*> state
        state[0] = self.base
        if self.from_rows:
            self.draw_row(table, rng)
            return
        while not self.draw_picks(table, rng):
            state[0] = self.base

    cdef bint draw_picks(self, Table* table, Rng* rng) noexcept nogil:
        # Picks the opponent's hand as he does. False: it could not have played as he did.
        cdef uint8_t* pile = table.piles[self.other]
        cdef Stack stack
        cdef int i, card, total = 0, held = 0
        self.set_aside(table, self.draw_aside(NULL, 0, rng))
        self.rules.stack_up(pile, &stack)
        for i in range(self.picks):
            card = rng_below(rng, self.rules.pickable(&stack, i, total))
            total += self.rules.totals[stack.cards[card]]
            held |= 1 << self.rules.elements[stack.cards[card]]
            table.hands[self.other][stack.cards[card]] += 1
            pile[stack.cards[card]] -= 1
            take_at(&stack, card)
        return not held & self.play.barred and (not self.play.needed or held & self.play.needed)

    cdef void set_aside(self, Table* table, int card) noexcept nogil:
        if card != NONE:
            table.aside = card + 1
            table.piles[self.other][card] -= 1

    cdef int draw_aside(self, const uint8_t* row, int absence, Rng* rng) noexcept nogil:
        # The card set aside: any, or one of a certain absence that leaves the hand of a row.
        cdef double chance[TYPES_MOST + 1]
        cdef double at = 0
        cdef int i, last = 0
        for i in range(self.candidates):
            chance[i] = self.weight[i]
            if row != NULL:
                chance[i] *= (left_over(&self.hands, self.aside[i], row)
                              if self.hands.absence_of[i] == absence else 0)
            at += chance[i]
        at *= rng_double(rng)
        for i in range(self.candidates):
            if chance[i] > 0:
                last = i
                if at < chance[i]:
                    break
                at -= chance[i]
        return self.aside[last]

    cdef void draw_row(self, Table* table, Rng* rng) noexcept nogil:
        cdef const Kind* kind
        cdef const uint8_t* row
        cdef uint8_t* hand = table.hands[self.other]
        cdef size_t low = 0, high = self.rows * self.hands.absence_count - 1, middle
        cdef double at = rng_double(rng) * self.cumulated[high]
        cdef int i, card, aside
        while low < high:
            middle = (low + high) // 2
            if self.cumulated[middle] > at:
                high = middle
            else:
                low = middle + 1
        row = self.kinds_of_row + low // self.hands.absence_count * HAND_MOST
        aside = self.draw_aside(row, low % self.hands.absence_count, rng)
        self.set_aside(table, aside)
        for i in range(self.hands.unplayed):
            kind = &self.hands.kinds[row[i]]
            card = kind.cards[rng_below(rng, kind.size)]
            while kind.copies == 1 and kind.size > 1 and (hand[card] or card == aside):
                card = kind.cards[rng_below(rng, kind.size)]
            hand[card] += 1
            table.piles[self.other][card] -= 1


cdef int open_squares(Skystones game, const Common* common, int element) noexcept nogil:
    cdef int square, n = 0
    for square in range(game.squares):
        n += not common.board[square].card and accepts(common.board[square].field, element)
    return n


cdef bint tells(Skystones game, const Play* play) noexcept nogil:
    # Whether that a seat could place, or could not, tells anything of its cards.
    return play.barred or (play.needed and play.needed != ANY_ELEMENT)


cdef bint possible(Skystones game, const Play* play, const uint8_t* pile, int aside,
                   uint8_t* left) noexcept nogil:
    # Whether some hand out of a pile, without the card set aside, could be played so; what is left
    # of the pile, that card included.
    cdef int i, total = 0
    memcpy(left, pile, TYPES_MOST)
    for i in range(play.placed):
        if left[play.cards[i]] == 0:
            return False
        left[play.cards[i]] -= 1
        total += game.totals[play.cards[i]]
    return total + game.cheapest(left, aside, game.hand_size - play.placed,
                                 play.barred) <= game.hand_limit


# The probability of a hand. Cards that are alike are weighed together: for the picks, single cards
# of one total; for the placements, of one element, or of elements that no square told apart.

cdef void prepare(Skystones game, SkystonesSampler sampler, Hands* hands, const Play* play,
                  const uint8_t* pile):
    cdef uint8_t alike[ELEMENTS]
    cdef int i, j, card, n = 0
    memset(hands, 0, sizeof(Hands))
    hands.play = play[0]
    hands.unplayed = game.hand_size - play.placed
    hands.unplayed_limit = game.hand_limit
    hands.work_left = &sampler.work_left
    for i in range(play.placed):
        hands.unplayed_limit -= game.totals[play.cards[i]]
        for j in range(i, play.placed):
            if not shown_later(play, j + 1, play.cards[j]):
                hands.base[i] += play.open[i][game.elements[play.cards[j]]]
    memcpy(hands.pile, pile, TYPES_MOST)
    for i in range(game.types):
        card = game.by_total[i]
        hands.types_up_to[game.totals[card]] += pile[card] > 0
        for j in range(pile[card]):
            if n < game.hand_size:
                hands.cheapest[n] = game.totals[card]
                n += 1
    for i in range(TOTAL_MOST):
        hands.types_up_to[i + 1] += hands.types_up_to[i]
    for i in range(FIRE, ELEMENTS):
        alike[i] = i
        for j in range(i - 1, FIRE - 1, -1):
            if look_alike(play, i, j):
                alike[i] = j
    sort_out(game, hands, alike)
    for i in range(sampler.candidates):
        hands.absence_of[i] = absence(game, hands, sampler.aside[i])


cdef bint shown_later(const Play* play, int first, int card) noexcept nogil:
    cdef int i
    for i in range(first, play.placed):
        if play.cards[i] == card:
            return True
    return False


cdef bint look_alike(const Play* play, int element, int other) noexcept nogil:
    cdef int i
    for i in range(play.placed):
        if play.open[i][element] != play.open[i][other]:
            return False
    return ((play.barred >> element ^ play.barred >> other) & 1 == 0
            and (play.needed >> element ^ play.needed >> other) & 1 == 0)


cdef void sort_out(Skystones game, Hands* hands, const uint8_t* alike) noexcept nogil:
    # The cards that can be in hand unplayed, as kinds and classes, by ascending total.
    cdef uint8_t left[TYPES_MOST]
    cdef Class* single
    cdef int i, j, end, card, element
    memcpy(left, hands.pile, TYPES_MOST)
    memset(hands.kind_of, NONE, TYPES_MOST)
    for i in range(hands.play.placed):
        left[hands.play.cards[i]] -= 1
    i = 0
    while i < game.types:
        end = i
        while end < game.types and game.totals[game.by_total[end]] == game.totals[game.by_total[i]]:
            end += 1
        single = &hands.classes[hands.class_count]
        single.total = game.totals[game.by_total[i]]
        single.card = NONE
        single.first = hands.kind_count
        for element in range(FIRE, ELEMENTS):
            if alike[element] == element and not hands.play.barred & 1 << element:
                for j in range(i, end):
                    card = game.by_total[j]
                    if (left[card] and hands.pile[card] == 1
                            and alike[game.elements[card]] == element):
                        add_card(hands, card, element, 1)
                        single.size += 1
                hands.kind_count += hands.kinds[hands.kind_count].size > 0
        single.end = hands.kind_count
        hands.class_count += single.size > 0
        for j in range(i, end):
            card = game.by_total[j]
            if (left[card] and hands.pile[card] > 1
                    and not hands.play.barred & 1 << game.elements[card]):
                single = &hands.classes[hands.class_count]
                single.total = game.totals[card]
                single.card = card
                single.size = left[card]
                single.first = hands.kind_count
                single.end = hands.kind_count + 1
                add_card(hands, card, game.elements[card], left[card])
                hands.class_count += 1
                hands.kind_count += 1
        i = end


cdef void add_card(Hands* hands, int card, int element, int copies) noexcept nogil:
    cdef Kind* kind = &hands.kinds[hands.kind_count]
    kind.element = element
    kind.copies = copies
    kind.cards[kind.size] = card
    kind.size += 1
    hands.kind_of[card] = hands.kind_count


cdef int absence(Skystones game, Hands* hands, int card) noexcept nogil:
    # The absence of a card, which is listed once.
    cdef int total = -1 if card == NONE else game.totals[card]
    cdef int several = card if card != NONE and hands.pile[card] > 1 else NONE
    cdef int i
    for i in range(hands.absence_count):
        if hands.absences[i].total == total and hands.absences[i].card == several:
            return i
    hands.absences[hands.absence_count].total = total
    hands.absences[hands.absence_count].card = several
    hands.absence_count += 1
    return hands.absence_count - 1


cdef void choose_classes(Skystones game, SkystonesSampler sampler, Hands* hands, int first, int n,
                         int limit) noexcept nogil:
    # Completes the hand, of which n unplayed cards are chosen, in every way.
    cdef int i
    if hands.too_many:
        return
    if n == hands.unplayed:
        weigh_picks(game, hands)
        choose_kinds(sampler, hands, 0)
        return
    for i in range(first, hands.class_count):
        if hands.classes[i].total * (hands.unplayed - n) > limit:
            return
        if hands.of_class[i] < hands.classes[i].size:
            hands.class_at[n] = i
            hands.of_class[i] += 1
            choose_classes(game, sampler, hands, i, n + 1, limit - hands.classes[i].total)
            hands.of_class[i] -= 1


cdef void choose_kinds(SkystonesSampler sampler, Hands* hands, int n) noexcept nogil:
    cdef const Class* of = &hands.classes[hands.class_at[n]] if n < hands.unplayed else NULL
    cdef int i, first
    if n == hands.unplayed:
        weigh(sampler, hands)
        return
    first = of.first
    if n > 0 and hands.class_at[n - 1] == hands.class_at[n]:
        first = hands.kind_at[n - 1]
    for i in range(first, of.end):
        if hands.of_kind[i] < hands.kinds[i].size * hands.kinds[i].copies:
            hands.kind_at[n] = i
            hands.of_kind[i] += 1
            choose_kinds(sampler, hands, n + 1)
            hands.of_kind[i] -= 1


cdef void weigh_picks(Skystones game, Hands* hands) noexcept nogil:
    # The probability to pick this hand, for each absence: the sum over all orders of picking it of
    # the products of 1 / (number of cards that could be picked).
    cdef int totals[HAND_MOST]
    cdef int cards[HAND_MOST]    # Of those with several copies; else NONE.
    cdef int groups[HAND_MOST]   # The places of the same card, as a set.
    cdef int room[1 << HAND_MOST]
    cdef int room_now[1 << HAND_MOST]
    cdef const int* rooms
    cdef double orders[1 << HAND_MOST]
    cdef double share, repeats = 1
    cdef int i, j, g, n = 0, copies, some, all_of, legal, spent_count
    cdef int spent[HAND_MOST]    # Sets of places that leave no copy in the pile.
    cdef int spent_totals[HAND_MOST]
    cdef const Absence* absent
    for i in range(game.hand_size):
        if i < hands.play.placed:
            n = hands.play.cards[i]
            totals[i] = game.totals[n]
            cards[i] = n if hands.pile[n] > 1 else NONE
        else:
            n = hands.class_at[i - hands.play.placed]
            totals[i] = hands.classes[n].total
            cards[i] = hands.classes[n].card
        j = i
        while j > 0 and totals[j - 1] > totals[j]:
            totals[j - 1], totals[j] = totals[j], totals[j - 1]
            cards[j - 1], cards[j] = cards[j], cards[j - 1]
            j -= 1
    n = game.hand_size
    all_of = (1 << n) - 1
    for i in range(n):
        groups[i] = 1 << i
        copies = 1
        for j in range(n):
            if i != j and cards[i] != NONE and cards[i] == cards[j]:
                groups[i] |= 1 << j
                copies += j < i
        repeats *= copies
    leave_room(game, hands, totals, -1, room)
    for g in range(hands.absence_count):
        absent = &hands.absences[g]
        rooms = room
        if 0 <= absent.total <= hands.cheapest[n - 1]:
            leave_room(game, hands, totals, absent.total, room_now)
            rooms = room_now
        spent_count = 0
        for i in range(n):
            copies = 1
            if cards[i] != NONE:
                copies = hands.pile[cards[i]] - (cards[i] == absent.card)
            if groups[i] >> i == 1 and bits(groups[i]) == copies:
                spent[spent_count] = groups[i]
                spent_totals[spent_count] = totals[i]
                spent_count += 1
        memset(orders, 0, sizeof(orders))
        orders[0] = 1
        for some in range(all_of):
            legal = hands.types_up_to[max(0, min(rooms[some], TOTAL_MOST))]
            if absent.card == NONE and 0 <= absent.total <= rooms[some]:
                legal -= 1
            for i in range(spent_count):
                legal -= spent[i] & some == spent[i] and spent_totals[i] <= rooms[some]
            share = orders[some] / max(legal, 1)
            for i in range(n):
                if not some & 1 << i:
                    orders[some | 1 << i] += share
        hands.picked[g] = orders[all_of] / repeats
    hands.work_left[0] -= min(hands.work_left[0], <uint64_t> (8 * hands.absence_count))


cdef void leave_room(Skystones game, const Hands* hands, const int* totals, int absent,
                     int* room) noexcept nogil:
    # For each part of the hand that may have been picked: the most that the next card's total can
    # be. The totals ascend, and so do those of the cheapest cards.
    cdef int some, i, j, others, missing
    for some in range((1 << game.hand_size) - 1):
        room[some] = game.hand_limit
        others = game.hand_size - 1 - bits(some)
        for i in range(game.hand_size):
            if some & 1 << i:
                room[some] -= totals[i]
        missing = absent
        i = j = 0
        while others > 0:
            while i < game.hand_size and not some & 1 << i:
                i += 1
            if i < game.hand_size and totals[i] == hands.cheapest[j]:
                i += 1                   # In hand already.
            elif missing == hands.cheapest[j]:
                missing = -1
            else:
                room[some] -= hands.cheapest[j]
                others -= 1
            j += 1


cdef void weigh(SkystonesSampler sampler, Hands* hands) noexcept nogil:
    # A hand down to its kinds: how likely was it to play as it did?
    cdef const Play* play = &hands.play
    cdef const Kind* kind
    cdef double rows[TYPES_MOST]
    cdef double likely, chance = 1
    cdef int i, j, choices, run, n = hands.unplayed
    cdef bint needed = play.needed != 0, any = False
    hands.work_left[0] -= min(hands.work_left[0], <uint64_t> sampler.candidates)
    if hands.work_left[0] == 0 and not hands.keep:
        hands.too_many = True
    for i in range(n):
        run = 1
        while i >= run and hands.kind_at[i - run] == hands.kind_at[i]:
            run += 1
        kind = &hands.kinds[hands.kind_at[i]]
        if kind.copies == 1:
            chance *= <double> (kind.size - run + 1) / run       # So many ways to choose them.
        if play.needed & 1 << kind.element:
            needed = False
    if needed:
        return
    for i in range(play.placed):
        choices = hands.base[i]
        for j in range(n):
            kind = &hands.kinds[hands.kind_at[j]]
            if hands.pile[kind.cards[0]] == 1 or not (
                    (j > 0 and hands.kind_at[j - 1] == hands.kind_at[j])
                    or shown_later(play, i, kind.cards[0])):
                choices += play.open[i][kind.element]
        chance /= choices
    memset(rows, 0, hands.absence_count * sizeof(double))
    for i in range(sampler.candidates):
        j = hands.absence_of[i]
        likely = chance * hands.picked[j] * left_over(hands, sampler.aside[i], hands.kind_at)
        hands.likelihood[i] += likely
        rows[j] += likely * sampler.weight[i]
        any = any or rows[j] > 0
    if hands.keep and any:
        if play.placed == 0 and sampler.rows == ROWS_MOST:
            hands.too_many = True
            return
        sampler.add_row(hands, rows)


cdef double left_over(const Hands* hands, int aside, const uint8_t* row) noexcept nogil:
    # The share of the hands of a row that leave the card set aside where it is.
    cdef const Kind* kind
    cdef int i, taken = 0
    if aside == NONE or hands.kind_of[aside] == NONE:
        return 1
    for i in range(hands.unplayed):
        taken += row[i] == hands.kind_of[aside]
    kind = &hands.kinds[hands.kind_of[aside]]
    if hands.pile[aside] == 1:
        return <double> (kind.size - taken) / kind.size
    return taken < kind.copies
