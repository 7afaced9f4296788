from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from utils.benchmarks import benchmark_parser
from utils.benchmarks.cli import count, counts, names, seconds
from utils.errors import UserError


def test_options_of_every_benchmark():
    options = benchmark_parser("x.py", "X").parse_or_refuse(["--windows", "3", "--json", "a.json"])
    assert (options.windows, options.threads, options.json) == (3, 1, Path("a.json"))


def test_an_unknown_option_is_refused_with_the_nearest():
    with pytest.raises(UserError, match="unknown option '--window': did you mean '--windows'"):
        benchmark_parser("x.py", "X").parse_or_refuse(["--window=3"])


def test_lists():
    assert counts("1,8,64") == [1, 8, 64]
    assert names("A-v0,B-v1") == ["A-v0", "B-v1"]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (count, "0"),
        (count, "-3"),
        (counts, "1,,2"),
        (seconds, "0"),
        (seconds, "inf"),
        (seconds, "s"),
    ],
)
def test_numbers_that_measure_nothing_are_refused(read, text):
    with pytest.raises(ArgumentTypeError):
        read(text)
