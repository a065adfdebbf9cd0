"""Sensible turns in Castle Rampage, and an estimate of the score before a match is over.

In a turn, the policy strengthens once, with a card that defends better than it attacks. It plays
cards that draw and permanent cards, and attacks while a card in hand is likely to destroy the card
that it meets. It pays with the cards that are worth least in hand. A playout ends after some turns;
the estimate then weighs structures, hands and permanent cards of both seats.
"""

from engine.castle_rampage.rules cimport CastleRampage
from engine.castle_rampage.state cimport (
    ARCHER, AXE_MAN, BOMBER, CARDS, CARD_BITS, CARD_SHIFT, CASTLE, CATAPULT, CHOICE_SHIFT, DIGGER,
    END_TURN, GATE, GRANARY, JESTER, KIND_SHIFT, KNIGHT, MAX_DISCARDS, MAX_WAYS, MERCENARY, OGRE,
    PLAY, PRIEST, SABOTEUR, SET_UP, SPY, STRENGTHEN, STRUCTURES, SUMMONER, UNITS_END, VOLLEY,
    CastleState, Stack,
)
from engine.castle_rampage.tables cimport Way
from engine.chance cimport Rng, rng_below
from engine.game cimport MAX_ACTIONS, Action, State
from engine.integers cimport uint8_t
from engine.numerics cimport exp
from engine.playout_policy cimport PlayoutPolicy

# The worth of a card in hand, in tenths of a point of defence.
cdef int* KEEP = [0, 10, 9, 11, 16, 12, 13, 16, 11, 20, 10, 5, 9, 5, 9, 8, 12, 14,
                  24, 24, 24, 28]

# The worth of one more of each, in log odds: fitted by logistic regression to 5,294 positions of
# 250 matches that the policy played against itself.
cdef double CASTLE_CARD = 0.14
cdef double GATE_CARD = 0.02
cdef double GATE_DEFENCE = 0.015
cdef double HAND_CARD = 0.14
cdef double OF_GRANARY = 1.0
cdef double OF_CATAPULT = 0.27
cdef double OF_TURN = 0.18          # For the seat to come: the active one has drawn already.


