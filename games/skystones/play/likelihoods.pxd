"""How likely the play of a seat in one round of Skystones was, with each hand."""

from engine.integers cimport uint64_t, uint8_t
from games.skystones.rules.rules cimport Skystones
from games.skystones.rules.state cimport ELEMENTS, MAX_HAND, MAX_TOTAL, MAX_TYPES, NONE

cdef enum:
    # The most rows where nothing was placed yet. With more rows about every second hand fits, and
    # picking hands until one fits costs little.
    MAX_ROWS = 1 << 16

cdef struct Play:                # All that a seat has shown in one round.
    int placed
    uint8_t cards[MAX_HAND]
    uint8_t open[MAX_HAND][ELEMENTS]    # How many squares took each element, by placement.
    int barred                   # The elements that its unplayed cards cannot have: it passed.
    int needed                   # It can place now, so it holds one of these elements; 0: unknown.

cdef struct Kind:                # Cards that the play does not tell apart.
    uint8_t element
    uint8_t copies               # 1; a kind of one card with copies: those that may be unplayed.
    uint8_t size                 # Cards.
    uint8_t cards[MAX_TYPES]

cdef struct Class:               # Kinds that the picks do not tell apart.
    int total
    int card                     # Its only card, if the pile holds several copies; else NONE.
    int size                     # Cards, or copies of that card.
    int first                    # Its kinds are those from `first` to before `end`.
    int end

cdef struct Absence:             # How the card set aside changes the picks.
    int total                    # Of that card; -1: no card is set aside.
    int card                     # That card, if the pile holds several copies; else NONE.

cdef struct Candidates:          # The cards that may be the one set aside.
    int count
    uint8_t cards[MAX_TYPES + 1]        # Only NONE where no card is set aside.
    double weights[MAX_TYPES + 1]       # Proportional to their probabilities.

cdef struct Likelihoods:         # Of the choices of a seat.
    bint known                   # By what was learned. If not, all choices count as uniform.
    double picks[MAX_TYPES]      # Of each card, in proportion; all 1 if not known.
    double uniform              # The share of placements that are uniform. Of the others,
    double placed[MAX_HAND]     # that of each placement, and those of all placements of each card
    double options[MAX_HAND][MAX_TYPES]     # at that time, in proportion.

cdef struct Rows:                # One row for each hand, as kinds: how likely it is, by absence.
    size_t count
    size_t room
    double* sums                 # By row and absence; `cumulate` turns them into running sums.
    uint8_t* kinds               # MAX_HAND for each row.
    bint out_of_memory

cdef struct Hands:               # All hands that a seat may have had in one round.
    # Input
    Play play
    const Candidates* aside
    Rows* rows                   # Gets a row for each hand; NULL: no rows are kept.
    uint64_t* work_left
    const Likelihoods* likelihoods

    # What all hands have in common
    int unplayed                 # Cards of the hand that are not placed, or not yet.
    int unplayed_limit           # The most that their totals may add up to.
    uint8_t pile[MAX_TYPES]
    int cheapest[MAX_HAND]      # The lowest totals of the pile.
    int base[MAX_HAND]          # Legal placements of the placed cards at each placement,
    double options[MAX_HAND]    # and their likelihoods.
    # By total: the sum of the likelihoods of the cards of the pile up to it, and the mean of those
    # with it.
    double picks_up_to[MAX_TOTAL + 1]
    double mean_pick[MAX_TOTAL + 1]
    int kind_count
    Kind kinds[MAX_TYPES]
    uint8_t kind_of[MAX_TYPES]  # NONE: the card cannot be unplayed.
    int class_count
    Class classes[MAX_TYPES]
    int absence_count
    Absence absences[MAX_TYPES]
    uint8_t absence_of[MAX_TYPES + 1]   # By candidate.

    # The hand that the recursion is at
    uint8_t class_at[MAX_HAND]  # The classes of the unplayed cards, ascending.
    uint8_t kind_at[MAX_HAND]   # Their kinds.
    uint8_t of_class[MAX_TYPES]  # Unplayed cards of each class,
    uint8_t of_kind[MAX_TYPES]  # and of each kind.
    double picked[MAX_TYPES]    # The probability to pick the hand, by absence.

    # Output
    bint too_many                # The enumeration stopped early.
    double likelihood[MAX_TYPES + 1]    # Of the play, by candidate.

# The lowest sum of the totals of n cards of a pile without one card, `missing` (NONE: with all of
# them), and without the elements in `barred`. It is above any limit if there are fewer such cards.
cdef int cheapest(Skystones game, const uint8_t* pile, int missing, int n,
                  int barred) noexcept nogil
# Whether a hand from a pile without the card set aside could be played like this. Writes what is
# left of the pile without the placed cards.
cdef bint could_play(Skystones game, const Play* play, const uint8_t* pile, int aside,
                     uint8_t* left) noexcept nogil
# Whether passes, or the turn to place, tell anything about the unplayed cards of a seat.
cdef bint tells(const Play* play) noexcept nogil
# Enumerates the hands that a seat can have picked from a pile, which may still hold the card set
# aside. For each candidate, the weight of a hand is the probability to pick it and then to play it
# like this. It stops early when `work_left` comes down to 0 without `rows`, or at MAX_ROWS rows of
# a play without placements.
cdef void weigh_hands(Skystones game, Hands* hands, const Play* play, const uint8_t* pile,
                      const Candidates* aside, const Likelihoods* likelihoods, Rows* rows,
                      uint64_t* work_left) noexcept nogil
# Turns the sums of the rows into running sums.
cdef void cumulate(const Hands* hands, Rows* rows) noexcept nogil

# The share of the hands of a row that do not hold the card set aside.
cdef inline double left_over(const Hands* hands, int aside, const uint8_t* row) noexcept nogil:
    cdef const Kind* kind
    cdef int i, taken = 0
    if aside == NONE or hands.kind_of[aside] == NONE:
        return 1
    for i in range(hands.unplayed):
        taken += row[i] == hands.kind_of[aside]
    kind = &hands.kinds[hands.kind_of[aside]]
    if hands.pile[aside] == 1:
        return <double> (kind.size - taken) / kind.size
    return taken < kind.copies
