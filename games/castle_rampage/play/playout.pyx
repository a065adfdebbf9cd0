"""Sensible turns in Castle Rampage, and an estimate of the score before a match is over.

In a turn, the policy strengthens once, with a card that defends better than it attacks. It plays
cards that draw and permanent cards, and attacks while a card in hand is likely to destroy the card
that it meets. It pays with the cards that are worth least in hand. A playout ends after some turns;
the estimate then weighs structures, hands and permanent cards of both seats. With a model, play or
the estimate are as it says (the modules `learned_play` and `features`).
"""

from engine.chance cimport Rng, rng_next
from engine.game cimport SEATS, Action, State
from engine.integers cimport uint32_t, uint64_t, uint8_t
from engine.numerics cimport exp
from engine.playout_policy cimport PlayoutPolicy
from games.castle_rampage.play.features cimport CastleRampageFeatures
from games.castle_rampage.play.learned_play cimport LearnedPlay
from games.castle_rampage.rules.actions cimport OGRE_DISCARDS, Use, action_base, payment, use_better
from games.castle_rampage.rules.rules cimport CastleRampage
from games.castle_rampage.rules.state cimport *

cdef extern from *:
    int lowest_one "__builtin_ctz"(uint32_t bits) noexcept nogil

cdef enum:
    # The noise in the worth of an action: below this.
    STRENGTHEN_NOISE = 12
    PLAY_NOISE = 10
    HOPELESS = -100              # The worth of an attack that destroys nothing.
    SET_UP_NOISE = 24
    BLIND_NOISE = 4096           # More than any difference in worth.
    BLIND_SET_UPS = 8            # One set-up in so many has the blind noise.
    NOISE_BITS = 16              # One number has several noises.
    # Turns of a playout: a net sees so much that fewer are better.
    HORIZON = 6
    VALUED_HORIZON = 1

# The worth of a card in hand, in tenths of a point of defence.
cdef int* KEEP = [0, 10, 9, 11, 16, 12, 13, 16, 11, 20, 10, 5, 9, 5, 9, 8, 12, 14,
                  24, 24, 24, 28]
cdef uint8_t[CARDS - 1] CHEAPEST_FIRST     # All cards, by their worth in hand.
for _i, _card in enumerate(sorted(range(1, CARDS), key=lambda card: KEEP[card])):
    CHEAPEST_FIRST[_i] = _card

# The worth of a set-up, in thousandths of a match: of the card that is kept, and of each point of
# defence. Fitted by linear regression to 60,300 matches in which the policy played against itself
# after random set-ups.
cdef int* KEPT = [0, -14, -7, 12, -5, -21, -16, -4, -30, 0, 0, 0, 0, 54, -18, -17, 5, 100,
                  -18, -11, -10, -2]
cdef enum:
    GATE_POINT = 11
    CASTLE_POINT = 12

# The worth of one more of each, in log odds: fitted by logistic regression to 5,294 positions of
# 250 matches that the policy played against itself.
cdef double CASTLE_CARD = 0.14
cdef double GATE_CARD = 0.02
cdef double GATE_DEFENCE = 0.015
cdef double HAND_CARD = 0.14
cdef double OF_GRANARY = 1.0
cdef double OF_CATAPULT = 0.27
cdef double OF_TURN = 0.18          # For the seat to come: the active one has drawn already.


cdef struct Noise:               # Random bits that are not used yet.
    uint64_t bits
    int left


cdef inline int noise_below(Noise* noise, int n, Rng* rng) noexcept nogil:
    # Nearly uniform in 0..n-1: for a noise, a deviation of n in 65,536 does not matter.
    cdef int found
    if noise.left == 0:
        noise.bits = rng_next(rng)
        noise.left = 64 // NOISE_BITS
    noise.left -= 1
    found = ((noise.bits & ((1 << NOISE_BITS) - 1)) * n) >> NOISE_BITS
    noise.bits >>= NOISE_BITS
    return found


cdef inline uint32_t cards_of(const uint8_t* hand) noexcept nogil:
    # The set of the cards in a hand, eight cards at a time.
    return which_of(word_of(hand)) | which_of(word_of(hand + 8)) << 8 | which_of(
        short_word_of(hand + 16)) << 16


