"""Castle Rampage: a duel over gates and castles, by the rules sheet of the card game.

RED (seat 0) and BLUE (seat 1) share one deck. Each has two structures, a Gate and a Castle: stacks
of face-down cards, every card with one defence for the Gate and one for the Castle. Whoever
destroys the last card of the other's Castle wins.

*Set-up.* Twice each seat is dealt 5 cards and shares them out, both at the same time: 2 to the
Gate, 2 to the Castle, 1 to keep for the hand. Purple cards are replaced when they are dealt, and
shuffled back. Cards always go under those that lie in a structure already. Chance says who starts.

*Turns.* A turn begins with drawing 2 cards (1 in the starter's first turn), and 1 more for each own
Granary. There is no hand limit. When the draw pile is empty the discard pile is shuffled into a new
one; when both are empty, no card is drawn. Then the seat does as many of these as it wants:

- Strengthen, once a turn: a hand card goes under a structure, face down, whatever its effect and
  its cost. Only an Ogre demands that two other cards are discarded.
- Play a card: its cost is paid with other cards of the hand, its effect is carried out, and it is
  discarded, unless it is permanent.
- End the turn.

*Attacks* go against the other Gate while it has cards, else against the Castle. The top card is
revealed. If its defence is higher, the attacker is destroyed and the card goes back on top, face
down; if it is equal, both are destroyed; if it is lower, the defender is destroyed, its defence is
taken off the strength, and the next card is revealed, on through the Gate into the Castle.

*Cards*, draws and discards before the attack:

- Knight, Giant, Dragon, Ogre: attack. Archer: the opponent discards a random card, attack. Axe Man:
  draw 1, attack. Mercenary: discard up to 2, attack with +2 for each. Veteran: attack; back to the
  hand if a higher defence stops it. Digger: attacks the Castle even if the Gate stands.
- Schemes attack; they cost the units named on them, and one more adds the bonus. Giants and
  Mercenaries stand for one of several units.
- Bomber: destroys the top card of the other Gate. Saboteur: destroys a permanent card of the other.
  Spy: looks at the top cards of both other structures, then draws 1.
- Jester: destroys the top card of the own Castle, then draws 3. Summoner: destroys the top card of
  both Castles; who empties both by it loses. Priest: names a unit; the other shows the hand and
  discards all that can count as it.
- Catapult, permanent: each own attack has +1. Granary, permanent: one more card each turn.

*Destroyed in an attack*, and only then: a Bomber destroys the attacker at once; for a Saboteur the
attacker discards 2 random cards; for a Spy its owner draws 2. The attack then goes on, unless the
match is over.

A match of 200 turns is a draw. With the right cards a turn need never end, so the 800th decision of
a turn ends it, whatever it was: several times as many as any turn at a table takes.

What everyone has seen of a hand is its history: engine/castle_rampage/history.pyx. What it tells of
the cards that nobody has shown: engine/castle_rampage/sampler.pyx.

Source: the rules sheet of Castle Rampage. The printed list of its cards is lost: numbers and copies
are a reconstruction.
"""

import itertools

from libc.string cimport memcpy, memset

from engine.chance cimport Rng, mix, rng_below, rng_shuffle
from engine.events cimport (
    NO_SEAT, TO_PUBLIC, TO_RECORD, EventLog, log_event, log_private, to_seat,
)
from engine.game cimport (
    BOTH, MAX_ACTIONS, NOBODY, SEATS, SPECTATOR, Action, Cards, Game, State, View,
)
from engine.integers cimport uint64_t, uint8_t

from engine.castle_rampage.state cimport (
    ARCHER, AXE_MAN, AXE_MAN_UNIT, BOMBER, CARDS, CARDS_SET_UP, CARDS_SET_UP_HIDDEN, CARD_BITS,
    CARD_MASK, CARD_SHIFT, CASTLE, CATAPULT, CATAPULT_OPPOSED, CHOICE_SHIFT, CastleState,
    CastleView, Common, DEAL, DECIDED, DESTROYED, DIGGER, DISCARDED, DRAWN, DRAWN_HIDDEN, END_TURN,
    GATE, GRANARY, GRANARY_OPPOSED, HAND_SHOWN, HELD, HIDDEN, JESTER, KIND_SHIFT, KNIGHT,
    KNIGHT_UNIT, LOOKED, LOOKED_HIDDEN, LOST, MAX_DECISIONS, MAX_DECK, MAX_DISCARDS, MAX_SET_UPS,
    MAX_TURNS, MAX_WAYS, MERCENARY, NEW_PILE, OF_DISCARDS, OGRE, OVER, Own, PLACED,
    PLACED_UNDER, PLAY, PLAYED, PRIEST, RETURNED, REVEALED, SABOTEUR, SEEN, SET_UP, SET_UP_CARDS,
    SHOWED, SHOWN, SHUFFLED, SHUFFLED_HIDDEN, SPENT, SPY, STRENGTHEN, STRENGTHENED,
    STRENGTHENED_BEFORE, STRENGTHENED_HIDDEN, STARTER_DRAWN, PAID, AT_RANDOM,
    TO_PRIEST, STRUCTURES, SUMMONER, Side, Stack, TOOK_BACK, TURN,
    TURN_CUT, TURN_STARTED, UNITS_END, VETERAN, VOLLEY, counts_as, is_purple,
)
from engine.castle_rampage.history cimport (
    add_counts, add_drawn, add_entry, remember_drawn, sum_up_if_full,
)

