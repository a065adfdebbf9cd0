"""Castle Rampage: a duel over gates and castles, by the rules sheet of the card game.

RED (seat 0) and BLUE (seat 1) share one deck. Each has two structures, a Gate and a Castle: stacks
of face-down cards, every card with one defence for the Gate and one for the Castle. A seat wins by
destroying the last card of the other's Castle.

*Set-up.* Twice, each seat is dealt 5 cards and shares them out: 2 to the Gate, 2 to the Castle, 1
for the hand. Both seats do so at the same time. Purple cards are replaced when they are dealt, and
shuffled back. Cards always go under the cards that lie in a structure already. The starter is drawn
by lot.

*Turns.* A turn begins with drawing 2 cards (1 in the starter's first turn), and 1 more for each own
Granary. There is no hand limit. When the draw pile is empty the discard pile is shuffled into a new
one; when both are empty, no card is drawn. Then the seat does any number of these things:

- Strengthen, once a turn: a hand card goes under a structure, face down, without its effect and its
  cost. For an Ogre, and for no other card, two other cards are discarded.
- Play a card: its cost is paid with other cards of the hand, its effect is carried out, and it is
  discarded, unless it is permanent.
- End the turn.

*Attacks* go against the other Gate while it has cards, else against the Castle. The top card is
revealed. If its defence is higher, the attacker is destroyed and the card goes back on top, face
down; if it is equal, both are destroyed; if it is lower, the defender is destroyed, its defence is
taken off the strength, and the next card is revealed, on through the Gate into the Castle.

*Cards* have their effects before the attack: see rules/turns.pyx. A purple card has
another effect when it is destroyed in an attack, and only then; the attack goes on after that
effect, unless the match is over or a Bomber destroyed the attacker.

*Schemes* cost units, which are discarded. One more unit, a certain one for each scheme, adds the
bonus.

*The end.* A match of 200 turns is a draw. With the right cards a turn need never end, so the 800th
decision of a turn ends the turn, whatever the decision is. No turn at a table comes near that.

Source: the rules sheet of Castle Rampage. The printed list of its cards is lost: numbers and copies
are a reconstruction.

The rooms, in the order in which the modules use each other: `state` (constants, structs, the
tables of a card list), `cards` (the card list), `actions`, `history` (what everyone has seen of a
hand), `turns` (the set-up, the turns and the cards) and `rules` (the game, as the contract has it),
then what the search uses, in `play`: `features` (what is learned), `playout` and `sampler`,
with what a seat can know of a hand in `posterior`.
"""

from libc.string cimport memset

from engine.chance cimport Rng, mix, rng_shuffle
from engine.events cimport NO_SEAT, TO_PUBLIC, TO_RECORD, EventLog, log_event
from engine.game cimport (
    ABI, BOTH, MAX_ACTIONS, NOBODY, SEATS, SPECTATOR, Action, Cards, Game, State, View, action_at,
)
from engine.integers cimport uint64_t, uint8_t
from games.castle_rampage.rules.actions cimport (
    action_base, card_of, choice_of, discard, discard_of, has_cards, has_set_up, kind_of,
    must_end_turn, set_up_actions, set_up_card, turn_actions,
)
from games.castle_rampage.rules.cards cimport fill_tables
from games.castle_rampage.rules.history cimport add_entry, sum_up_if_full
from games.castle_rampage.rules.state cimport *
from games.castle_rampage.rules.turns cimport begin, end_turn, play, set_up, strengthen

from engine.card_list import check_ranges, read_options
from engine.errors import ActionError, RulesetError
from games.castle_rampage.rules.cards import (
    CARD_NAMES, CARD_TEXTS, SCHEME_UNITS, UNIT_NAMES, card_kind, card_numbers, card_title,
    default_cards, read_cards,
)
from games.castle_rampage.rules.words import PHRASES

cdef enum:
    # Hidden places: rows of `hidden`, named in `hidden_places`.
    OPPONENT_HAND = 0
    OPPONENT_PILE
    ASIDE
    OPPONENT_GATE            # From this row on: the opponent's structures, in their order.

    MOST_SET_UPS = 120       # Ways to lay five different cards, one after the other.

