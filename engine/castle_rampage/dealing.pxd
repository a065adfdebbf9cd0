"""Dealing cards to the blanks of a guess, by how likely each card is at each place."""

from libc.stdint cimport uint16_t

from engine.castle_rampage.account cimport HandAccount
from engine.castle_rampage.guesses cimport MAX_POOLS, Guess
from engine.castle_rampage.state cimport CARDS, DEAL, MAX_SET_UPS, PLACED, STRUCTURES
from engine.chance cimport Rng
from engine.integers cimport uint8_t

cdef enum:
    SLOTS = 32                   # Of an alias table, one for each card.
    SLOT_BITS = 5
    SHARE_BITS = 11
    MAX_SET_UP_PLACES = MAX_SET_UPS * PLACED * STRUCTURES

cdef struct Lots:                # One card is drawn from these with the probabilities of one place.
    uint16_t shares[SLOTS]       # How many of 2^SHARE_BITS draws of a slot give its card;
    uint8_t others[SLOTS]        # the others give this one.
    double weights[CARDS]

cdef struct Dealing:
    int set_up_places
    uint8_t at_set_up[MAX_SET_UP_PLACES]    # Which place of a set-up each hidden card has.
    int dealt                    # Of the cards kept, those that are not chosen from yet.
    uint8_t most[MAX_POOLS * CARDS]         # The most copies of each card that a guess deals.
    Lots set_up[DEAL + 1]        # By place, the last one for cards that were just dealt.
    Lots kept_under[STRUCTURES]  # Cards kept at the set-up that went under a structure,
    Lots under[MAX_POOLS * STRUCTURES]      # and others there.
    Lots hand[MAX_POOLS]         # Blanks in hand.
    const uint8_t* structures    # Under which structure each card of a guess was placed.

# Prepares the lots of all places that the guesses of an account can have.
cdef prepare_lots(Dealing* dealing, HandAccount account, int pools)
# Deals a pool of a guess out at random and returns its number of cards: see `shuffle_pool`.
cdef int deal_pool(const Dealing* dealing, const Guess* guess, int pool, int hidden,
                   uint8_t* cards, Rng* rng) noexcept nogil