from engine.castle_rampage.cards import (
    CARD_NAMES, CARD_TEXTS, SCHEME_UNITS, UNIT_NAMES, card_kind, card_numbers, card_title,
    default_cards, read_cards,
)
from engine.errors import ActionError, RulesetError

cdef enum:
    # Hidden places: rows of `hidden`, named in `hidden_places`.
    OPPONENT_HAND = 0
    OPPONENT_PILE
    ASIDE
    OPPONENT_GATE            # Its structures, in their order.

    # What became of an attack
    WON = 0                      # The attacking card is through with all it met.
    STOPPED                      # By a higher defence.

    DRAWS = 2                    # At the start of a turn,
    FIRST_DRAWS = 1              # and of the first of all.
    CATAPULT_BONUS = 1
    LOST_TO_SABOTEUR = 2
    DRAWN_BY_SPY = 2             # When it is destroyed.
    DRAWN_BY_JESTER = 3
    OGRE_DISCARDS = 2            # To put it under a structure.

assert sizeof(CastleState) <= sizeof(State)
assert sizeof(CastleView) <= sizeof(View)


cdef inline Stack* stack_of(CastleState* rampage, int seat, int structure) noexcept nogil:
    return &rampage.stacks[seat * STRUCTURES + structure]


cdef inline int standing(const Stack* stack) noexcept nogil:
    return stack.count - stack.top


cdef inline int kind_of(Action action) noexcept nogil:
    return action >> KIND_SHIFT


cdef inline int card_of(Action action) noexcept nogil:
    return (action >> CARD_SHIFT) & CARD_MASK


cdef inline int choice_of(Action action) noexcept nogil:
    return (action >> CHOICE_SHIFT) & CARD_MASK


cdef inline int discard_of(Action action, int i) noexcept nogil:
    # The i-th discard of a turn's action; 0 if there are fewer.
    return (action >> (CARD_BITS * (MAX_DISCARDS - 1 - i))) & CARD_MASK


cdef inline int set_up_card(Action action, int i) noexcept nogil:
    return (action >> (CARD_BITS * (DEAL - 1 - i))) & CARD_MASK


cdef inline Action discard(int card, int i) noexcept nogil:
    return <Action> card << (CARD_BITS * (MAX_DISCARDS - 1 - i))


cdef inline Action action_base(int kind, int card, int choice) noexcept nogil:
    return (<Action> kind << KIND_SHIFT | <Action> card << CARD_SHIFT
            | <Action> choice << CHOICE_SHIFT)


cdef int with_discards(const uint8_t* hand, int count, Action base, Action* actions,
                       int n) noexcept nogil:
    # Adds `base` with every way to discard `count` cards of a hand to the `n` actions; how many.
    cdef int i, j
    if count == 0:
        if actions != NULL:
            actions[n] = base
        return n + 1
    for i in range(1, CARDS):
        if hand[i] == 0:
            continue
        if count == 1:
            if actions != NULL:
                actions[n] = base | discard(i, 0)
            n += 1
            continue
        for j in range(i, CARDS):
            if hand[j] > (i == j):
                if actions != NULL:
                    actions[n] = base | discard(i, 0) | discard(j, 1)
                n += 1
    return n


cdef int with_up_to_two_discards(const uint8_t* hand, Action base, Action* actions,
                                 int n) noexcept nogil:
    cdef int i, j
    if actions != NULL:
        actions[n] = base
    n += 1
    for i in range(1, CARDS):
        if hand[i] == 0:
            continue
        if actions != NULL:
            actions[n] = base | discard(i, 0)
        n += 1
        for j in range(i, CARDS):
            if hand[j] > (i == j):
                if actions != NULL:
                    actions[n] = base | discard(i, 0) | discard(j, 1)
                n += 1
    return n


cdef int flags_of(const Common* common) noexcept nogil:
    # What else than the hand decides what can be done now.
    cdef const Side* other = &common.sides[1 - common.active]
    return (STRENGTHENED_BEFORE * common.strengthened | CATAPULT_OPPOSED * (other.catapults > 0)
            | GRANARY_OPPOSED * (other.granaries > 0))


