"""Champion Chess: a card duel with a chess theme, by the rule sheet of Warpspawn Games.

WHITE (seat 0) and BLACK (seat 1) each have a battle deck of the same 52 cards: nobles, which fight,
and aid, which helps them. The seat that captures the opposing King wins. Both seats make every
decision at the same time, then reveal it.

A turn (its challenge is in `challenge.pyx`):

1. *Draw.* Each hand is filled to 7 cards, one at a time. When the battle deck is empty, the reserve
   is shuffled into a new one; when both are empty, the hand stays short.
2. *Champion.* A hand without a noble is shown to both seats and goes to the reserve, and a new hand
   is drawn, until the hand holds a noble. Then each seat plays one noble.
3. *Aid.* Each seat plays any number of aid cards, at most one of each except Pawns.
4. *Revelation.* They are turned over. *Calculations.* Each side adds up move, attack and defend of
   its champion and aid. *Resolution.* The side that is higher in more of the three wins the
   challenge; if neither is, both champions lose.
5. *Fate.* All aid goes to its owner's defeated pile, a winning champion to its owner's reserve, a
   losing one to its owner's defeated pile. A King that loses is captured, and the match is over; if
   both Kings are captured, it is a draw.
6. *End.* Each seat discards any cards of its hand to its reserve.

Castling (an option, on by default): the first time that the King is the only noble in a seat's
hand, it may castle with it if its battle deck holds a Rook: the Rook fights, the King goes to the
deck, and the deck is shuffled. That first time is used up whether the seat castles or not.

The piles are face up, and both seats know what is in both decks at the start, so a seat does not
know only how the other seat's unseen cards are split between hand and deck.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.string cimport memcpy, memset

from engine.chance cimport Rng, mix, rng_shuffle
from engine.events cimport TO_PUBLIC, TO_RECORD, EventLog, log_event, log_private, to_seat
from engine.game cimport ABI, BOTH, NOBODY, SEATS, SPECTATOR, Cards, State, View, action_at
from engine.integers cimport uint64_t, uint8_t
from games.champion_chess.rules.challenge cimport play_aid
from games.champion_chess.rules.hand cimport (
    NOBLE_BITS, cards_of, count_in, first_card, holds, nobles, only_noble_is_king, pack,
    playable_aid, spread, take_from, total, without,
)
from games.champion_chess.rules.replay cimport know_hands

from engine.card_list import check_ranges, read_options
from engine.errors import ActionError
from games.champion_chess.rules.cards import (
    CARD_NAMES, CARD_TEXTS, CATEGORIES, default_cards, read_cards,
)
from games.champion_chess.rules.words import PHRASES

cdef enum:
    # Hidden places: rows of `hidden`, named in `hidden_places`.
    OPPONENT_HAND = 0
    OPPONENT_PILE

    SMALL_DECK = 16

assert sizeof(ChessState) <= sizeof(State)
assert sizeof(ChessView) <= sizeof(View)


cdef int sub_multisets(Action kind, const uint8_t* most, int first, Action* actions) noexcept nogil:
    # Lists, ascending, every multiset of at most `most[card]` copies of each card from `first` on.
    # Returns how many there are.
    cdef uint8_t count[CARDS]
    cdef Action action = kind << KIND_SHIFT
    cdef int card, n = 0
    memset(count, 0, sizeof(count))
    while True:
        actions[n] = action
        n += 1
        card = first
        while card < CARDS and count[card] == most[card]:
            action -= <Action> count[card] << (4 * card)
            count[card] = 0
            card += 1
        if card == CARDS:
            return n
        count[card] += 1
        action += <Action> 1 << (4 * card)


cdef int castling_known(const Memory* memory) noexcept nogil:
    # Whether the first time to castle is now UNUSED, USED or UNKNOWN to the other seat.
    cdef int i, known = memory.castling
    for i in range(memory.size):
        if memory.turns[i].castled:
            known = USED
        elif memory.turns[i].champion == KING and known == UNUSED and not memory.turns[i].mulligan:
            known = UNKNOWN
    return known


cdef dict fields_of(const ChessView* view):
    cdef dict fields = view[0]
    for side, known in zip(fields["side"], fields.pop("known")):
        side["known"] = known
    return fields


cdef class ChampionChess(Game):
    """Champion Chess under one ruleset: `castling`, `hand_size` and `cards`."""

    id = "champion_chess"
    abi = ABI
    unseen_order = True
    title = "Champion Chess"
    summary = (
        "White and Black each have a deck of nobles, who fight, and aid, which helps them. Whoever "
        "captures the opposing King wins.\n\n"
        "In each turn both fill their hands, choose a noble as champion, then aid cards (any "
        "number, at most one of each but for Pawns), always at the same time. Each side adds up "
        "move, attack and defend; the side that is higher in more of the three wins the challenge, "
        "and if neither is, both champions lose. Aid and losers are lost for good, a winner goes "
        "to the reserve, "
        "which becomes the new deck when the deck is empty. At the end of a turn both may discard "
        "cards to the reserve.\n\n"
        "A hand without a noble is shown, discarded and drawn again. Castling: the first time that "
        "the King is your only noble, a Rook of your deck may take his place."
    )
    seat_titles = ("White", "Black")
    phrases = PHRASES
    event_kinds = {
        DRAWN: "drawn: cards*",
        DRAWN_HIDDEN: "drawn_hidden: count",
        SHUFFLED: "shuffled: from_reserve cards*",
        SHUFFLED_HIDDEN: "shuffled_hidden: from_reserve count",
        MULLIGAN: "mulligan: cards*",
        CHAMPION_REVEALED: "champion_revealed: champion castled",
        AID_REVEALED: "aid_revealed: cards*",
        CHALLENGE_DECIDED: "challenge_decided: champion won movement attack defend",
        DISCARDED: "discarded: cards*",
    }
    hidden_places = ("opponent_hand", "opponent_pile")
    widening = 1.0
    effective_rounds = 10
    temperatures = {"beginner": 2.2, "casual": 0.85, "regular": 0.65, "skilled": 0.4}

    def read_ruleset(self, given):
        self.state_bytes = sizeof(ChessState)
        ruleset = read_options(
            given, {"castling": True, "hand_size": MAX_HAND, "cards": None}, self.title)
        ruleset["cards"] = read_cards(ruleset["cards"]) if ruleset["cards"] else default_cards()
        check_ranges(ruleset, {"hand_size": (1, MAX_HAND)})
        self.castling = bool(ruleset["castling"])
        self.max_hand = ruleset["hand_size"]
        for card, spec in enumerate(ruleset["cards"]):
            self.copies[card] = spec["copies"]
            for category, key in enumerate(CATEGORIES):
                self.points[card][category] = spec[key]
        return ruleset

    def cards(self):
        return [
            {"id": name.upper(), "title": name, "kind": "noble" if card < NOBLES else "aid",
             "copies": spec["copies"],
             "numbers": {key.capitalize(): spec[key] for key in CATEGORIES},
             "text": CARD_TEXTS.get(card, "")}
            for card, (name, spec) in enumerate(zip(CARD_NAMES, self.ruleset["cards"]))
        ]

    cdef state_fields(self, const State* state):
        return (<ChessState*> state)[0]

    cdef fill_state(self, State* state, fields):
        (<ChessState*> state)[0] = fields

    cdef view_fields(self, const View* view):
        # What is known follows from the rest, whatever the bytes say.
        cdef ChessView seen = (<ChessView*> view)[0]
        know_hands(&seen, self.max_hand)
        return fields_of(&seen)

    cdef fill_view(self, View* view, fields):
        (<ChessView*> view)[0] = {**fields, "known": [[0] * CARDS] * SEATS}
        know_hands(<ChessView*> view, self.max_hand)

    def read_stored_view(self, bytes data not None):
        return fields_of(<ChessView*> PyBytes_AS_STRING(data))

    def read_action(self, action):
        kind = action >> KIND_SHIFT
        if kind == PLAY_CHAMPION:
            return {"kind": "play_champion", "noble": action & 255, "castle": bool(action & CASTLE)}
        cards = [card for card in range(CARDS) for _ in range(count_in(action, card))]
        return {"kind": "play_aid" if kind == PLAY_AID else "discard_to_reserve", "cards": cards}

    def make_action(self, fields):
        if fields["kind"] == "play_champion":
            if not 0 <= fields["noble"] < NOBLES:
                raise ActionError("noble", "must be a noble")
            return (<Action> PLAY_CHAMPION << KIND_SHIFT) | fields["noble"] | (
                CASTLE * bool(fields["castle"]))
        kinds = {"play_aid": PLAY_AID, "discard_to_reserve": DISCARD_TO_RESERVE}
        if fields["kind"] not in kinds:
            raise ActionError("kind", "must be play_champion, play_aid or discard_to_reserve")
        if len(fields["cards"]) > MAX_HAND:
            raise ActionError("cards", f"must be at most {MAX_HAND} cards")
        action = kinds[fields["kind"]] << KIND_SHIFT
        for i, card in enumerate(fields["cards"]):
            if not 0 <= card < CARDS:
                raise ActionError(f"cards[{i}]", f"must be 0 to {CARDS - 1}")
            action += 1 << 4 * card
        return action

    def explain(self, position, int seat, action):
        phases = {CHAMPION: "play_champion", AID: "play_aid", END: "discard_to_reserve"}
        fields = position.fields
        owed = phases[fields["phase"]]
        given = self.read_action(action)
        hand = fields["own"][seat]["hand"]
        if given["kind"] != owed:
            return "WRONG_PHASE", f"this phase asks for {owed}, not for {given['kind']}"
        cards = [given["noble"]] if "noble" in given else given["cards"]
        for card in cards:
            if card >= CARDS or cards.count(card) > hand[card]:
                held = hand[card] if card < CARDS else 0
                name = CARD_NAMES[card % CARDS]
                return "NOT_IN_HAND", f"the hand holds {held} {name}, not {cards.count(card)}"
        if owed == "play_aid":
            for card in cards:
                if card < NOBLES:
                    return "NOT_AN_AID_CARD", f"{CARD_NAMES[card]} is a noble, not an aid card"
                if card != PAWN and cards.count(card) > 1:
                    return "AID_PLAYED_TWICE", (
                        f"{CARD_NAMES[card]} can be played only once, as every aid but the Pawn")
        if given.get("castle"):
            if not self.castling:
                return "CASTLING_NOT_ALLOWED", "castling is not an option of this match"
            if given["noble"] != KING:
                return "ONLY_KING_CASTLES", "only the King castles"
            if nobles_in(hand) > 1:
                return "KING_NOT_ONLY_NOBLE", (
                    "the King castles only when he is the only noble in hand")
            if fields["own"][seat]["castling_used"]:
                return "CASTLING_USED", (
                    "the first time that the King was the only noble in hand is over")
            return "NO_ROOK", "the battle deck holds no Rook"
        return "NOT_LEGAL", f"{given} is not legal now"

    @property
    def visits_before_mixing(self):
        # A mixture in a large deck takes thousands of visits: see "Which decisions get regret
        # matching" in docs/measurements/strength.md.
        return 0 if sum(self.copies) <= SMALL_DECK else 200

    @property
    def most_legal(self):
        return 1 << self.max_hand  # Every part of a hand in which no card is twice.

    # The rules

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        cdef ChessState* chess = <ChessState*> state
        cdef int seat
        memset(state, 0, sizeof(State))
        for seat in range(SEATS):
            chess.side[seat].deck_size = spread(self.copies, chess.deck[seat])
            self.shuffle(chess, seat, False, rng, log)
            memcpy(chess.side[seat].memory.deck, self.copies, CARDS)
        self.begin_turn(chess, rng, log)

    cdef int deciders(self, const State* state) noexcept nogil:
        return NOBODY if (<const ChessState*> state).phase == OVER else BOTH

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        cdef const ChessState* chess = <const ChessState*> state
        cdef const uint8_t* hand = chess.own[seat].hand
        cdef uint8_t most[CARDS]
        if chess.phase == CHAMPION:
            return self.legal_champions(chess, seat, actions)
        if chess.phase == AID:
            playable_aid(hand, most)
            return sub_multisets(PLAY_AID, most, PAWN, actions)
        return sub_multisets(DISCARD_TO_RESERVE, hand, 0, actions)

    cdef uint64_t legal_among(self, const State* state, int seat, const Action* actions,
                              size_t stride, int count) noexcept nogil:
        cdef const ChessState* chess = <const ChessState*> state
        cdef const uint8_t* hand = chess.own[seat].hand
        cdef uint64_t packed = pack(hand), legal = 0
        cdef Action action
        cdef int i
        for i in range(count):
            action = action_at(actions, stride, i)
            if chess.phase != CHAMPION:
                legal |= <uint64_t> holds(packed, cards_of(action)) << i
            elif action & CASTLE:
                legal |= <uint64_t> self.may_castle(chess, seat) << i
            else:
                legal |= <uint64_t> (hand[action & 255] > 0) << i
        return legal

    cdef Action only_action(self, const State* state, int seat) noexcept nogil:
        cdef const ChessState* chess = <const ChessState*> state
        cdef uint64_t hand = pack(chess.own[seat].hand)
        cdef int noble
        if chess.phase == AID:
            return 0 if hand & ~<uint64_t> NOBLE_BITS else <Action> PLAY_AID << KIND_SHIFT
        if chess.phase == END:
            return 0 if hand else <Action> DISCARD_TO_RESERVE << KIND_SHIFT
        hand &= NOBLE_BITS
        noble = first_card(hand)
        if without(hand, noble) or self.may_castle(chess, seat):
            return 0
        return <Action> PLAY_CHAMPION << KIND_SHIFT | noble

    cdef int legal_champions(self, const ChessState* chess, int seat,
                             Action* actions) noexcept nogil:
        cdef const uint8_t* hand = chess.own[seat].hand
        cdef int card, n = 0
        for card in range(NOBLES):
            if hand[card]:
                actions[n] = <Action> PLAY_CHAMPION << KIND_SHIFT | card
                n += 1
        if self.may_castle(chess, seat):
            actions[n] = <Action> PLAY_CHAMPION << KIND_SHIFT | CASTLE | KING
            n += 1
        return n

    cdef bint may_castle(self, const ChessState* chess, int seat) noexcept nogil:
        cdef int i
        if (not self.castling or chess.own[seat].castling_used
                or not only_noble_is_king(chess.own[seat].hand)):
            return False
        for i in range(chess.side[seat].deck_size):
            if chess.deck[seat][i] == ROOK:
                return True
        return False

    cdef void apply(self, State* state, const Action* joint, Rng* rng,
                    EventLog* log) noexcept nogil:
        cdef ChessState* chess = <ChessState*> state
        if chess.phase == CHAMPION:
            self.play_champions(chess, joint, rng, log)
        elif chess.phase == AID:
            play_aid(chess, self.points, joint, log)
        else:
            self.discard(chess, joint, log)
            self.begin_turn(chess, rng, log)

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        cdef int half_points = (<const ChessState*> state).half_points
        return 0.5 * (half_points if seat == 0 else 2 - half_points)

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        cdef const ChessState* chess = <const ChessState*> state
        cdef ChessView* seen = <ChessView*> view
        memset(view, 0, sizeof(View))
        seen.seat = seat
        seen.phase = chess.phase
        seen.challenge = chess.challenge
        seen.half_points = chess.half_points
        seen.side = chess.side
        if seat != SPECTATOR:
            seen.own = chess.own[seat]
        know_hands(seen, self.max_hand)

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        # Both decisions are revealed. The cards drawn are left out, since they show in the legal
        # actions.
        return mix(joint[0], joint[1])

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        cdef const ChessState* chess = <const ChessState*> state
        cdef int other = 1 - seat
        cdef int i
        memcpy(places[OPPONENT_HAND], chess.own[other].hand, CARDS)
        for i in range(chess.side[other].deck_size):
            places[OPPONENT_PILE][chess.deck[other][i]] += 1

    cdef void shuffle_unseen(self, State* state, Rng* rng) noexcept nogil:
        cdef ChessState* chess = <ChessState*> state
        cdef int seat
        for seat in range(SEATS):
            rng_shuffle(rng, chess.deck[seat], chess.side[seat].deck_size)

    # The phases

    cdef void begin_turn(self, ChessState* chess, Rng* rng, EventLog* log) noexcept nogil:
        cdef int seat
        for seat in range(SEATS):
            self.fill_hand(chess, seat, rng, log)
            while nobles(chess.own[seat].hand) == 0:
                self.mulligan(chess, seat, log)
                self.fill_hand(chess, seat, rng, log)
        chess.phase = CHAMPION
        chess.challenge += 1

    cdef void fill_hand(self, ChessState* chess, int seat, Rng* rng, EventLog* log) noexcept nogil:
        cdef Side* side = &chess.side[seat]
        cdef uint8_t drawn[MAX_HAND]
        cdef uint8_t card
        cdef int n = 0
        while side.hand_size < self.max_hand:
            if side.deck_size == 0:
                if total(side.reserve) == 0:
                    break
                self.log_drawn(seat, drawn, n, log)
                n = 0
                self.reshuffle(chess, seat, rng, log)
            side.deck_size -= 1
            card = chess.deck[seat][side.deck_size]
            # No byte may be left over from a card that has gone.
            chess.deck[seat][side.deck_size] = 0
            chess.own[seat].hand[card] += 1
            side.hand_size += 1
            drawn[n] = card
            n += 1
        self.log_drawn(seat, drawn, n, log)

    cdef void reshuffle(self, ChessState* chess, int seat, Rng* rng, EventLog* log) noexcept nogil:
        cdef Side* side = &chess.side[seat]
        side.deck_size = spread(side.reserve, chess.deck[seat])
        self.remember_point(side, chess.own[seat].hand, side.reserve, NULL)
        memset(side.reserve, 0, CARDS)
        self.shuffle(chess, seat, True, rng, log)

    cdef void mulligan(self, ChessState* chess, int seat, EventLog* log) noexcept nogil:
        cdef Side* side = &chess.side[seat]
        cdef Turn* turn = &side.memory.turns[side.memory.size]
        cdef uint8_t deck[CARDS]
        cdef uint8_t nothing[CARDS]
        cdef uint8_t* hand = chess.own[seat].hand
        cdef int card, i
        memset(turn, 0, sizeof(Turn))
        turn.mulligan = True
        turn.discard_count = spread(hand, turn.cards)
        side.memory.size += 1
        log_event(log, TO_PUBLIC | TO_RECORD, MULLIGAN, seat, turn.cards, turn.discard_count)
        for card in range(CARDS):
            side.reserve[card] += hand[card]
        memset(hand, 0, CARDS)
        side.hand_size = 0
        memset(nothing, 0, CARDS)
        memset(deck, 0, CARDS)
        for i in range(side.deck_size):
            deck[chess.deck[seat][i]] += 1
        self.remember_point(side, nothing, deck, side.reserve)

    cdef void remember_point(self, Side* side, const uint8_t* hand, const uint8_t* deck,
                             const uint8_t* reserve) noexcept nogil:
        # The hand is certain, so the memory can begin here. It keeps the earlier turns as long as
        # they may still show whether the first time to castle is used up.
        cdef Memory* memory = &side.memory
        cdef int castling = castling_known(memory) if self.castling else UNUSED
        cdef uint8_t cut_hand[CARDS]
        if castling == UNKNOWN and memory.size <= MEMORY_CUT:
            return
        memcpy(cut_hand, hand, CARDS)
        memset(memory.turns, 0, sizeof(memory.turns))
        memory.size = 0
        memory.castling = castling
        memcpy(memory.hand, cut_hand, CARDS)
        memcpy(memory.deck, deck, CARDS)
        if reserve == NULL:
            memset(memory.reserve, 0, CARDS)
        else:
            memcpy(memory.reserve, reserve, CARDS)

    cdef void play_champions(self, ChessState* chess, const Action* joint, Rng* rng,
                             EventLog* log) noexcept nogil:
        cdef uint8_t values[2]
        cdef int seat, noble
        cdef bint castled
        for seat in range(SEATS):
            noble = joint[seat] & 255
            castled = (joint[seat] & CASTLE) != 0
            if only_noble_is_king(chess.own[seat].hand) and self.castling:
                chess.own[seat].castling_used = True
            chess.own[seat].hand[noble] -= 1
            chess.side[seat].hand_size -= 1
            if castled:
                noble = ROOK
            chess.side[seat].champion = noble + 1
            chess.side[seat].castled = castled
            values[0] = noble
            values[1] = castled
            log_event(log, TO_PUBLIC | TO_RECORD, CHAMPION_REVEALED, seat, values, 2)
            if castled:
                self.swap_rook_for_king(chess, seat)
                self.shuffle(chess, seat, False, rng, log)
        chess.phase = AID

    cdef void swap_rook_for_king(self, ChessState* chess, int seat) noexcept nogil:
        cdef uint8_t* deck = chess.deck[seat]
        cdef int i = 0
        while deck[i] != ROOK:
            i += 1
        deck[i] = KING

    cdef void discard(self, ChessState* chess, const Action* joint, EventLog* log) noexcept nogil:
        cdef uint8_t cards[MAX_HAND]
        cdef Side* side
        cdef Turn* turn
        cdef int seat, i, n
        for seat in range(SEATS):
            side = &chess.side[seat]
            turn = &side.memory.turns[side.memory.size - 1]
            n = take_from(chess.own[seat].hand, joint[seat], cards)
            for i in range(n):
                turn.cards[turn.aid_count + i] = cards[i]
                side.reserve[cards[i]] += 1
            turn.discard_count = n
            side.hand_size -= n
            log_event(log, TO_PUBLIC | TO_RECORD, DISCARDED, seat, cards, n)

    # Chance

    cdef void shuffle(self, ChessState* chess, int seat, bint from_reserve, Rng* rng,
                      EventLog* log) noexcept nogil:
        cdef uint8_t values[1 + MAX_DECK]
        cdef uint8_t shown[2]
        cdef int i, n = chess.side[seat].deck_size
        rng_shuffle(rng, chess.deck[seat], n)
        values[0] = shown[0] = from_reserve
        shown[1] = n
        for i in range(n):
            values[1 + i] = chess.deck[seat][n - 1 - i]
        log_private(log, 0, seat, SHUFFLED, values, 1 + n, SHUFFLED_HIDDEN, shown, 2)

    cdef void log_drawn(self, int seat, const uint8_t* cards, int n, EventLog* log) noexcept nogil:
        cdef uint8_t count = n
        if n:
            log_private(log, to_seat(seat), seat, DRAWN, cards, n, DRAWN_HIDDEN, &count, 1)


def nobles_in(hand):
    """Return the number of nobles in a hand, given as counts."""
    return sum(hand[:NOBLES])
