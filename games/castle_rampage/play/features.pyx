"""What is learned of Castle Rampage: what describes its play, and what a model's weights give.

A *set-up* is described card by card, by where each goes. An *action of a turn* is described by the
card that is used, by how it is used and by what is paid for it; attacks also by their strength and
by what they are known to meet, and some cards by the structures and hands that they depend on. The
*start of a turn*, where playouts end, is described by the structures, the cards in hand and the
permanent cards.

For beliefs, the weights give how likely a card is to lie at each place. For a *set-up*, that is the
mean over sets of four other cards dealt with it: the weight of all set-ups that put the card there,
a permanent of a matrix, against that of all set-ups. The card put under a *structure* in a turn is
chosen among the cards in hand, which are taken for average ones. What a seat saw of the other's
structures then is not known any more, so actions count as they do where nothing is known of them.

The probability of an action is a mixture: a share UNIFORM of uniform play, so that no choice of an
opponent is taken for impossible, and otherwise a softmax of the weighted features.
"""

cimport cython
from libc.string cimport memcpy, memset

from engine.chance cimport Rng, rng_part, rng_seed
from engine.features cimport UNIFORM, Features, likely, weighted
from engine.game cimport SEATS, State
from engine.integers cimport uint8_t
from engine.net cimport Inputs, put
from games.castle_rampage.rules.actions cimport (
    OGRE_DISCARDS, card_of, choice_of, discard_of, kind_of, set_up_card,
)
from games.castle_rampage.rules.state cimport *
from games.castle_rampage.rules.turns cimport CATAPULT_BONUS, MERCENARY_DISCARDS

from games.castle_rampage.rules.cards import card_title

cdef enum:
    DEALS = 200                  # Sets of other cards in a set-up, for each card.

SET_UP_NAMES = ("on gate", "castle", "on castle", "keep")
STRUCTURE_NAMES = ("gate", "castle")
FACT_NAMES = (
    "end, not strengthened", "end, cards", "strengthen, cards", "gate, gate cards",
    "gate, castle cards", "castle, gate cards", "castle, castle cards", "play, not strengthened",
    "play, cards", "strength", "at castle", "at castle, strength", "at castle, cards",
    "at castle, last card", "beats", "beats, margin", "equals", "stopped", "stopped, veteran",
    "bonus", "mercenary, paid", "archer, other hand", "priest, other hand", "priest, archers",
    "priest, axe men", "saboteur, granary", "bomber, gate cards", "jester, castle cards",
    "jester, last card", "summoner, castle cards", "summoner, other castle cards", "summoner, wins",
    "summoner, loses")
SIDE_NAMES = ("own", "other")


