"""The statistics of the arena, compared with figures of other programs and with simulations."""

import math
import random
from collections import Counter

import pytest

from lab import elo
from lab.arena import PENTANOMIAL
from lab.elo import Sprt

SEED = 20260401


def pentanomial(*counts):
    return dict(zip(PENTANOMIAL, counts, strict=True))


def simulated(rng, weights, pairs):
    return Counter(rng.choices(PENTANOMIAL, weights, k=pairs))


def test_elo_and_score_are_inverse_functions():
    for difference in (-700, -40, 0, 3.5, 190.8):
        assert elo.elo_of(elo.score_of(difference)) == pytest.approx(difference)
    assert elo.score_of(400) == pytest.approx(10 / 11)
    assert (elo.elo_of(0), elo.elo_of(1)) == (-math.inf, math.inf)


# From the tests of fastchess, app/tests/elo_test.cpp.
@pytest.mark.parametrize(
    ("counts", "difference", "error", "normalized"),
    [
        ((34, 54, 31 + 32, 64, 75), 55.58, 27.65, 57.94),
        ((332, 433, 457 + 41, 333, 334), -8.64, 10.33, -9.17),
        ((7895, 8757, 5485 + 200, 568, 9999), -21.04, 2.95, -19.01),
    ],
)
def test_elo_is_that_of_fastchess(counts, difference, error, normalized):
    found = elo.elo(pentanomial(*counts))
    assert found.estimate == pytest.approx(difference, rel=0.01)
    assert (found.high - found.low) / 2 == pytest.approx(error, rel=0.01)
    assert elo.normalized_elo(pentanomial(*counts)) == pytest.approx(normalized, rel=0.01)


# From the tests of fastchess, app/tests/sprt_test.cpp.
@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "llr"),
    [
        ((223, 9863, 20279 + 1000, 10037, 246), 0.5, 2.5, -3.07),
        ((871, 26175, 55003 + 980, 26678, 821), 0, 2, -4.98),
    ],
)
def test_likelihood_ratio_is_that_of_fastchess(counts, elo0, elo1, llr):
    assert Sprt(elo0, elo1).llr(pentanomial(*counts)) == pytest.approx(llr, rel=0.01)


def test_likelihood_ratio_of_wins_and_losses_is_that_of_a_coin():
    # Two outcomes leave no freedom: the constrained distribution is the coin of that mean.
    won, lost = 130, 70
    p0, p1 = elo.score_of(0), elo.score_of(100)
    expected = won * math.log(p1 / p0) + lost * math.log((1 - p1) / (1 - p0))
    assert Sprt(0, 100).llr({0.0: lost, 1.0: won}) == pytest.approx(expected, rel=1e-3)


def test_likelihood_ratio_does_not_depend_on_the_order_of_players():
    outcomes = pentanomial(5, 20, 31, 40, 9)
    mirrored = {1 - score: n for score, n in outcomes.items()}
    assert Sprt(-3, 25).llr(outcomes) == pytest.approx(-Sprt(-25, 3).llr(mirrored))


def test_bounds_are_walds():
    assert Sprt(0, 5, 0.05, 0.05).bounds == pytest.approx((-math.log(19), math.log(19)))
    assert Sprt(0, 5, 0.01, 0.2).bounds == pytest.approx((math.log(0.2 / 0.99), math.log(80)))


@pytest.mark.parametrize(
    "weights", [(2, 14, 25, 8, 1), (20, 0, 60, 0, 20), (0, 0, 3, 4, 33), (0, 0, 1, 0, 14)]
)
@pytest.mark.parametrize("pairs", [20, 200])
def test_interval_holds_the_truth_95_times_in_100(weights, pairs):
    rng = random.Random(f"{SEED}/{weights}/{pairs}")
    truth = sum(map(math.prod, zip(weights, PENTANOMIAL, strict=True))) / sum(weights)
    held = 0
    for _ in range(2000):
        _, low, high = elo.score(simulated(rng, weights, pairs))
        held += low <= truth <= high
    # With 20 pairs and few outcomes the possible scores are far apart, so no interval is exact.
    least, most = (0.935, 0.965) if pairs == 200 else (0.925, 0.995)
    assert least <= held / 2000 <= most


def test_interval_where_nothing_varies():
    assert elo.score({}) == (0.5, 0, 1)
    for pairs in (1, 10, 1000):
        estimate, low, high = elo.score({1.0: pairs})
        assert estimate == high == 1
        assert low == pytest.approx(pairs / (pairs + elo.Z**2))
        estimate, low, high = elo.score({0.5: pairs})
        assert 0 < low < estimate == 0.5 < high < 1
    assert elo.elo({0.0: 7}).low == -math.inf
    assert elo.normalized_elo({1.0: 7}) == math.inf
    assert elo.normalized_elo({0.5: 7}) == 0


@pytest.mark.parametrize(("truth", "wrong"), [(0, "elo1"), (60, "elo0")])
def test_sprt_errs_as_rarely_as_it_says(truth, wrong):
    # Each game of a pair is won, drawn or lost. The true Elo is that of one of the hypotheses.
    rng = random.Random(f"{SEED}/{truth}")
    score = elo.score_of(truth)
    drawn = 0.3
    chances = (1 - score - drawn / 2, drawn, score - drawn / 2)
    sprt = Sprt(0, 60, 0.1, 0.1)
    verdicts = Counter()
    lengths = []
    for _ in range(200):
        outcomes = Counter()
        while not (verdict := sprt.verdict(outcomes)):
            outcomes[sum(rng.choices((0, 0.5, 1), chances, k=2)) / 2] += 1
        verdicts[verdict] += 1
        lengths.append(sum(outcomes.values()))
    assert verdicts[wrong] / 200 <= 0.15, verdicts
    assert sum(lengths) / 200 < 150
