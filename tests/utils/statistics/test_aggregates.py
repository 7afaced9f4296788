import numpy as np
import pytest

from utils.statistics import (
    interquartile_mean,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ([7.0], 7.0),
        ([1.0, 2.0, 6.0], 3.0),  # int(3 / 4) = 0 are cut: the mean
        ([100.0, 1.0, 3.0, -50.0], 2.0),  # one at either end: (1 + 3) / 2
        ([9.0, 1.0, 2.0, 3.0, 40.0], 14.0 / 3.0),  # int(5 / 4) = 1: (2 + 3 + 9) / 3
        ([0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 90.0, 99.0], 2.5),  # two: (1 + 2 + 3 + 4) / 4
    ],
)
def test_interquartile_mean_by_hand(score, expected):
    assert interquartile_mean(np.array(score)) == pytest.approx(expected)
    assert interquartile_mean(np.array(score[::-1])) == pytest.approx(expected)


def test_one_wild_run_moves_the_mean_and_not_the_interquartile_mean():
    tame, wild = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0, 4000.0])
    assert interquartile_mean(tame) == interquartile_mean(wild) == 2.5


def test_optimality_gap_by_hand():
    # misses: 1 - 0.5, 1 - 1, none, 1 - (-0.5): (0.5 + 0 + 0 + 1.5) / 4
    score = np.array([0.5, 1.0, 3.0, -0.5])
    assert optimality_gap(score, target=1.0) == pytest.approx(0.5)
    # As the paper writes it: 1 - (0.5 + 1 + 1 - 0.5) / 4
    assert 1.0 - np.minimum(score, 1.0).mean() == pytest.approx(0.5)
    # In raw returns: (475 - 400) / 2
    assert optimality_gap(np.array([400.0, 500.0]), target=475.0) == pytest.approx(37.5)


def test_probability_of_improvement_by_hand():
    # pairs of the first task: 3 > 1, 3 > 2, 2 > 1, 2 = 2: (1 + 1 + 1 + 0.5) / 4 = 0.875
    # of the second: 0 < 5: 0; tasks weigh alike: 0.4375
    x, y = [np.array([3.0, 2.0]), np.array([0.0])], [np.array([1.0, 2.0]), np.array([5.0])]
    assert probability_of_improvement(x, y) == pytest.approx(0.4375)
    assert probability_of_improvement(y, x) == pytest.approx(1.0 - 0.4375)
    assert probability_of_improvement(x, x) == pytest.approx(0.5)


def test_performance_profile_by_hand():
    score = np.array([0.0, 0.5, 0.5, 2.0])
    share = performance_profile(score, np.array([-1.0, 0.0, 0.5, 1.0, 2.0]))
    assert share.tolist() == [1.0, 0.75, 0.25, 0.25, 0.0]


def test_leading_axes_are_kept():
    score = np.random.default_rng(0).normal(size=(6, 9))
    assert interquartile_mean(score)[4] == pytest.approx(interquartile_mean(score[4]))
    assert optimality_gap(score, target=0.3)[2] == pytest.approx(
        optimality_gap(score[2], target=0.3)
    )
    improved = probability_of_improvement([score[:, :4]], [score[:, 4:]])
    assert improved[5] == probability_of_improvement([score[5, :4]], [score[5, 4:]])
    assert performance_profile(score, np.zeros(1)).shape == (6, 1)
