"""A small net of whole numbers that tells what a position is worth.

Two hidden layers, whose units go from 0 to 1, and a direct sum of the inputs beside them give two
numbers: x and half the width of a draw, of which an ordinal logistic model makes the expected score
(`expected_score` in engine/net.pxd). Most inputs are 0, so the first layer adds up the rows of
those that are not. Weights, sums and units are whole numbers, of which overflow discards the same
bits everywhere: a position is worth the same to the last bit on every machine. No loop depends on
the order of its sums, so compilers may vectorize them.

    Y. Nasu, "Efficiently Updatable Neural-Network-based Evaluation Functions for Computer Shogi",
    Ziosoft Computer Shogi Club, 2018: the architecture, there far wider and updated by differences.
    A playout ends at a position that has little in common with the one before, so nothing is kept.
"""

from libc.stdlib cimport calloc, free

cdef extern from *:
    # Adds the rows of some inputs to sums; returns the sum of their direct weights. In vectors of
    # eight numbers, which any processor has, because compilers do not always find them in loops.
    """
    typedef unsigned short net_lanes __attribute__((vector_size(16), aligned(2), may_alias));

    static int net_add_rows(unsigned short* sums, const short* first, const short* direct,
                            const unsigned short* at, const short* values, int n) {
        net_lanes* all = (net_lanes*) sums;
        net_lanes a = all[0], b = all[1], c = all[2], d = all[3];
        int sum = 0;
        for (int i = 0; i < n; i++) {
            const net_lanes* row = (const net_lanes*) (first + at[i] * 32);
            unsigned short value = (unsigned short) values[i];
            a += row[0] * value;
            b += row[1] * value;
            c += row[2] * value;
            d += row[3] * value;
            sum += values[i] * direct[at[i]];
        }
        all[0] = a; all[1] = b; all[2] = c; all[3] = d;
        return sum;
    }
    """
    int add_rows "net_add_rows"(uint16_t* sums, const int16_t* first, const int16_t* direct,
                                const uint16_t* at, const int16_t* values, int n) noexcept nogil

# What stands for 1 in the weights of each layer.
SCALES = {
    "first": UNIT,
    "first_bias": UNIT,
    "second": 1 << SHIFT,
    "second_bias": SUM_UNIT,
    "output": 1 << SHIFT,
    "output_bias": SUM_UNIT,
    "direct": SUM_UNIT,
}
LEAST_HALF_WIDTH = NARROWEST * (1.0 / SUM_UNIT)
MOST = (1 << 15) - 1             # No weight is further from 0.


def shapes(int inputs):
    """The layers of a net for so many inputs: for each its name, rows and columns."""
    return {
        "first": (inputs, WIDTH),
        "first_bias": (1, WIDTH),
        "second": (SECOND_WIDTH, WIDTH),
        "second_bias": (1, SECOND_WIDTH),
        "output": (OUTPUTS, SECOND_WIDTH),
        "output_bias": (1, OUTPUTS),
        "direct": (1, inputs),
    }


cdef class Net:
    """A net with weights."""

    def __cinit__(self, int inputs, layers):
        self.inputs = inputs
        self.first = <int16_t*> calloc(max(1, inputs) * WIDTH, sizeof(int16_t))
        self.direct = <int16_t*> calloc(max(1, inputs), sizeof(int16_t))
        if self.first == NULL or self.direct == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.first)
        free(self.direct)

    def __init__(self, int inputs, layers):
        """`layers` has the weights of each layer, row by row, as `shapes` names them.

        Raises ValueError.
        """
        cdef dict shaped = shapes(inputs)
        if layers.keys() != shaped.keys():
            raise ValueError(f"the layers must be {', '.join(shaped)}")
        for name, (rows, columns) in shaped.items():
            if len(layers[name]) != rows * columns:
                raise ValueError(f"the layer {name} must have {rows * columns} weights")
            if not all(type(each) is int and -MOST <= each <= MOST for each in layers[name]):
                raise ValueError(f"a weight of the layer {name} is no whole number in range")
        fill(self.first, layers["first"])
        fill(self.first_bias, layers["first_bias"])
        fill(&self.second[0][0], layers["second"])
        fill(self.second_bias, layers["second_bias"])
        fill(&self.output[0][0], layers["output"])
        fill(self.output_bias, layers["output_bias"])
        fill(self.direct, layers["direct"])

    cdef void run(self, const Inputs* inputs, int* outputs) noexcept nogil:
        cdef uint16_t sums[WIDTH]
        cdef int16_t units[WIDTH]
        cdef int16_t seconds[SECOND_WIDTH]
        cdef int i, j, sum, direct
        for j in range(WIDTH):
            sums[j] = <uint16_t> self.first_bias[j]
        direct = add_rows(sums, self.first, self.direct, inputs.at, inputs.values, inputs.n)
        for j in range(WIDTH):
            units[j] = min(<int> UNIT, max(0, <int> <int16_t> sums[j]))
        for i in range(SECOND_WIDTH):
            sum = self.second_bias[i]
            for j in range(WIDTH):
                sum += <int> units[j] * self.second[i][j]
            seconds[i] = min(<int> UNIT, max(0, sum >> SHIFT))
        for i in range(OUTPUTS):
            sum = self.output_bias[i]
            for j in range(SECOND_WIDTH):
                sum += <int> seconds[j] * self.output[i][j]
            outputs[i] = sum
        outputs[0] += direct

    cdef double expected(self, const Inputs* inputs, double* draw) noexcept nogil:
        cdef int outputs[OUTPUTS]
        self.run(inputs, outputs)
        return expected_score(outputs[0] * (1.0 / SUM_UNIT),
                              max(<int> NARROWEST, outputs[1]) * (1.0 / SUM_UNIT), draw)

    def outputs(self, values):
        """What comes out for the values of all inputs, in units of 1 / SUM_UNIT."""
        cdef Inputs inputs
        cdef int found[OUTPUTS]
        inputs.n = 0
        for at, value in enumerate(values):
            put(&inputs, at, value)
        self.run(&inputs, found)
        return [found[i] for i in range(OUTPUTS)]


cdef fill(int16_t* weights, given):
    cdef int i, weight
    for i, weight in enumerate(given):
        weights[i] = weight
