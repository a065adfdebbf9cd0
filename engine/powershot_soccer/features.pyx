"""What is learned of PowerShot Soccer: what describes its play, and what a model's weights give.

A *card to be played* is described by what it is and by the role that it is played in, in the light
of what both seats see of the exchange: how many cards stand, what is answered. The rest of the hand
is left out. So the weight of a hand is the sum of those of its cards, and depends on nothing else;
the sampler needs that (engine/powershot_soccer/past_choices.pyx). A *position* is described by the
lead, by what stands or is being played, and by what both hands hold.

The probability of an action is a mixture: a share UNIFORM of uniform play, so that no choice of an
opponent is taken for impossible, and otherwise a softmax of the weighted features. The outcome of
the match follows an ordinal logistic model (`expected_score` in engine/features.pxd).
"""

cimport cython
from libc.string cimport memset

from engine.features cimport MAX_FEATURES, UNIT, Features, expected_score
from engine.game cimport SEATS, Action, State
from engine.integers cimport uint64_t, uint8_t
from engine.numerics cimport exp
from engine.position cimport Position
from engine.powershot_soccer.rules cimport (
    PowerShotSoccer, count_ones, defence_against, held, needed_to_shoot,
)
from engine.powershot_soccer.state cimport (
    ATTACK, BONUS, CROSS, DECLINE, DEFEND, DRIBBLE, FANCY_FOOTWORK, GIVE_UP, INTERCEPT,
    LONG_RANGE_SHOT, MAX_POWER, MAX_ROLES, MAX_SAVE, NEEDED_TO_SHOOT, OVER, PASS, ROLE_BITS, SAVE,
    SHOOT, STAR_PLAYER, TACKLE, Common, SoccerState,
)

from engine.features import SCALE

cdef int MOST_WEIGHED = 30 * SCALE      # So that no sum of exponentials overflows.

cdef enum:
    HIGH = 6                     # A high power.
    PLAYS_PER_KIND = 16          # Of positions, in the second half; of the first, twice as many.
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
POSITION_NAMES = (
    "lead", "possession", "standing", "sure card", "unsure card", "sure goal", "unsure goal",
    "high attack", "high defence")


