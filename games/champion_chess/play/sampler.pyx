"""The sampler of Champion Chess: the distribution of the hand that the seat does not see.

What can be known of a hand: when the battle deck runs out, the hand is exactly the cards that are
not on the piles. It is known after a mulligan, too, when it is empty. From such a point a `Memory`
keeps what the hand has shown, turn by turn. The sampler carries the exact distribution of the hand
through these turns by Bayes' rule: the draws are hypergeometric, and an opponent that chooses
uniformly makes each decision with probability 1 / (number of its legal actions with that hand). If
the opponent has played its King, it is hidden whether its first time to castle is used up; the
distribution covers that, too.

A `Replay` of the turns in a `Memory` gives what is certain about that hand. With what was learned,
an opponent chooses by that instead of uniformly.
"""

from libc.string cimport memcpy, memset

from engine.belief cimport Belief
from engine.chance cimport Rng, rng_part_and_shuffle, rng_reject, rng_shuffle_quickly
from engine.game cimport SEATS, State
from engine.integers cimport uint64_t, uint8_t
from engine.sampler cimport Sampler
from games.champion_chess.play.likelihoods cimport TurnLikelihoods
from games.champion_chess.rules.hand cimport (
    cards_of, nobles, only_noble_is_king, pack, playable_aid, spread_packed, total, unpack,
)
from games.champion_chess.rules.replay cimport (
    Replay, replay_champion, replay_fill, replay_memory, replay_start, replay_turn,
)
from games.champion_chess.rules.state cimport (
    AID, CARDS, CHAMPION, END, KING, MAX_DECK, MAX_HAND, MEMORY_TURNS, NOBLES, OVER, ROOK,
    UNKNOWN, USED, ChessState, ChessView, Memory, Side, Turn,
)

from engine.errors import ViewError
from games.champion_chess.rules.cards import CARD_NAMES


cdef enum:
    USED_BIT = 63                # In a key of the belief: the first time to castle is used up.


cdef inline uint64_t key_of(const uint8_t* hand, bint castling_used) noexcept nogil:
    return pack(hand) | <uint64_t> castling_used << USED_BIT


cdef struct Shown:               # What a hand showed in one turn, and which decisions were made.
    bint champion_played
    bint aid_played
    bint discarded
    int champion                 # The card that left the hand: the King if the seat castled.
    bint castled
    uint8_t aid[CARDS]
    uint8_t discards[CARDS]
    uint8_t all[CARDS]           # Champion, aid and discards, which the hand must have held.


cdef struct Update:              # One hand during one update of the belief.
    const Replay* replay
    const Shown* shown
    uint8_t hand[CARDS]          # Before the draws, then with each card drawn.
    uint8_t deck[CARDS]          # Before the draws.
    uint8_t missing[CARDS]       # Shown, but not in hand before the draws.
    bint castling_used


