"""What a view of Gin Rummy tells about the opponent's hand.

A seat knows which cards the opponent has taken from the discard pile and which it has discarded. It
has not seen the cards that were dealt to the opponent and those that it drew from the stock.

Suppose that the opponent chooses uniformly among its legal actions. To pass or to take, to draw or
to take are two actions whatever it holds. At a discard it has one action for each card that it may
discard, which is a number that everyone knows, and one more for each card with which it may knock,
which depends on its hand at that time. So a line of play is as likely as the product, over its
discards, of 1 / (cards + knocks), and it is enough to

1. draw a line of hidden cards that fits the view, all such lines being equally likely, and
2. accept it with probability cards / (cards + knocks) for each discard, else draw again.

*A line* says which cards were dealt and which one each draw brought. The hidden cards are those
that the opponent holds now, any of the unseen ones, and those that it has discarded without having
taken them. Each fills a slot: one of the hand that was dealt, or one of the draws. A card that was
discarded must have come before, so it has the slots of the deal and of the draws until then, less
those that earlier discards fill. As these sets of slots grow in time, it can be given any of them,
discard by discard, and the last cards fill what is left: each way is drawn with the same
probability. The number of ways does not depend on which unseen cards are held, so all lines are
equally likely.

Most hands are far from a knock and accepted at once. An opponent that has long been able to knock
and does not is so unlikely under uniform choice that hardly any line may be accepted. After TRIES
lines one of them is drawn in proportion to its probability. Such a draw is sound, and among so many
lines nearly in proportion.

After a knock both hands are shown, and only the order of the stock is hidden.
"""

from libc.string cimport memcmp, memcpy, memset

from engine.chance cimport (
    Rng, rng_below, rng_double, rng_part, rng_reject, rng_shuffle_quickly, rng_weighted,
)
from engine.game cimport SEATS, State
from engine.integers cimport uint64_t, uint8_t
from engine.sampler cimport Sampler
from gin_rummy.rules.melds cimport Melding, bit, count, knocking
from gin_rummy.rules.rules cimport (
    GinRummy, put_card, put_discard, put_draw, put_pass, put_take, top_card,
)
from gin_rummy.rules.state cimport (
    MAX_DECK, MAX_HAND, MAX_HANDS, MAX_HELD, MAX_TURNS, NO_CARD, OFFERED, OPEN, OVER, PILE, STOCK,
    TO_DISCARD, TO_DRAW, UNDECIDED, UNDERCUT, Common, GinState, GinView,
)

from engine.errors import ViewError

cdef enum:
    TRIES = 256
    MAX_SLOTS = MAX_HAND + MAX_DECK      # The hand that was dealt, and draws.


cdef struct Past:                # A turn of the opponent that it has finished.
    uint64_t taken               # From the discard pile; no card if it drew from the stock.
    uint64_t discarded
    bint hidden                  # Nobody had seen the card that it discarded.


