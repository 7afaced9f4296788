import pytest

from utils.brax_policies.cli import parse_eval_args, parse_train_args
from utils.errors import UserError


def test_names_of_environments():
    assert parse_train_args(["ant"]).env == parse_train_args(["brax/ant"]).env == "brax/ant"
    with pytest.raises(UserError, match="did you mean brax/inverted_pendulum"):
        parse_train_args(["inverted_pendulm"])
    with pytest.raises(UserError, match="there are ant, halfcheetah"):
        parse_train_args(["zzz"])


def test_numbers_without_sense_are_refused():
    for wrong in ("--timesteps=0", "--gamma=1.5", "--backend=x", "--learning-rate=-1"):
        with pytest.raises(UserError):
            parse_train_args(["ant", wrong])


def test_the_evaluation_plays_the_last_run_unless_told():
    args = parse_eval_args([])
    assert (args.run, args.episodes, args.video) == ("@last", 10, None)
    assert parse_eval_args(["--video"]).video == ""
