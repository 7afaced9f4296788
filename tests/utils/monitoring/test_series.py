import math

from utils.monitoring.series import MAX_POINTS, Series


def series_of(values):
    series = Series()
    for i, value in enumerate(values):
        series.add(float(i + 1), value)
    return series


def test_a_short_series_keeps_every_value():
    series = series_of([3.0, 1.0, 2.0])
    assert (series.xs, series.ys) == ([1.0, 2.0, 3.0], [3.0, 1.0, 2.0])
    assert (series.latest, series.n) == (2.0, 3)
    assert (series.best("up"), series.best("down"), series.best(None)) == (3.0, 1.0, None)


def test_a_long_series_stays_bounded_and_keeps_its_mean_and_extremes():
    n = 10 * MAX_POINTS
    values = [float(i) for i in range(n)]
    values[777] = 1e9
    series = series_of(values)
    assert MAX_POINTS / 2 <= len(series.xs) < MAX_POINTS
    assert series.highest == 1e9
    assert series.latest == n - 1
    # Each point is the mean of 16 values: 0 to 15 give 7.5 at timestep 16.
    assert (series.xs[0], series.ys[0]) == (16.0, 7.5)
    assert series.xs == sorted(series.xs)


def test_what_is_not_finite_stays_visible_and_is_never_the_best():
    series = series_of([1.0, math.inf, -math.inf, math.nan])
    assert series.best("up") == series.best("down") == 1.0
    assert math.isnan(series.latest)
    many = series_of([math.nan, *[1.0] * MAX_POINTS])
    assert math.isnan(many.ys[0])
    assert many.ys[1] == 1.0
    assert series_of([math.nan]).best("up") is None
