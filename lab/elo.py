"""The statistics of pairs of games: score, Elo, their intervals, and when to stop.

Two games that share their deal, with the seats exchanged, are one pair. A pair is the unit of all
statistics: its two scores depend on each other, and cancel most of the luck of the deal. With wins,
draws and losses a pair has five outcomes, which computer chess calls pentanomial; games with stakes
have more. A distribution is a dict here: the number of pairs for each mean score (0 to 1).

    Elo from a score, its error, normalized Elo: as fastchess prints them
    (github.com/Disservin/fastchess, app/src/matchmaking/elo/elo_pentanomial.cpp).
    The interval: E. B. Wilson, "Probable inference, the law of succession, and statistical
    inference", Journal of the American Statistical Association 22, 1927; with the variance of
    pairs in proportion to that of a coin. Unlike the normal interval it stays within 0 and 1, and
    it is not empty where every pair was won.
    SPRT: the generalised sequential probability ratio test over pairs that Stockfish's fishtest
    uses (github.com/official-stockfish/fishtest, server/fishtest/stats/LLRcalc.py); M. Van den
    Bergh, "The generalized maximum likelihood ratio for the expectation value of a distribution",
    2020 (cantate.be/Fishtest/support_MLE_multinomial.pdf).
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Z = 1.959963984540054  # Of 95 %.
NORMALIZED = 800 / math.log(10)  # Normalized Elo of one standard deviation of a game.
UNSEEN = 1e-3  # An outcome that was never seen counts as so many pairs.
# Of the regression of scores on corrections: see Corrected.
MIN_OTHERS = 20
MAX_COEFFICIENT = 3.0
ROUNDING = 1e-12
POINTS = 100  # A match has so many: a win is worth 50 and a draw 0.
BISECTIONS = 64  # Enough for the precision of a double.

Distribution = Mapping[float, float]


class Interval(NamedTuple):
    """An estimate and the ends of its 95 % confidence interval; an Elo may be infinite."""

    estimate: float
    low: float
    high: float


def elo_of(score: float) -> float:
    """The Elo difference at which `score`, from 0 to 1, is expected."""
    if score <= 0:
        return -math.inf
    return math.inf if score >= 1 else 400 * math.log10(score / (1 - score))


def score_of(elo: float) -> float:
    """The score, from 0 to 1, that is expected at an Elo difference."""
    return 1 / (1 + 10 ** (-elo / 400))


def pairs_in(outcomes: Distribution) -> float:
    """How many pairs there are."""
    return sum(outcomes.values())


def mean_and_variance(outcomes: Distribution) -> tuple[float, float]:
    """The mean of the pairs' scores, and their variance."""
    pairs = pairs_in(outcomes)
    mean = sum(score * count for score, count in outcomes.items()) / pairs
    variance = sum(count * (score - mean) ** 2 for score, count in outcomes.items()) / pairs
    return mean, variance


def score(outcomes: Distribution) -> Interval:
    """The expected score. Without any pair, the interval is from 0 to 1."""
    pairs = pairs_in(outcomes)
    if pairs == 0:
        return Interval(0.5, 0.0, 1.0)
    mean, variance = mean_and_variance(outcomes)
    coin = mean * (1 - mean)
    # The variance of a pair as a share of that of a coin; 1 as long as no pair has differed.
    share = 1.0
    if variance > 0 and pairs > 1:
        share = min(1.0, variance / coin * pairs / (pairs - 1))
    z2 = Z * Z * share / pairs
    middle = (mean + z2 / 2) / (1 + z2)
    half = math.sqrt(z2 * coin + z2 * z2 / 4) / (1 + z2)
    # At an end of the scale, rounding must not leave a rest.
    low = 0.0 if mean == 0 else middle - half
    high = 1.0 if mean == 1 else middle + half
    return Interval(mean, low, high)


def elo(outcomes: Distribution) -> Interval:
    """The Elo difference."""
    return Interval(*map(elo_of, score(outcomes)))


def points(outcomes: Distribution) -> Interval:
    """The gain in a match, in points."""
    return Interval(*(POINTS * (end - 0.5) for end in score(outcomes)))


