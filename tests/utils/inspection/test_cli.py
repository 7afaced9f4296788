from pathlib import Path

import pytest

from utils.errors import UserError
from utils.inspection import parse_inspect_args


def test_the_defaults_are_the_newest_run_on_the_loopback_interface():
    args = parse_inspect_args([])
    assert (args.run, args.port, args.host) == ("@last", 7860, "127.0.0.1")
    assert args.runs_dir == Path("runs")


def test_options_are_read():
    args = parse_inspect_args(["--run-id", "abc", "--port", "0", "--runs-dir", "my runs"])
    assert (args.run, args.port, args.runs_dir) == ("abc", 0, Path("my runs"))


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (["--prot", "3"], "did you mean '--port'"),
        (["--port", "-1"], "must be a whole number >= 0"),
        (["--port", "70000"], "ports end at 65535"),
    ],
)
def test_a_mistake_is_one_line(argument, message):
    with pytest.raises(UserError) as error:
        parse_inspect_args(argument)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) == 1
