"""How playouts of Castle Rampage go on: as the weights of a model say, and to where its net tells
what the position is worth.

Each way to use a card now has a worth, the sum of its weighted features, and the one with the
highest sum of worth and noise is chosen. With noise of the Gumbel distribution, an action is chosen
with the probability that a softmax gives it (R. D. Luce, P. Suppes, "Preference, Utility, and
Subjective Probability", 1965). The noise is divided by SHARPNESS: what the search leaves open is no
reason to play worse. Which cards are paid is left to one order of all cards, so a card that costs
others is worth what all ways to pay for it are in a mean hand.
"""

from engine.chance cimport Rng, rng_next
from engine.features cimport UNIT
from engine.game cimport Action, State
from engine.integers cimport uint64_t, uint8_t
from engine.numerics cimport log
from engine.playout_policy cimport TO_THE_END, PlayoutPolicy
from games.castle_rampage.play.features cimport (
    ARCHER_HAND, AT_CASTLE, AT_CASTLE_CARDS, AT_CASTLE_LAST, AT_CASTLE_STRENGTH, BEATS,
    BEATS_MARGIN, BOMBER_GATE, BONUS, CASTLE_BY_CASTLE, CASTLE_BY_GATE, ENDS, ENDS_CARDS,
    ENDS_UNSTRENGTHENED, EQUALS, GATE_BY_CASTLE, GATE_BY_GATE, JESTER_CASTLE, KEEPS, MEAN_HAND,
    MERCENARY_PAID, ON_CASTLE, ON_GATE, PAYS, PLAYS, PLAYS_CARDS, PLAYS_UNSTRENGTHENED,
    PRIEST_ARCHERS, PRIEST_HAND, SABOTEUR_GRANARY, STOPPED, STOPS_VETERAN, STRENGTH,
    STRENGTHENS_CARDS, SUMMONER_CASTLE, SUMMONER_OTHER, SUMMONER_WINS, TO_STRUCTURE, UNDER_CASTLE,
    CastleRampageFeatures, payments, plain,
)
from games.castle_rampage.rules.actions cimport OGRE_DISCARDS, action_base, payment
from games.castle_rampage.rules.rules cimport CastleRampage
from games.castle_rampage.rules.state cimport *
from games.castle_rampage.rules.turns cimport CATAPULT_BONUS, MERCENARY_DISCARDS

from engine.model import PLAYOUTS, VALUE

cdef enum:
    NOISES = 256
    NOISE_BITS = 8
    SHARPNESS = 2
    NO_WORTH = -(1 << 30)
    PLAIN_PLACES = DEAL - 1

cdef int[NOISES] NOISE           # In units of weights, each equally likely.
for _i in range(NOISES):
    NOISE[_i] = <int> (-log(-log((_i + 0.5) / NOISES)) / UNIT / SHARPNESS)


cdef struct Bits:                # Random bits that are not used yet.
    uint64_t bits
    int left

cdef struct Use:                 # The best use of a card that was found so far.
    int worth
    Action action                # Without what pays for it.
    int card
    int cost                     # Of other cards.


cdef inline int noise(Bits* bits, Rng* rng) noexcept nogil:
    cdef int found
    if bits.left == 0:
        bits.bits = rng_next(rng)
        bits.left = 64 // NOISE_BITS
    bits.left -= 1
    found = NOISE[bits.bits & (NOISES - 1)]
    bits.bits >>= NOISE_BITS
    return found


cdef inline void weigh(Use* best, int worth, Action action, int card, int cost, Bits* bits,
                       Rng* rng) noexcept nogil:
    worth += noise(bits, rng)
    if worth > best.worth:
        best.worth = worth
        best.action = action
        best.card = card
        best.cost = cost