cdef inline uint64_t word_of(const uint8_t* counts) noexcept nogil:
    # Eight counts, a byte each. Compilers make one load of this.
    return (<uint64_t> counts[0] | <uint64_t> counts[1] << 8 | <uint64_t> counts[2] << 16
            | <uint64_t> counts[3] << 24 | <uint64_t> counts[4] << 32 | <uint64_t> counts[5] << 40
            | <uint64_t> counts[6] << 48 | <uint64_t> counts[7] << 56)


cdef inline uint64_t short_word_of(const uint8_t* counts) noexcept nogil:
    # Six counts: the last ones of a hand.
    return (<uint64_t> counts[0] | <uint64_t> counts[1] << 8 | <uint64_t> counts[2] << 16
            | <uint64_t> counts[3] << 24 | <uint64_t> counts[4] << 32 | <uint64_t> counts[5] << 40)


cdef inline uint32_t which_of(uint64_t counts) noexcept nogil:
    # Which of eight counts are not 0. No hand holds 128 copies, so a sum sets the high bit of a
    # byte and no other; the product then gathers these bits.
    cdef uint64_t high = (counts + <uint64_t> 0x7F7F7F7F7F7F7F7F) & <uint64_t> 0x8080808080808080
    return ((high >> 7) * <uint64_t> 0x0102040810204080) >> 56


