import pytest

from utils.errors import UserError
from utils.publishing import parse_publish_args


def test_defaults():
    args = parse_publish_args([])
    assert (args.run, args.episodes, args.has_video, args.has_onnx) == ("@last", 20, True, False)
    assert not args.is_private
    assert not args.is_dry_run
    assert args.deterministic is None


def test_options_are_read():
    args = parse_publish_args(
        ["--repo_id", "ann/x", "--private", "--onnx", "--no-video", "--sampled", "--seed", "4"]
    )
    assert (args.repo_id, args.is_private, args.has_onnx) == ("ann/x", True, True)
    assert (args.has_video, args.deterministic, args.seed) == (False, False, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--repo", "a/b"], "did you mean '--repo-id'"),
        (["--repo-id", "CartPole"], "must be <user>/<name>"),
        (["--episodes", "1"], "whole number >= 2"),
        (["--output", "x"], "no effect without --dry-run"),
        (["--dry-run", "--output", "no/such/x"], "there is no folder 'no/such'"),
        (["--deterministic", "--sampled"], "not allowed with"),
    ],
)
def test_mistakes_are_told(arguments, message):
    with pytest.raises(UserError, match=message):
        parse_publish_args(arguments)