assert sizeof(CastleState) <= sizeof(State)
assert sizeof(CastleView) <= sizeof(View)


cdef int flags_of(const Common* common) noexcept nogil:
    # The flags of a DECIDED entry. With the hand, they determine which actions are legal.
    cdef const Side* other = &common.sides[1 - common.active]
    return (STRENGTHENED_BEFORE * common.strengthened | CATAPULT_OPPOSED * (other.catapults > 0)
            | GRANARY_OPPOSED * (other.granaries > 0))


cdef inline bint may_choose(const Common* common, const uint8_t* hand,
                            Action action) noexcept nogil:
    # What is asked first is most often the answer.
    if kind_of(action) == SET_UP_CARDS:
        return has_set_up(hand, action)
    if not has_cards(hand, action):
        return False
    if kind_of(action) == STRENGTHEN:
        return not common.strengthened
    if card_of(action) == SABOTEUR:
        return flags_of(common) & (
            CATAPULT_OPPOSED if choice_of(action) == CATAPULT else GRANARY_OPPOSED) != 0
    return True


cdef Action all_alike(int card) noexcept nogil:
    # The set-up of a hand with five copies of a card.
    cdef Action action = action_base(SET_UP_CARDS, 0, 0)
    cdef int i
    for i in range(DEAL):
        action |= <Action> card << (CARD_BITS * i)
    return action


