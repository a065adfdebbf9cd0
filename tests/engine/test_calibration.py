"""Scores that are corrected: in their range and order, and moved by as much as the slope says."""

import pytest

from engine.calibration import LIMIT, NONE, Calibration

GRID = [n / 400 for n in range(401)]
NEARLY = LIMIT - 1e-9
LARGEST = [(NEARLY, 0.0), (-NEARLY, 0.0), (0.0, NEARLY), (0.0, -NEARLY), (0.1, -0.14), (-0.2, 0.04)]


@pytest.mark.parametrize("numbers", [*LARGEST, (0.01, 0.1)])
def test_a_higher_score_stays_higher_and_what_is_decided_stays(numbers):
    moved = [Calibration(*numbers).of(score) for score in GRID]
    assert moved == sorted(set(moved))
    assert (moved[0], moved[-1]) == (0, 1)
    assert [Calibration(*numbers).of(score) for score in (-0.1, 1.1)] == [0, 1]


def test_a_score_at_one_half_moves_by_the_shift_and_others_away_from_it_by_the_stretch():
    assert Calibration(-0.03, 0.2).of(0.5) == pytest.approx(0.47)
    assert Calibration(0.0, 0.2).of(0.75) == pytest.approx(0.75 + 0.75 * 0.2 * 0.5)
    assert Calibration(0.0, 0.2).of(0.25) == pytest.approx(1 - Calibration(0.0, 0.2).of(0.75))
    assert [NONE.of(score) for score in GRID] == GRID


@pytest.mark.parametrize("numbers", LARGEST)
def test_the_slope_is_that_of_the_corrected_scores(numbers):
    calibration = Calibration(*numbers)
    for score in GRID[1:-1]:
        near = calibration.of(score + 1e-6) - calibration.of(score - 1e-6)
        assert calibration.slope(score) == pytest.approx(near / 2e-6, abs=1e-5)