cdef class CastleRampagePlayoutPolicy(PlayoutPolicy):
    """Plays each turn for itself, without a plan for later turns."""

    cdef CastleRampage rules
    # By card: what a use is worth as far as that depends on the card alone. For a card under a
    # structure, the first row is of a seat whose Gate is short, the second of one whose Gate is far
    # longer than its Castle.
    cdef int play_worths[CARDS]
    cdef int keep_worths[CARDS]         # Of the card kept in a set-up,
    cdef int castle_worths[CARDS]       # and of one placed under the Castle, not under the Gate.
    cdef int strengthen_worths[2 * CARDS]
    cdef uint8_t strengthen_structures[2 * CARDS]
    cdef LearnedPlay learned     # Or None: play is as written here,
    cdef CastleRampageFeatures value    # and so is the estimate.

    def __init__(self, game, model=None):
        super().__init__(game)
        if model is not None and "playouts" in model.uses:
            self.learned = LearnedPlay(model.features)
        if model is not None and "value" in model.uses:
            self.value = model.features
        self.rules = game
        self.horizon = HORIZON if self.value is None else VALUED_HORIZON
        for card in range(1, CARDS):
            self.play_worths[card] = self.play_worth(card)
            gate = GATE_POINT * self.rules.tables.defence[GATE * CARDS + card]
            castle = CASTLE_POINT * self.rules.tables.defence[CASTLE * CARDS + card]
            self.keep_worths[card] = KEPT[card] - max(gate, castle)
            self.castle_worths[card] = castle - gate
            for at, far_longer in ((card, False), (CARDS + card, True)):
                structure = self.best_structure(card, far_longer)
                self.strengthen_structures[at] = structure
                self.strengthen_worths[at] = (
                    10 * self.rules.tables.defence[structure * CARDS + card] - KEEP[card]
                    - 10 * (OGRE_DISCARDS if card == OGRE else 0))

    cdef int best_structure(self, int card, bint gate_is_long):
        if gate_is_long or self.rules.tables.defence[CASTLE * CARDS + card] > (
                self.rules.tables.defence[GATE * CARDS + card]):
            return CASTLE
        return GATE

    cdef int play_worth(self, int card):
        cdef int worth = -10 * self.rules.tables.cost[card]
        if card >= VOLLEY:
            return 30
        if self.rules.tables.attack[card]:
            worth += {AXE_MAN: 9}.get(card, 0) - KEEP[card] // 2
        return worth + {CATAPULT: 22, GRANARY: 30, JESTER: 4, SUMMONER: 4, SPY: 12, PRIEST: 4,
                        BOMBER: 14, SABOTEUR: 25}.get(card, 0)

    cdef int stage(self, const State* state) noexcept nogil:
        return (<const CastleState*> state).common.turn

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        # As the method of the base class, without its calls through the class.
        cdef CastleState* rampage = <CastleState*> state
        cdef Action joint[SEATS]
        cdef int last = rampage.common.turn + self.horizon
        while rampage.common.phase != OVER:
            if rampage.common.turn >= last:
                return self.estimate(state, draw)
            if rampage.common.phase == SET_UP:
                joint[0] = self.play(rampage, 0, rng)
                joint[1] = self.play(rampage, 1, rng)
            else:
                joint[rampage.common.active] = self.play(rampage, rampage.common.active, rng)
            self.rules.apply(state, joint, rng, NULL)
        return self.at_end(state, draw)

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        return self.play(<const CastleState*> state, seat, rng)

    cdef inline Action play(self, const CastleState* rampage, int seat, Rng* rng) noexcept nogil:
        cdef bint set_up = rampage.common.phase == SET_UP
        if self.learned is not None:
            if set_up:
                return self.learned.set_up(rampage, seat, rng)
            return self.learned.turn(rampage, seat, rng)
        return self.set_up(rampage, seat, rng) if set_up else self.turn(rampage, seat, rng)

    cdef Action set_up(self, const CastleState* rampage, int seat, Rng* rng) noexcept nogil:
        # Keeps the card that is worth most in hand, and then goes by what a card is worth under the
        # Castle rather than under the Gate. Now and then the noise alone decides.
        cdef const uint8_t* hand = rampage.own[seat].hand
        cdef uint32_t left = cards_of(hand)
        cdef uint8_t cards[DEAL]
        cdef int worths[DEAL]
        cdef Noise noise
        cdef Action action = 0
        cdef int card, worth, spread, i, j, _copy, n = 0, kept = 0
        while left:
            card = lowest_one(left)
            left &= left - 1
            for _copy in range(hand[card]):
                cards[n] = card
                n += 1
        noise.bits = noise.left = 0
        spread = SET_UP_NOISE if noise_below(&noise, BLIND_SET_UPS, rng) else BLIND_NOISE
        for i in range(DEAL):
            worths[i] = self.keep_worths[cards[i]] + noise_below(&noise, spread, rng)
            if worths[i] > worths[kept]:
                kept = i
        cards[kept], cards[DEAL - 1] = cards[DEAL - 1], cards[kept]
        for i in range(DEAL - 1):
            card = cards[i]
            worth = self.castle_worths[card] + noise_below(&noise, spread, rng)
            j = i
            while j > 0 and worths[j - 1] > worth:
                worths[j] = worths[j - 1]
                cards[j] = cards[j - 1]
                j -= 1
            worths[j] = worth
            cards[j] = card
        for i in range(DEAL):
            action = action << CARD_BITS | cards[i]
        return action | action_base(SET_UP_CARDS, 0, 0)

    cdef Action turn(self, const CastleState* rampage, int seat, Rng* rng) noexcept nogil:
        # Each way to use a card now has a worth, with some noise. Ending the turn is worth 0.
        cdef const Side* side = &rampage.common.sides[seat]
        cdef const Side* other_side = &rampage.common.sides[1 - seat]
        cdef const Stack* gate = &rampage.stacks[(1 - seat) * STRUCTURES + GATE]
        cdef const Stack* castle = &rampage.stacks[(1 - seat) * STRUCTURES + CASTLE]
        cdef int own_gate = standing(&rampage.stacks[seat * STRUCTURES + GATE])
        cdef int own_castle = standing(&rampage.stacks[seat * STRUCTURES + CASTLE])
        cdef const uint8_t* hand = rampage.own[seat].hand
        cdef int row = CARDS if own_gate > own_castle + 2 else 0
        cdef int held = side.hand_size
        cdef uint32_t left = cards_of(hand)
        cdef int holding = holding_of(hand) if left >> VOLLEY else 0
        cdef int way
        cdef Noise noise
        cdef Use best
        cdef int card, worth, choice, cost
        best.action = action_base(END_TURN, 0, 0)
        best.worth = best.card = best.cost = 0
        noise.bits = noise.left = 0
        while left:
            card = lowest_one(left)
            left &= left - 1
            if not rampage.common.strengthened:
                worth = self.strengthen_worths[row + card]
                cost = OGRE_DISCARDS if card == OGRE else 0
                # Without noise first, because most uses are out of the question.
                if worth + STRENGTHEN_NOISE > best.worth + 1 and held > cost:
                    worth += noise_below(&noise, STRENGTHEN_NOISE, rng)
                    choice = self.strengthen_structures[row + card]
                    use_better(&best, worth, action_base(STRENGTHEN, card, choice), card, cost)
            worth = self.play_worths[card]
            choice = 0
            if card >= VOLLEY:
                way = self.rules.tables.first_ways[holding * SCHEMES + card - VOLLEY]
                if way != NO_WAY and worth + PLAY_NOISE > best.worth + 1:
                    worth += noise_below(&noise, PLAY_NOISE, rng)
                    choice = way // MAX_WAYS % 2
                    use_better(&best, worth, action_base(PLAY, card, choice)
                               | self.rules.tables.ways[way].discards, card, 0)
                continue
            cost = self.rules.tables.cost[card]
            if held <= cost:
                continue
            if self.rules.tables.attack[card]:
                worth += self.attack(card, self.rules.tables.attack[card] + side.catapults, gate,
                                     castle)
                if card == ARCHER and other_side.hand_size:
                    worth += 8
            elif card == JESTER:
                if own_castle < 4:
                    continue
            elif card == SUMMONER:
                if own_castle < 2:
                    continue
                if own_castle > standing(castle):
                    worth += 10
            elif card == PRIEST:
                worth += 2 * other_side.hand_size
            elif card == BOMBER:
                if not standing(gate):
                    continue
            elif card == SABOTEUR:
                if not other_side.granaries and not other_side.catapults:
                    continue
                choice = GRANARY if other_side.granaries else CATAPULT
            if worth + PLAY_NOISE > best.worth + 1:
                worth += noise_below(&noise, PLAY_NOISE, rng)
                if card == PRIEST and worth > best.worth:
                    choice = KNIGHT_UNIT + noise_below(
                        &noise, AXE_MAN_UNIT - KNIGHT_UNIT + 1, rng)
                use_better(&best, worth, action_base(PLAY, card, choice), card, cost)
        return best.action | payment(CHEAPEST_FIRST, hand, best.card, best.cost)

    cdef int attack(self, int card, int strength, const Stack* gate,
                    const Stack* castle) noexcept nogil:
        # The worth of the cards that the attack can be expected to destroy. Only a card that was
        # seen or shown is known.
        cdef const Stack* stack = gate
        cdef int structure = GATE
        cdef int defence
        if card == DIGGER or not standing(gate):
            stack = castle
            structure = CASTLE
        if stack.known[stack.top] == HIDDEN:
            return 5 * strength + (6 if structure else 0)
        defence = self.rules.tables.defence[structure * CARDS + stack.cards[stack.top]]
        if defence > strength:
            return HOPELESS
        return 10 + 4 * (strength - defence) + (6 if structure else 0)

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        cdef const CastleState* rampage = <const CastleState*> state
        cdef double lead
        if self.value is not None:
            return self.value.estimate(state, draw)
        lead = self.side(rampage, 0) - self.side(rampage, 1)
        lead += -OF_TURN if rampage.common.active == 0 else OF_TURN
        draw[0] = 0
        return 1 / (1 + exp(-lead))

    cdef double side(self, const CastleState* rampage, int seat) noexcept nogil:
        cdef const Stack* stack = &rampage.stacks[seat * STRUCTURES + CASTLE]
        cdef double worth = CASTLE_CARD * (stack.count - stack.top)
        cdef int i
        stack = &rampage.stacks[seat * STRUCTURES + GATE]
        for i in range(stack.top, stack.count):
            worth += GATE_CARD + GATE_DEFENCE * self.rules.tables.defence[
                GATE * CARDS + stack.cards[i]]
        worth += HAND_CARD * rampage.common.sides[seat].hand_size
        worth += OF_GRANARY * rampage.common.sides[seat].granaries
        worth += OF_CATAPULT * rampage.common.sides[seat].catapults
        return worth
