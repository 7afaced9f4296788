import pytest

from utils.config.option_parser import OptionParser
from utils.errors import UserError
from utils.run.options import add_action_options, add_run_options, add_runs_dir_option, check_seeds


def read(*argv, **options):
    parser = OptionParser(prog="x.py", allow_abbrev=False)
    add_run_options(parser, **options)
    add_action_options(parser)
    add_runs_dir_option(parser)
    return parser.parse_or_refuse(argv)


def test_what_is_left_out_has_its_default():
    given = read()
    assert (given.run_id, given.checkpoint, str(given.runs_dir)) == ("@last", None, "runs")
    assert (given.seed, given.deterministic) == (None, None)
    assert read(is_positional=True).run == "@last"


def test_actions_are_chosen_one_way():
    assert read("--deterministic").deterministic is True
    assert read("--sampled").deterministic is False
    with pytest.raises(UserError, match="not allowed with argument"):
        read("--deterministic", "--sampled")
    with pytest.raises(UserError, match="did you mean '--sampled'"):
        read("--sampeld")


def test_seeds_end_where_environments_take_no_more():
    check_seeds(None, 5)
    check_seeds(2**31 - 5, 5)
    with pytest.raises(UserError, match="--seed 2147483644: seeds end at 2147483647"):
        check_seeds(2**31 - 4, 5)