class Corrected(NamedTuple):
    """The score by pairs that were corrected for luck, as AIVAT does.

    A correction is 0 on average. What is added to a pair is its correction times a coefficient,
    that of the linear regression of the scores on the corrections, which leaves the least variance.
    It is below 1 where corrections are noisy, and above 1 where they are too small. It is computed
    from all other pairs, so that it does not depend on the pair itself and the sum stays unbiased.
    With few pairs it is 1.

        P. Glasserman, "Monte Carlo Methods in Financial Engineering", 2003, 4.1: control variates.
    """

    score: Interval
    # The variance of the corrected pairs, as a share of that of the pairs; None if those are equal.
    variance_ratio: float | None
    # The mean of the coefficients.
    coefficient: float

    @property
    def elo(self) -> Interval:
        """The Elo difference."""
        return Interval(*map(elo_of, self.score))

    @classmethod
    def of(cls, scores: Sequence[float], corrections: Sequence[float]) -> "Corrected":
        """Corrects at least one pair."""
        coefficients = _coefficients(scores, corrections)
        values = without_luck(scores, corrections)
        mean = statistics.fmean(values)
        before, after = statistics.pvariance(scores), statistics.pvariance(values)
        half = math.inf
        if len(values) > 1 and after > 0:
            half = Z * math.sqrt(after / (len(values) - 1))
        interval = Interval(mean, max(0.0, mean - half), min(1.0, mean + half))
        ratio = after / before if before > 0 else None
        return cls(interval, ratio, statistics.fmean(coefficients))


def without_luck(scores: Sequence[float], corrections: Sequence[float]) -> list[float]:
    """The scores of pairs, or of matches, with their corrections; see Corrected."""
    coefficients = _coefficients(scores, corrections)
    triples = zip(scores, coefficients, corrections, strict=True)
    return [score + coefficient * correction for score, coefficient, correction in triples]


def _coefficients(scores: Sequence[float], corrections: Sequence[float]) -> list[float]:
    # By pair, from the sums over all others.
    others = len(scores) - 1
    if others < MIN_OTHERS:
        return [1.0] * len(scores)
    sum_x, sum_y = sum(scores), sum(corrections)
    products = sum(x * y for x, y in zip(scores, corrections, strict=True))
    squares = sum(y * y for y in corrections)
    found = []
    for x, y in zip(scores, corrections, strict=True):
        variance = squares - y * y - (sum_y - y) ** 2 / others
        covariance = products - x * y - (sum_x - x) * (sum_y - y) / others
        best = -covariance / variance if variance > ROUNDING else 1.0
        found.append(min(max(best, 0.0), MAX_COEFFICIENT))
    return found


def normalized_elo(outcomes: Distribution) -> float:
    """The Elo difference in units of a game's standard deviation.

    It says how many games it takes to see the difference. It is infinite where the pairs do not
    vary, and 0 if all pairs are even.
    """
    mean, variance = mean_and_variance(outcomes)
    if mean == 0.5:
        return 0.0
    if variance == 0:
        return math.copysign(math.inf, mean - 0.5)
    return (mean - 0.5) / math.sqrt(2 * variance) * NORMALIZED


class Sprt(NamedTuple):
    """A sequential probability ratio test of the hypothesis `elo0` against `elo1`."""

    elo0: float
    elo1: float
    # The risk of accepting `elo1` where `elo0` is true,
    alpha: float = 0.05
    # and that of accepting `elo0` where `elo1` is true.
    beta: float = 0.05

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratios at which `elo0` and `elo1` are accepted."""
        return (math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha))

    def llr(self, outcomes: Distribution) -> float:
        """The generalised log-likelihood ratio of `elo1` to `elo0`."""
        if pairs_in(outcomes) == 0:
            return 0.0
        # A hypothesis is possible only if there are outcomes on either side of its score.
        seen = {0.0: 0.0, 0.5: 0.0, 1.0: 0.0} | dict(outcomes)
        seen = {value: count or UNSEEN for value, count in seen.items()}
        weight0, weight1 = (_weights(seen, score_of(each)) for each in (self.elo0, self.elo1))
        return sum(count * math.log(weight1[x] / weight0[x]) for x, count in seen.items())

    def verdict(self, outcomes: Distribution) -> str:
        """The hypothesis that is accepted: "elo0", "elo1", or "" as long as neither is."""
        llr = self.llr(outcomes)
        low, high = self.bounds
        return "elo0" if llr <= low else "elo1" if llr >= high else ""


def _weights(outcomes: Distribution, mean: float) -> dict[float, float]:
    # The most likely probabilities with the given mean, relative to the observed ones:
    # 1 / (1 + x (value - mean)), where x makes the mean right. Proposition 1.1 of Van den Bergh.
    low, high = -1 / (max(outcomes) - mean), 1 / (mean - min(outcomes))
    for _ in range(BISECTIONS):
        x = (low + high) / 2
        gain = sum(n * (a - mean) / (1 + x * (a - mean)) for a, n in outcomes.items())
        low, high = (x, high) if gain > 0 else (low, x)
    return {a: 1 / (1 + x * (a - mean)) for a in outcomes}