cdef class CastleRampage(Game):
    """Castle Rampage under one ruleset: `set_ups`, `turns` and `cards`."""

    id = "castle_rampage"
    title = "Castle Rampage"
    rules_version = 2
    summary = (
        "Red and Blue each guard a Gate and a Castle: stacks of face-down cards. Whoever destroys "
        "the last card of the other's Castle wins.\n\n"
        "At the start both share out ten cards among Gate, Castle and hand. A turn begins with "
        "drawing 2 cards. Then a seat may put one card under a structure, face down, and play as "
        "many cards as it can pay for: most attack. An attack goes against the Gate while it "
        "stands, then against the Castle. The top card is revealed. If its defence is higher than "
        "the strength, the attack is over; if it is equal both are destroyed; if it is lower the "
        "defender is destroyed, its defence is taken off the strength, and the next card is "
        "revealed.\n\n"
        "Costs are paid with other cards of the hand. Schemes are strong attacks that cost units. "
        "Permanent cards stay in play. A match of 200 turns is a draw."
    )
    seat_titles = ("Red", "Blue")
    event_kinds = {
        SHUFFLED: "shuffled: cards*",
        SHUFFLED_HIDDEN: "shuffled_hidden: count",
        DRAWN: "drawn: cards*",
        DRAWN_HIDDEN: "drawn_hidden: count",
        CARDS_SET_UP: "cards_set_up: gate[2] castle[2] keep",
        CARDS_SET_UP_HIDDEN: "cards_set_up_hidden",
        TURN_STARTED: "turn_started: turn",
        STRENGTHENED: "strengthened: structure card",
        STRENGTHENED_HIDDEN: "strengthened_hidden: structure",
        PLAYED: "played: card choice",
        DISCARDED: "discarded: reason cards*",
        REVEALED: "revealed: structure card defence strength",
        HELD: "held: structure card",
        DESTROYED: "destroyed: structure card",
        RETURNED: "returned: card",
        LOOKED: "looked: gate castle",
        LOOKED_HIDDEN: "looked_hidden",
        HAND_SHOWN: "hand_shown: cards*",
        TURN_CUT: "turn_cut",
        STARTER_DRAWN: "starter_drawn",
    }
    hidden_places = (
        "opponent_hand", "opponent_pile", "set_aside", "opponent_gate", "opponent_castle",
    )

    def read_ruleset(self, given):
        ruleset = {"set_ups": MAX_SET_UPS, "turns": MAX_TURNS, "cards": None}
        for option, value in given.items():
            if option not in ruleset:
                raise RulesetError(option, "is not an option of Castle Rampage")
            ruleset[option] = value
        for option, most in (("set_ups", MAX_SET_UPS), ("turns", MAX_TURNS)):
            if not 1 <= ruleset[option] <= most:
                raise RulesetError(option, f"must be 1 to {most}")
        ruleset["cards"] = read_cards(ruleset["cards"] or default_cards())
        self.set_ups = ruleset["set_ups"]
        self.turn_limit = ruleset["turns"]
        self.set_cards(ruleset["cards"])
        return ruleset

    cdef set_cards(self, specs):
        cdef uint8_t hand[CARDS]
        cdef int dealt = SEATS * DEAL * self.set_ups
        for row, spec in enumerate(specs):
            card = spec["card"]
            self.row[card] = row
            self.copies[card] = spec["copies"]
            self.defence[GATE * CARDS + card] = spec["gate"]
            self.defence[CASTLE * CARDS + card] = spec["castle"]
            self.attack[card] = spec["attack"]
            self.bonus[card] = spec["bonus"]
            self.cost[card] = spec["cost"]
        if sum(self.copies[card] for card in range(CARDS) if not is_purple(card)) < dealt:
            raise RulesetError("cards", f"must hold at least {dealt} cards that are not purple")
        self.set_ways()
        # A hand that holds all there is has the most actions.
        for card in range(CARDS):
            hand[card] = self.copies[card]
        if self.turn_actions(hand, CATAPULT_OPPOSED | GRANARY_OPPOSED, NULL) > MAX_ACTIONS:
            raise RulesetError(
                "cards", f"must leave a hand at most {MAX_ACTIONS} actions: lower some costs")

    cdef set_ways(self):
        # Every multiset of unit cards that pays for a scheme, in the order of their actions.
        cdef Way* way
        for scheme, (units, extra) in SCHEME_UNITS.items():
            for paid in range(2):
                wanted = units + (extra,) * paid
                at = (scheme - VOLLEY) * 2 + paid
                self.way_count[at] = 0
                for cards in itertools.combinations_with_replacement(
                        range(KNIGHT, UNITS_END), len(wanted)):
                    if not any(all(counts_as(card, unit) for card, unit in zip(order, wanted))
                               for order in itertools.permutations(cards)):
                        continue
                    way = &self.ways[at * MAX_WAYS + self.way_count[at]]
                    self.way_count[at] += 1
                    memset(way, 0, sizeof(Way))
                    for i, card in enumerate(cards):
                        way.discards |= discard(card, i)
                        way.need[card] += 1

    def cards(self):
        return [
            {"id": CARD_NAMES[spec["card"]].upper(), "title": card_title(spec["card"]),
             "kind": card_kind(spec["card"]), "copies": spec["copies"],
             "numbers": card_numbers(spec), "text": CARD_TEXTS[spec["card"]]}
            for spec in self.ruleset["cards"]
        ]

    cdef state_fields(self, const State* state):
        return (<CastleState*> state)[0]

    cdef fill_state(self, State* state, fields):
        (<CastleState*> state)[0] = fields

    cdef view_fields(self, const View* view):
        return (<CastleView*> view)[0]

    cdef fill_view(self, View* view, fields):
        (<CastleView*> view)[0] = fields

    def read_action(self, action):
        if kind_of(action) == SET_UP_CARDS:
            cards = [set_up_card(action, i) for i in range(DEAL)]
            return {"kind": "set_up", "gate": cards[:2], "castle": cards[2:4], "keep": cards[4]}
        discards = [discard_of(action, i) for i in range(MAX_DISCARDS) if discard_of(action, i)]
        if kind_of(action) == STRENGTHEN:
            return {"kind": "strengthen", "card": card_of(action), "structure": choice_of(action),
                    "discards": discards}
        if kind_of(action) == PLAY:
            return {"kind": "play", "card": card_of(action), "choice": choice_of(action),
                    "discards": discards}
        return {"kind": "end_turn"}

    def make_action(self, fields):
        kind = fields["kind"]
        if kind == "end_turn":
            return action_base(END_TURN, 0, 0)
        if kind == "set_up":
            action = 0
            for name, cards, number in (("gate", fields["gate"], PLACED),
                                        ("castle", fields["castle"], PLACED),
                                        ("keep", [fields["keep"]], 1)):
                if len(cards) != number:
                    raise ActionError(name, f"must be {number} cards")
                for card in cards:
                    action = action << CARD_BITS | <Action> check_card(name, card)
            return action | action_base(SET_UP_CARDS, 0, 0)
        if kind not in ("strengthen", "play"):
            raise ActionError("kind", "must be set_up, strengthen, play or end_turn")
        check_card("card", fields["card"])
        if len(fields["discards"]) > MAX_DISCARDS:
            raise ActionError("discards", f"must be at most {MAX_DISCARDS}")
        name = "structure" if kind == "strengthen" else "choice"
        if not 0 <= fields[name] <= CARD_MASK:
            raise ActionError(name, f"must be 0 to {CARD_MASK}")
        action = action_base(
            STRENGTHEN if kind == "strengthen" else PLAY, fields["card"], fields[name])
        for i, card in enumerate(sorted(fields["discards"])):
            action |= discard(check_card("discards", card), i)
        return action

    def explain(self, position, int seat, action):
        fields = position.fields
        given = self.read_action(action)
        hand = fields["own"][seat]["hand"]
        if fields["common"]["phase"] == SET_UP or given["kind"] == "set_up":
            if fields["common"]["phase"] != SET_UP or given["kind"] != "set_up":
                return f"this phase does not ask for {given['kind']}"
            return "a set-up shares out the five cards that were dealt: two, two and one"
        cards = [given["card"], *given["discards"]]
        title = card_title(given["card"])
        for card in cards:
            if cards.count(card) > hand[card]:
                return f"the hand holds {hand[card]} {card_title(card)}, not {cards.count(card)}"
        if given["kind"] == "strengthen":
            if fields["common"]["strengthened"]:
                return "a seat strengthens only once a turn"
            if given["structure"] >= STRUCTURES:
                return "structure must be the gate or the castle"
            return f"to strengthen with {title} discards {2 if given['card'] == OGRE else 0} cards"
        return self.explain_play(position, seat, given, title)

    def explain_play(self, position, int seat, given, title):
        """Why a card of the hand cannot be played so."""
        card = given["card"]
        other = position.fields["common"]["sides"][1 - seat]
        if card == PRIEST and not KNIGHT_UNIT <= given["choice"] <= AXE_MAN_UNIT:
            return "Priest names a unit"
        if card == SABOTEUR:
            standing = {CATAPULT: other["catapults"], GRANARY: other["granaries"]}
            if not any(standing.values()):
                return "Saboteur needs a permanent card of the opponent"
            if not standing.get(given["choice"]):
                return "Saboteur names a permanent card that the opponent has"
        elif card >= VOLLEY and given["choice"] > 1:
            return f"{title} is played without the extra unit or with it"
        elif card != PRIEST and card < VOLLEY and given["choice"]:
            return f"{title} asks for no choice"
        if card >= VOLLEY:
            units, extra = SCHEME_UNITS[card]
            wanted = units + (extra,) * given["choice"]
            return f"{title} costs exactly these units: " + ", ".join(
                UNIT_NAMES[unit] for unit in wanted)
        if card == MERCENARY:
            return "Mercenary discards at most 2 cards"
        return f"{title} costs {self.cost[card]} other cards"

    # The rules

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        cdef CastleState* rampage = <CastleState*> state
        cdef int card, _copy
        memset(state, 0, sizeof(State))
        rampage.common.phase = SET_UP
        rampage.common.active = rng_below(rng, SEATS)
        rampage.common.winner = NO_SEAT
        log_event(log, TO_PUBLIC | TO_RECORD, STARTER_DRAWN, rampage.common.active, NULL, 0)
        for card in range(CARDS):
            for _copy in range(self.copies[card]):
                rampage.draw_pile[rampage.common.draw_size] = card
                rampage.common.draw_size += 1
        shuffle(rampage, rng, log)
        deal_set_up(rampage, rng, log)

    cdef int deciders(self, const State* state) noexcept nogil:
        cdef const Common* common = &(<const CastleState*> state).common
        if common.phase == OVER:
            return NOBODY
        return BOTH if common.phase == SET_UP else 1 << common.active

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        cdef const CastleState* rampage = <const CastleState*> state
        if rampage.common.phase == SET_UP:
            return set_up_actions(rampage.own[seat].hand, actions)
        return self.turn_actions(rampage.own[seat].hand, flags_of(&rampage.common), actions)

    cdef void apply(
        self, State* state, const Action* joint, Rng* rng, EventLog* log
    ) noexcept nogil:
        cdef CastleState* rampage = <CastleState*> state
        cdef Common* common = &rampage.common
        cdef int seat = common.active
        cdef Action action = joint[seat]
        if common.phase == SET_UP:
            self.set_up(rampage, joint, rng, log)
        else:
            add_entry(&common.sides[seat], DECIDED, flags_of(common))
            common.decisions += 1
            if kind_of(action) == STRENGTHEN:
                strengthen(rampage, seat, action, log)
            elif kind_of(action) == PLAY:
                self.play(rampage, seat, action, rng, log)
            else:
                self.end_turn(rampage, rng, log)
            if common.decisions == MAX_DECISIONS and common.phase != OVER:
                log_event(log, TO_PUBLIC | TO_RECORD, TURN_CUT, seat, NULL, 0)
                self.end_turn(rampage, rng, log)
        self.make_room(rampage)

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        cdef int winner = (<const CastleState*> state).common.winner
        return 0.5 if winner == NO_SEAT else winner == seat

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        cdef const CastleState* rampage = <const CastleState*> state
        cdef CastleView* seen = <CastleView*> view
        cdef Stack* shown
        cdef const Stack* stack
        cdef int at, i
        memset(view, 0, sizeof(View))
        seen.seat = seat
        seen.common = rampage.common
        if seat != SPECTATOR:
            seen.own = rampage.own[seat]
        for at in range(SEATS * STRUCTURES):
            stack = &rampage.stacks[at]
            shown = &seen.stacks[at]
            shown.count = stack.count
            shown.top = stack.top
            for i in range(stack.count):
                shown.known[i] = stack.known[i]
                if (at // STRUCTURES == seat or stack.known[i] == SHOWN
                        or (stack.known[i] == SEEN and seat != SPECTATOR)):
                    shown.cards[i] = stack.cards[i]

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        # A card put under a structure is seen by its owner, unless discards give the Ogre away.
        # Of what an action led to, the sizes of hands and structures are told apart, and no more.
        cdef const CastleState* rampage = <const CastleState*> after
        cdef uint64_t key = 0, sizes = 0
        cdef Action action
        cdef int each
        for each in range(SEATS):
            action = joint[each]
            if each != seat:
                if kind_of(action) == SET_UP_CARDS:
                    action = action_base(SET_UP_CARDS, 0, 0)
                elif kind_of(action) == STRENGTHEN and card_of(action) != OGRE:
                    action = action_base(STRENGTHEN, 0, choice_of(action))
            key = mix(key, action)
            sizes = sizes << 8 | rampage.common.sides[each].hand_size
        for each in range(SEATS * STRUCTURES):
            sizes = sizes << 8 | standing(&rampage.stacks[each])
        return mix(key, sizes)

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        cdef const CastleState* rampage = <const CastleState*> state
        cdef const Own* own = &rampage.own[1 - seat]
        cdef const Stack* stack
        cdef int structure, card, i
        for card in range(1, CARDS):
            places[OPPONENT_HAND][self.row[card]] += own.hand[card]
        if own.kept:
            places[ASIDE][self.row[own.kept]] += 1
        for i in range(rampage.common.draw_size):
            places[OPPONENT_PILE][self.row[rampage.draw_pile[i]]] += 1
        for structure in range(STRUCTURES):
            stack = &rampage.stacks[(1 - seat) * STRUCTURES + structure]
            for i in range(stack.top, stack.count):
                if stack.known[i] == HIDDEN:
                    card = self.row[stack.cards[i]]
                    places[OPPONENT_GATE + structure][card] += 1

    # What can be done in a turn

    cdef int turn_actions(self, const uint8_t* hand, int flags, Action* actions) noexcept nogil:
        cdef uint8_t rest[CARDS]
        cdef Action base
        cdef int card, structure, choice, n = 0
        for card in range(CARDS):
            rest[card] = hand[card]
        if not flags & STRENGTHENED_BEFORE:
            for card in range(1, CARDS):
                if hand[card]:
                    rest[card] -= 1
                    for structure in range(STRUCTURES):
                        base = action_base(STRENGTHEN, card, structure)
                        n = with_discards(rest, OGRE_DISCARDS if card == OGRE else 0, base,
                                          actions, n)
                    rest[card] += 1
        for card in range(1, CARDS):
            if hand[card] == 0:
                continue
            rest[card] -= 1
            if card >= VOLLEY:
                n = self.with_units(rest, card, actions, n)
            elif card == MERCENARY:
                base = action_base(PLAY, card, 0)
                n = with_up_to_two_discards(rest, base, actions, n)
            elif card == SABOTEUR:
                for choice in range(CATAPULT, GRANARY + 1):
                    if flags & (CATAPULT_OPPOSED if choice == CATAPULT else GRANARY_OPPOSED):
                        base = action_base(PLAY, card, choice)
                        n = with_discards(rest, self.cost[card], base, actions, n)
            elif card == PRIEST:
                for choice in range(KNIGHT_UNIT, AXE_MAN_UNIT + 1):
                    base = action_base(PLAY, card, choice)
                    n = with_discards(rest, self.cost[card], base, actions, n)
            else:
                base = action_base(PLAY, card, 0)
                n = with_discards(rest, self.cost[card], base, actions, n)
            rest[card] += 1
        if actions != NULL:
            actions[n] = action_base(END_TURN, 0, 0)
        return n + 1

    cdef int with_units(self, const uint8_t* hand, int scheme, Action* actions,
                        int n) noexcept nogil:
        # Adds every way to pay for a scheme to the `n` actions; how many.
        cdef const Way* way
        cdef int extra, at, i, unit
        for extra in range(2):
            at = (scheme - VOLLEY) * 2 + extra
            for i in range(self.way_count[at]):
                way = &self.ways[at * MAX_WAYS + i]
                for unit in range(KNIGHT, UNITS_END):
                    if way.need[unit] > hand[unit]:
                        break
                else:
                    if actions != NULL:
                        actions[n] = action_base(PLAY, scheme, extra) | way.discards
                    n += 1
        return n

    # Set-up

    cdef void set_up(
        self, CastleState* rampage, const Action* joint, Rng* rng, EventLog* log
    ) noexcept nogil:
        cdef Common* common = &rampage.common
        cdef Own* own
        cdef uint8_t cards[DEAL]
        cdef int seat, i
        for seat in range(SEATS):
            own = &rampage.own[seat]
            for i in range(DEAL):
                cards[i] = set_up_card(joint[seat], i)
            for i in range(STRUCTURES * PLACED):
                put_under(stack_of(rampage, seat, i // PLACED), cards[i], HIDDEN)
            log_private(log, to_seat(seat), seat, CARDS_SET_UP, cards, DEAL,
                        CARDS_SET_UP_HIDDEN, NULL, 0)
            memset(own.hand, 0, sizeof(own.hand))
            if common.set_ups + 1 == self.set_ups:
                own.hand[cards[DEAL - 1]] += 1
                own.hand[own.kept] += own.kept > 0
                own.kept = 0
                common.sides[seat].hand_size = self.set_ups
            else:
                own.kept = cards[DEAL - 1]
        common.set_ups += 1
        if common.set_ups < self.set_ups:
            deal_set_up(rampage, rng, log)
        else:
            common.phase = TURN
            start_turn(rampage, common.active, rng, log)

    cdef void make_room(self, CastleState* rampage) noexcept nogil:
        sum_up_if_full(rampage)

    cdef void end_turn(self, CastleState* rampage, Rng* rng, EventLog* log) noexcept nogil:
        if rampage.common.turn == self.turn_limit:
            rampage.common.phase = OVER
        else:
            start_turn(rampage, 1 - rampage.common.active, rng, log)

    # Playing a card

    cdef void play(
        self, CastleState* rampage, int seat, Action action, Rng* rng, EventLog* log
    ) noexcept nogil:
        cdef Common* common = &rampage.common
        cdef Side* side = &common.sides[seat]
        cdef int card = card_of(action)
        cdef int choice = choice_of(action)
        cdef int strength = self.attack[card]
        cdef int fate = WON
        cdef uint8_t played[2]
        played[0] = card
        played[1] = choice
        spend(rampage, seat, card)
        log_event(log, TO_PUBLIC | TO_RECORD, PLAYED, seat, played, 2)
        discard_chosen(rampage, seat, action, log)
        if card == ARCHER:
            discard_random(rampage, 1 - seat, 1, rng, log)
        elif card == AXE_MAN:
            draw(rampage, seat, 1, rng, log)
        elif card == MERCENARY:
            strength += self.bonus[card] * ((discard_of(action, 0) > 0)
                                            + (discard_of(action, 1) > 0))
        elif card >= VOLLEY:
            strength += self.bonus[card] * choice
        elif card == BOMBER:
            if standing(stack_of(rampage, 1 - seat, GATE)):
                destroy_top(rampage, 1 - seat, GATE, log)
        elif card == SABOTEUR:
            destroy_permanent(rampage, 1 - seat, choice, log)
        elif card == SPY:
            look(rampage, seat, log)
            draw(rampage, seat, 1, rng, log)
        elif card == JESTER:
            destroy_top(rampage, seat, CASTLE, log)
            if common.phase != OVER:
                draw(rampage, seat, DRAWN_BY_JESTER, rng, log)
        elif card == SUMMONER:
            # The own one last: who empties both loses.
            destroy_top(rampage, 1 - seat, CASTLE, log)
            destroy_top(rampage, seat, CASTLE, log)
        elif card == PRIEST:
            show_hand(rampage, 1 - seat, choice, log)
        if self.attack[card]:
            strength += CATAPULT_BONUS * side.catapults
            fate = self.attack_with(rampage, seat, card, strength, rng, log)
        if card == CATAPULT:
            side.catapults += 1
        elif card == GRANARY:
            side.granaries += 1
        elif card == VETERAN and fate == STOPPED:
            rampage.own[seat].hand[card] += 1
            side.hand_size += 1
            add_entry(side, TOOK_BACK, card)
            log_event(log, TO_PUBLIC | TO_RECORD, RETURNED, seat, played, 1)
        else:
            common.discards[card] += 1

    cdef int attack_with(self, CastleState* rampage, int seat, int card, int strength, Rng* rng,
                         EventLog* log) noexcept nogil:
        cdef int other = 1 - seat
        cdef int structure, defender, defence
        cdef Stack* stack
        cdef uint8_t values[4]
        while True:
            structure = CASTLE
            if card != DIGGER and standing(stack_of(rampage, other, GATE)):
                structure = GATE
            stack = stack_of(rampage, other, structure)
            defender = stack.cards[stack.top]
            defence = self.defence[structure * CARDS + defender]
            values[0] = structure
            values[1] = defender
            values[2] = defence
            values[3] = strength
            log_event(log, TO_PUBLIC | TO_RECORD, REVEALED, other, values, 4)
            if defence > strength:
                stack.known[stack.top] = SHOWN
                log_event(log, TO_PUBLIC | TO_RECORD, HELD, other, values, 2)
                return STOPPED
            destroy_top(rampage, other, structure, log)
            if rampage.common.phase == OVER:
                return WON
            if defender == SABOTEUR:
                discard_random(rampage, seat, LOST_TO_SABOTEUR, rng, log)
            elif defender == SPY:
                draw(rampage, other, DRAWN_BY_SPY, rng, log)
            if defender == BOMBER or defence == strength:
                return WON
            strength -= defence


# What happens to cards

cdef int set_up_actions(const uint8_t* hand, Action* actions) noexcept nogil:
    # Every order of the five cards that were dealt.
    cdef uint8_t left[CARDS]
    cdef uint8_t order[DEAL]
    cdef int n = 0, depth = 0, card, i
    cdef Action action
    for card in range(CARDS):
        left[card] = hand[card]
    order[0] = 0
    while depth >= 0:
        if order[depth]:
            left[order[depth]] += 1
        card = order[depth] + 1
        while card < CARDS and left[card] == 0:
            card += 1
        if card == CARDS:
            depth -= 1
            continue
        order[depth] = card
        left[card] -= 1
        if depth < DEAL - 1:
            depth += 1
            order[depth] = 0
            continue
        action = action_base(SET_UP_CARDS, 0, 0)
        for i in range(DEAL):
            action |= <Action> order[i] << (CARD_BITS * (DEAL - 1 - i))
        actions[n] = action
        n += 1
    return n


cdef void deal_set_up(CastleState* rampage, Rng* rng, EventLog* log) noexcept nogil:
    # Five cards for each seat, none of them purple; those are shuffled back. The draw pile is
    # shuffled even if there were none, so that nobody is told.
    cdef Common* common = &rampage.common
    cdef uint8_t cards[DEAL]
    cdef uint8_t purple[MAX_DECK]
    cdef int seat, i, n, card, aside = 0
    for seat in range(SEATS):
        n = 0
        while n < DEAL:
            common.draw_size -= 1
            card = rampage.draw_pile[common.draw_size]
            rampage.draw_pile[common.draw_size] = 0
            if is_purple(card):
                purple[aside] = card
                aside += 1
            else:
                cards[n] = card
                n += 1
                rampage.own[seat].hand[card] += 1
                remember_drawn(&rampage.own[seat], card)
        common.sides[seat].hand_size = DEAL
        log_drawn(log, seat, cards, DEAL)
    for i in range(aside):
        rampage.draw_pile[common.draw_size] = purple[i]
        common.draw_size += 1
    shuffle(rampage, rng, log)


cdef void start_turn(CastleState* rampage, int seat, Rng* rng, EventLog* log) noexcept nogil:
    cdef Common* common = &rampage.common
    cdef uint8_t turn
    common.turn += 1
    common.active = seat
    common.strengthened = False
    common.decisions = 0
    turn = common.turn
    log_event(log, TO_PUBLIC | TO_RECORD, TURN_STARTED, seat, &turn, 1)
    draw(rampage, seat, (FIRST_DRAWS if turn == 1 else DRAWS) + common.sides[seat].granaries,
         rng, log)


cdef void strengthen(CastleState* rampage, int seat, Action action, EventLog* log) noexcept nogil:
    cdef int card = card_of(action)
    cdef int structure = choice_of(action)
    cdef bint ogre = card == OGRE        # Everyone knows it by its discards.
    cdef uint8_t values[2]
    values[0] = structure
    values[1] = card
    discard_chosen(rampage, seat, action, log)
    rampage.own[seat].hand[card] -= 1
    rampage.common.sides[seat].hand_size -= 1
    rampage.common.strengthened = True
    put_under(stack_of(rampage, seat, structure), card, SHOWN if ogre else HIDDEN)
    add_entry(&rampage.common.sides[seat], PLACED_UNDER, structure)
    if ogre:
        log_event(log, TO_PUBLIC | TO_RECORD, STRENGTHENED, seat, values, 2)
    else:
        log_private(log, to_seat(seat), seat, STRENGTHENED, values, 2,
                    STRENGTHENED_HIDDEN, values, 1)


cdef void put_under(Stack* stack, int card, int known) noexcept nogil:
    stack.cards[stack.count] = card
    stack.known[stack.count] = known
    stack.count += 1


cdef void destroy_top(CastleState* rampage, int seat, int structure, EventLog* log) noexcept nogil:
    cdef Stack* stack = stack_of(rampage, seat, structure)
    cdef uint8_t values[2]
    values[0] = structure
    values[1] = stack.cards[stack.top]
    stack.known[stack.top] = SHOWN
    stack.top += 1
    rampage.common.discards[values[1]] += 1
    log_event(log, TO_PUBLIC | TO_RECORD, DESTROYED, seat, values, 2)
    if structure == CASTLE and standing(stack) == 0:
        rampage.common.phase = OVER
        rampage.common.winner = 1 - seat


cdef void destroy_permanent(CastleState* rampage, int seat, int card, EventLog* log) noexcept nogil:
    cdef uint8_t values[2]
    values[0] = STRUCTURES       # It lay in none.
    values[1] = card
    if card == CATAPULT:
        rampage.common.sides[seat].catapults -= 1
    else:
        rampage.common.sides[seat].granaries -= 1
    rampage.common.discards[card] += 1
    log_event(log, TO_PUBLIC | TO_RECORD, DESTROYED, seat, values, 2)


cdef void look(CastleState* rampage, int seat, EventLog* log) noexcept nogil:
    cdef Stack* stack
    cdef uint8_t values[STRUCTURES]
    cdef int structure
    for structure in range(STRUCTURES):
        stack = stack_of(rampage, 1 - seat, structure)
        values[structure] = 0
        if standing(stack):
            values[structure] = stack.cards[stack.top]
            if stack.known[stack.top] == HIDDEN:
                stack.known[stack.top] = SEEN
    log_private(log, to_seat(seat), seat, LOOKED, values, STRUCTURES, LOOKED_HIDDEN, NULL, 0)


cdef void show_hand(CastleState* rampage, int seat, int unit, EventLog* log) noexcept nogil:
    cdef Own* own = &rampage.own[seat]
    cdef Side* side = &rampage.common.sides[seat]
    cdef uint8_t cards[MAX_DECK]
    cdef int card, _copy, n = 0
    add_entry(side, SHOWED, unit)
    add_counts(side, own.hand)
    for card in range(CARDS):
        for _copy in range(own.hand[card]):
            cards[n] = card
            n += 1
    log_event(log, TO_PUBLIC | TO_RECORD, HAND_SHOWN, seat, cards, n)
    n = 0
    for card in range(1, UNITS_END):
        if counts_as(card, unit):
            for _copy in range(own.hand[card]):
                cards[n] = card
                n += 1
            rampage.common.discards[card] += own.hand[card]
            side.hand_size -= own.hand[card]
            own.hand[card] = 0
    log_discarded(log, seat, TO_PRIEST, cards, n)


cdef void spend(CastleState* rampage, int seat, int card) noexcept nogil:
    rampage.own[seat].hand[card] -= 1
    rampage.common.sides[seat].hand_size -= 1
    add_entry(&rampage.common.sides[seat], SPENT, card)


cdef void discard_chosen(
    CastleState* rampage, int seat, Action action, EventLog* log
) noexcept nogil:
    cdef uint8_t cards[MAX_DISCARDS]
    cdef int i, card, n = 0
    for i in range(MAX_DISCARDS):
        card = discard_of(action, i)
        if card:
            spend(rampage, seat, card)
            rampage.common.discards[card] += 1
            cards[n] = card
            n += 1
    log_discarded(log, seat, PAID, cards, n)


cdef void discard_random(
    CastleState* rampage, int seat, int number, Rng* rng, EventLog* log
) noexcept nogil:
    cdef Own* own = &rampage.own[seat]
    cdef Side* side = &rampage.common.sides[seat]
    cdef uint8_t cards[LOST_TO_SABOTEUR]
    cdef int at, card, n = 0
    while n < number and side.hand_size:
        at = rng_below(rng, side.hand_size)
        card = 0
        while at >= own.hand[card]:
            at -= own.hand[card]
            card += 1
        own.hand[card] -= 1
        side.hand_size -= 1
        rampage.common.discards[card] += 1
        add_entry(side, LOST, card)
        cards[n] = card
        n += 1
    log_discarded(log, seat, AT_RANDOM, cards, n)


cdef void draw(CastleState* rampage, int seat, int number, Rng* rng, EventLog* log) noexcept nogil:
    cdef Common* common = &rampage.common
    cdef Own* own = &rampage.own[seat]
    cdef uint8_t cards[MAX_DECK]
    cdef int card, n = 0
    while number > 0:
        if common.draw_size == 0:
            # What came from the old pile is told before the new one is shuffled.
            log_drawn(log, seat, cards, n)
            n = 0
            if not reshuffle(rampage, rng, log):
                return
        common.draw_size -= 1
        card = rampage.draw_pile[common.draw_size]
        rampage.draw_pile[common.draw_size] = 0
        own.hand[card] += 1
        common.sides[seat].hand_size += 1
        remember_drawn(own, card)
        add_drawn(&common.sides[seat])
        cards[n] = card
        n += 1
        number -= 1
    log_drawn(log, seat, cards, n)


cdef void log_drawn(EventLog* log, int seat, const uint8_t* cards, uint8_t n) noexcept nogil:
    if n:
        log_private(log, to_seat(seat), seat, DRAWN, cards, n, DRAWN_HIDDEN, &n, 1)


cdef void log_discarded(EventLog* log, int seat, int reason, const uint8_t* cards,
                        int n) noexcept nogil:
    cdef uint8_t values[1 + MAX_DECK]
    if n:
        values[0] = reason
        memcpy(values + 1, cards, n)
        log_event(log, TO_PUBLIC | TO_RECORD, DISCARDED, seat, values, 1 + n)


cdef bint reshuffle(CastleState* rampage, Rng* rng, EventLog* log) noexcept nogil:
    # The discard pile becomes the draw pile; False if it is empty too.
    cdef Common* common = &rampage.common
    cdef int card, seat, _copy
    for card in range(1, CARDS):
        for _copy in range(common.discards[card]):
            rampage.draw_pile[common.draw_size] = card
            common.draw_size += 1
    if common.draw_size == 0:
        return False
    for seat in range(SEATS):
        add_entry(&common.sides[seat], NEW_PILE, OF_DISCARDS)
        add_counts(&common.sides[seat], common.discards)
        remember_drawn(&rampage.own[seat], 0)
    memset(common.discards, 0, sizeof(common.discards))
    shuffle(rampage, rng, log)
    return True


cdef void shuffle(CastleState* rampage, Rng* rng, EventLog* log) noexcept nogil:
    # The record lists the cards from the top.
    cdef uint8_t cards[MAX_DECK]
    cdef uint8_t n = rampage.common.draw_size
    cdef int i
    rng_shuffle(rng, rampage.draw_pile, n)
    if log == NULL:
        return
    for i in range(n):
        cards[i] = rampage.draw_pile[n - 1 - i]
    log_private(log, 0, NO_SEAT, SHUFFLED, cards, n, SHUFFLED_HIDDEN, &n, 1)


def check_card(name, card):
    """A card of an action; raises ActionError."""
    if not 0 < card < CARDS:
        raise ActionError(name, f"must be cards, 1 to {CARDS - 1}")
    return card
