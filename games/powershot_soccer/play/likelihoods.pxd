"""How likely a model makes the past choices of a seat, for each hand that it may have."""

from engine.integers cimport uint8_t
from games.powershot_soccer.play.features cimport PowerShotSoccerFeatures
from games.powershot_soccer.rules.state cimport MAX_DECK

cdef struct Choice:              # A card that a seat has played.
    int context                  # What both seats saw then: see PowerShotSoccerFeatures.
    int card

cdef struct PastChoices:
    int count
    Choice choices[MAX_DECK]     # Of this half, in order.

# Writes how likely the past choices were with each unseen card in the hand now, in proportion to
# how likely they were without it. `unseen`: how many of each card the seat has not played yet;
# `drawn`: whether it cannot have been in the first hand.
cdef void weigh_unseen(PowerShotSoccerFeatures learned, const PastChoices* past,
                       const uint8_t* unseen, const bint* drawn, int hand_size,
                       double* weights) noexcept nogil
