"""The hands that a seat may have had in one round of Skystones, and how likely each was."""

from engine.integers cimport uint64_t, uint8_t
from engine.skystones.rules cimport Skystones
from engine.skystones.state cimport ELEMENTS, MAX_HAND, MAX_TOTAL, MAX_TYPES, NONE

cdef enum:
    # Hands kept where nothing was placed yet. Where there are more, about every other hand fits,
    # and it is as well to pick hands until one does.
    MAX_ROWS = 1 << 16

cdef struct Play:                # What a seat has shown in one round.
    int placed
    uint8_t cards[MAX_HAND]
    uint8_t open[MAX_HAND][ELEMENTS]    # For each placement, the squares that took each element.
    int barred                   # Elements that no card still in hand can have: the seat passed.
    int needed                   # It places next, so it has a card of one of these; 0: it does not.

cdef struct Kind:                # Cards that are alike for all that the play tells.
    uint8_t element
    uint8_t copies               # 1, or of its only card all that can be in hand beyond the placed.
    uint8_t size                 # How many cards.
    uint8_t cards[MAX_TYPES]

cdef struct Class:               # Kinds that are alike for the picks.
    int total
    int card                     # The only one, if the pile holds several copies; else NONE.
    int size                     # Cards, or copies.
    int first                    # Its kinds.
    int end

cdef struct Absence:             # What it does to the picks that a certain card is set aside.
    int total                    # -1: none is.
    int card                     # Of several copies; else NONE.

cdef struct Candidates:          # What may be the card set aside.
    int count
    uint8_t cards[MAX_TYPES + 1]        # NONE is the only one where no card is set aside.
    double weights[MAX_TYPES + 1]

cdef struct Rows:                # Hands down to their kinds: how likely each is, by absence.
    size_t count
    size_t room
    double* sums                 # By row and absence; running sums once `cumulate` has made them.
    uint8_t* kinds               # MAX_HAND of each row.
    bint out_of_memory

cdef struct Hands:
    # All hands that a seat may have had in one round, out of a pile that may still hold the card
    # that was set aside, and how likely each was.
    Play play
    const Candidates* aside
    int unplayed                 # Cards of the hand that were not placed, or not yet.
    int unplayed_limit           # What their totals may add up to.
    uint8_t pile[MAX_TYPES]
    uint8_t types_up_to[MAX_TOTAL + 1]  # Cards of the pile by total, cumulated.
    int cheapest[MAX_HAND]      # Totals of the cheapest cards of the pile.
    int base[MAX_HAND]          # Choices at each placement that the placed cards made.
    int kind_count
    Kind kinds[MAX_TYPES]
    uint8_t kind_of[MAX_TYPES]  # NONE: it cannot have been left in hand.
    int class_count
    Class classes[MAX_TYPES]
    int absence_count
    Absence absences[MAX_TYPES]
    uint8_t absence_of[MAX_TYPES + 1]   # By candidate for the card set aside.

    # The hand on its way through the recursion.
    uint8_t class_at[MAX_HAND]  # The classes of the unplayed cards, ascending.
    uint8_t kind_at[MAX_HAND]
    uint8_t of_class[MAX_TYPES]  # How many of each.
    uint8_t of_kind[MAX_TYPES]
    double picked[MAX_TYPES]    # The probability that the hand is picked, by absence.

    # What comes of it.
    Rows* rows                   # Gets a row for each hand; NULL: they are just added up.
    bint too_many
    double likelihood[MAX_TYPES + 1]    # By candidate.
    uint64_t* work_left

# Whether some hand out of a pile, without the card set aside, could be played so; what is left of the
# pile, that card included.
cdef bint could_play(Skystones game, const Play* play, const uint8_t* pile, int aside,
                     uint8_t* left) noexcept nogil
# Whether it tells anything of a seat's cards that it could place, or could not.
cdef bint tells(const Play* play) noexcept nogil
# Goes through all hands out of a pile that could be played so. Each is weighed by the probability to
# pick it and to place its cards in this way, for each candidate for the card set aside.
cdef void weigh_hands(Skystones game, Hands* hands, const Play* play, const uint8_t* pile,
                      const Candidates* aside, Rows* rows, uint64_t* work_left) noexcept nogil
# Makes running sums of the rows.
cdef void cumulate(const Hands* hands, Rows* rows) noexcept nogil

cdef inline double left_over(const Hands* hands, int aside, const uint8_t* row) noexcept nogil:
    # The share of the hands of a row that leave the card set aside where it is.
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
