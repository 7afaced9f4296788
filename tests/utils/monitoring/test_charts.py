import math

from utils.monitoring.braille import braille_curve
from utils.monitoring.charts import chart_lines, short_count
from utils.monitoring.series import Series


def test_a_rising_line_goes_from_corner_to_corner():
    # Two by four points: the line takes (0, 3), (0 or 1, 2), (1, 1), (1, 0) of them.
    (line,) = braille_curve([0.0, 1.0], [0.0, 1.0], width=1, height=1, y_range=(0.0, 1.0))
    # Dots 7 (lower left, 0x40), 3 (0x04) and 5, 4 (right, 0x10 and 0x08).
    assert ord(line) - 0x2800 == 0x40 | 0x04 | 0x10 | 0x08


def test_a_flat_curve_lies_in_the_middle():
    lines = braille_curve([0.0, 1.0, 2.0], [5.0] * 3, width=4, height=3, y_range=(5.0, 5.0))
    assert [set(line) != {"\u2800"} for line in lines] == [False, True, False]
    assert len(set(lines[1])) == 1


def test_a_gap_where_it_is_not_finite():
    ys = [1.0, math.nan, math.nan, math.nan, 1.0]
    (line,) = braille_curve([0.0, 1.0, 2.0, 3.0, 4.0], ys, width=5, height=1, y_range=(0.0, 1.0))
    assert line[0] != "\u2800"
    assert line[1:4] == "\u2800" * 3
    assert line[4] != "\u2800"


def test_one_point_is_drawn():
    (line,) = braille_curve([7.0], [7.0], width=3, height=1, y_range=(7.0, 7.0))
    assert line.count("\u2800") == 2


def test_a_chart_has_scale_and_timesteps():
    series = Series()
    for i in range(1, 11):
        series.add(1000.0 * i, float(i * i))
    lines = chart_lines(series, precision=1, width=40, height=6)
    assert len(lines) == 6
    assert max(map(len, lines)) == 40
    assert lines[0].startswith("     100.0┤")
    assert lines[4].startswith("       1.0┤")
    assert lines[5] == " " * 11 + "1k" + " " * 24 + "10k"


def test_a_chart_without_values_says_so():
    series = Series()
    assert chart_lines(series, precision=1, width=40, height=6) == ["no value yet"]
    series.add(1.0, math.nan)
    assert chart_lines(series, precision=1, width=40, height=6) == ["no finite value"]


def test_a_chart_without_room_says_so():
    series = Series()
    series.add(1.0, 2.0)
    assert chart_lines(series, precision=1, width=12, height=6) == ["too narrow"]


def test_counts_are_short():
    assert [short_count(n) for n in (0, 950, 12_345, 4e6, 2.5e9)] == [
        "0",
        "950",
        "12.3k",
        "4M",
        "2.5G",
    ]
