"""What the results of pairs of games say: score, Elo, their intervals, and when to stop.

Two games that share their deal, with the seats exchanged, are one pair, and a pair is the unit of
all statistics: its two scores depend on each other, and cancel most of the luck of the deal. With
wins, draws and losses a pair has five outcomes, which chess calls pentanomial; games with stakes
have more. A distribution here is a dict: for each mean score of a pair (0 to 1), how many had it.

    Elo from a score, its error, normalized Elo: as fastchess prints them
    (github.com/Disservin/fastchess, app/src/matchmaking/elo/elo_pentanomial.cpp).
    The interval: E. B. Wilson, "Probable inference, the law of succession, and statistical
    inference", Journal of the American Statistical Association 22, 1927; with the variance of
    pairs in proportion to that of a coin. Unlike the normal one it stays within 0 and 1 and says
    something where every pair was won.
    SPRT: the generalised sequential probability ratio test over pairs that Stockfish's fishtest
    uses (github.com/official-stockfish/fishtest, server/fishtest/stats/LLRcalc.py); M. Van den
    Bergh, "The generalized maximum likelihood ratio for the expectation value of a distribution",
    2020 (cantate.be/Fishtest/support_MLE_multinomial.pdf).
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

Z = 1.959963984540054  # Of 95 %.
NORMALIZED = 800 / math.log(10)  # Normalized Elo of one standard deviation of a game.
UNSEEN = 1e-3  # Pairs that an outcome which never came counts for.
BISECTIONS = 64  # To the precision of a double.

Distribution = Mapping[float, float]


class Interval(NamedTuple):
    """An estimate with the ends of its 95 % confidence interval; an Elo may be infinite."""

    estimate: float
    low: float
    high: float


def elo_of(score: float) -> float:
    """The Elo difference at which `score`, from 0 to 1, is expected."""
    if score <= 0:
        return -math.inf
    return math.inf if score >= 1 else 400 * math.log10(score / (1 - score))


def score_of(elo: float) -> float:
    """The score that is expected at an Elo difference."""
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
    """The expected score; without any pair nothing is known."""
    pairs = pairs_in(outcomes)
    if pairs == 0:
        return Interval(0.5, 0.0, 1.0)
    mean, variance = mean_and_variance(outcomes)
    coin = mean * (1 - mean)
    # How much less a pair varies than a coin; where none has varied yet, nothing says that it does.
    share = 1.0
    if variance > 0 and pairs > 1:
        share = min(1.0, variance / coin * pairs / (pairs - 1))
    z2 = Z * Z * share / pairs
    middle = (mean + z2 / 2) / (1 + z2)
    half = math.sqrt(z2 * coin + z2 * z2 / 4) / (1 + z2)
    # An end of the scale is an end, not almost one.
    low = 0.0 if mean == 0 else middle - half
    high = 1.0 if mean == 1 else middle + half
    return Interval(mean, low, high)


def elo(outcomes: Distribution) -> Interval:
    """The Elo difference."""
    return Interval(*map(elo_of, score(outcomes)))


def normalized_elo(outcomes: Distribution) -> float:
    """The Elo difference in units of a game's standard deviation: the effort that it takes to see.

    Infinite where the pairs do not vary, 0 if they are all even.
    """
    mean, variance = mean_and_variance(outcomes)
    if mean == 0.5:
        return 0.0
    if variance == 0:
        return math.copysign(math.inf, mean - 0.5)
    return (mean - 0.5) / math.sqrt(2 * variance) * NORMALIZED


class Sprt(NamedTuple):
    """A test of `elo0` against `elo1`; `alpha` and `beta` are the risks of a wrong answer.

    `alpha` is that of taking `elo1` where `elo0` is true, `beta` the other.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratios at which `elo0` and `elo1` are accepted."""
        return (
            math.log(self.beta / (1 - self.alpha)),
            math.log((1 - self.beta) / self.alpha),
        )

    def llr(self, outcomes: Distribution) -> float:
        """The generalised log-likelihood ratio of `elo1` to `elo0`."""
        if pairs_in(outcomes) == 0:
            return 0.0
        # Both hypotheses need outcomes on either side of their score to be possible at all.
        seen = {0.0: 0.0, 0.5: 0.0, 1.0: 0.0} | dict(outcomes)
        seen = {value: count or UNSEEN for value, count in seen.items()}
        weight0, weight1 = (_weights(seen, score_of(each)) for each in (self.elo0, self.elo1))
        return sum(count * math.log(weight1[x] / weight0[x]) for x, count in seen.items())

    def verdict(self, outcomes: Distribution) -> str:
        """Which hypothesis is accepted: elo0, elo1, or none yet (empty)."""
        llr = self.llr(outcomes)
        low, high = self.bounds
        return "elo0" if llr <= low else "elo1" if llr >= high else ""


def _weights(outcomes: Distribution, mean: float) -> dict[float, float]:
    # The likeliest probabilities under which the mean is as given, relative to those observed:
    # 1 / (1 + x (value - mean)), where x makes the mean right. Proposition 1.1 of Van den Bergh.
    low, high = -1 / (max(outcomes) - mean), 1 / (mean - min(outcomes))
    for _ in range(BISECTIONS):
        x = (low + high) / 2
        gain = sum(n * (a - mean) / (1 + x * (a - mean)) for a, n in outcomes.items())
        low, high = (x, high) if gain > 0 else (low, x)
    return {a: 1 / (1 + x * (a - mean)) for a in outcomes}
