"""The rules of PowerShot Soccer, for its sampler and its playout policy."""

from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Game
from engine.integers cimport uint8_t
from engine.powershot_soccer.state cimport MAX_TYPES, Common, SoccerState

# The seat that plays the next card.
cdef int seat_to_play(const Common* common) noexcept nogil
# Whether the half is over.
cdef bint half_is_over(const Common* common) noexcept nogil
# The role that challenges a card played in `role`.
cdef int defence_against(int role) noexcept nogil


cdef class PowerShotSoccer(Game):
    cdef int hand_size
    cdef int types
    cdef int deck_size
    cdef uint8_t roles[MAX_TYPES]
    cdef uint8_t powers[MAX_TYPES]
    cdef uint8_t copies[MAX_TYPES]

    cdef set_cards(self, specs)
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
