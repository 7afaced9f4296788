import numpy as np
import pytest

from utils.statistics import mean_half_width, student_t_975


@pytest.mark.parametrize(
    ("degrees", "expected"),
    # Printed tables of Student's t, two-sided 5 %.
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (99, 1.984)],
)
def test_quantiles_equal_the_printed_tables(degrees: int, expected: float) -> None:
    assert student_t_975(degrees) == pytest.approx(expected, rel=3e-3)


def test_half_width_by_hand() -> None:
    # mean 4, deviations -2, 0, 2: variance 8 / 2 = 4, s / sqrt(3) = 1.1547, times 4.3027
    assert mean_half_width([2.0, 4.0, 6.0]) == pytest.approx(4.9683, rel=1e-4)
    assert mean_half_width([1.0, 1.0]) == 0.0
    assert mean_half_width([1.0]) is None
    assert mean_half_width([]) is None


def test_intervals_of_five_normal_values_cover_the_mean_95_times_in_100() -> None:
    samples = np.random.default_rng(0).normal(3.0, 2.0, size=(4000, 5))
    covered = sum(
        abs(np.mean(sample) - 3.0) <= (mean_half_width(sample.tolist()) or 0.0)
        for sample in samples
    )
    assert 0.94 < covered / 4000 < 0.96
