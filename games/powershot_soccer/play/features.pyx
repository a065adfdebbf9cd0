"""What is learned of PowerShot Soccer: what describes its play, and what a model's weights give.

A *card to be played* is described by what it is and by the role that it is played in, in the light
of what both seats see of the exchange: how many cards stand, what is answered. The rest of the hand
is left out. So the weight of a hand is the sum of those of its cards, and depends on nothing else;
the sampler needs that (play/likelihoods.pyx). A *position* is described by the
cards in the hands and in the draw piles, by the lead, and by what stands or is being played.

The probability of an action is a mixture: a share UNIFORM of uniform play, so that no choice of an
opponent is taken for impossible, and otherwise a softmax of the weighted features.
"""

cimport cython
from libc.string cimport memset

from engine.features cimport MAX_FEATURES, UNIT, Features
from engine.game cimport SEATS, Action, State
from engine.integers cimport uint64_t, uint8_t
from engine.net cimport Inputs, put
from engine.numerics cimport exp
from games.powershot_soccer.rules.rules cimport defence_against, held, needed_to_shoot
from games.powershot_soccer.rules.state cimport (
    ATTACK, CROSS, DECLINE, DEFEND, FANCY_FOOTWORK, GIVE_UP, INTERCEPT, LONG_RANGE_SHOT, MAX_ROLES,
    ROLE_BITS, SAVE, STAR_PLAYER, TACKLE, Own,
)

from engine.features import SCALE

cdef int MOST_WEIGHED = 30 * SCALE      # So that no sum of exponentials overflows.

cdef enum:
    # Features of shots, after those of their totals.
    LONG_RANGE = 0
    STAR_SHOOTS
    POWER_SPENT                  # The power of a card that a PowerShot is made with.
    MORE_STAND                   # Playing on although a shot is possible: with three cards or more,
    BONUS_STANDS                 # and with a Cross or Fancy Footwork as the last.
    SHOT_FACTS
    # Features of challenges.
    WINS = 0                     # The challenge wins possession,
    WINS_MARGIN                  # by so much power
    WINS_POWER                   # with so much,
    WINS_BY_STAR                 # with a Star Player,
    WINS_SECOND                  # when one card stands
    WINS_LATER                   # or more.
    REPELS                       # The attack begins anew,
    REPELS_POWER
    REPELS_SECOND
    REPELS_LATER
    SHOT_CHALLENGE_FACTS
    WINS_DRIBBLE = SHOT_CHALLENGE_FACTS     # Not of shots, or hardly ever.
    REPELS_BY_STAR
    CHALLENGE_FACTS

KINDS = ("attack", "attack after 1", "attack after 2", "answer", "answer to a shot")
SHOT_NAMES = ("long range", "star shoots", "power spent", "plays on after 3", "plays on with bonus")
CHALLENGE_NAMES = (
    "wins", "wins: margin", "wins: power", "wins by star", "wins after 1", "wins after 2",
    "repels", "repels: power", "repels after 1", "repels after 2", "wins a dribble",
    "repels by star")
PENDING_NAMES = ("sure card", "unsure card", "sure goal", "unsure goal")


