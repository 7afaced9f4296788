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
    assert (args.human, args.grid, args.records, args.record_to) == (False, None, False, None)


def test_a_grid_shows_as_many_episodes_as_fit_or_a_multiple():
    args = parse_play_args(["--grid", "4"])
    assert (args.grid, args.episodes) == (4, 4)
    assert parse_play_args(["--grid", "4", "--episodes", "12"]).episodes == 12


def test_a_recording_may_have_a_name():
    args = parse_play_args(["--human", "--record"])
    assert (args.human, args.records, args.record_to) == (True, True, None)
    args = parse_play_args(["--record", "a.mp4", "--render", "window"])
    assert (args.records, args.record_to) == (True, Path("a.mp4"))


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
        (["--record", "a.avi"], "--record a.avi: a video is an .mp4 file"),
        (
            ["--record", "--render", "video"],
            "--record needs a window or a terminal to record, not --render video; name the video "
            "by --output",
        ),
        (
            ["--record", "--output", "a.mp4"],
            "--record needs a window or a terminal to record, not --output",
        ),
        (["--record", "--render", "none"], "--record needs a window or a terminal to record"),
        (["--human", "--render", "none"], "--human needs a window or a terminal to play in"),
        (["--human", "--output", "a.mp4"], "to play in, not --output"),
        (["--human", "--grid", "4"], "--human plays one episode at a time: leave out --grid"),
        (["--grid", "4", "--render", "none"], "--grid has no effect with --render none"),
        (["--grid", "1"], "--grid 1: must be a whole number >= 2"),
        (["--grid", "65"], "--grid 65: at most 64 episodes fit side by side"),
        (
            ["--grid", "4", "--episodes", "6"],
            "--episodes 6: with --grid 4 a multiple of 4 is played",
        ),
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


@pytest.mark.parametrize("option", ["--fps", "--speed"])
def test_a_pace_that_no_film_can_hold_is_refused(option):
    for text in ("0.09", "1001"):
        with pytest.raises(UserError, match=f"^{option} {text}: must be from 0.1 to 1000$"):
            parse_play_args([option, text])
    for text in ("0.1", "1000"):
        parse_play_args([option, text])
