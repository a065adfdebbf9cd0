"""What is learned of PowerShot Soccer: what describes its play, and what a model's weights give."""

from engine.features cimport MAX_FEATURES, Features
from engine.integers cimport uint64_t
from engine.net cimport Inputs
from games.powershot_soccer.rules.rules cimport PowerShotSoccer
from games.powershot_soccer.rules.state cimport (
    BONUS, DRIBBLE, MAX_POWER, MAX_SAVE, MAX_TYPES, NEEDED_TO_SHOOT, PASS, SHOOT, Common,
    SoccerState,
)

cdef enum:
    # Kinds of decisions
    ATTACK_FIRST = 0             # No card stands.
    ATTACK_SECOND                # One stands: a Long Range Shot may be played,
    ATTACK_LATER                 # and every shot after two.
    ANSWER
    ANSWER_SHOT
    DECISION_KINDS

    # Inputs of the net. The cards in the hands come first, then those in the draw piles, each time
    # of the seat in possession and of the other. Then come
    LEAD = 0                     # the lead of that seat, in goals,
    LEAD_IS                      # and whether it is -MOST_LEAD or less ... MOST_LEAD or more;
    MOST_LEAD = 3
    LEADS_TOLD = 2 * MOST_LEAD + 1
    LEFT_IS = LEAD_IS + LEADS_TOLD  # whether 0 to 3, 4 to 7, ... cards are left to draw, by halves;
    LEFT_STEP = 4
    LEFT_TOLD = 12
    STANDING = LEFT_IS + 2 * LEFT_TOLD  # standing possession cards,
    MAY_SHOOT                    # and whether they are enough to shoot;
    PENDING                      # a possession card that cannot be won, being played,
    UNSURE                       # or one that can; a shot that
    GOAL_SURE                    # cannot be stopped,
    GOAL_UNSURE                  # or that can.
    PLAY_INPUTS

    # Moments: 0 or more cards that both seats have to draw, 20 or more, ..., 80 or more.
    DRAWS_STEP = 20
    DRAWS_TOLD = 5

    # Contexts: all of what both seats see that describes a decision.
    MOST_TO_SHOOT = NEEDED_TO_SHOOT + MAX_SAVE // BONUS    # With more, every shot is a PowerShot.
    MOST_STANDING = 2            # Standing cards that answers tell apart.
    STANDINGS = MOST_STANDING + 1
    POWER_SHOT = MAX_SAVE + 1    # The total of every shot that cannot be saved.
    ANSWERS = 2 * (MOST_TO_SHOOT + 1)    # The first context of an answer.
    CONTEXTS = ANSWERS + 3 * (MAX_POWER + 1) * STANDINGS

    # The playout policy chooses by the likelihoods of actions to this power: what the search leaves
    # open, since two actions are as good, is no reason to play worse ones. Alone, without a search,
    # it scored 25 % (+-4), 45 %, 55 %, 60 % and 61 % against the policy that is written by hand
    # with 1, 1.5, 2, 3 and 5, in 300 games each.
    SHARPNESS = 3

# What both seats see of a decision, as one number: of the attacker, how many cards stand and
# whether the last of them adds to a shot; of the defender, what it answers, and how many cards
# stand.
cdef inline int attack_context(int standing, bint bonus) noexcept nogil:
    return 2 * min(standing, MOST_TO_SHOOT) + bonus


cdef inline int answer_context(int role, int power, int standing) noexcept nogil:
    cdef int attack = 0 if role == PASS else 1 if role == DRIBBLE else 2
    if role == SHOOT:
        power = min(power, POWER_SHOT)
    return (ANSWERS + (attack * (MAX_POWER + 1) + power) * STANDINGS
            + min(standing, MOST_STANDING))


cdef class PowerShotSoccerFeatures(Features):
    cdef PowerShotSoccer rules
    cdef uint64_t bonus_cards
    cdef uint64_t strong[MAX_POWER + 1]  # The cards of so much power or more.
    # The feature of playing a card for possession, as a Pass or as a Dribble, and of giving up or
    # throwing it away, by kind of decision; -1: that cannot be.
    cdef int plays[DECISION_KINDS][2][MAX_TYPES]
    cdef int spares[DECISION_KINDS][MAX_TYPES]
    cdef int totals[DECISION_KINDS][POWER_SHOT + 1]    # The feature of a shot of this total.
    cdef int others[DECISION_KINDS]      # The first of the other features.
    cdef object names
    # How likely a card is to be played in some role, in proportion to the other cards in hand.
    # Their mean over all kinds of cards is 1.
    cdef double likely[CONTEXTS][MAX_TYPES]
    cdef double sharp[CONTEXTS][MAX_TYPES]      # The same for the playout policy.
    cdef double first_point              # For integrals: see likelihoods.pyx.
    cdef double decays[CONTEXTS][MAX_TYPES]     # exp(-first_point * likely)
    cdef int weights[DECISION_KINDS][MAX_FEATURES]

    cdef name_features(self)
    cdef weigh_cards(self)
    cdef void weigh_context(self, const Common* common, int context) noexcept nogil
    cdef double sum_of_roles(self, const Common* common, int context, int card,
                             int sharpness) noexcept nogil
    cdef int describe(self, int context, int card, int role, int* row) noexcept nogil
    # How likely an action is, to the power of `sharpness`.
    cdef double weighed(self, int context, int card, int role, int sharpness) noexcept nogil
    cdef int pending(self, int role, int power, uint64_t hand) noexcept nogil
    # Adds the inputs for a position. `role` and `power` are those of the card that is to be
    # answered; `role` is 0 if there is none.
    cdef void describe_play(self, const SoccerState* soccer, int possession, int standing, int role,
                            int power, Inputs* inputs) noexcept nogil


# The context of the seat that plays next.
cdef int context_of(PowerShotSoccerFeatures features, const Common* common) noexcept nogil
