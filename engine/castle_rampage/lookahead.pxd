"""Looking ahead in a hand history: whether a guess can fit it to its end."""

from engine.castle_rampage.guesses cimport Guess
from engine.castle_rampage.history cimport Entry, History
from engine.castle_rampage.state cimport CARDS, MAX_HISTORY, STRUCTURES, Own, Stack
from engine.integers cimport uint8_t

cdef enum:
    MAX_PILES = MAX_HISTORY // 3 + 1     # A reshuffle takes at least three bytes of a history.

# The past of the opponent's hand, and the progress of an account through it. "The seat" is the one
# whose view the sampler has.
cdef struct Past:
    const Stack* stacks          # Both structures of the opponent, as the seat sees them.
    History history
    int pile_count
    # The cards of each draw pile at its start, without those that the seat has drawn from it.
    uint8_t piles[MAX_PILES * CARDS]
    bint foreign[MAX_PILES]      # Whether the seat has drawn a card that the pile did not hold.
    # The progress:
    int next_entry
    int placed[STRUCTURES]       # The number of cards put into each structure so far.
    int pool_count               # The number of draw piles so far.
    int hand_size
    int hidden_set_up            # Set-up cards in the structures that the seat does not know.

cdef inline const uint8_t* counts_of(const Past* past, const Entry* entry) noexcept nogil:
    return past.history.counts + entry.counted * CARDS

# Finds the draw piles of a past. `copies` are those of the deck, `own` is that of the seat.
cdef void read_piles(Past* past, const uint8_t* copies, const Own* own) noexcept nogil

# Whether each card that leaves the hand later, or is shown in it, can be in the hand at that time.
# This condition is necessary and not sufficient: some guesses that pass still fail later.
cdef bint can_go_on(const Past* past, const Guess* guess) noexcept nogil
