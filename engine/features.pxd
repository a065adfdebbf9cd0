"""What a learned model looks at: small whole numbers that describe actions and positions."""

from engine.game cimport Action, Game, State
from engine.net cimport Inputs, Net
from engine.numerics cimport exp

cdef enum:
    MAX_FEATURES = 128           # Of one action.

cdef extern from *:
    """
    #define FEATURES_UNIT (1.0 / 1024)
    #define FEATURES_MOST 20.0
    #define FEATURES_UNIFORM 0.1
    """
    const double UNIT "FEATURES_UNIT"            # Of weights: 1 / SCALE.
    const double MOST "FEATURES_MOST"            # No log of a likelihood is further from 0.
    const double UNIFORM "FEATURES_UNIFORM"      # The share of choices that count as uniform.


# The sum of weighted features.
cdef inline int weighted(const int* weights, const int* row, int n) noexcept nogil:
    cdef int i, sum = 0
    for i in range(n):
        sum += weights[i] * row[i]
    return sum


# The likelihood of an action, in proportion, by the sum of its weighted features. It is bounded, so
# that sums are finite.
cdef inline double likely(int sum) noexcept nogil:
    return exp(max(-MOST, min(MOST, sum * UNIT)))


cdef class Features:
    """Describes the decisions and the positions of one game for what is learned."""
    cdef readonly Game game
    cdef readonly Net net        # Or None.
    # Which of `decisions` a seat that must decide has before it; -1: none that is described.
    cdef int decision_kind(self, const State* state, int seat) noexcept nogil
    # Which of `moments` it is for a seat that must decide; -1: none. It knows which.
    cdef int moment(self, const State* state, int seat) noexcept nogil
    # Writes the features of a legal action of such a decision. They depend on nothing that the seat
    # does not know.
    cdef void describe_action(self, const State* state, int seat, Action action,
                              int* row) noexcept nogil
    # The seat as which a position is described; 0 or 1.
    cdef int perspective(self, const State* state) noexcept nogil
    # Adds the inputs of the net, as that seat would see them if it saw all cards.
    cdef void describe_position(self, const State* state, Inputs* inputs) noexcept nogil
    # The expected score of seat 0 by the net. Writes the probability of a draw.
    cdef double estimate(self, const State* state, double* draw) noexcept nogil
    # The same for inputs as a seat sees them.
    cdef inline double value_of(self, int seat, const Inputs* inputs,
                                double* draw) noexcept nogil:
        cdef double score = self.net.expected(inputs, draw)
        return 1 - score if seat else score