cdef class CastleRampagePlayoutPolicy(PlayoutPolicy):
    """Plays each turn for itself, without a plan for later turns."""

    cdef CastleRampage rules
    cdef CastleRampageFeatures learned  # None: it chooses uniformly.
    cdef CastleRampageFeatures value    # None: playouts go on to the end.
    cdef const int* weights      # Of an action of a turn; owned by the features.
    # What a card is worth if it is played, with what it costs, and under each structure.
    cdef int plays[CARDS]
    cdef int under[STRUCTURES * CARDS]
    cdef int paid[MAX_COST + 1]  # What the ways to pay so many cards are worth.
    cdef uint8_t cheapest_first[CARDS - 1]  # All cards, the most likely to be paid first.
    cdef int kept[CARDS]         # Against the better of the other places in a set-up.

    def __init__(self, game, model=None):
        cdef const int* weights
        cdef int card, structure
        super().__init__(game)
        self.rules = game
        uses = () if model is None else model.uses
        if VALUE in uses:
            self.value = model.features
        else:
            self.horizon = TO_THE_END
        if PLAYOUTS not in uses:
            return
        self.learned = model.features
        self.weights = weights = self.learned.turn_weights
        for n in range(MAX_COST + 1):
            self.paid[n] = <int> (log(payments(n, MEAN_HAND, self.learned.mean_paid)) / UNIT)
        for card in range(1, CARDS):
            self.plays[card] = weights[PLAYS + card - 1] - weights[ENDS] + self.paid[
                self.rules.tables.cost[card]]
            for structure in range(STRUCTURES):
                self.under[structure * CARDS + card] = (
                    weights[TO_STRUCTURE + structure * (CARDS - 1) + card - 1] - weights[ENDS]
                    + self.paid[OGRE_DISCARDS if card == OGRE else 0])
            if not is_purple(card):
                self.kept[card] = self.learned.set_up_weights[KEEPS + plain(card)] - max(
                    0, self.learned.set_up_weights[UNDER_CASTLE + plain(card)])
        order = sorted(range(1, CARDS), key=lambda card: -self.weights[PAYS + card - 1])
        for i, each in enumerate(order):
            self.cheapest_first[i] = each

    cdef int stage(self, const State* state) noexcept nogil:
        return (<const CastleState*> state).common.turn

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        if self.learned is None:
            return PlayoutPolicy.choose(self, state, seat, rng)
        if (<const CastleState*> state).common.phase == SET_UP:
            return self.set_up(<const CastleState*> state, seat, rng)
        return self.turn(<const CastleState*> state, seat, rng)

    cdef Action set_up(self, const CastleState* rampage, int seat, Rng* rng) noexcept nogil:
        # Keeps one card, then puts those under the Castle that are worth most there.
        cdef const int* weights = self.learned.set_up_weights
        cdef const uint8_t* hand = rampage.own[seat].hand
        cdef int cards[DEAL]
        cdef int worths[DEAL]
        cdef int card, worth, i, j, n = 0, kept = 0, best = NO_WORTH, _copy
        cdef Action action = 0
        cdef Bits bits
        bits.bits = bits.left = 0
        for card in range(1, CARDS):
            for _copy in range(hand[card]):
                cards[n] = card
                n += 1
        for i in range(DEAL):
            worth = self.kept[cards[i]] + noise(&bits, rng)
            if worth > best:
                best = worth
                kept = i
        cards[kept], cards[DEAL - 1] = cards[DEAL - 1], cards[kept]
        for i in range(PLAIN_PLACES):
            card = cards[i]
            worth = weights[UNDER_CASTLE + plain(card)] + noise(&bits, rng)
            j = i
            while j > 0 and worths[j - 1] > worth:
                worths[j] = worths[j - 1]
                cards[j] = cards[j - 1]
                j -= 1
            worths[j] = worth
            cards[j] = card
        if (weights[ON_GATE + plain(cards[0])] + noise(&bits, rng)
                < weights[ON_GATE + plain(cards[1])] + noise(&bits, rng)):
            cards[0], cards[1] = cards[1], cards[0]
        if (weights[ON_CASTLE + plain(cards[2])] + noise(&bits, rng)
                < weights[ON_CASTLE + plain(cards[3])] + noise(&bits, rng)):
            cards[2], cards[3] = cards[3], cards[2]
        for i in range(DEAL):
            action = action << CARD_BITS | cards[i]
        return action | action_base(SET_UP_CARDS, 0, 0)

    cdef Action turn(self, const CastleState* rampage, int seat, Rng* rng) noexcept nogil:
        # The worth of ending the turn is 0 without noise.
        cdef const int* weights = self.weights
        cdef const Side* side = &rampage.common.sides[seat]
        cdef const Side* other = &rampage.common.sides[1 - seat]
        cdef const Stack* gate = &rampage.stacks[(1 - seat) * STRUCTURES + GATE]
        cdef const Stack* castle = &rampage.stacks[(1 - seat) * STRUCTURES + CASTLE]
        cdef int own_gate = standing(&rampage.stacks[seat * STRUCTURES + GATE])
        cdef int own_castle = standing(&rampage.stacks[seat * STRUCTURES + CASTLE])
        cdef const uint8_t* hand = rampage.own[seat].hand
        cdef int held = side.hand_size
        cdef bint may_strengthen = not rampage.common.strengthened
        cdef int play = (weights[PLAYS_CARDS] - weights[ENDS_CARDS]) * held
        cdef int strengthen[STRUCTURES]
        cdef int card, worth, strength, choice, cost, way, n, holding = -1
        cdef Action action
        cdef Use best
        cdef Bits bits
        bits.bits = bits.left = 0
        best.worth = NO_WORTH
        weigh(&best, 0, action_base(END_TURN, 0, 0), 0, 0, &bits, rng)
        if may_strengthen:
            play += weights[PLAYS_UNSTRENGTHENED] - weights[ENDS_UNSTRENGTHENED]
            worth = ((weights[STRENGTHENS_CARDS] - weights[ENDS_CARDS]) * held
                     - weights[ENDS_UNSTRENGTHENED])
            strengthen[GATE] = (worth + weights[GATE_BY_GATE] * own_gate
                                + weights[GATE_BY_CASTLE] * own_castle)
            strengthen[CASTLE] = (worth + weights[CASTLE_BY_GATE] * own_gate
                                  + weights[CASTLE_BY_CASTLE] * own_castle)
        for card in range(1, CARDS):
            if hand[card] == 0:
                continue
            if may_strengthen and (card != OGRE or held > OGRE_DISCARDS):
                for choice in range(STRUCTURES):
                    weigh(&best, self.under[choice * CARDS + card] + strengthen[choice],
                          action_base(STRENGTHEN, card, choice), card,
                          OGRE_DISCARDS if card == OGRE else 0, &bits, rng)
            worth = play + self.plays[card]
            action = action_base(PLAY, card, 0)
            cost = self.rules.tables.cost[card]
            strength = self.rules.tables.attack[card] + CATAPULT_BONUS * side.catapults
            if card >= VOLLEY:
                if holding < 0:
                    holding = holding_of(hand)
                way = self.rules.tables.first_ways[holding * SCHEMES + card - VOLLEY]
                if way == NO_WAY:
                    continue
                if way // MAX_WAYS % 2:
                    action = action_base(PLAY, card, 1)
                    worth += weights[BONUS]
                    strength += self.rules.tables.bonus[card]
                action |= self.rules.tables.ways[way].discards
                worth += self.attack(card, strength, gate, castle)
            elif held <= cost:
                continue
            elif card == MERCENARY:
                for n in range(min(MERCENARY_DISCARDS, held - 1) + 1):
                    weigh(&best, worth + self.paid[n] + n * weights[MERCENARY_PAID] + self.attack(
                        card, strength + n * self.rules.tables.bonus[card], gate, castle),
                        action, card, n, &bits, rng)
                continue
            elif self.rules.tables.attack[card]:
                worth += self.attack(card, strength, gate, castle)
                if card == ARCHER:
                    worth += weights[ARCHER_HAND] * other.hand_size
            elif card == JESTER:
                if own_castle < 2:
                    continue
                worth += weights[JESTER_CASTLE] * own_castle
            elif card == SUMMONER:
                if own_castle < 2:
                    continue
                worth += (weights[SUMMONER_CASTLE] * own_castle
                          + weights[SUMMONER_OTHER] * standing(castle))
                if standing(castle) == 1:
                    worth += weights[SUMMONER_WINS]
            elif card == PRIEST:
                worth += weights[PRIEST_HAND] * other.hand_size
                for choice in range(KNIGHT_UNIT, AXE_MAN_UNIT + 1):
                    n = 0 if choice == KNIGHT_UNIT else (
                        weights[PRIEST_ARCHERS + choice - KNIGHT_UNIT - 1])
                    weigh(&best, worth + n, action_base(PLAY, card, choice), card, cost, &bits,
                          rng)
                continue
            elif card == BOMBER:
                if not standing(gate):
                    continue
                worth += weights[BOMBER_GATE] * standing(gate)
            elif card == SABOTEUR:
                if not other.granaries and not other.catapults:
                    continue
                action = action_base(PLAY, card, GRANARY if other.granaries else CATAPULT)
                worth += weights[SABOTEUR_GRANARY] if other.granaries else 0
            weigh(&best, worth, action, card, cost, &bits, rng)
        return best.action | payment(self.cheapest_first, hand, best.card, best.cost)

    cdef int attack(self, int card, int strength, const Stack* gate,
                    const Stack* castle) noexcept nogil:
        # What an attack is worth by what it meets. Only a card that was seen or shown is known.
        cdef const int* weights = self.weights
        cdef const Stack* stack = gate
        cdef int structure = GATE, worth = weights[STRENGTH] * strength, margin
        if card == DIGGER or not standing(gate):
            structure = CASTLE
            stack = castle
            worth += (weights[AT_CASTLE] + weights[AT_CASTLE_STRENGTH] * strength
                      + weights[AT_CASTLE_CARDS] * standing(castle)
                      + (weights[AT_CASTLE_LAST] if standing(castle) == 1 else 0))
        if stack.known[stack.top] != HIDDEN:
            margin = strength - self.rules.tables.defence[
                structure * CARDS + stack.cards[stack.top]]
            if margin > 0:
                worth += weights[BEATS] + weights[BEATS_MARGIN] * margin
            elif margin == 0:
                worth += weights[EQUALS]
            else:
                worth += weights[STOPPED] + (weights[STOPS_VETERAN] if card == VETERAN else 0)
        return worth

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        if self.value is None:
            return PlayoutPolicy.estimate(self, state, draw)
        return self.value.estimate(state, draw)
