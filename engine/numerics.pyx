"""The error function, and the functions of numerics.pxd for Python.

Every derivative of erf follows from the first two, by erf''(x) = -2 x erf'(x). So the coefficients
of its Taylor series around any point are quickly found, and a table holds them for points at a
distance of 1/8. At the points themselves, erf is the sum of a series of positive terms (DLMF
7.6.2). Beyond the last point, erf is 1 to the last bit.
"""

cdef enum:
    POINTS_PER_UNIT = 8
    LAST_POINT = 6
    POINTS = LAST_POINT * POINTS_PER_UNIT + 1
    TERMS = 13

cdef double[POINTS][TERMS] taylor


cdef void fill_table() noexcept nogil:
    cdef double x, term, total, coefficient, before
    cdef double* row
    cdef int point, n
    for point in range(POINTS):
        row = taylor[point]
        x = <double> point / POINTS_PER_UNIT
        term = x
        total = 0
        n = 0
        while total + term != total:
            total += term
            n += 1
            term *= 2 * x * x / (2 * n + 1)
        # The coefficients of erf' are c(n) = -2 (x c(n - 1) + c(n - 2)) / n.
        coefficient = 1.1283791670955126 * exp(-x * x)     # 2 / sqrt(pi) is erf'(0).
        before = 0
        row[0] = coefficient * total
        for n in range(1, TERMS):
            row[n] = coefficient / n
            coefficient, before = -2 * (x * coefficient + before) / n, coefficient


cdef double erf(double x) noexcept nogil:
    cdef double distance = x if x > 0 else -x
    cdef double h, value
    cdef const double* row
    cdef int point, n
    if x != x:
        return x
    if distance >= LAST_POINT:
        value = 1
    else:
        point = <int> (distance * POINTS_PER_UNIT + 0.5)
        h = distance - <double> point / POINTS_PER_UNIT
        row = taylor[point]
        value = row[TERMS - 1]
        for n in range(TERMS - 2, -1, -1):
            value = value * h + row[n]
        value = min(1.0, value)
    return value if x >= 0 else -value


fill_table()


def evaluate(function, double x, double y=1):
    """The value of the function of this name at `x`; of `to_the_power`, with the exponent `y`."""
    if function == "exp":
        return exp(x)
    if function == "log":
        return log(x)
    if function == "erf":
        return erf(x)
    if function == "to_the_power":
        return to_the_power(x, y)
    raise ValueError(f"no function {function}")
