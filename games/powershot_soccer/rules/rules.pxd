"""The rules of PowerShot Soccer, for its sampler and its playout policies."""

from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Action, Game
from engine.integers cimport uint64_t, uint8_t
from games.powershot_soccer.rules.state cimport (
    DEFEND, DRIBBLE, INTERCEPT, LONG_RANGE_SHOT, MAX_TYPES, NEEDED_FOR_LONG_RANGE, NEEDED_TO_SHOOT,
    PASS, ROLES, SAVE, SHOOT, TACKLE, ATTACK, Common, SoccerState,
)


cdef extern from *:
    int lowest_one "__builtin_ctzll"(uint64_t bits) noexcept nogil


# A hand as a set of cards.
cdef inline uint64_t held(const uint8_t* hand) noexcept nogil:
    cdef uint64_t cards = 0
    cdef int card
    for card in range(MAX_TYPES):
        cards |= <uint64_t> (hand[card] > 0) << card
    return cards


# The seat that plays the next card.
cdef inline int seat_to_play(const Common* common) noexcept nogil:
    return common.possession if common.phase == ATTACK else 1 - common.possession


# Whether the half is over.
cdef inline bint half_is_over(const Common* common) noexcept nogil:
    if common.draw_sizes[0] > 0 and common.draw_sizes[1] > 0:
        return False
    # A shot that drew the last card is still answered; a possession card is not.
    return not (common.phase == DEFEND and common.plays[common.play_count - 1].role == SHOOT)


# The role that challenges a card played in `role`.
cdef inline int defence_against(int role) noexcept nogil:
    return INTERCEPT if role == PASS else TACKLE if role == DRIBBLE else SAVE


# The standing possession cards that a shot with a card of this role needs.
cdef inline int needed_to_shoot(int role) noexcept nogil:
    return NEEDED_FOR_LONG_RANGE if role == LONG_RANGE_SHOT else NEEDED_TO_SHOOT


cdef class PowerShotSoccer(Game):
    cdef int hand_size
    cdef int types
    cdef int deck_size
    cdef uint8_t roles[MAX_TYPES]
    cdef uint8_t powers[MAX_TYPES]
    cdef uint8_t copies[MAX_TYPES]
    cdef uint64_t of_role[ROLES]          # The cards of each role, as sets,
    cdef uint64_t weaker[MAX_TYPES]       # and those that a card is better than in every use.

    cdef set_cards(self, specs)
    cdef bint covers(self, int card, int other) noexcept nogil
    cdef int effect(self, const Common* common, Action action) noexcept nogil
    # Writes the roles in which a card can be played now, ascending; returns how many.
    cdef int roles_now(self, const Common* common, int card, uint8_t* roles) noexcept nogil
    # Plays a card onto a play pile and settles what that decides. Returns the outcome, or OPEN.
    cdef int settle(self, Common* common, int card, int role) noexcept nogil
    # The outcome of an exchange: the last play, answered by a card in a role.
    cdef int judge(self, const Common* common, int card, int role) noexcept nogil
    # The power that an answer to the play at `at` is compared with; of a shot, its total.
    cdef int attack_power(self, const Common* common, int at) noexcept nogil
    cdef void begin_half(self, SoccerState* soccer, int half, Rng* rng,
                         EventLog* log) noexcept nogil
    cdef void kick_off(self, SoccerState* soccer, Rng* rng, EventLog* log) noexcept nogil
    cdef int draw_card(self, SoccerState* soccer, int seat) noexcept nogil
    cdef void end_half(self, SoccerState* soccer, Rng* rng, EventLog* log) noexcept nogil
    cdef void shuffle(self, SoccerState* soccer, int seat, Rng* rng, EventLog* log) noexcept nogil
