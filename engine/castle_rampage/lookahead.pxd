"""Looking ahead in a hand history: whether a guess can last to its end."""

from engine.castle_rampage.guesses cimport Guess
from engine.castle_rampage.history cimport Entry, History
from engine.castle_rampage.state cimport CARDS, MAX_HISTORY, STRUCTURES, Own, Stack
from engine.integers cimport uint8_t

cdef enum:
    MAX_PILES = MAX_HISTORY // 3 + 1     # A reshuffle takes at least three bytes of a history.

cdef struct Past:                # The past of a hand, and how far an account has come in it.
    const Stack* stacks          # Both structures of its seat, as the other seat sees them.
    History history
    # Of what each draw pile was made, without what the other seat has drawn of it,
    int pile_count
    uint8_t piles[MAX_PILES * CARDS]
    bint foreign[MAX_PILES]      # and whether that seat has drawn what was not there.
    int next_entry
    int placed[STRUCTURES]       # How many cards each structure has got by then.
    int pool_count
    int hand_size
    int hidden_set_up            # Cards of the set-up in the structures that are not known.

cdef inline const uint8_t* counts_of(const Past* past, const Entry* entry) noexcept nogil:
    return past.history.counts + entry.counted * CARDS

# Finds the draw piles of a past. `copies` are those of the deck, and `own` is of the other seat.
cdef void read_piles(Past* past, const uint8_t* copies, const Own* own) noexcept nogil

# Whether each card that leaves the hand later, or is shown in it, can be in it by then. That is not
# all that must be so: some guesses that pass still fail later.
cdef bint can_go_on(const Past* past, const Guess* guess) noexcept nogil