cdef class CastleRampagePlayoutPolicy(PlayoutPolicy):
    """Plays each turn for itself, without a plan for later turns."""

    cdef CastleRampage rules

    def __init__(self, game):
        super().__init__(game)
        self.rules = game
        self.horizon = 6

    cdef int stage(self, const State* state) noexcept nogil:
        return (<const CastleState*> state).common.turn

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef const CastleState* rampage = <const CastleState*> state
        cdef Action actions[MAX_ACTIONS]
        if rampage.common.phase == SET_UP:
            return actions[rng_below(rng, self.rules.legal(state, seat, actions))]
        return self.turn(rampage, seat, rng)

    cdef Action turn(self, const CastleState* rampage, int seat, Rng* rng) noexcept nogil:
        # Each way to use a card now has a worth. Ending the turn is worth 0.
        cdef const uint8_t* hand = rampage.own[seat].hand
        cdef const Stack* gate = &rampage.stacks[(1 - seat) * STRUCTURES + GATE]
        cdef const Stack* castle = &rampage.stacks[(1 - seat) * STRUCTURES + CASTLE]
        cdef const Stack* own = &rampage.stacks[seat * STRUCTURES + CASTLE]
        cdef int own_castle = own.count - own.top
        cdef int own_gate = (rampage.stacks[seat * STRUCTURES + GATE].count
                             - rampage.stacks[seat * STRUCTURES + GATE].top)
        cdef int held = rampage.common.sides[seat].hand_size
        cdef int catapults = rampage.common.sides[seat].catapults
        cdef int card, worth, structure, cost
        cdef int best = 0
        cdef Action action = <Action> END_TURN << KIND_SHIFT
        cdef Action one
        for card in range(1, CARDS):
            if not hand[card]:
                continue
            if not rampage.common.strengthened:
                cost = 2 if card == OGRE else 0
                if held > cost:
                    structure = CASTLE if self.rules.tables.defence[CASTLE * CARDS + card] > (
                        self.rules.tables.defence[GATE * CARDS + card]) else GATE
                    if own_gate > own_castle + 2:
                        structure = CASTLE
                    worth = (10 * self.rules.tables.defence[structure * CARDS + card] - KEEP[card]
                             + <int> rng_below(rng, 12) - 10 * cost)
                    if worth > best:
                        one = (<Action> STRENGTHEN << KIND_SHIFT | <Action> card << CARD_SHIFT
                               | <Action> structure << CHOICE_SHIFT)
                        one = self.pay(hand, card, cost, one)
                        if one:
                            best = worth
                            action = one
            if card >= VOLLEY:
                one = self.scheme(hand, card, rng)
                worth = 30 + <int> rng_below(rng, 10)
                if one and worth > best:
                    best = worth
                    action = one
                continue
            cost = 0 if card == MERCENARY else self.rules.tables.cost[card]
            if held <= cost:
                continue
            structure = 0
            worth = <int> rng_below(rng, 10) - 10 * cost
            if card == CATAPULT:
                worth += 22
            elif card == GRANARY:
                worth += 30
            elif card == JESTER:
                if own_castle < 4:
                    continue
                worth += 4
            elif card == SUMMONER:
                if own_castle < 2:
                    continue
                worth += 14 if own_castle > castle.count - castle.top else 4
            elif card == SPY:
                worth += 12
            elif card == PRIEST:
                structure = 1 + rng_below(rng, 3)
                worth += 4 + 2 * rampage.common.sides[1 - seat].hand_size
            elif card == BOMBER:
                if gate.count == gate.top:
                    continue
                worth += 14
            elif card == SABOTEUR:
                if rampage.common.sides[1 - seat].granaries:
                    structure = GRANARY
                elif rampage.common.sides[1 - seat].catapults:
                    structure = CATAPULT
                else:
                    continue
                worth += 25
            else:
                worth += self.attack(card, self.rules.tables.attack[card] + catapults, gate, castle)
                if card == AXE_MAN:
                    worth += 9
                elif card == ARCHER:
                    worth += 8 if rampage.common.sides[1 - seat].hand_size else 0
            if worth > best:
                one = (<Action> PLAY << KIND_SHIFT | <Action> card << CARD_SHIFT
                       | <Action> structure << CHOICE_SHIFT)
                one = self.pay(hand, card, cost, one)
                if one:
                    best = worth
                    action = one
        return action

    cdef int attack(self, int card, int strength, const Stack* gate,
                    const Stack* castle) noexcept nogil:
        # The worth of the cards that the attack can be expected to destroy. Only a card that was
        # seen or shown is known.
        cdef const Stack* stack = gate
        cdef int structure = GATE
        cdef int defence
        if card == DIGGER or gate.count == gate.top:
            stack = castle
            structure = CASTLE
        if stack.known[stack.top] != 0:
            defence = self.rules.tables.defence[structure * CARDS + stack.cards[stack.top]]
            if defence > strength:
                return -30
            return 10 + 4 * (strength - defence) - KEEP[card] // 2 + (6 if structure else 0)
        return 5 * strength - KEEP[card] // 2 + (6 if structure else 0)

    cdef Action pay(self, const uint8_t* hand, int card, int cost, Action action) noexcept nogil:
        # Pays with the cards that are worth least in hand; 0 if there are not enough.
        cdef int paid[2]
        cdef int i, other, best
        paid[0] = paid[1] = 0
        for i in range(cost):
            best = 0
            for other in range(1, CARDS):
                if (hand[other] > (other == card) + (i == 1 and other == paid[0])
                        and (best == 0 or KEEP[other] < KEEP[best])):
                    best = other
            if best == 0:
                return 0
            paid[i] = best
        if cost == 2 and paid[0] > paid[1]:
            paid[0], paid[1] = paid[1], paid[0]
        for i in range(cost):
            action |= <Action> paid[i] << (CARD_BITS * (MAX_DISCARDS - 1 - i))
        return action

    cdef Action scheme(self, const uint8_t* hand, int card, Rng* rng) noexcept nogil:
        # The first way to pay for a scheme that the hand allows, with the extra unit if possible; 0
        # if there is none.
        cdef const Way* way
        cdef int at, extra, i, unit
        for extra in range(1, -1, -1):
            at = (card - VOLLEY) * 2 + extra
            for i in range(self.rules.tables.way_count[at]):
                way = &self.rules.tables.ways[at * MAX_WAYS + i]
                for unit in range(KNIGHT, UNITS_END):
                    if way.need[unit] > hand[unit]:
                        break
                else:
                    return (<Action> PLAY << KIND_SHIFT | <Action> card << CARD_SHIFT
                            | <Action> extra << CHOICE_SHIFT | way.discards)
        return 0

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        cdef const CastleState* rampage = <const CastleState*> state
        cdef double lead = self.side(rampage, 0) - self.side(rampage, 1)
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
