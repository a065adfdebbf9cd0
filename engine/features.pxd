"""What a learned model looks at: small whole numbers that describe actions and positions."""

from engine.game cimport Action, Game, State
from engine.numerics cimport exp

cdef enum:
    MAX_FEATURES = 128           # Of one action or position.

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


cdef inline double logistic(double x) noexcept nogil:
    return 1 / (1 + exp(-x))


# The expected score, and the probability of a draw, by an ordinal logistic model of the outcome (P.
# McCullagh, "Regression Models for Ordinal Data", Journal of the Royal Statistical Society B 42(2),
# 1980): x being the weighted features, a win has the probability s(x - t) and a loss s(-x - t),
# where s is the logistic function, and t is half the width of a draw.
cdef inline double expected_score(double x, double half_width, double* draw) noexcept nogil:
    cdef double win = logistic(x - half_width)
    draw[0] = max(0.0, 1 - win - logistic(-x - half_width))
    return win + draw[0] / 2


cdef class Features:
    """Describes the decisions and the positions of one game for what is learned."""
    cdef readonly Game game
    # Which of `decisions` a seat that must decide has before it; -1: none that is described.
    cdef int decision_kind(self, const State* state, int seat) noexcept nogil
    # Writes the features of a legal action of such a decision. They depend on nothing that the seat
    # does not know.
    cdef void describe_action(self, const State* state, int seat, Action action,
                              int* row) noexcept nogil
    # Which of `positions` a state is; -1: none that is described.
    cdef int position_kind(self, const State* state) noexcept nogil
    # Writes the features of such a position, as seat 0 sees it.
    cdef void describe_position(self, const State* state, int* row) noexcept nogil