# The code that Cython makes to pickle an object does not know arrays of arrays.
@cython.auto_pickle(False)
cdef class PowerShotSoccerFeatures(Features):
    """Describes cards to be played, and positions."""

    uses = ("playouts", "beliefs", "value")

    def __init__(self, game, weights=None, net=None):
        self.rules = game
        super().__init__(game, weights, net)
        # A tenth of 1 / Z for a hand of cards of mean weight.
        self.first_point = 0.1 / self.rules.hand_size
        self.bonus_cards = self.rules.of_role[CROSS] | self.rules.of_role[FANCY_FOOTWORK]
        self.name_features()
        for card in range(self.rules.types):
            for power in range(self.rules.powers[card] + 1):
                self.strong[power] |= <uint64_t> 1 << card
        if weights is not None:
            for kind, name in enumerate(KINDS):
                for i, weight in enumerate(weights[name]):
                    self.weights[kind][i] = weight
            self.weigh_cards()

    @property
    def decisions(self):
        return dict(zip(KINDS, self.names, strict=True))

    @property
    def inputs(self):
        titles = [each["title"] for each in self.rules.cards()]
        return (
            *(f"{side} {place}: {title}" for place in ("hand", "draw pile")
              for side in ("own", "other") for title in titles),
            "lead",
            *(f"lead {lead}" for lead in range(-MOST_LEAD, MOST_LEAD + 1)),
            *(f"half {half}, {LEFT_STEP * n} cards left" for half in (1, 2)
              for n in range(LEFT_TOLD)),
            "standing", "may shoot", *PENDING_NAMES,
        )

    cdef int decision_kind(self, const State* state, int seat) noexcept nogil:
        return kind_of(context_of(self, &(<const SoccerState*> state).common))

    @property
    def moments(self):
        return tuple(f"{what}, half {half}, {n * DRAWS_STEP} or more cards to draw"
                     for half in (1, 2) for n in range(DRAWS_TOLD) for what in ("attack", "answer"))

    cdef int moment(self, const State* state, int seat) noexcept nogil:
        # What is left of a match is worth less in its second half, what the opponent keeps is not.
        cdef const Common* common = &(<const SoccerState*> state).common
        cdef int draws = common.draw_sizes[0] + common.draw_sizes[1]
        cdef int at = DRAWS_TOLD * (common.half > 1) + min(draws // DRAWS_STEP, DRAWS_TOLD - 1)
        return 2 * at + (self.decision_kind(state, seat) >= ANSWER)

    cdef void describe_action(self, const State* state, int seat, Action action,
                              int* row) noexcept nogil:
        self.describe(context_of(self, &(<const SoccerState*> state).common),
                      action >> ROLE_BITS, action & ((1 << ROLE_BITS) - 1), row)

    cdef int perspective(self, const State* state) noexcept nogil:
        return (<const SoccerState*> state).common.possession

    cdef void describe_position(self, const State* state, Inputs* inputs) noexcept nogil:
        cdef const SoccerState* soccer = <const SoccerState*> state
        cdef const Common* common = &soccer.common
        cdef int at = common.play_count - 1
        cdef int role = 0, power = 0
        if common.phase == DEFEND:
            role = common.plays[at].role
            power = self.rules.attack_power(common, at)
        self.describe_play(soccer, common.possession, common.standing, role, power, inputs)

    cdef void describe_play(self, const SoccerState* soccer, int possession, int standing, int role,
                            int power, Inputs* inputs) noexcept nogil:
        cdef const Common* common = &soccer.common
        cdef const Own* own
        cdef int types = self.rules.types
        cdef int lead = <int> common.goals[possession] - <int> common.goals[1 - possession]
        cdef int left = common.draw_sizes[0] + common.draw_sizes[1]
        cdef int side, card, i, at = 4 * types
        for side in range(SEATS):
            own = &soccer.own[possession ^ side]
            for card in range(types):
                put(inputs, side * types + card, own.hand[card])
            for i in range(common.draw_sizes[possession ^ side]):
                put(inputs, (SEATS + side) * types + own.draw_pile[i], 1)
        put(inputs, at + LEAD, lead)
        put(inputs, at + LEAD_IS + max(0, min(lead + MOST_LEAD, LEADS_TOLD - 1)), 1)
        put(inputs, at + LEFT_IS + (common.half == 2) * LEFT_TOLD
            + min(left // 2 // LEFT_STEP, LEFT_TOLD - 1), 1)
        put(inputs, at + STANDING, standing)
        put(inputs, at + MAY_SHOOT, standing >= NEEDED_TO_SHOOT)
        if role:
            put(inputs, at + self.pending(role, power, held(soccer.own[1 - possession].hand)), 1)

    # Features

    cdef name_features(self):
        # The lists of features, and which of them is which.
        cdef PowerShotSoccer rules = self.rules
        cdef int kind, card, role, power, extra, i
        cdef bint star, shoots
        memset(self.plays, -1, sizeof(self.plays))
        memset(self.spares, -1, sizeof(self.spares))
        memset(self.totals, -1, sizeof(self.totals))
        titles = [each["title"] for each in rules.cards()]
        lists = []
        for kind in range(DECISION_KINDS):
            names = []
            reached = set()
            for card in range(rules.types):
                role, power = rules.roles[card], rules.powers[card]
                star = role == STAR_PLAYER
                shoots = kind >= ATTACK_SECOND if role == LONG_RANGE_SHOT else (
                    kind >= ATTACK_LATER and (role == SHOOT or star))
                if kind < ANSWER:
                    for i, roles in enumerate(((PASS, CROSS), (DRIBBLE, FANCY_FOOTWORK))):
                        if role in roles or star:
                            self.plays[kind][i][card] = len(names)
                            names.append(f"{titles[card]} as {('pass', 'dribble')[i]}")
                    if shoots:
                        for extra in range(2 if kind == ATTACK_SECOND else MAX_SAVE):
                            reached.add(min(power + BONUS * extra, POWER_SHOT))
                    if star or role in (TACKLE, INTERCEPT, SAVE) or (
                            role in (SHOOT, LONG_RANGE_SHOT) and not shoots):
                        self.spares[kind][card] = len(names)
                        names.append(f"gives up with {titles[card]}")
                else:
                    self.spares[kind][card] = len(names)
                    names.append(f"throws away {titles[card]}")
            for total in sorted(reached):
                self.totals[kind][total] = len(names)
                names.append(f"shot of {total}" if total <= MAX_SAVE else "power shot")
            self.others[kind] = len(names)
            if kind == ATTACK_LATER:
                names += SHOT_NAMES
            elif kind >= ANSWER:
                facts = CHALLENGE_FACTS if kind == ANSWER else SHOT_CHALLENGE_FACTS
                names += CHALLENGE_NAMES[:facts]
            if len(names) > MAX_FEATURES:
                raise ValueError(f"more than {MAX_FEATURES} features: too many different cards")
            lists.append(tuple(names))
        self.names = lists

    cdef int describe(self, int context, int card, int role, int* row) noexcept nogil:
        # Returns the kind of the decision.
        cdef int kind = kind_of(context)
        cdef int power = self.rules.powers[card]
        cdef int* others
        cdef int standing, attack, attacked, total
        cdef bint bonus, star = self.rules.roles[card] == STAR_PLAYER
        memset(row, 0, MAX_FEATURES * sizeof(int))
        others = row + self.others[kind]
        if kind < ANSWER:
            standing, bonus = context >> 1, context & 1
            if role == SHOOT:
                total = power + BONUS * (standing - needed_to_shoot(self.rules.roles[card]) + bonus)
                total = min(total, POWER_SHOT)
                row[self.totals[kind][total]] = 1
                if kind == ATTACK_LATER:
                    others[LONG_RANGE] = self.rules.roles[card] == LONG_RANGE_SHOT
                    others[STAR_SHOOTS] = star
                    others[POWER_SPENT] = power if total == POWER_SHOT else 0
            elif role == GIVE_UP:
                row[self.spares[kind][card]] = 1
            else:
                row[self.plays[kind][role == DRIBBLE][card]] = 1
                if kind == ATTACK_LATER:
                    others[MORE_STAND] = standing > NEEDED_TO_SHOOT
                    others[BONUS_STANDS] = bonus
            return kind
        context -= ANSWERS
        standing = context % STANDINGS
        attacked = context // STANDINGS % (MAX_POWER + 1)
        attack = context // (STANDINGS * (MAX_POWER + 1))
        if role == DECLINE or power < attacked or kind == ANSWER_SHOT and attacked == POWER_SHOT:
            row[self.spares[kind][card]] = 1
        elif power == attacked:
            others[REPELS] = 1
            others[REPELS_POWER] = power
            others[REPELS_SECOND] = standing == 1
            others[REPELS_LATER] = standing > 1
            if kind == ANSWER:
                others[REPELS_BY_STAR] = star
        else:
            others[WINS] = 1
            others[WINS_MARGIN] = power - attacked
            others[WINS_POWER] = power
            others[WINS_BY_STAR] = star
            others[WINS_SECOND] = standing == 1
            others[WINS_LATER] = standing > 1
            if kind == ANSWER:
                others[WINS_DRIBBLE] = attack == 1
        return kind

    cdef int pending(self, int role, int power, uint64_t hand) noexcept nogil:
        # The feature of a card that is to be answered from a hand: whether it can be won or saved.
        cdef bint can = False
        if role != SHOOT or power <= MAX_SAVE:
            can = 0 != (hand & self.strong[power] & (
                self.rules.of_role[defence_against(role)] | self.rules.of_role[STAR_PLAYER]))
        if role == SHOOT:
            return GOAL_UNSURE if can else GOAL_SURE
        return UNSURE if can else PENDING

    # What the weights give

    cdef double weighed(self, int context, int card, int role, int sharpness) noexcept nogil:
        cdef int row[MAX_FEATURES]
        cdef int kind = self.describe(context, card, role, row)
        cdef int i, sum = 0
        for i in range(MAX_FEATURES):
            sum += self.weights[kind][i] * row[i]
        return exp(max(-MOST_WEIGHED, min(sharpness * sum, MOST_WEIGHED)) * UNIT)

    cdef weigh_cards(self):
        # `likely`, for the contexts that come up.
        cdef Common common
        cdef int standing, attack, power
        cdef bint bonus
        memset(&common, 0, sizeof(common))
        common.phase = ATTACK
        for standing in range(MOST_TO_SHOOT + 1):
            common.standing = standing
            for bonus in range(2):
                self.weigh_context(&common, attack_context(standing, bonus))
        common.phase = DEFEND
        common.play_count = 1
        for attack in (PASS, DRIBBLE, SHOOT):
            common.plays[0].role = attack
            for power in range(1, (POWER_SHOT if attack == SHOOT else MAX_POWER) + 1):
                for standing in range(STANDINGS):
                    self.weigh_context(&common, answer_context(attack, power, standing))

    cdef void weigh_context(self, const Common* common, int context) noexcept nogil:
        cdef double* likely = self.likely[context]
        cdef double mean = 0
        cdef int card
        for card in range(self.rules.types):
            likely[card] = self.sum_of_roles(common, context, card, 1)
            self.sharp[context][card] = self.sum_of_roles(common, context, card, SHARPNESS)
            mean += likely[card] / self.rules.types
        for card in range(self.rules.types):
            likely[card] /= mean
            self.decays[context][card] = exp(-self.first_point * likely[card])

    cdef double sum_of_roles(self, const Common* common, int context, int card,
                             int sharpness) noexcept nogil:
        cdef uint8_t roles[MAX_ROLES]
        cdef double sum = 0
        cdef int i
        for i in range(self.rules.roles_now(common, card, roles)):
            sum += self.weighed(context, card, roles[i], sharpness)
        return sum


cdef int context_of(PowerShotSoccerFeatures features, const Common* common) noexcept nogil:
    cdef int at = common.play_count - 1
    if common.phase == DEFEND:
        return answer_context(common.plays[at].role, features.rules.attack_power(common, at),
                              common.standing)
    # The last two plays of an attack in which a card stands are that card and its answer.
    return attack_context(common.standing, common.standing > 0 and (
        features.bonus_cards >> common.plays[at - 1].card & 1))


cdef inline int kind_of(int context) noexcept nogil:
    if context < ANSWERS:
        return min(context >> 1, <int> ATTACK_LATER)
    return ANSWER_SHOT if context >= ANSWERS + 2 * (MAX_POWER + 1) * STANDINGS else ANSWER
