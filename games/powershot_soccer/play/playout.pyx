"""Sensible play of PowerShot Soccer, and an estimate of the score before the end of a match.

The attacker plays a PowerShot at once and another shot with a probability that rises with its
total; otherwise it plays the possession card that is hardest to challenge. The defender plays the
cheapest challenge that wins possession, else one of equal power, else the card that it misses
least. A playout ends a few plays on. The lead then goes on as a random walk until the last card is
drawn.
"""

from libc.math cimport sqrt

from engine.chance cimport Rng, digit, rng_double, rng_next
from engine.game cimport SEATS, Action, State
from engine.integers cimport uint64_t, uint8_t
from engine.net cimport Inputs
from engine.numerics cimport erf
from engine.playout_policy cimport PlayoutPolicy
from games.powershot_soccer.play.features cimport (
    SHARPNESS, PowerShotSoccerFeatures, answer_context, attack_context,
)
from games.powershot_soccer.rules.rules cimport (
    PowerShotSoccer, defence_against, held, lowest_one, needed_to_shoot,
)
from games.powershot_soccer.rules.state cimport *

cdef enum:
    STAGE_PLAYS = 4
    STAGES_PER_HALF = 64
    # Stages of a playout: a net sees so much that fewer are better.
    HORIZON = 6
    VALUED_HORIZON = 1
    ROLE_MASK = (1 << ROLE_BITS) - 1
    WORTH_OF_STAR = 20           # More than any other card is missed, a Star Player is by so much.
    WORTHS = MAX_POWER + WORTH_OF_STAR + 2

# The eighths of the cases in which a shot of this total is taken. Set by hand; no fit is recorded.
cdef int* SHOTS = [0, 0, 1, 1, 2, 3, 5, 6, 7]

# How the lead goes on, in goals: its variance for each card that is still to be drawn, and what
# possession and each standing card are worth. The variance is fitted to 300 matches of the policy
# against itself; no fit is recorded for the other two.
cdef double VARIANCE = 0.014
cdef double POSSESSION = 0.04
cdef double STANDING = 0.16


cdef struct Exchange:            # What both seats see of the play, apart from the piles.
    int phase
    int possession
    int standing
    bint bonus                   # The last standing card adds to a shot.
    int card                     # The card to be answered, its role,
    int role
    int power                    # and what the answer is compared with.


