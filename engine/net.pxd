"""A small net of whole numbers that tells what a position is worth."""

from libc.stdint cimport int16_t, uint16_t

from engine.numerics cimport exp

cdef enum:
    UNIT = 127                   # 1, of a unit and of the weights of the first layer,
    SHIFT = 6                    # of the weights of the other layers: 1 << SHIFT,
    SUM_UNIT = UNIT << SHIFT     # and of their biases, of direct weights and of the outputs.
    NARROWEST = SUM_UNIT // 1000    # Half the width of a draw is at least this.
    MAX_INPUTS = 512
    MAX_PRESENT = 255            # Inputs that are not 0.
    WIDTH = 32                   # Units of the first layer,
    SECOND_WIDTH = 16            # and of the second.
    OUTPUTS = 2

cdef struct Inputs:              # Those that are not 0.
    int n
    uint16_t at[MAX_PRESENT]
    int16_t values[MAX_PRESENT]

# Without a branch on the value, which would often be mispredicted.
cdef inline void put(Inputs* inputs, int at, int value) noexcept nogil:
    inputs.at[inputs.n] = at
    inputs.values[inputs.n] = value
    inputs.n += value != 0 and inputs.n < MAX_PRESENT - 1


cdef inline double logistic(double x) noexcept nogil:
    return 1 / (1 + exp(-x))


# The expected score, and the probability of a draw, by an ordinal logistic model of the outcome (P.
# McCullagh, "Regression Models for Ordinal Data", Journal of the Royal Statistical Society B 42(2),
# 1980): a win has the probability s(x - t) and a loss s(-x - t), where s is the logistic function,
# and t is half the width of a draw.
cdef inline double expected_score(double x, double half_width, double* draw) noexcept nogil:
    cdef double win = logistic(x - half_width)
    draw[0] = max(0.0, 1 - win - logistic(-x - half_width))
    return win + draw[0] / 2


cdef class Net:
    cdef readonly int inputs
    cdef int16_t* first          # By input, then by unit.
    cdef int16_t first_bias[WIDTH]
    cdef int16_t second[SECOND_WIDTH][WIDTH]
    cdef int16_t second_bias[SECOND_WIDTH]
    cdef int16_t output[OUTPUTS][SECOND_WIDTH]
    cdef int16_t output_bias[OUTPUTS]
    cdef int16_t* direct         # By input.
    cdef void run(self, const Inputs* inputs, int* outputs) noexcept nogil
    # The expected score of the seat that the inputs describe. Writes the probability of a draw.
    cdef double expected(self, const Inputs* inputs, double* draw) noexcept nogil