cdef class GinRummySampler(Sampler):
    """Draws the opponent's hand by its posterior, and the order of the stock."""

    cdef GinRummy rules
    cdef int other
    cdef uint64_t hand           # The viewer's own.
    cdef uint64_t known[SEATS]   # The cards in each hand that everyone has seen.
    cdef uint64_t shown[SEATS]   # After a knock: the hands.
    cdef uint8_t unseen[MAX_DECK]
    cdef int unseen_count
    cdef int held                # Of the unseen cards: those that the opponent holds.
    cdef Past past[MAX_TURNS]
    cdef int past_count
    cdef int draws[SEATS]        # From the stock.
    cdef int hidden_discards[SEATS]      # Discards of cards that nobody had seen.

    def __init__(self, view):
        super().__init__(view)
        self.rules = self.game
        self.other = 1 - self.seat
        self.check_ranges()
        self.replay()
        self.check_hands()
        if (<const GinView*> &self.view).common.result > UNDECIDED:
            self.check_knock()
        self.check_points()
        self.list_unseen()
        self.check_whole()

    # Whether the view contradicts itself

    cdef check_card(self, field, int card):
        if not 1 <= card <= MAX_DECK or not bit(card) & self.rules.deck:
            raise ViewError(field, "must be a card of the deck")

    cdef uint64_t read_cards(self, field, const uint8_t* cards, int n) except? 0:
        cdef uint64_t found = 0
        cdef int i
        if n > MAX_HELD:
            raise ViewError(field, f"must be at most {MAX_HELD} cards")
        for i in range(n):
            self.check_card(f"{field}[{i}]", cards[i])
            if found >= bit(cards[i]):
                raise ViewError(f"{field}[{i}]", "must come after the card before it")
            found |= bit(cards[i])
        return found

    cdef check_ranges(self):
        cdef const Common* common = &(<const GinView*> &self.view).common
        most = MAX_HANDS if self.rules.target else 1
        for field, given, least, last in (
                ("hand_number", common.hand_number, 1, most),
                ("dealer", common.dealer, 0, SEATS - 1),
                ("passes", common.passes, 0, SEATS),
                ("result", common.result, OPEN, UNDERCUT),
                ("turns", common.turns_count, 0, MAX_TURNS)):
            if not least <= given <= last:
                raise ViewError(field, f"must be {least} to {last}")

    cdef replay(self):
        # Plays the hand again, by what everyone sees.
        cdef const Common* common = &(<const GinView*> &self.view).common
        cdef Common now
        cdef int i, _pass, result = OPEN
        self.check_card("upcard", common.upcard)
        memset(&now, 0, sizeof(Common))
        now.phase = OFFERED
        now.hand_number = common.hand_number
        now.dealer = common.dealer
        now.to_play = 1 - common.dealer
        now.upcard = now.pile[0] = common.upcard
        now.pile_count = 1
        now.stock_size = self.rules.deck_size - SEATS * self.rules.hand_size - 1
        memcpy(now.deadwood, common.deadwood, sizeof(now.deadwood))
        memcpy(now.points, common.points, sizeof(now.points))
        for _pass in range(common.passes):
            put_pass(&now)
        for i in range(common.turns_count):
            if result != OPEN:
                raise ViewError(f"turns[{i}]", "must not come after the end of the hand")
            self.replay_draw(&now, f"turns[{i}]", common.turns[i].source)
            result = self.replay_discard(&now, i)
        if common.turns_count == 0 and now.passes == SEATS:
            self.replay_draw(&now, "phase", STOCK)
        elif result == OPEN and common.phase == TO_DISCARD:
            if common.taken not in (NO_CARD, top_card(&now)):
                raise ViewError("taken", "must be the top card of the discard pile")
            self.replay_draw(&now, "phase", PILE if common.taken else STOCK)
        if result != OPEN:
            if result == UNDECIDED and self.rules.target and common.hand_number < MAX_HANDS:
                raise ViewError("turns", "must not end the hand: another one was dealt")
            now.result = result
            now.phase = OVER
        for field, given, due in (
                ("phase", common.phase, now.phase),
                ("to_play", common.to_play, now.to_play),
                ("stock_size", common.stock_size, now.stock_size),
                ("taken", common.taken, now.taken),
                ("result", common.result, now.result),
                ("pile", common.pile_count, now.pile_count)):
            if given != due:
                raise ViewError(field, f"must be {due} by the turns")
        if memcmp(common, &now, sizeof(Common)):
            raise ViewError("turns", "must be in turn, and lead to this discard pile")

    cdef replay_draw(self, Common* now, field, int source):
        cdef int seat = now.to_play
        if source == STOCK and now.phase == TO_DRAW:
            put_draw(now)
            self.draws[seat] += 1
        elif source == PILE and now.pile_count and not (
                now.passes == SEATS and now.turns_count == 0):
            self.known[seat] |= bit(put_take(now))
        else:
            raise ViewError(field, "must be a draw that is possible then")

    cdef int replay_discard(self, Common* now, int i) except -1:
        # Returns how the hand ends by that, or OPEN.
        cdef const Common* common = &(<const GinView*> &self.view).common
        cdef int seat = now.to_play, card = common.turns[i].card, hidden_held
        cdef uint64_t discarded
        cdef bint hidden
        self.check_card(f"turns[{i}].card", card)
        discarded = bit(card)
        hidden = not discarded & self.known[seat]
        hidden_held = self.rules.hand_size + self.draws[seat] - self.hidden_discards[seat]
        if (card == now.taken or discarded & self.known[1 - seat]
                or discarded & pile_cards(now) or hidden and not hidden_held):
            raise ViewError(f"turns[{i}].card", "must be a card that its seat could discard")
        self.known[seat] &= ~discarded
        self.hidden_discards[seat] += hidden
        if seat == self.other:
            self.past[self.past_count].taken = bit(now.taken) if now.taken else 0
            self.past[self.past_count].discarded = discarded
            self.past[self.past_count].hidden = hidden
            self.past_count += 1
        if i == common.turns_count - 1 and common.result > UNDECIDED:
            put_card(now, card)
            return common.result
        return put_discard(now, card)

    cdef check_hands(self):
        cdef const GinView* seen = <const GinView*> &self.view
        cdef int due = self.rules.hand_size
        cdef int side
        due += seen.common.phase == TO_DISCARD and seen.common.to_play == self.seat
        self.hand = self.read_cards("hand", seen.hand, seen.hand_count)
        if seen.hand_count != due:
            raise ViewError("hand", f"must be {due} cards")
        self.check_hand("hand", self.seat, self.hand)
        for side in range(SEATS):
            self.shown[side] = self.read_cards(
                f"sides[{side}].shown", seen.sides[side].shown, seen.sides[side].shown_count)

    cdef check_hand(self, field, int seat, uint64_t hand):
        if hand & (pile_cards(&(<const GinView*> &self.view).common) | self.known[1 - seat]):
            raise ViewError(field, "must have no card that everyone sees elsewhere")
        if self.known[seat] & ~hand:
            raise ViewError(field, "must have what was taken from the discard pile and kept")

    cdef check_knock(self):
        cdef const Common* common = &(<const GinView*> &self.view).common
        cdef Melding own, answer
        cdef int seat = common.to_play, points = 0, result
        for side in range(SEATS):
            if count(self.shown[side]) != self.rules.hand_size:
                raise ViewError(f"sides[{side}].shown", "must be a hand, after a knock")
            self.check_hand(f"sides[{side}].shown", side, self.shown[side])
        if self.shown[self.seat] != self.hand or self.shown[self.other] & self.hand:
            raise ViewError("sides", "must show the viewer's hand and another one")
        result = self.rules.settle(self.shown, seat, &own, &answer, &points)
        if own.deadwood > self.rules.knock_limit:
            raise ViewError("result", "must not be a knock with so much deadwood")
        for field, given, due in (
                ("result", common.result, result),
                (f"sides[{seat}].deadwood", common.deadwood[seat], own.deadwood),
                (f"sides[{1 - seat}].deadwood", common.deadwood[1 - seat], answer.deadwood)):
            if given != due:
                raise ViewError(field, f"must be {due} by the hands")
        winner = 1 - seat if result == UNDERCUT else seat
        self.check_earlier_points(common.points[winner] - points, common.points[1 - winner])
        if common.points[winner] < self.rules.target and common.hand_number < MAX_HANDS:
            raise ViewError("result", "must not end the hand: another one was dealt")

    cdef check_points(self):
        cdef const Common* common = &(<const GinView*> &self.view).common
        if common.result > UNDECIDED:
            return
        if common.deadwood[0] or common.deadwood[1]:
            raise ViewError("sides[0].deadwood", "must be 0 before a knock")
        self.check_earlier_points(common.points[0], common.points[1])

    cdef check_earlier_points(self, int first, int second):
        # Of the hands before this one.
        cdef const Common* common = &(<const GinView*> &self.view).common
        cdef int most = max(self.rules.target - 1, 0) if common.hand_number > 1 else 0
        if not (0 <= first <= most and 0 <= second <= most):
            raise ViewError("sides[0].points", f"must have been at most {most} before this hand")

    cdef list_unseen(self):
        cdef const Common* common = &(<const GinView*> &self.view).common
        cdef uint64_t seen = (
            self.hand | self.known[self.other] | self.shown[self.other] | pile_cards(common))
        cdef int i
        for i in range(self.rules.deck_size):
            if not bit(self.rules.cards_of_deck[i]) & seen:
                self.unseen[self.unseen_count] = self.rules.cards_of_deck[i]
                self.unseen_count += 1
        self.held = self.unseen_count - common.stock_size

    # Worlds

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef GinState* gin = <GinState*> state
        cdef uint8_t kept[MAX_DECK]
        cdef uint8_t* cards = gin.stock
        cdef int i
        memset(state, 0, sizeof(GinState))
        gin.common = (<const GinView*> &self.view).common
        gin.hands[self.seat] = self.hand
        memcpy(gin.known, self.known, sizeof(gin.known))
        memcpy(cards, self.unseen, self.unseen_count)
        if self.shown[self.other]:
            gin.hands[self.other] = self.shown[self.other]
        else:
            if not self.draw_hand(cards, kept, rng):
                return
            gin.hands[self.other] = self.known[self.other]
            for i in range(self.unseen_count - self.held, self.unseen_count):
                gin.hands[self.other] |= bit(cards[i])
                cards[i] = NO_CARD
        rng_shuffle_quickly(rng, cards, gin.common.stock_size)

    cdef bint draw_hand(self, uint8_t* cards, uint8_t* kept, Rng* rng) noexcept nogil:
        # Moves the cards that the opponent holds to the end. False: the script has to go on.
        cdef double weight, total = 0
        cdef double sums[2]
        cdef int _try
        for _try in range(TRIES):
            rng_part(rng, cards, self.unseen_count, self.held)
            if self.past_count == 0:
                return True
            weight = self.line_weight(cards + self.unseen_count - self.held, rng)
            if weight == 1:
                return True
            sums[0] = weight
            sums[1] = 1
            if rng_weighted(rng, sums, 2) == 0:
                return True
            if rng_reject(rng):
                return False
            total += weight
            if rng_double(rng) * total <= weight:
                memcpy(kept, cards, self.unseen_count)
        memcpy(cards, kept, self.unseen_count)
        return True

    cdef double line_weight(self, uint8_t* held, Rng* rng) noexcept nogil:
        # Draws a line in which the opponent now holds these cards: the chance that it is accepted.
        cdef uint64_t slots[MAX_SLOTS]
        cdef uint8_t open_slots[MAX_SLOTS]
        cdef const Past* turn
        cdef uint64_t hand, among, knocks
        cdef double weight = 1
        cdef int i, k, cards, drawn, n = self.rules.hand_size
        for i in range(n):
            open_slots[i] = i
        drawn = n
        for i in range(self.past_count):
            turn = &self.past[i]
            if not turn.taken:
                open_slots[n] = drawn
                n += 1
                drawn += 1
            if turn.hidden:
                k = rng_below(rng, n)
                slots[open_slots[k]] = turn.discarded
                n -= 1
                open_slots[k] = open_slots[n]
        # The slot of a draw without a discard yet needs no card: it comes after all discards.
        rng_shuffle_quickly(rng, held, self.held)
        for i in range(n):
            slots[open_slots[i]] = bit(held[i])
        hand = 0
        for i in range(self.rules.hand_size):
            hand |= slots[i]
        drawn = self.rules.hand_size
        for i in range(self.past_count):
            turn = &self.past[i]
            if turn.taken:
                hand |= turn.taken
            else:
                hand |= slots[drawn]
                drawn += 1
            knocks = knocking(hand, hand & ~turn.taken, self.rules.knock_limit)
            if knocks:
                among = hand & ~turn.taken
                cards = count(among)
                weight *= <double> cards / (cards + count(knocks))
            hand &= ~turn.discarded
        return weight


cdef uint64_t pile_cards(const Common* common) noexcept nogil:
    cdef uint64_t cards = 0
    cdef int i
    for i in range(min(<int> common.pile_count, <int> MAX_DECK)):
        if common.pile[i]:
            cards |= bit(common.pile[i])
    return cards
