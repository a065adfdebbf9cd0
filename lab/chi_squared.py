"""Chi-squared tests of whether counts were drawn from one distribution."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable

Cell = tuple[float, float]  # What both samples have of one thing.

MIN_EXPECTED = 5  # Cells with a smaller expected count are pooled.


def compare(first: Counter[Hashable], second: Counter[Hashable]) -> tuple[float, int]:
    """The statistic of two Counters that have one source, and its degrees of freedom."""
    a, b = first.total(), second.total()
    cells = pool([(first[key], second[key]) for key in first | second], a, b)
    statistic = sum((x * math.sqrt(b / a) - y * math.sqrt(a / b)) ** 2 / (x + y) for x, y in cells)
    return statistic, len(cells) - 1


def pool(cells: Iterable[Cell], a: float, b: float) -> list[Cell]:
    """Joins cells in which fewer than MIN_EXPECTED are expected of either sample."""
    share = min(a, b) / (a + b)
    common: list[Cell] = []
    rare_x, rare_y = 0.0, 0.0
    for x, y in sorted(cells, key=lambda cell: -sum(cell)):
        if (x + y) * share >= MIN_EXPECTED:
            common.append((x, y))
        else:
            rare_x, rare_y = rare_x + x, rare_y + y
    if rare_x + rare_y:
        if (rare_x + rare_y) * share >= MIN_EXPECTED or not common:
            common.append((rare_x, rare_y))
        else:
            common[-1] = (common[-1][0] + rare_x, common[-1][1] + rare_y)
    return common


def upper_tail(statistic: float, degrees: int) -> float:
    """The probability of a chi-squared statistic at least this large.

    By the recurrence over degrees, two at a time: Abramowitz and Stegun, 26.4.8.
    """
    if degrees < 1 or statistic <= 0:
        return 1.0
    x = statistic / 2
    tail, half = (math.erfc(math.sqrt(x)), 0.5) if degrees % 2 else (math.exp(-x), 1.0)
    while half < degrees / 2:
        tail += math.exp(half * math.log(x) - x - math.lgamma(half + 1))
        half += 1
    return min(1.0, tail)