cdef class ChampionChessSampler(Sampler):
    """Draws worlds that fit a view: the hand by its exact posterior, the decks in random order."""

    cdef bint castling           # The option.
    cdef int max_hand
    cdef uint8_t copies[CARDS]
    cdef Belief belief           # Hands with the USED_BIT, before the last `draws` cards are drawn.
    cdef int draws
    cdef uint8_t unseen[SEATS][CARDS]
    cdef uint64_t packed_unseen  # Those of the opponent.
    cdef uint8_t own_pile[MAX_DECK]     # The battle deck of the seat, sorted.
    cdef int own_size
    cdef uint8_t nothing[CARDS]
    cdef double binomial[MAX_DECK + 1][MAX_HAND + 1]
    cdef TurnLikelihoods likelihoods    # None: the opponent's choices are taken for uniform.

    def __init__(self, view, model=None):
        super().__init__(view, model)
        if model is not None and model.foresight is not None:
            self.likelihoods = TurnLikelihoods(model.foresight)
        self.castling = self.game.ruleset["castling"]
        self.max_hand = self.game.ruleset["hand_size"]
        self.copies = [spec["copies"] for spec in self.game.ruleset["cards"]]
        cdef const ChessView* seen = <const ChessView*> &self.view
        cdef int seat
        self.check()
        for n in range(MAX_DECK + 1):
            for k in range(MAX_HAND + 1):
                self.binomial[n][k] = (1 if k == 0 else 0 if n == 0 else
                                       self.binomial[n - 1][k - 1] + self.binomial[n - 1][k])
        seat = 1 - self.seat
        self.infer(&seen.side[seat], seen.phase)
        if not self.belief.seal():
            raise ViewError(f"side[{seat}].memory", "must be what some hand could have shown")
        self.packed_unseen = pack(self.unseen[seat])
        self.own_size = spread_packed(pack(self.unseen[self.seat]) - pack(seen.own.hand),
                                      self.own_pile)
        self.check_whole()

    def check(self):
        """Raises ViewError if the numbers of the view contradict each other."""
        cdef const ChessView* seen = <const ChessView*> &self.view
        cdef const Side* side
        cdef Replay replay
        cdef int seat, card, on_table
        if seen.phase > END:
            raise ViewError("phase", "must be a phase of a turn")
        if seen.phase != OVER and seen.challenge == 0:
            raise ViewError("challenge", "must be 1 or more")
        if seen.half_points > 2:
            raise ViewError("half_points", "must be 0 to 2")
        if (seen.phase == OVER) != (seen.side[0].defeated[KING] or seen.side[1].defeated[KING]):
            raise ViewError("phase", "must be over if, and only if, a King was captured")
        for seat in range(SEATS):
            side = &seen.side[seat]
            at = f"side[{seat}]"
            if (seen.phase == AID) != (side.champion != 0) or side.champion > NOBLES:
                raise ViewError(f"{at}.champion", "must be a noble in the Aid phase, else none")
            if side.castled and (side.champion != ROOK + 1 or not self.castling):
                raise ViewError(f"{at}.castled", "must come with a Rook, where castling is allowed")
            if side.memory.castling > UNKNOWN or (side.memory.castling and not self.castling):
                raise ViewError(f"{at}.memory.castling", "must be unused, used or unknown")
            if seen.phase in (OVER, END) and (
                    side.memory.size == 0 or side.memory.size > MEMORY_TURNS
                    or side.memory.turns[side.memory.size - 1].mulligan
                    or side.memory.turns[side.memory.size - 1].discard_count):
                raise ViewError(f"{at}.memory.turns", "must end with the turn that is not over yet")
            if total(side.memory.hand) > self.max_hand:
                raise ViewError(f"{at}.memory.hand", "must not be larger than a hand")
            if total(side.memory.deck) > MAX_DECK or total(side.memory.reserve) > MAX_DECK:
                raise ViewError(f"{at}.memory", "must not hold more cards than a deck")
            if not replay_memory(&side.memory, seen.phase, self.max_hand, &replay):
                raise ViewError(f"{at}.memory.turns", "must be what such a hand could show")
            if side.champion and not replay_champion(&replay, side.champion - 1, side.castled):
                raise ViewError(f"{at}.champion", "must be a card that the hand could hold")
            if side.hand_size != replay.hand_size:
                raise ViewError(f"{at}.hand_size", f"must be {replay.hand_size} by the turns")
            if side.deck_size != replay.deck_size:
                raise ViewError(f"{at}.deck_size", f"must be {replay.deck_size} by the turns")
            for card in range(CARDS):
                on_table = side.champion == card + 1
                if side.reserve[card] != replay.reserve[card]:
                    raise ViewError(f"{at}.reserve", "must be what the turns have put there")
                if (side.reserve[card] + side.defeated[card] + on_table + replay.unseen[card]
                        != self.copies[card]):
                    raise ViewError(f"{at}.defeated",
                                    f"must hold what is missing of {CARD_NAMES[card]} elsewhere")
                self.unseen[seat][card] = replay.unseen[card]
                if seat == self.seat and not (
                        replay.known[card] <= seen.own.hand[card] <= replay.unseen[card]):
                    raise ViewError("own.hand", f"must hold {replay.known[card]} to "
                                    f"{replay.unseen[card]} {CARD_NAMES[card]} by the turns shown")
        if total(seen.own.hand) != seen.side[self.seat].hand_size:
            raise ViewError("own.hand", "must have as many cards as hand_size says")
        if seen.phase == CHAMPION and nobles(seen.own.hand) == 0:
            raise ViewError("own.hand", "must hold a noble in the Champion phase")
        if seen.own.castling_used > 1:
            raise ViewError("own.castling_used", "must be 0 or 1")

    cdef infer(self, const Side* side, int phase):
        # Carries the distribution of the hand through the turns of the memory.
        cdef const Memory* memory = &side.memory
        cdef Replay replay
        cdef Shown shown
        cdef int i, full_turns = memory.size - (phase == OVER or phase == END)
        self.belief = Belief()
        self.belief.add(key_of(memory.hand, memory.castling == USED), 1.0)
        if memory.castling == UNKNOWN:
            self.belief.add(key_of(memory.hand, True), 1.0)
        replay_start(memory, &replay)
        for i in range(memory.size):
            replay_fill(&replay, self.max_hand)
            self.collapse(&replay)
            self.see(&memory.turns[i], i < full_turns, &shown)
            if self.likelihoods is not None and shown.champion_played:
                self.learn(&replay, &memory.turns[i], &shown, opposing_champion(
                    memory, i, &(<const ChessView*> &self.view).side[self.seat].memory))
            self.update(&replay, &shown)
            replay_turn(&replay, &memory.turns[i])
        self.draws = 0
        if phase == CHAMPION or phase == AID:
            replay_fill(&replay, self.max_hand)
            self.collapse(&replay)
        if phase == AID:
            memset(&shown, 0, sizeof(shown))
            shown.champion_played = True
            shown.castled = side.castled
            shown.champion = KING if side.castled else side.champion - 1
            shown.all[shown.champion] = 1
            if self.likelihoods is not None:
                self.likelihoods.begin(nobles_left(&replay), aid_left(&replay))
            self.update(&replay, &shown)
        elif phase == CHAMPION:
            self.draws = replay.draws
            self.keep_hands_that_can_hold_a_noble(&replay)

    cdef void see(self, const Turn* turn, bint full, Shown* shown) noexcept nogil:
        cdef int i
        memset(shown, 0, sizeof(Shown))
        if not turn.mulligan:
            shown.champion_played = shown.aid_played = True
            shown.castled = turn.castled
            shown.champion = KING if turn.castled else turn.champion
            shown.all[shown.champion] = 1
        shown.discarded = full
        for i in range(turn.aid_count + turn.discard_count):
            shown.all[turn.cards[i]] += 1
            if i < turn.aid_count:
                shown.aid[turn.cards[i]] += 1
            else:
                shown.discards[turn.cards[i]] += 1

    cdef void learn(self, const Replay* replay, const Turn* turn, const Shown* shown,
                    int against) noexcept nogil:
        # Prepares what was learned for the choices of a turn, which comes after the replay's fill.
        cdef int left = nobles_left(replay)
        self.likelihoods.begin(left, aid_left(replay))
        self.likelihoods.show_aid(turn.champion, against, shown.aid)
        self.likelihoods.show_discards(replay.deck_size, left - (not turn.won), shown.discards)

    cdef collapse(self, const Replay* replay):
        # If the fill has made the hand certain, the belief is about the USED_BIT alone.
        cdef Belief old = self.belief
        cdef size_t i
        if not replay.certain:
            return
        self.belief = Belief()
        for i in range(old.room):
            if old.weights[i] > 0:
                self.belief.add(key_of(replay.known, old.keys[i] >> USED_BIT), old.weights[i])

    cdef update(self, const Replay* replay, const Shown* shown):
        # Applies Bayes' rule to the draws of the last fill and then to what the hand showed.
        cdef Belief old = self.belief
        cdef Update step
        cdef size_t i
        cdef int card, missing = 0
        self.belief = Belief()
        step.replay = replay
        step.shown = shown
        with nogil:
            for i in range(old.room):
                if old.weights[i] <= 0:
                    continue
                step.castling_used = old.keys[i] >> USED_BIT
                unpack(old.keys[i], step.hand)
                missing = 0
                for card in range(CARDS):
                    step.deck[card] = replay.unseen[card] - step.hand[card]
                    step.missing[card] = max(0, shown.all[card] - step.hand[card])
                    missing += step.missing[card]
                if missing <= replay.draws:
                    self.draw_hands(&step, 0, replay.draws - missing, old.weights[i])
        self.belief.normalize()

    cdef void draw_hands(self, Update* step, int card, int left, double weight) noexcept nogil:
        # Goes through every way to draw the missing cards and `left` others, from `card` on.
        cdef int n, least
        if card == CARDS:
            if left == 0:
                self.decide(step, weight)
            return
        least = step.missing[card]
        if least > step.deck[card]:
            return
        step.hand[card] += least
        for n in range(least, min(step.deck[card], least + left) + 1):
            self.draw_hands(step, card + 1, left - (n - least),
                            weight * self.binomial[step.deck[card]][n])
            step.hand[card] += 1
        step.hand[card] -= min(step.deck[card], least + left) + 1

    cdef void decide(self, const Update* step, double weight) noexcept nogil:
        # Weights a hand, as it was after the fill, by its probability to show what was shown.
        cdef const Shown* shown = step.shown
        cdef uint8_t hand[CARDS]
        cdef uint8_t most[CARDS]
        cdef bint castling_used = step.castling_used
        cdef bint forced, may_castle
        cdef int card, choices = 0
        memcpy(hand, step.hand, CARDS)
        if not shown.champion_played:                  # A mulligan: the whole hand was shown.
            self.belief.add(key_of(self.nothing, castling_used), weight)
            return
        for card in range(NOBLES):
            choices += hand[card] > 0
        forced = self.castling and only_noble_is_king(hand)
        may_castle = forced and not castling_used and step.replay.unseen[ROOK] > 0
        if shown.castled and not may_castle:
            return
        if self.likelihoods is None:
            weight /= choices + may_castle
        else:
            weight *= self.likelihoods.of_champion(hand, shown.champion, shown.castled, may_castle,
                                                   choices + may_castle)
        castling_used = castling_used or forced
        hand[shown.champion] -= 1
        if shown.aid_played:
            choices = playable_aid(hand, most)
            if self.likelihoods is None:
                weight /= choices
            else:
                weight *= self.likelihoods.of_aid(hand, choices)
            for card in range(CARDS):
                hand[card] -= shown.aid[card]
        if shown.discarded:
            choices = 1
            for card in range(CARDS):
                choices *= hand[card] + 1
            if self.likelihoods is None:
                weight /= choices
            else:
                weight *= self.likelihoods.of_discards(hand, choices)
            for card in range(CARDS):
                hand[card] -= shown.discards[card]
        self.belief.add(key_of(hand, castling_used), weight)

    cdef keep_hands_that_can_hold_a_noble(self, const Replay* replay):
        cdef Belief old = self.belief
        cdef uint8_t hand[CARDS]
        cdef size_t i
        cdef int left
        self.belief = Belief()
        left = nobles(replay.unseen)
        for i in range(old.room):
            if old.weights[i] > 0:
                unpack(old.keys[i], hand)
                if nobles(hand) > 0 or (self.draws > 0 and left > 0):
                    self.belief.add(old.keys[i], old.weights[i])

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef const ChessView* seen = <const ChessView*> &self.view
        cdef ChessState* chess = <ChessState*> state
        cdef int other = 1 - self.seat
        cdef uint8_t* pile = chess.deck[other]
        cdef uint8_t* hand = chess.own[other].hand
        cdef int size, deck_size = seen.side[other].deck_size
        cdef uint64_t key
        memset(state, 0, self.game.state_bytes)
        chess.phase = seen.phase
        chess.challenge = seen.challenge
        chess.half_points = seen.half_points
        copy_side(&chess.side[0], &seen.side[0])
        copy_side(&chess.side[1], &seen.side[1])
        chess.own[self.seat] = seen.own
        memcpy(chess.deck[self.seat], self.own_pile, self.own_size)
        rng_shuffle_quickly(rng, chess.deck[self.seat], self.own_size)
        while True:
            key = self.belief.draw(rng)
            unpack(key, hand)
            chess.own[other].castling_used = key >> USED_BIT
            # The unseen cards that are not in hand.
            size = spread_packed(self.packed_unseen - cards_of(key), pile)
            rng_part_and_shuffle(rng, pile, size, size - deck_size)
            while size > deck_size:
                size -= 1
                hand[pile[size]] += 1
                pile[size] = 0
            # In the Champion phase the opponent holds a noble, or it would have shown its hand.
            if seen.phase != CHAMPION or nobles(hand) > 0 or rng_reject(rng):
                return


cdef inline int nobles_left(const Replay* replay) noexcept nogil:
    # Of a side, before its champion of the turn is decided; none is on the table.
    return nobles(replay.unseen) + nobles(replay.reserve)


cdef inline int aid_left(const Replay* replay) noexcept nogil:
    return total(replay.unseen) + total(replay.reserve) - nobles_left(replay)


cdef inline int opposing_champion(const Memory* memory, int at, const Memory* other) noexcept nogil:
    # The champion of the other side in a turn of a memory; -1: that side's memory begins later.
    cdef int i, later = 0
    for i in range(at + 1, memory.size):
        later += not memory.turns[i].mulligan
    for i in range(other.size - 1, -1, -1):
        if not other.turns[i].mulligan:
            if later == 0:
                return other.turns[i].champion
            later -= 1
    return -1


cdef inline void copy_side(Side* to, const Side* side) noexcept nogil:
    # The turns that are still to come stay 0.
    memcpy(to, side, sizeof(Side) - (MEMORY_TURNS - side.memory.size) * sizeof(Turn))
