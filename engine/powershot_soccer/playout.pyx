"""Sensible play of PowerShot Soccer, and an estimate of the score before the end of a match.

The attacker plays a PowerShot at once and another shot with a probability that rises with its
total; otherwise it plays the possession card that is hardest to challenge. The defender plays the
cheapest challenge that wins possession, else one of equal power, else the card that it misses
least. A playout ends a few plays on. The lead then goes on as a random walk until the last card is
drawn.
"""

from libc.math cimport sqrt

from engine.chance cimport Rng, rng_below
from engine.game cimport SEATS, Action, State
from engine.integers cimport uint8_t
from engine.numerics cimport erf
from engine.playout_policy cimport PlayoutPolicy
from engine.powershot_soccer.rules cimport PowerShotSoccer, defence_against
from engine.powershot_soccer.state cimport (
    ATTACK, BONUS, CROSS, DECLINE, DRIBBLE, FANCY_FOOTWORK, GIVE_UP, LONG_RANGE_SHOT, MAX_SAVE,
    NEEDED_FOR_LONG_RANGE, NEEDED_TO_SHOOT, PASS, ROLE_BITS, SAVE, SHOOT, STAR_PLAYER, Common,
    SoccerState,
)

cdef enum:
    STAGE_PLAYS = 8

# The eighths of the cases in which a shot of this total is taken. Set by hand; no fit is recorded.
cdef int* SHOTS = [0, 0, 1, 1, 2, 3, 5, 6, 7]

# How the lead goes on, in goals: its variance for each card that is still to be drawn, and what
# possession and each standing card are worth. The variance is fitted to 300 matches of the policy
# against itself; no fit is recorded for the other two.
cdef double VARIANCE = 0.014
cdef double POSSESSION = 0.04
cdef double STANDING = 0.16


cdef class PowerShotSoccerPlayoutPolicy(PlayoutPolicy):
    """Plays for the next goal."""

    cdef PowerShotSoccer rules

    def __init__(self, game):
        super().__init__(game)
        self.rules = game
        self.horizon = 3

    cdef int stage(self, const State* state) noexcept nogil:
        cdef const Common* common = &(<const SoccerState*> state).common
        return (common.half * 256 + common.play_count) // STAGE_PLAYS

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef const SoccerState* soccer = <const SoccerState*> state
        if soccer.common.phase == ATTACK:
            return self.attack(&soccer.common, soccer.own[seat].hand, rng)
        return self.defend(&soccer.common, soccer.own[seat].hand, rng)

    cdef Action attack(self, const Common* common, const uint8_t* hand, Rng* rng) noexcept nogil:
        cdef int card, role, worth, total
        cdef int best = -100, best_card = 0, best_role = 0, shot = 0, shot_card = 0
        cdef int spare = -100, spare_card = 0
        cdef int last = 0
        cdef bint bonus = False
        if common.standing:
            last = self.rules.roles[common.plays[common.play_count - 2].card]
            bonus = last == CROSS or last == FANCY_FOOTWORK
        for card in range(self.rules.types):
            if not hand[card]:
                continue
            role = self.rules.roles[card]
            worth = self.rules.powers[card]
            if role == SHOOT or role == LONG_RANGE_SHOT or role == STAR_PLAYER:
                total = NEEDED_FOR_LONG_RANGE if role == LONG_RANGE_SHOT else NEEDED_TO_SHOOT
                if common.standing >= total:
                    total = worth + BONUS * (common.standing - total + bonus)
                    if total > shot:
                        shot = total
                        shot_card = card
                    continue
                if role != STAR_PLAYER:
                    if -worth > spare:
                        spare = -worth
                        spare_card = card
                    continue
            if role <= FANCY_FOOTWORK:
                worth = 2 * worth + rng_below(rng, 6)
                if role == CROSS or role == FANCY_FOOTWORK:
                    worth += 2
                if worth > best:
                    best = worth
                    best_card = card
                    best_role = PASS if role == PASS or role == CROSS else DRIBBLE
            elif role == STAR_PLAYER:
                if best < 0 and common.standing + 1 >= NEEDED_FOR_LONG_RANGE:
                    best = 0
                    best_card = card
                    best_role = DRIBBLE if rng_below(rng, 2) else PASS
            elif -worth > spare:
                spare = -worth
                spare_card = card
        if shot and (best_role == 0 or shot > MAX_SAVE
                     or <int> rng_below(rng, 8) < SHOTS[shot]):
            return <Action> shot_card << ROLE_BITS | SHOOT
        if best_role:
            return <Action> best_card << ROLE_BITS | best_role
        return <Action> spare_card << ROLE_BITS | GIVE_UP

    cdef Action defend(self, const Common* common, const uint8_t* hand, Rng* rng) noexcept nogil:
        cdef int at = common.play_count - 1
        cdef int defence = defence_against(common.plays[at].role)
        cdef int power = self.rules.attack_power(common, at)
        cdef bint lost = defence == SAVE and power > MAX_SAVE
        cdef int card, role, worth
        cdef int best = 1000, best_card = 0, spare = 1000, spare_card = 0
        for card in range(self.rules.types):
            if not hand[card]:
                continue
            role = self.rules.roles[card]
            worth = self.rules.powers[card]
            if role == defence or role == STAR_PLAYER:
                if worth >= power and not lost:
                    # An equal power does not win possession, so a higher one may be worth more.
                    worth = 2 * worth + 5 * (worth == power) + 4 * (role == STAR_PLAYER)
                    if worth < best:
                        best = worth
                        best_card = card
                    continue
                if role == STAR_PLAYER:
                    worth += 20
            worth = 2 * worth + rng_below(rng, 4)
            if worth < spare:
                spare = worth
                spare_card = card
        if best < 1000:
            return <Action> best_card << ROLE_BITS | defence
        role = self.rules.roles[spare_card]
        return <Action> spare_card << ROLE_BITS | (defence if role == defence else DECLINE)

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        cdef const Common* common = &(<const SoccerState*> state).common
        cdef double lead = <int> common.goals[0] - <int> common.goals[1]
        cdef double ahead = POSSESSION + STANDING * common.standing
        cdef int left = common.draw_sizes[0] + common.draw_sizes[1]
        cdef double width, win, loss
        if common.half == 1:
            left += SEATS * (self.rules.deck_size - self.rules.hand_size)
        lead += ahead if common.possession == 0 else -ahead
        width = 1 / sqrt(2 * VARIANCE * (left + 1))
        win = 0.5 * (1 + erf((lead - 0.5) * width))
        loss = 0.5 * (1 - erf((lead + 0.5) * width))
        draw[0] = max(0.0, 1 - win - loss)
        return win + draw[0] / 2
