"""A chi-squared test of whether counts were drawn from a known distribution."""

from lab.chi_squared import pool, upper_tail


def p_of_distribution(seen, probabilities):
    """The p-value of a Counter if it was drawn from a distribution, a dict that adds up to 1."""
    if any(probabilities.get(key, 0) == 0 for key in seen):
        return 0.0
    n = seen.total()
    scale = 1e12  # The expected counts are exact, as those of an unlimited sample.
    cells = pool([(seen[key], p * scale) for key, p in probabilities.items()], n, scale)
    statistic = sum((x - y / scale * n) ** 2 / (y / scale * n) for x, y in cells)
    return upper_tail(statistic, len(cells) - 1)
