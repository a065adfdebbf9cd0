"""Playing turns and set-ups of Castle Rampage as a model says."""

from engine.chance cimport Rng
from engine.game cimport Action
from engine.integers cimport uint8_t
from games.castle_rampage.play.features cimport CastleRampageFeatures
from games.castle_rampage.rules.rules cimport CastleRampage
from games.castle_rampage.rules.state cimport CARDS, MAX_COST, STRUCTURES, CastleState, Stack

cdef class LearnedPlay:
    cdef CastleRampage rules
    cdef const int* weights      # Of an action of a turn; owned by the features.
    cdef CastleRampageFeatures features
    # What a card is worth if it is played, with what it costs, and under each structure.
    cdef int plays[CARDS]
    cdef int under[STRUCTURES * CARDS]
    cdef int paid[MAX_COST + 1]  # What the ways to pay so many cards are worth.
    cdef uint8_t cheapest_first[CARDS - 1]  # All cards, the most likely to be paid first.
    cdef int kept[CARDS]         # Against the better of the other places in a set-up.
    cdef Action set_up(self, const CastleState* rampage, int seat, Rng* rng) noexcept nogil
    cdef Action turn(self, const CastleState* rampage, int seat, Rng* rng) noexcept nogil
    cdef int attack(self, int card, int strength, const Stack* gate,
                    const Stack* castle) noexcept nogil