cdef class CastleRampage(Game):
    """Castle Rampage under one ruleset: `set_ups`, `turns` and `cards`."""

    id = "castle_rampage"
    abi = ABI
    effective_rounds = 50
    unseen_order = True
    temperatures = {"beginner": 1.7, "casual": 1.1, "regular": 1.0, "skilled": 0.88}
    title = "Castle Rampage"
    rules_version = 2
    summary = (
        "Red and Blue each guard a Gate and a Castle: stacks of face-down cards. Whoever destroys "
        "the last card of the other's Castle wins.\n\n"
        "Twice both are dealt five cards: two go under the Gate, two under the Castle, and one is "
        "kept for the hand. A turn begins with drawing 2 cards (1 in the very first turn). Then a "
        "seat may put one card under a structure, face down, and play as many cards as it can pay "
        "for with other cards of the hand. Schemes cost units and are strong attacks. Permanent "
        "cards stay in play, all others are discarded. When the draw pile is empty, the discard "
        "pile is shuffled into a new one.\n\n"
        "An attack goes against the Gate while it stands, then against the Castle. The top card is "
        "revealed. If its defence is higher than the strength, the attack is over; if it is equal "
        "both are destroyed; if it is lower the defender is destroyed, its defence is taken off "
        "the strength, and the next card is revealed.\n\n"
        "A match of 200 turns is a draw. The 800th decision of a turn ends the turn."
    )
    seat_titles = ("Red", "Blue")
    phrases = PHRASES
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
        self.state_bytes = sizeof(CastleState)
        ruleset = read_options(
            given, {"set_ups": MAX_SET_UPS, "turns": MAX_TURNS, "cards": None}, self.title)
        check_ranges(ruleset, {"set_ups": (1, MAX_SET_UPS), "turns": (1, MAX_TURNS)})
        ruleset["cards"] = read_cards(ruleset["cards"] or default_cards())
        self.set_ups = ruleset["set_ups"]
        self.turn_limit = ruleset["turns"]
        fill_tables(&self.tables, ruleset["cards"])
        self.check_deck()
        return ruleset

    cdef check_deck(self):
        # Raises RulesetError unless a match can be dealt and no hand has too many actions.
        cdef uint8_t hand[CARDS]
        cdef int dealt = SEATS * DEAL * self.set_ups
        copies = [self.tables.copies[card] for card in range(CARDS)]
        if sum(n for card, n in enumerate(copies) if not is_purple(card)) < dealt:
            raise RulesetError(
                "cards", f"must hold at least {dealt} cards that are not purple", "TOO_FEW_CARDS")
        # A hand that holds the whole deck has the most actions.
        for card in range(CARDS):
            hand[card] = copies[card]
        self.most = turn_actions(&self.tables, hand, CATAPULT_OPPOSED | GRANARY_OPPOSED, NULL)
        if self.most > MAX_ACTIONS:
            raise RulesetError(
                "cards", f"must leave a hand at most {MAX_ACTIONS} actions: lower some costs",
                "TOO_MANY_ACTIONS")

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
                return "WRONG_PHASE", f"this phase does not ask for {given['kind']}"
            return "NOT_AS_DEALT", (
                "a set-up shares out the five cards that were dealt: two, two and one")
        cards = [given["card"], *given["discards"]]
        title = card_title(given["card"])
        for card in cards:
            if cards.count(card) > hand[card]:
                return "NOT_IN_HAND", (
                    f"the hand holds {hand[card]} {card_title(card)}, not {cards.count(card)}")
        if given["kind"] == "strengthen":
            if fields["common"]["strengthened"]:
                return "ALREADY_STRENGTHENED", "a seat strengthens only once a turn"
            if given["structure"] >= STRUCTURES:
                return "NO_STRUCTURE", "structure must be the gate or the castle"
            return "WRONG_DISCARDS", (
                f"strengthening with {title} takes {2 if given['card'] == OGRE else 0} discards")
        return self.explain_play(position, seat, given, title)

    def explain_play(self, position, int seat, given, title):
        """Explain why a card of the hand cannot be played in this way."""
        card = given["card"]
        other = position.fields["common"]["sides"][1 - seat]
        if card == PRIEST and not KNIGHT_UNIT <= given["choice"] <= AXE_MAN_UNIT:
            return "UNIT_REQUIRED", "Priest names a unit"
        if card == SABOTEUR:
            opposed = {CATAPULT: other["catapults"], GRANARY: other["granaries"]}
            if not any(opposed.values()):
                return "NO_PERMANENT", "Saboteur needs a permanent card of the opponent"
            if not opposed.get(given["choice"]):
                return "PERMANENT_REQUIRED", (
                    "Saboteur names a permanent card that the opponent has")
        elif card >= VOLLEY and given["choice"] > 1:
            return "WRONG_CHOICE", f"{title} is played without the extra unit or with it"
        elif card != PRIEST and card < VOLLEY and given["choice"]:
            return "WRONG_CHOICE", f"{title} asks for no choice"
        if card >= VOLLEY:
            units, extra = SCHEME_UNITS[card]
            wanted = units + (extra,) * given["choice"]
            return "WRONG_DISCARDS", f"{title} costs exactly these units: " + ", ".join(
                UNIT_NAMES[unit] for unit in wanted)
        if card == MERCENARY:
            return "WRONG_DISCARDS", "Mercenary discards at most 2 cards"
        return "WRONG_DISCARDS", f"{title} costs {self.tables.cost[card]} other cards"

    @property
    def max_mixed_actions(self):
        # Hardly any hand has so few set-ups that a mixture of them could be learnt.
        return 0

    @property
    def most_legal(self):
        return max(self.most, MOST_SET_UPS)

    # The rules

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        memset(state, 0, sizeof(State))
        begin(<CastleState*> state, &self.tables, rng, log)

    cdef int deciders(self, const State* state) noexcept nogil:
        cdef const Common* common = &(<const CastleState*> state).common
        if common.phase == OVER:
            return NOBODY
        return BOTH if common.phase == SET_UP else 1 << common.active

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        cdef const CastleState* rampage = <const CastleState*> state
        if rampage.common.phase == SET_UP:
            return set_up_actions(rampage.own[seat].hand, actions)
        return turn_actions(&self.tables, rampage.own[seat].hand, flags_of(&rampage.common),
                            actions)

    cdef uint64_t legal_among(self, const State* state, int seat, const Action* actions,
                              size_t stride, int count) noexcept nogil:
        cdef const CastleState* rampage = <const CastleState*> state
        cdef const uint8_t* hand = rampage.own[seat].hand
        cdef uint64_t legal = 0
        cdef int i
        for i in range(count):
            legal |= <uint64_t> may_choose(
                &rampage.common, hand, action_at(actions, stride, i)) << i
        return legal

    cdef Action only_action(self, const State* state, int seat) noexcept nogil:
        cdef const CastleState* rampage = <const CastleState*> state
        cdef const uint8_t* hand = rampage.own[seat].hand
        cdef int card
        if rampage.common.phase == SET_UP:
            for card in range(1, CARDS):
                if hand[card] == DEAL:
                    return all_alike(card)
            return 0
        if must_end_turn(&self.tables, hand, rampage.common.sides[seat].hand_size,
                         flags_of(&rampage.common)):
            return action_base(END_TURN, 0, 0)
        return 0

    cdef void apply(self, State* state, const Action* joint, Rng* rng,
                    EventLog* log) noexcept nogil:
        cdef CastleState* rampage = <CastleState*> state
        cdef Common* common = &rampage.common
        cdef int seat = common.active
        cdef Action action = joint[seat]
        if common.phase == SET_UP:
            set_up(rampage, joint, self.set_ups, rng, log)
        else:
            add_entry(&common.sides[seat], DECIDED, flags_of(common))
            common.decisions += 1
            if kind_of(action) == STRENGTHEN:
                strengthen(rampage, seat, action, log)
            elif kind_of(action) == PLAY:
                play(&self.tables, rampage, seat, action, rng, log)
            else:
                end_turn(rampage, self.turn_limit, rng, log)
            # With the right cards a turn need never end, so its 800th decision ends it. If that was
            # the decision to end the turn, `decisions` already counts those of the next turn.
            if common.decisions == MAX_DECISIONS and common.phase != OVER:
                log_event(log, TO_PUBLIC | TO_RECORD, TURN_CUT, seat, NULL, 0)
                end_turn(rampage, self.turn_limit, rng, log)
        sum_up_if_full(rampage)

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
        # The owner sees the card that goes under a structure; the other seat sees it only if it is
        # an Ogre. Of the results of the actions, the key has only the sizes of hands and
        # structures.
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
            if action:
                key = mix(key, action << 1 | each)
            sizes = sizes << 8 | rampage.common.sides[each].hand_size
        for each in range(SEATS * STRUCTURES):
            sizes = sizes << 8 | standing(&rampage.stacks[each])
        if rampage.common.phase == SET_UP:
            key = mix(key, self.root_key(after, seat))
        return mix(key, sizes)

    cdef uint64_t root_key(self, const State* state, int seat) noexcept nogil:
        # In a set-up, decisions with different cards have no action in common.
        cdef const CastleState* rampage = <const CastleState*> state
        cdef const uint8_t* hand = rampage.own[seat].hand
        cdef uint64_t key = 0
        cdef int card
        if rampage.common.phase != SET_UP:
            return 0
        for card in range(1, CARDS):
            if hand[card]:
                key = mix(key, card << 8 | hand[card])
        return key

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        cdef const CastleState* rampage = <const CastleState*> state
        cdef const Own* own = &rampage.own[1 - seat]
        cdef const Stack* stack
        cdef int structure, card, i
        for card in range(1, CARDS):
            places[OPPONENT_HAND][self.tables.row[card]] += own.hand[card]
        if own.kept:
            places[ASIDE][self.tables.row[own.kept]] += 1
        for i in range(rampage.common.draw_size):
            places[OPPONENT_PILE][self.tables.row[rampage.draw_pile[i]]] += 1
        for structure in range(STRUCTURES):
            stack = &rampage.stacks[(1 - seat) * STRUCTURES + structure]
            for i in range(stack.top, stack.count):
                if stack.known[i] == HIDDEN:
                    card = self.tables.row[stack.cards[i]]
                    places[OPPONENT_GATE + structure][card] += 1

    cdef void shuffle_unseen(self, State* state, Rng* rng) noexcept nogil:
        cdef CastleState* rampage = <CastleState*> state
        rng_shuffle(rng, rampage.draw_pile, rampage.common.draw_size)


def check_card(name, card):
    """Return a card of an action; raise ActionError if it is none."""
    if not 0 < card < CARDS:
        raise ActionError(name, f"must be cards, 1 to {CARDS - 1}")
    return card
