from pathlib import Path

import pytest

from utils.errors import UserError
from utils.playback import parse_play_args


def test_defaults():
    args = parse_play_args([])
    assert (args.run, args.checkpoint, args.episodes, args.seed) == ("@last", None, 5, None)
    assert (args.deterministic, args.render, args.output) == (None, "auto", None)
    assert (args.fps, args.speed, args.max_steps) == (None, 1.0, None)
    assert args.runs_dir == Path("runs")


def test_options_reach_their_fields():
    text = "--run-id abc/@last --episodes 2 --seed 0 --sampled --render terminal --fps 10 --speed 2"
    args = parse_play_args([*text.split(), "--max_steps", "7", "--runs_dir", "x"])
    assert (args.run, args.episodes, args.seed) == ("abc/@last", 2, 0)
    assert args.deterministic is False
    assert (args.render, args.fps, args.speed, args.max_steps) == ("terminal", 10.0, 2.0, 7)
    assert args.runs_dir == Path("x")
    assert parse_play_args(["--deterministic"]).deterministic is True


def test_an_output_file_means_a_video():
    args = parse_play_args(["--output", "a.mp4"])
    assert (args.render, args.output) == ("video", Path("a.mp4"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sampeld"], "unknown option '--sampeld': did you mean '--sampled'?"),
        (["--episode", "3"], "unknown option '--episode': did you mean '--episodes'?"),
        (["runs/a"], "unexpected argument 'runs/a'"),
        (["--episodes", "0"], "--episodes 0: must be a whole number >= 1"),
        (["--seed", "-1"], "--seed -1: must be a whole number >= 0"),
        (["--fps", "nan"], "--fps nan: must be a number > 0"),
        (["--speed", "0"], "--speed 0: must be a number > 0"),
        (["--render", "gif"], "argument --render: invalid choice: 'gif'"),
        (["--output", "a.gif"], "--output a.gif: a video is an .mp4 file"),
        (["--output", "/no/such/a.mp4"], "--output /no/such/a.mp4: there is no folder '/no/such'"),
        (
            ["--output", "a.mp4", "--render", "none"],
            "--output has no effect with --render none",
        ),
        (["--render", "none", "--speed", "2"], "--speed has no effect with --render none"),
        (["--sampled", "--deterministic"], "not allowed with argument --sampled"),
    ],
)
def test_a_mistake_is_named(arguments, message):
    with pytest.raises(UserError) as error:
        parse_play_args(arguments)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_all_mistakes_are_named_at_once():
    with pytest.raises(UserError) as error:
        parse_play_args(["--episodes", "0", "--fps", "x", "--output", "a.gif"])
    assert sorted(line.split()[0] for line in str(error.value).splitlines()) == [
        "--episodes",
        "--fps",
        "--output",
    ]