cdef class PowerShotSoccerPlayoutPolicy(PlayoutPolicy):
    """Plays for the next goal."""

    cdef PowerShotSoccer rules
    cdef uint64_t possession_cards, defence_cards, bonus_cards, stars
    cdef uint64_t of_worth[WORTHS]    # The cards that are missed equally when they are thrown away.
    cdef uint8_t worth[MAX_TYPES]     # Of possession cards: what the policy goes by.
    cdef PowerShotSoccerFeatures learned
    cdef bint learned_play, learned_value

    def __init__(self, game, model=None):
        cdef PowerShotSoccer rules = game
        cdef int card, role, power
        super().__init__(game)
        if model is not None:
            self.learned = model.features
            self.learned_play = "playouts" in model.uses
            self.learned_value = "value" in model.uses
        self.rules = rules
        self.horizon = VALUED_HORIZON if self.learned_value else HORIZON
        self.bonus_cards = rules.of_role[CROSS] | rules.of_role[FANCY_FOOTWORK]
        self.possession_cards = self.bonus_cards | rules.of_role[PASS] | rules.of_role[DRIBBLE]
        self.defence_cards = (
            rules.of_role[TACKLE] | rules.of_role[INTERCEPT] | rules.of_role[SAVE])
        self.stars = rules.of_role[STAR_PLAYER]
        for card in range(rules.types):
            role, power = rules.roles[card], rules.powers[card]
            self.worth[card] = 2 * power + 2 * (role == CROSS or role == FANCY_FOOTWORK)
            self.of_worth[power + (WORTH_OF_STAR if role == STAR_PLAYER else 0)] |= (
                <uint64_t> 1 << card)

    cdef int stage(self, const State* state) noexcept nogil:
        cdef const Common* common = &(<const SoccerState*> state).common
        return common.half * STAGES_PER_HALF + common.play_count // STAGE_PLAYS

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef const SoccerState* soccer = <const SoccerState*> state
        cdef Exchange now
        self.read(&soccer.common, &now)
        return self.play(&now, held(soccer.own[seat].hand), rng)

    cdef void read(self, const Common* common, Exchange* now) noexcept nogil:
        cdef int at = common.play_count - 1
        now.phase = common.phase
        now.possession = common.possession
        now.standing = common.standing
        now.bonus = False
        if common.phase == DEFEND:
            now.card = common.plays[at].card
            now.role = common.plays[at].role
            now.power = self.rules.attack_power(common, at)
        elif common.standing:
            # The last two plays are a possession card and its answer.
            now.bonus = self.bonus_cards >> common.plays[at - 1].card & 1

    cdef inline Action play(self, const Exchange* now, uint64_t hand, Rng* rng) noexcept nogil:
        if self.learned_play:
            return self.play_as_learned(now, hand, rng)
        if now.phase == ATTACK:
            return self.attack(now, hand, rng)
        return self.defend(now, hand, rng)

    cdef inline Action attack(self, const Exchange* now, uint64_t hand, Rng* rng) noexcept nogil:
        cdef uint64_t bits = rng_next(rng)
        cdef uint64_t cards
        cdef uint64_t spare = hand & self.defence_cards
        cdef int shot = 0, shot_card = 0
        cdef int best = -1, best_card = 0, role, card, worth
        cdef uint64_t possession_stars = 0
        self.best_shot(now, hand & self.rules.of_role[LONG_RANGE_SHOT], NEEDED_FOR_LONG_RANGE,
                       &shot, &shot_card, &spare)
        self.best_shot(now, hand & (self.rules.of_role[SHOOT] | self.stars), NEEDED_TO_SHOOT,
                       &shot, &shot_card, &spare)
        cards = hand & self.possession_cards
        while cards:
            card = lowest_one(cards)
            cards &= cards - 1
            worth = self.worth[card] + digit(&bits, 6)
            if worth > best:
                best = worth
                best_card = card
        if now.standing < NEEDED_TO_SHOOT:
            possession_stars = hand & self.stars
        if shot and (shot > MAX_SAVE or <int> digit(&bits, 8) < SHOTS[shot]
                     or (best < 0 and not possession_stars)):
            return <Action> shot_card << ROLE_BITS | SHOOT
        if best >= 0:
            role = self.rules.roles[best_card]
            return (<Action> best_card << ROLE_BITS
                    | (PASS if role == PASS or role == CROSS else DRIBBLE))
        if possession_stars:
            return (<Action> lowest_one(possession_stars) << ROLE_BITS
                    | (DRIBBLE if digit(&bits, 2) else PASS))
        return <Action> lowest_one(self.least_worth(spare)) << ROLE_BITS | GIVE_UP

    cdef inline void best_shot(self, const Exchange* now, uint64_t cards, int needed, int* shot,
                               int* shot_card, uint64_t* spare) noexcept nogil:
        # The highest total of a shot with one of the cards; if none can shoot yet, those that are
        # no Star Players are spare.
        cdef int card, total
        if now.standing < needed:
            spare[0] |= cards & ~self.stars
            return
        while cards:
            card = lowest_one(cards)
            cards &= cards - 1
            total = self.rules.powers[card] + BONUS * (now.standing - needed + now.bonus)
            if total > shot[0] or total == shot[0] and card < shot_card[0]:
                shot[0] = total
                shot_card[0] = card

    cdef inline uint64_t least_worth(self, uint64_t cards) noexcept nogil:
        # Those of some cards that are worth least.
        cdef int worth = 1
        while not cards & self.of_worth[worth]:
            worth += 1
        return cards & self.of_worth[worth]

    cdef inline Action defend(self, const Exchange* now, uint64_t hand, Rng* rng) noexcept nogil:
        cdef int defence = defence_against(now.role)
        cdef int best = 1000, best_card = 0, card, worth, least
        cdef uint64_t cards = hand & (self.rules.of_role[defence] | self.stars)
        cdef uint64_t bits
        if defence == SAVE and now.power > MAX_SAVE:
            cards = 0
        while cards:
            card = lowest_one(cards)
            cards &= cards - 1
            worth = self.rules.powers[card]
            if worth >= now.power:
                # An equal power does not win possession, so a higher one may be worth more.
                worth = (2 * worth + 5 * (worth == now.power)
                         + 4 * (self.rules.roles[card] == STAR_PLAYER))
                if worth < best:
                    best = worth
                    best_card = card
        if best < 1000:
            return <Action> best_card << ROLE_BITS | defence
        # A card that is worth two more than another one is never thrown away.
        least = 1
        while not hand & self.of_worth[least]:
            least += 1
        bits = rng_next(rng)
        cards = hand & (self.of_worth[least] | self.of_worth[least + 1])
        while cards:
            card = lowest_one(cards)
            cards &= cards - 1
            worth = 2 * (not self.of_worth[least] >> card & 1) + digit(&bits, 4)
            if worth < best:
                best = worth
                best_card = card
        return (<Action> best_card << ROLE_BITS
                | (defence if self.rules.roles[best_card] == defence else DECLINE))

    cdef Action play_as_learned(self, const Exchange* now, uint64_t hand, Rng* rng) noexcept nogil:
        cdef int context = (attack_context(now.standing, now.bonus) if now.phase == ATTACK
                            else answer_context(now.role, now.power, now.standing))
        cdef const double* likely = self.learned.sharp[context]
        cdef double sums[MAX_TYPES]
        cdef uint8_t cards[MAX_TYPES]
        cdef double at, sum = 0
        cdef int card, role, i, passed = 0, n = 0
        while hand:
            card = lowest_one(hand)
            hand &= hand - 1
            sum += likely[card]
            sums[n] = sum
            cards[n] = card
            n += 1
        at = rng_double(rng) * sum
        # Without a branch for each card, which would often be mispredicted.
        for i in range(n - 1):
            passed += sums[i] <= at
        card = cards[passed]
        role = self.rules.roles[card]
        if role == STAR_PLAYER:
            role = self.role_of_star(now, context, card, rng)
        elif now.phase == DEFEND:
            if role != defence_against(now.role):
                role = DECLINE
        elif role == CROSS:
            role = PASS
        elif role == FANCY_FOOTWORK:
            role = DRIBBLE
        elif role == SHOOT or role == LONG_RANGE_SHOT:
            role = SHOOT if now.standing >= needed_to_shoot(role) else GIVE_UP
        elif role != PASS and role != DRIBBLE:
            role = GIVE_UP
        return <Action> card << ROLE_BITS | role

    cdef int role_of_star(self, const Exchange* now, int context, int card,
                          Rng* rng) noexcept nogil:
        cdef int roles[MAX_ROLES]
        cdef double sums[MAX_ROLES]
        cdef double at, sum = 0
        cdef int i, n = 2
        if now.phase == DEFEND:
            roles[0] = defence_against(now.role)
            roles[1] = DECLINE
        else:
            roles[0] = PASS
            roles[1] = DRIBBLE
            roles[2] = GIVE_UP
            roles[3] = SHOOT
            n = 4 if now.standing >= NEEDED_TO_SHOOT else 3
        for i in range(n):
            sum += self.learned.weighed(context, card, roles[i], SHARPNESS)
            sums[i] = sum
        at = rng_double(rng) * sum
        i = 0
        while i < n - 1 and sums[i] <= at:
            i += 1
        return roles[i]

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        # As that of the base class, without the record of the plays.
        cdef SoccerState* soccer = <SoccerState*> state
        cdef Common* common = &soccer.common
        cdef Exchange now
        cdef uint64_t hands[SEATS]
        cdef uint8_t* hand
        cdef int last = self.stage(state) + self.horizon
        cdef int seat, card, drawn, play_count
        cdef bint half_over
        cdef Action action
        if common.phase == OVER:
            return self.at_end(state, draw)
        self.read(common, &now)
        play_count = common.play_count
        for seat in range(SEATS):
            hands[seat] = held(soccer.own[seat].hand)
        while common.half * STAGES_PER_HALF + play_count // STAGE_PLAYS < last:
            seat = now.possession ^ (now.phase == DEFEND)
            action = self.play(&now, hands[seat], rng)
            card = action >> ROLE_BITS
            hand = soccer.own[seat].hand
            hand[card] -= 1
            if not hand[card]:
                hands[seat] &= ~(<uint64_t> 1 << card)
            play_count += 1
            common.draw_sizes[seat] -= 1
            drawn = soccer.own[seat].draw_pile[common.draw_sizes[seat]]
            hand[drawn] += 1
            hands[seat] |= <uint64_t> 1 << drawn
            self.settle(&now, card, action & ROLE_MASK, common.goals)
            half_over = ((common.draw_sizes[0] == 0 or common.draw_sizes[1] == 0)
                         and not (now.phase == DEFEND and now.role == SHOOT))
            if half_over:
                if common.half == 2:
                    common.phase = OVER
                    return self.at_end(state, draw)
                self.rules.begin_half(soccer, 2, rng, NULL)
                self.read(common, &now)
                play_count = 0
                for seat in range(SEATS):
                    hands[seat] = held(soccer.own[seat].hand)
        if self.learned_value:
            return self.learned_estimate(soccer, &now, draw)
        return self.expected(common, &now, draw)

    cdef inline void settle(self, Exchange* now, int card, int role,
                            uint8_t* goals) noexcept nogil:
        cdef int power = self.rules.powers[card]
        if now.phase == ATTACK:
            if role == GIVE_UP:
                now.possession ^= 1
                now.standing = 0
                return
            if role == SHOOT:
                power += BONUS * (
                    now.standing - needed_to_shoot(self.rules.roles[card]) + now.bonus)
            now.phase = DEFEND
            now.card = card
            now.role = role
            now.power = power
            return
        now.phase = ATTACK
        if role == DECLINE or power < now.power or now.role == SHOOT and now.power > MAX_SAVE:
            if now.role != SHOOT:
                now.standing += 1
                now.bonus = self.bonus_cards >> now.card & 1
                return
            goals[now.possession] += 1
            now.possession ^= 1
        elif power > now.power:
            now.possession ^= 1
        now.standing = 0

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        cdef const SoccerState* soccer = <const SoccerState*> state
        cdef Exchange now
        if self.learned_value:
            return self.learned.estimate(state, draw)
        self.read(&soccer.common, &now)
        return self.expected(&soccer.common, &now, draw)

    cdef double learned_estimate(self, const SoccerState* soccer, const Exchange* now,
                                 double* draw) noexcept nogil:
        cdef Inputs inputs
        cdef int role = now.role if now.phase == DEFEND else 0
        inputs.n = 0
        self.learned.describe_play(
            soccer, now.possession, now.standing, role, now.power, &inputs)
        return self.learned.value_of(now.possession, &inputs, draw)

    cdef double expected(self, const Common* common, const Exchange* now,
                         double* draw) noexcept nogil:
        cdef double lead = <int> common.goals[0] - <int> common.goals[1]
        cdef double ahead = POSSESSION + STANDING * now.standing
        cdef int left = common.draw_sizes[0] + common.draw_sizes[1]
        cdef double width, win, loss
        if common.half == 1:
            left += SEATS * (self.rules.deck_size - self.rules.hand_size)
        lead += ahead if now.possession == 0 else -ahead
        width = 1 / sqrt(2 * VARIANCE * (left + 1))
        win = 0.5 * (1 + erf((lead - 0.5) * width))
        loss = 0.5 * (1 - erf((lead + 0.5) * width))
        draw[0] = max(0.0, 1 - win - loss)
        return win + draw[0] / 2
