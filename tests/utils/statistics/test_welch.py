import math

import pytest

from utils.statistics import holm, student_t_975, student_t_below, welch_test


@pytest.mark.parametrize(
    ("t", "degrees", "below"),
    [
        # Closed forms: nu = 1: 1/2 + atan(t) / pi; nu = 2: 1/2 + t / (2 sqrt(2 + t^2)).
        (1.0, 1.0, 0.75),
        (-math.sqrt(3.0), 1.0, 0.5 - 1.0 / 3.0),
        (2.0, 2.0, 0.5 + 2.0 / (2.0 * math.sqrt(6.0))),
        (-2.0, 2.0, 0.5 - 2.0 / (2.0 * math.sqrt(6.0))),
        (0.0, 7.3, 0.5),
    ],
)
def test_students_t(t, degrees, below):
    assert student_t_below(t, degrees) == pytest.approx(below, abs=1e-6)


@pytest.mark.parametrize("degrees", [2, 3, 9, 30])
def test_it_agrees_with_the_quantiles(degrees):
    assert student_t_below(student_t_975(degrees), degrees) == pytest.approx(0.975, abs=1e-4)


def test_welch_by_hand():
    # Means 2 and 5, variances 1 and 4, three values each: (5 - 2) / sqrt(1/3 + 4/3) = 2.3238;
    # degrees (5/3)^2 / ((1/3)^2 / 2 + (4/3)^2 / 2) = 2.7778 / 0.9444 = 2.9412.
    found = welch_test([1.0, 2.0, 3.0], [3.0, 5.0, 7.0])
    assert found.difference == pytest.approx(3.0)
    expected = student_t_below(3.0 / math.sqrt(5.0 / 3.0), 50.0 / 17.0)
    assert found.p_lower == pytest.approx(expected, abs=1e-9)
    assert 0.94 < found.p_lower < 0.96
    turned = welch_test([3.0, 5.0, 7.0], [1.0, 2.0, 3.0])
    assert turned.p_lower == pytest.approx(1.0 - found.p_lower)


def test_what_cannot_be_told():
    assert math.isnan(welch_test([1.0], [2.0, 3.0]).p_lower)
    assert math.isnan(welch_test([1.0, 1.0], [1.0, 1.0]).p_lower)
    assert welch_test([5.0, 5.0], [4.0, 4.0]).p_lower == 0.0
    assert welch_test([4.0, 4.0], [5.0, 5.0]).p_lower == 1.0


def test_holm_by_hand():
    # 0.01 x 3, 0.02 x 2, 0.03 x 1, which may not fall below the one before: 0.04.
    assert holm([0.03, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    corrected = holm([0.5, math.nan, 0.9])
    assert corrected[0] == 1.0
    assert math.isnan(corrected[1])


def test_it_errs_as_often_as_it_says():
    import numpy as np

    generator = np.random.default_rng(0)
    groups = generator.normal(size=(600, 2, 4)) * [[[1.0], [2.0]]]
    share = np.mean([welch_test(list(a), list(b)).p_lower < 0.05 for a, b in groups])
    assert 0.03 < share < 0.075