# The code that Cython makes to pickle an object does not know arrays of arrays.
@cython.auto_pickle(False)
cdef class CastleRampageFeatures(Features):
    """Describes set-ups, actions of turns, and the starts of turns."""

    uses = ("beliefs", "playouts", "value")
    holding = ("playouts", "value")

    def __init__(self, game, weights=None, net=None):
        super().__init__(game, weights, net)
        self.rules = game
        if weights is not None:
            for i, weight in enumerate(weights["set-up"]):
                self.set_up_weights[i] = weight
            for i, weight in enumerate(weights["turn"]):
                self.turn_weights[i] = weight
            self.weigh_set_ups()
            self.weigh_uses()
            self.weigh_structures()

    @property
    def decisions(self):
        titles = [card_title(card).lower() for card in range(1, CARDS)]
        dealt = [card_title(card).lower() for card in range(1, CARDS) if not is_purple(card)]
        return {
            "set-up": tuple(f"{name} {card}" for name in SET_UP_NAMES for card in dealt),
            "turn": (
                "end",
                *(f"play {card}" for card in titles),
                *(f"{name} {card}" for name in STRUCTURE_NAMES for card in titles),
                *(f"pay {card}" for card in titles),
                *(f"unit {card}" for card in titles[:UNIT_CARDS]),
                *FACT_NAMES,
            ),
        }

    @property
    def inputs(self):
        cards = [card_title(card).lower() for card in range(1, CARDS)]
        names = []
        for side in SIDE_NAMES:
            names += [f"{side} hand: {card}" for card in cards]
            for structure in STRUCTURE_NAMES:
                names += [f"{side} {structure}: {card}" for card in cards]
                names += [f"{side} {structure}: {card} on top" for card in cards]
                names += [f"{side} {structure}: {size}" for size in ("cards", "empty", "one card")]
            names += [f"{side} {what}" for what in ("catapults", "granaries", "hand size")]
        return tuple(names)

    @property
    def moments(self):
        return (*(f"set-up {n + 1}" for n in range(MAX_SET_UPS)),
                "turns 1 to 4", "turns 5 to 8", "turns from 9 on")

    cdef int moment(self, const State* state, int seat) noexcept nogil:
        cdef const Common* common = &(<const CastleState*> state).common
        if common.phase == SET_UP:
            return common.set_ups
        return MAX_SET_UPS + min((common.turn - 1) // 4, 2)

    cdef int decision_kind(self, const State* state, int seat) noexcept nogil:
        return 0 if (<const CastleState*> state).common.phase == SET_UP else 1

    cdef void describe_action(self, const State* state, int seat, Action action,
                              int* row) noexcept nogil:
        if (<const CastleState*> state).common.phase == SET_UP:
            self.describe_set_up(action, row)
        else:
            self.describe_turn(<const CastleState*> state, seat, action, row)

    cdef int perspective(self, const State* state) noexcept nogil:
        return (<const CastleState*> state).common.active

    cdef void describe_position(self, const State* state, Inputs* inputs) noexcept nogil:
        cdef const CastleState* rampage = <const CastleState*> state
        cdef const Stack* stack
        cdef int side, seat, card, structure, i, n, at
        for side in range(SEATS):
            seat = rampage.common.active ^ side
            at = side * SIDE_INPUTS + OF_HAND
            for card in range(1, CARDS):
                put(inputs, at + card - 1, rampage.own[seat].hand[card])
            for structure in range(STRUCTURES):
                stack = &rampage.stacks[seat * STRUCTURES + structure]
                n = standing(stack)
                at = side * SIDE_INPUTS + OF_STRUCTURES + structure * STRUCTURE_INPUTS
                for i in range(stack.top, stack.count):
                    put(inputs, at + stack.cards[i] - 1, 1)
                if n:
                    put(inputs, at + TOP_OF + stack.cards[stack.top] - 1, 1)
                put(inputs, at + SIZE_OF, n)
                put(inputs, at + IS_EMPTY, n == 0)
                put(inputs, at + IS_OF_ONE, n == 1)
            at = side * SIDE_INPUTS
            put(inputs, at + OF_CATAPULTS, rampage.common.sides[seat].catapults)
            put(inputs, at + OF_GRANARIES, rampage.common.sides[seat].granaries)
            put(inputs, at + HAND_SIZE, rampage.common.sides[seat].hand_size)

    # Features

    cdef void describe_set_up(self, Action action, int* row) noexcept nogil:
        cdef int i, at
        memset(row, 0, SET_UP_FEATURES * sizeof(int))
        for i in range(SET_UP_PLACES):
            at = plain(set_up_card(action, i))
            if i == GATE_TOP:
                row[ON_GATE + at] += 1
            elif i == KEPT:
                row[KEEPS + at] += 1
            elif i != GATE_LOW:
                row[UNDER_CASTLE + at] += 1
                if i == CASTLE_TOP:
                    row[ON_CASTLE + at] += 1

    cdef void describe_turn(self, const CastleState* rampage, int seat, Action action,
                            int* row) noexcept nogil:
        cdef int kind = kind_of(action), card = card_of(action), choice = choice_of(action)
        cdef int held = rampage.common.sides[seat].hand_size
        cdef int own_castle = standing(&rampage.stacks[seat * STRUCTURES + CASTLE])
        cdef int other_castle = standing(&rampage.stacks[(1 - seat) * STRUCTURES + CASTLE])
        cdef int other_hand = rampage.common.sides[1 - seat].hand_size
        cdef int i, paid, by
        memset(row, 0, TURN_FEATURES * sizeof(int))
        if kind == END_TURN:
            row[ENDS] = 1
            row[ENDS_UNSTRENGTHENED] = not rampage.common.strengthened
            row[ENDS_CARDS] = held
            return
        for i in range(MAX_DISCARDS):
            paid = discard_of(action, i)
            if paid:
                row[UNITS + paid - 1 if card >= VOLLEY else PAYS + paid - 1] += 1
        if kind == STRENGTHEN:
            row[TO_STRUCTURE + choice * (CARDS - 1) + card - 1] = 1
            row[STRENGTHENS_CARDS] = held
            by = CASTLE_BY_GATE if choice == CASTLE else GATE_BY_GATE
            row[by] = standing(&rampage.stacks[seat * STRUCTURES + GATE])
            row[by + 1] = own_castle
            return
        row[PLAYS + card - 1] = 1
        row[PLAYS_UNSTRENGTHENED] = not rampage.common.strengthened
        row[PLAYS_CARDS] = held
        if self.rules.tables.attack[card]:
            self.describe_attack(rampage, seat, action, row)
        elif card == PRIEST:
            row[PRIEST_HAND] = other_hand
            row[PRIEST_ARCHERS] = choice == ARCHER_UNIT
            row[PRIEST_AXE_MEN] = choice == AXE_MAN_UNIT
        elif card == SABOTEUR:
            row[SABOTEUR_GRANARY] = choice == GRANARY
        elif card == BOMBER:
            row[BOMBER_GATE] = standing(&rampage.stacks[(1 - seat) * STRUCTURES + GATE])
        elif card == JESTER:
            row[JESTER_CASTLE] = own_castle
            row[JESTER_LAST] = own_castle == 1
        elif card == SUMMONER:
            row[SUMMONER_CASTLE] = own_castle
            row[SUMMONER_OTHER] = other_castle
            row[SUMMONER_WINS] = other_castle == 1 and own_castle > 1
            row[SUMMONER_LOSES] = own_castle == 1
        if card == ARCHER:
            row[ARCHER_HAND] = other_hand

    cdef void describe_attack(self, const CastleState* rampage, int seat, Action action,
                              int* row) noexcept nogil:
        cdef const Stack* stack = &rampage.stacks[(1 - seat) * STRUCTURES + GATE]
        cdef int card = card_of(action), structure = GATE
        cdef int strength = (self.rules.tables.attack[card]
                             + CATAPULT_BONUS * rampage.common.sides[seat].catapults)
        cdef int i, margin
        if card == MERCENARY:
            for i in range(MAX_DISCARDS):
                row[MERCENARY_PAID] += discard_of(action, i) > 0
            strength += row[MERCENARY_PAID] * self.rules.tables.bonus[card]
        elif card >= VOLLEY and choice_of(action):
            row[BONUS] = 1
            strength += self.rules.tables.bonus[card]
        row[STRENGTH] = strength
        if card == DIGGER or not standing(stack):
            structure = CASTLE
            stack = &rampage.stacks[(1 - seat) * STRUCTURES + CASTLE]
            row[AT_CASTLE] = 1
            row[AT_CASTLE_STRENGTH] = strength
            row[AT_CASTLE_CARDS] = standing(stack)
            row[AT_CASTLE_LAST] = standing(stack) == 1
        if stack.known[stack.top] != HIDDEN:
            margin = strength - self.rules.tables.defence[
                structure * CARDS + stack.cards[stack.top]]
            row[BEATS] = margin > 0
            row[BEATS_MARGIN] = max(0, margin)
            row[EQUALS] = margin == 0
            row[STOPPED] = margin < 0
            row[STOPS_VETERAN] = margin < 0 and card == VETERAN

    # What the weights give

    def place_weights(self):
        """How likely each card is at each place, in proportion to one drawn at random.

        By place, then by card. The places of a set-up come first, then those under a structure.
        """
        names = ("gate top", "gate low", "castle top", "castle low", "kept")
        found = {name: [self.set_up[i][card] for card in range(CARDS)]
                 for i, name in enumerate(names)}
        return found | {f"under {name}": [self.under[i][card] for card in range(CARDS)]
                        for i, name in enumerate(STRUCTURE_NAMES)}

    cdef void weigh_set_ups(self) noexcept nogil:
        # `set_up`: that of a card at each place, over sets of four others.
        cdef double weights[CARDS][SET_UP_PLACES]
        cdef double shares[SET_UP_PLACES]
        cdef double sum
        cdef const double* others[DEAL - 1]
        cdef const int* given = self.set_up_weights
        cdef uint8_t cards[MAX_DECK]
        cdef uint8_t left[MAX_DECK]
        cdef Rng rng
        cdef int card, _deal, i, n, _copy, at
        memset(self.set_up, 0, sizeof(self.set_up))
        for card in range(1, CARDS):
            if is_purple(card):
                continue
            at = plain(card)
            weights[card][GATE_LOW] = 1
            weights[card][GATE_TOP] = likely(given[ON_GATE + at])
            weights[card][CASTLE_LOW] = likely(given[UNDER_CASTLE + at])
            weights[card][CASTLE_TOP] = likely(given[UNDER_CASTLE + at] + given[ON_CASTLE + at])
            weights[card][KEPT] = likely(given[KEEPS + at])
        for card in range(1, CARDS):
            if is_purple(card):
                continue
            n = 0
            for i in range(1, CARDS):
                if not is_purple(i):
                    for _copy in range(self.rules.tables.copies[i] - (i == card)):
                        cards[n] = i
                        n += 1
            rng_seed(&rng, 0)
            for _deal in range(DEALS if n >= DEAL else 0):
                memcpy(left, cards, n)
                rng_part(&rng, left, n, DEAL - 1)
                for i in range(DEAL - 1):
                    others[i] = weights[left[n - 1 - i]]
                sum = 0
                for i in range(SET_UP_PLACES):
                    shares[i] = weights[card][i] * permanent(others, (1 << SET_UP_PLACES) - 1
                                                             - (1 << i), 0)
                    sum += shares[i]
                for i in range(SET_UP_PLACES):
                    self.set_up[i][card] += (1 - UNIFORM) * SET_UP_PLACES * shares[i] / sum / DEALS
            for i in range(SET_UP_PLACES):
                self.set_up[i][card] += UNIFORM

    cdef void weigh_uses(self) noexcept nogil:
        # `used` and `ends`, for actions of which nothing is known but the card and the hand.
        cdef int row[TURN_FEATURES]
        cdef double* used
        cdef int flags, size, card, structure, n = 0
        self.mean_paid = 0
        for card in range(1, CARDS):
            n += self.rules.tables.copies[card]
            self.mean_paid += (self.rules.tables.copies[card]
                               * likely(self.turn_weights[PAYS + card - 1]))
        self.mean_paid = self.mean_paid / max(n, 1)
        for flags in range(FLAGS):
            for size in range(1, HAND_SIZES):
                memset(row, 0, sizeof(row))
                row[ENDS] = 1
                row[ENDS_UNSTRENGTHENED] = not flags & STRENGTHENED_BEFORE
                row[ENDS_CARDS] = size
                self.ends[flags][size] = likely(weighted(self.turn_weights, row, TURN_FEATURES))
                used = self.used[flags][size]
                for card in range(1, CARDS):
                    used[card] = self.weight_of_play(flags, card, size)
                    if not flags & STRENGTHENED_BEFORE:
                        for structure in range(STRUCTURES):
                            used[card] += self.weight_under(structure, card, size)

    cdef double weight_of_play(self, int flags, int card, int hand_size) noexcept nogil:
        cdef int row[TURN_FEATURES]
        cdef double sum = 0
        cdef int n, cost = self.rules.tables.cost[card]
        if card == SABOTEUR and not flags & (CATAPULT_OPPOSED | GRANARY_OPPOSED):
            return 0
        memset(row, 0, sizeof(row))
        row[PLAYS + card - 1] = 1
        row[PLAYS_UNSTRENGTHENED] = not flags & STRENGTHENED_BEFORE
        row[PLAYS_CARDS] = hand_size
        row[STRENGTH] = self.rules.tables.attack[card]
        if card == ARCHER:
            row[ARCHER_HAND] = MEAN_HAND
        elif card == PRIEST:
            row[PRIEST_HAND] = MEAN_HAND
        elif card == BOMBER:
            row[BOMBER_GATE] = MEAN_STANDING
        elif card == JESTER:
            row[JESTER_CASTLE] = MEAN_STANDING
        elif card == SUMMONER:
            row[SUMMONER_CASTLE] = row[SUMMONER_OTHER] = MEAN_STANDING
        for n in range(cost, (MERCENARY_DISCARDS if card == MERCENARY else cost) + 1):
            if card == MERCENARY:
                row[MERCENARY_PAID] = n
                row[STRENGTH] = self.rules.tables.attack[card] + n * self.rules.tables.bonus[card]
            sum += (likely(weighted(self.turn_weights, row, TURN_FEATURES))
                    * payments(n, hand_size - 1, self.mean_paid))
        if card >= VOLLEY:           # It needs two cards or three that may not be there.
            sum *= max(0.0, min(0.75, 0.15 * (hand_size - 2)))
        return sum

    cdef double weight_under(self, int structure, int card, int hand_size) noexcept nogil:
        # Of putting a card under a structure of mean size.
        cdef int row[TURN_FEATURES]
        cdef int by = CASTLE_BY_GATE if structure == CASTLE else GATE_BY_GATE
        memset(row, 0, sizeof(row))
        row[TO_STRUCTURE + structure * (CARDS - 1) + card - 1] = 1
        row[STRENGTHENS_CARDS] = hand_size
        row[by] = row[by + 1] = MEAN_STANDING
        return likely(weighted(self.turn_weights, row, TURN_FEATURES)) * payments(
            OGRE_DISCARDS if card == OGRE else 0, hand_size - 1, self.mean_paid)

    cdef void weigh_structures(self) noexcept nogil:
        # `under`: that of a card in a mean hand. An Ogre is never face down.
        cdef double mean = 0, sum
        cdef const double* used = self.used[0][MEAN_HAND]
        cdef int card, structure, n = 0
        for card in range(1, CARDS):
            n += self.rules.tables.copies[card]
            mean += self.rules.tables.copies[card] * used[card]
        mean = mean / max(n, 1)
        for structure in range(STRUCTURES):
            sum = 0
            for card in range(1, CARDS):
                self.under[structure][card] = self.weight_under(structure, card, MEAN_HAND) / (
                    self.ends[0][MEAN_HAND] + (MEAN_HAND - 1) * mean + used[card])
                sum += self.rules.tables.copies[card] * self.under[structure][card]
            for card in range(1, CARDS):
                self.under[structure][card] = UNIFORM + (1 - UNIFORM) * n * (
                    self.under[structure][card] / sum)


cdef double permanent(const double** rows, int places, int row) noexcept nogil:
    # The sum over all ways to give each card from this one on a place of its own.
    cdef double sum = 0
    cdef int i
    if row == DEAL - 1:
        return 1
    for i in range(SET_UP_PLACES):
        if places >> i & 1:
            sum += rows[row][i] * permanent(rows, places & ~(1 << i), row + 1)
    return sum
