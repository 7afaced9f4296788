import math

import numpy as np

from utils.reports.curves import Curve, read_curve, smooth, thin


def curve(*values):
    return Curve(np.arange(len(values), dtype=float) * 10, np.array(values, dtype=float))


def test_a_curve_has_the_rows_with_a_finite_value():
    rows = [
        {"timesteps": 10, "a": 1.0},
        {"timesteps": 20},
        {"timesteps": 30, "a": math.nan},
        {"timesteps": 40, "a": -math.inf},
        {"timesteps": 50, "a": 2.0, "b": 3.0},
    ]
    found = read_curve(rows, "a")
    assert found.x.tolist() == [10, 50]
    assert found.values.tolist() == [1.0, 2.0]
    assert len(read_curve(rows, "c")) == 0


def test_thinning_averages_pieces():
    found = thin(curve(1, 2, 3, 4, 5, 6, 7), n_points=3)
    # Pieces of ceil(7 / 3) = 3: (1, 2, 3), (4, 5, 6), (7).
    assert found.values.tolist() == [2.0, 5.0, 7.0]
    assert found.x.tolist() == [10.0, 40.0, 60.0]
    assert thin(curve(1, 2, 3), n_points=3).values.tolist() == [1.0, 2.0, 3.0]


def test_smoothing_takes_fewer_points_at_the_ends():
    found = smooth(curve(0, 3, 6, 0, 12), window=3)
    # Sums of 2, 3, 3, 3 and 2 points: 3, 9, 9, 18, 12.
    assert found.values.tolist() == [1.5, 3.0, 3.0, 6.0, 6.0]
    assert smooth(curve(1, 2), window=1).values.tolist() == [1.0, 2.0]
