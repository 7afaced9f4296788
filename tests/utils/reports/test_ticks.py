import pytest

from utils.reports.ticks import ShortFormatter, short_numbers


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.0009, 0.00095, 0.001], ["0.0009", "0.00095", "0.001"]),
        ([0.0, 0.25, 0.5], ["0", "0.25", "0.5"]),
        ([0.2, 0.25, 0.3], ["0.2", "0.25", "0.3"]),
        ([-0.0, 0.1 + 0.2], ["0", "0.3"]),
        ([450.0, 475.0, 500.0], ["450", "475", "500"]),
        ([0.0, 5_000.0, 10_000.0], ["0", "5k", "10k"]),
        ([1.25e6, 1.5e6], ["1.25M", "1.5M"]),
        ([2e-5, 4e-5], ["2e-05", "4e-05"]),
        ([-30.0, 7.0], ["-30", "7"]),
        ([0.1 + 0.2], ["0.3"]),
        ([0.0, 1e30], ["0", "1e+30"]),
        ([], []),
    ],
)
def test_as_few_digits_as_tell_the_ticks_apart(values, texts):
    assert short_numbers(values) == texts
    assert ShortFormatter().format_ticks(values) == texts
