import math

import pytest

from utils.loggers.number_text import format_duration, format_value
from utils.loggers.sparkline import sparkline


def test_levels_run_from_lowest_to_highest():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], width=8) == "▁▂▃▄▅▆▇█"
    assert sparkline([7, 0], width=8) == "█▁"
    assert sparkline([0, 7], width=8, is_ascii=True) == "_#"


def test_more_values_than_fit_are_averaged_from_the_newest_end():
    # Pieces of three from the end: (1 1 1) (3 3 3); the oldest value, 99, is left out.
    assert sparkline([99, 1, 1, 1, 3, 3, 3], width=3) == "▁█"


@pytest.mark.parametrize(
    ("values", "width", "text"),
    [
        ([], 8, ""),
        ([1.0], 8, "▄"),
        ([2.0, 2.0], 8, "▄▄"),
        ([1.0, 2.0], 0, ""),
        ([0.0, math.nan, 1.0], 8, "▁!█"),
        ([math.inf, -math.inf], 8, "!!"),
        ([1e308, -1e308], 8, "▄▄"),
    ],
)
def test_edge_cases(values, width, text):
    assert sparkline(values, width=width) == text


@pytest.mark.parametrize(
    ("value", "precision", "text"),
    [
        (213.456, 2, "213.46"),
        (0.0, 4, "0"),
        (12.0, 0, "12"),
        (1_234_567.0, 0, "1,234,567"),
        (123_456.7, 2, "123,457"),
        (12_345_678.9, 2, "1.23e+07"),
        (0.00001, 4, "1.00e-05"),
        (-0.00001, 4, "-1.00e-05"),
        (-1.5, 1, "-1.5"),
        (math.nan, 2, "nan"),
        (-math.inf, 2, "-inf"),
    ],
)
def test_format_value(value, precision, text):
    assert format_value(value, precision=precision) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00"),
        (7.4, "0:07"),
        (59.6, "1:00"),
        (3723, "1:02:03"),
        (math.nan, "--:--"),
        (math.inf, "--:--"),
    ],
)
def test_format_duration(seconds, text):
    assert format_duration(seconds) == text