# The code that Cython makes to pickle an object does not know arrays of arrays.
@cython.auto_pickle(False)
cdef class PowerShotSoccerFeatures(Features):
    """Describes cards to be played, and positions."""

    uses = ("playouts", "beliefs", "value")

    def __init__(self, game, weights=None):
        super().__init__(game)
        self.rules = game
        # A tenth of 1 / Z for a hand of cards of mean weight.
        self.first_point = 0.1 / self.rules.hand_size
        self.bonus_cards = self.rules.of_role[CROSS] | self.rules.of_role[FANCY_FOOTWORK]
        self.name_features()
        self.sort_cards()
        if weights is not None:
            for kind, name in enumerate(KINDS):
                for i, weight in enumerate(weights[name]):
                    self.weights[kind][i] = weight
            for kind in range(POSITION_KINDS):
                for i, weight in enumerate(weights[position_name(kind)]):
                    self.position_weights[kind][i] = weight
            self.weigh_cards()
            self.weigh_hands()

    @property
    def decisions(self):
        return dict(zip(KINDS, self.names, strict=True))

    @property
    def positions(self):
        return {position_name(kind): POSITION_NAMES for kind in range(POSITION_KINDS)}

    cdef int decision_kind(self, const State* state, int seat) noexcept nogil:
        return kind_of(context_of(self, &(<const SoccerState*> state).common))

    cdef void describe_action(self, const State* state, int seat, Action action,
                              int* row) noexcept nogil:
        self.describe(context_of(self, &(<const SoccerState*> state).common),
                      action >> ROLE_BITS, action & ((1 << ROLE_BITS) - 1), row)

    cdef int position_kind(self, const State* state) noexcept nogil:
        cdef const Common* common = &(<const SoccerState*> state).common
        if common.phase == OVER or common.play_count % (PLAYS_PER_KIND // 2):
            return -1
        return position_kind_of(common.half, common.play_count)

    cdef void describe_position(self, const State* state, int* row) noexcept nogil:
        cdef const SoccerState* soccer = <const SoccerState*> state
        cdef const Common* common = &soccer.common
        cdef uint64_t hands[SEATS]
        cdef int sign = 1 if common.possession == 0 else -1
        cdef int at = common.play_count - 1
        cdef int seat, i, pending
        memset(row, 0, POSITION_FEATURES * sizeof(int))
        for seat in range(SEATS):
            hands[seat] = held(soccer.own[seat].hand)
        row[LEAD] = <int> common.goals[0] - <int> common.goals[1]
        row[POSSESSION] = sign
        row[STANDING] = sign * <int> common.standing
        if common.phase == DEFEND:
            pending = self.pending(common.plays[at].role, self.rules.attack_power(common, at),
                                   hands[1 - common.possession])
            row[pending] = sign
        for i in range(HAND_KINDS):
            row[IN_HAND + i] = (
                count_ones(hands[0] & self.in_hand[i]) - count_ones(hands[1] & self.in_hand[i]))

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

    cdef sort_cards(self):
        # The sets of cards that are counted in hands.
        cdef PowerShotSoccer rules = self.rules
        cdef const uint64_t* of = rules.of_role
        cdef uint64_t high
        cdef int card, power
        for card in range(rules.types):
            for power in range(rules.powers[card] + 1):
                self.strong[power] |= <uint64_t> 1 << card
        high = self.strong[HIGH]
        attack = of[PASS] | of[DRIBBLE] | of[SHOOT]
        defence = of[TACKLE] | of[INTERCEPT] | of[SAVE]
        stars = of[STAR_PLAYER]
        for i, cards in enumerate((
                attack & high | self.bonus_cards | of[LONG_RANGE_SHOT] | stars,
                defence & high | stars)):
            self.in_hand[i] = cards

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
        return UNSURE if can else SURE

    # What the weights give

    def card_weights(self, Position position not None):
        """How likely each card would be played in a position, in proportion to the others.

        A card counts whether it is in the hand or not.
        """
        cdef const double* weights = self.likely[
            context_of(self, &(<const SoccerState*> &position.state).common)]
        return [weights[card] for card in range(self.rules.types)]

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

    cdef weigh_hands(self):
        cdef int kind, byte, cards, i
        cdef uint64_t hand
        for kind in range(POSITION_KINDS):
            for byte in range(BYTES):
                for cards in range(256):
                    hand = <uint64_t> cards << (8 * byte)
                    for i in range(HAND_KINDS):
                        self.hand_weights[kind][byte][cards] += (
                            self.position_weights[kind][IN_HAND + i]
                            * count_ones(hand & self.in_hand[i]))

    cdef double expected(self, int half, int plays, int lead, int possession, int standing,
                         int role, int power, const uint64_t* hands,
                         double* draw) noexcept nogil:
        # `role` and `power`: of the card that is to be answered; 0 if there is none.
        cdef int kind = position_kind_of(half, plays)
        cdef const int* weights = self.position_weights[kind]
        cdef int byte, ahead, sum
        ahead = weights[POSSESSION] + standing * weights[STANDING]
        if role:
            ahead += weights[self.pending(role, power, hands[1 - possession])]
        sum = lead * weights[LEAD] + (ahead if possession == 0 else -ahead)
        for byte in range(BYTES):
            sum += self.hand_weights[kind][byte][hands[0] >> (8 * byte) & 255]
            sum -= self.hand_weights[kind][byte][hands[1] >> (8 * byte) & 255]
        return expected_score(sum * UNIT, weights[POSITION_FEATURES] * UNIT, draw)


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


cdef inline int position_kind_of(int half, int plays) noexcept nogil:
    if half == 1:
        return FIRST_HALF + min(plays // (2 * PLAYS_PER_KIND), FIRST_HALF_KINDS - 1)
    return SECOND_HALF + min(plays // PLAYS_PER_KIND, SECOND_HALF_KINDS - 1)


def position_name(kind):
    """The name of a kind of positions."""
    if kind < SECOND_HALF:
        return f"first half, from play {kind * 2 * PLAYS_PER_KIND}"
    return f"second half, from play {(kind - SECOND_HALF) * PLAYS_PER_KIND}"
