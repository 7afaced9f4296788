import functools
import importlib.util
import io
import os

import av
import pytest

from tests.helpers.displays import FakeTerminal, ScriptedDisplay
from tests.helpers.played_runs import make_config, make_run
from tests.helpers.policies import build_linear_policy
from utils.errors import UserError
from utils.playback import parse_play_args, plan_play
from utils.playback.canvas import compose
from utils.playback.pace import Pace
from utils.playback.session import PlaySession
from utils.seeding import derive_seed


@pytest.fixture(autouse=True)
def _no_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


def make_session(tmp_path, *arguments, stream=None, **changes):
    make_run(tmp_path, make_config(**changes))
    plan = plan_play(parse_play_args([*arguments, "--runs-dir", str(tmp_path)]))
    return PlaySession(plan, stream=stream or io.StringIO())


def play(session):
    with session:
        return session.play(build_linear_policy(session.env), timesteps=1234)


def test_every_episode_and_the_mean_are_told(tmp_path):
    stream = io.StringIO()
    session = make_session(
        tmp_path, "--episodes", "3", "--seed", "40", stream=stream, max_episode_steps=50
    )
    result = play(session)
    assert result.returns == [5.0, 5.0, 5.0]
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("Drawing-v0:ppo, run ")
    assert lines[0].endswith("epoch=00, 1,234 timesteps, greedy actions")
    assert [line.split() for line in lines[1:5]] == [
        ["episode", "seed", "return", "length", "end"],
        ["1", "40", "5.00", "5", "terminated"],
        ["2", "41", "5.00", "5", "terminated"],
        ["3", "42", "5.00", "5", "terminated"],
    ]
    assert lines[5] == "mean return 5.00 ± 0.00 (95 %, 3 episodes)"
    assert lines[6].endswith("videos/play-epoch=00-seed=40.mp4 (18 frames, 12 fps)")


def test_without_a_display_the_video_holds_all_episodes(tmp_path):
    session = make_session(tmp_path, "--episodes", "2", "--speed", "2")
    assert session.render == "video"
    play(session)
    (path,) = session.plan.run.videos_dir.iterdir()
    assert path.name == f"play-epoch=00-seed={derive_seed(0, 'play')}.mp4"
    with av.open(str(path)) as container:
        assert container.streams.video[0].average_rate == 24
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    # Each begins with its own first picture: green is the step, red tells the episodes apart.
    corners = [frame[-6:, -6:].mean(axis=(0, 1)) for frame in frames]
    assert [green for _, green, _ in corners] == pytest.approx(2 * [0, 20, 40, 60, 80, 100], abs=6)
    reds = [red for red, _, _ in corners]
    assert reds == pytest.approx(6 * [reds[0]] + 6 * [reds[6]], abs=6)
    assert abs(reds[6] - reds[0]) > 30


def test_the_output_file_and_fps_are_as_asked(tmp_path):
    target = tmp_path / "a.mp4"
    session = make_session(tmp_path, "--episodes", "1", "--output", str(target), "--fps", "5")
    play(session)
    with av.open(str(target)) as container:
        assert container.streams.video[0].average_rate == 5


def test_a_printed_seed_plays_that_episode_again(tmp_path):
    changes = {"env_id": "CartPole-v1"}
    options = ("--render", "none", "--sampled")
    three = play(
        make_session(tmp_path / "a", *options, "--episodes", "3", "--seed", "7", **changes)
    )
    again = play(
        make_session(tmp_path / "b", *options, "--episodes", "1", "--seed", "9", **changes)
    )
    assert again.returns == three.returns[2:]
    assert len(set(three.returns)) > 1
    assert three.is_deterministic is False


def test_cut_episodes_are_in_no_mean(tmp_path):
    stream = io.StringIO()
    result = play(make_session(tmp_path, "--max-steps", "3", "--render", "none", stream=stream))
    assert (result.returns, result.n_unfinished) == ([], 5)
    lines = stream.getvalue().splitlines()
    assert lines[2].endswith("3.00       3  cut by --max-steps")
    assert lines[-1] == "no episode was played to its end; 5 cut, in no mean"


def test_an_environment_without_limit_is_cut_sometime(tmp_path):
    session = make_session(tmp_path, "--render", "none")
    assert session.max_steps == 10_000
    session.env.close()
    session = make_session(tmp_path, "--render", "none", eval_max_episode_steps=20)
    assert session.max_steps == 20
    session.env.close()
    session = make_session(tmp_path, "--render", "none", env_id="CartPole-v1")
    assert session.max_steps is None
    session.env.close()


def test_what_cannot_be_drawn_is_played_with_a_note(tmp_path):
    stream = io.StringIO()
    session = make_session(tmp_path, env_id="tests.helpers.envs:Counting-v0", stream=stream)
    assert session.render == "none"
    play(session)
    assert "note: tests.helpers.envs:Counting-v0 cannot be drawn: numbers only" in stream.getvalue()


def test_a_window_needs_a_display(tmp_path):
    with pytest.raises(UserError, match="there is no display"):
        make_session(tmp_path, "--render", "window", env_id="CartPole-v1")


def test_with_a_display_a_window_shows_the_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    session = make_session(tmp_path)
    assert session.render == "window"
    assert session.env.render_mode == "rgb_array"
    session.env.close()


def test_pictures_need_a_terminal(tmp_path):
    with pytest.raises(UserError, match=r"not a terminal; .*--render none"):
        make_session(tmp_path, "--render", "terminal")


def test_in_a_terminal_the_results_stay_after_the_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")

    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    stream = Terminal()
    options = ("--render", "terminal", "--episodes", "2", "--fps", "1000", "--seed", "5")
    labels = {"action": {"labels": ["push left", "push right"]}}
    play(make_session(tmp_path, *options, stream=stream, spec=labels))
    before, pictures = stream.getvalue().split("\x1b[?1049h")
    pictures, after = pictures.split("\x1b[?1049l")
    assert before.startswith("Drawing-v0:ppo, run ")
    assert "episode 2/2  step 5  return 5.00  push " in pictures
    assert [line.split()[:3] for line in after.splitlines()[:3]] == [
        ["episode", "seed", "return"],
        ["1", "5", "5.00"],
        ["2", "6", "5.00"],
    ]
    assert "mean return" in after


def test_an_interrupt_restores_the_terminal_and_keeps_the_results(tmp_path, monkeypatch):
    stream = io.StringIO()
    session = make_session(tmp_path, "--episodes", "3", stream=stream)
    calls = []
    step = session.env.step

    def interrupt(actions):
        calls.append(None)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return step(actions)

    monkeypatch.setattr(session.env, "step", interrupt)
    with pytest.raises(KeyboardInterrupt):
        play(session)
    assert "terminated" in stream.getvalue()
    (path,) = session.plan.run.videos_dir.iterdir()
    with av.open(str(path)) as container:
        assert len(list(container.decode(video=0))) == 6 + 3


def test_sdl_draws_into_memory_without_a_display(tmp_path, monkeypatch):
    monkeypatch.delenv("SDL_VIDEODRIVER", raising=False)
    make_session(tmp_path, "--render", "video").env.close()
    assert os.environ["SDL_VIDEODRIVER"] == "dummy"


def show_in_window(monkeypatch, script, **options):
    """Let sessions show their pictures on a display whose keys are pressed by a script."""
    display = ScriptedDisplay(script, **options)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("utils.playback.stage.WindowDisplay", lambda title: display)
    pace = functools.partial(Pace, clock=display.clock)
    monkeypatch.setattr("utils.playback.stage.Pace", pace)
    return display


def test_several_episodes_side_by_side_are_those_of_one_after_the_other(tmp_path):
    options = ("--sampled", "--seed", "7", "--episodes", "2")
    config = {"env_id": "CartPole-v1"}
    single = play(make_session(tmp_path / "a", *options, "--render", "none", **config))
    stream = io.StringIO()
    session = make_session(tmp_path / "b", *options, "--grid", "2", stream=stream, **config)
    assert session.render == "video"
    assert play(session).returns == single.returns
    rows = [line.split() for line in stream.getvalue().splitlines()[2:4]]
    assert [row[:2] for row in rows] == [["1", "7"], ["2", "8"]]
    (path,) = session.plan.run.videos_dir.iterdir()
    assert path.name == "play-epoch=00-seed=7-grid=2.mp4"
    with av.open(str(path)) as container:
        assert len(list(container.decode(video=0))) == max(single.lengths) + 1


def test_tiles_tell_seed_return_and_end(tmp_path, monkeypatch):
    display = show_in_window(monkeypatch, [])
    options = ("--grid", "2", "--episodes", "4", "--seed", "3")
    play(make_session(tmp_path, *options, env_kwargs={"length": 2}))
    captions = [[tile.caption for tile in view.tiles] for view in display.views]
    assert captions == [
        ["return 0.00  seed 3", "return 0.00  seed 4"],
        ["return 1.00  seed 3", "return 1.00  seed 4"],
        ["return 2.00  terminated  seed 3", "return 2.00  terminated  seed 4"],
        ["return 0.00  seed 5", "return 0.00  seed 6"],
        ["return 1.00  seed 5", "return 1.00  seed 6"],
        ["return 2.00  terminated  seed 5", "return 2.00  terminated  seed 6"],
    ]
    assert [tile.is_dimmed for tile in display.views[-1].tiles] == [True, True]
    assert display.captions[1] == "step 1  2 of 2 running  mean return 1.00"
    assert display.is_closed


def test_whoever_leaves_hears_of_what_was_played(tmp_path, monkeypatch):
    # Six states of the first episode at one reading each, three of the second.
    show_in_window(monkeypatch, [*[[]] * 17, ["q"]])
    stream = io.StringIO()
    result = play(make_session(tmp_path, stream=stream))
    n_played = len(result.returns)
    assert 0 < n_played < 5
    lines = stream.getvalue().splitlines()
    assert f"stopped after {n_played} of 5 episodes" in lines
    assert lines[-1].startswith(("mean return 5.00", "return 5.00"))


def test_what_is_shown_is_recorded(tmp_path, monkeypatch):
    display = show_in_window(monkeypatch, [])
    stream = io.StringIO()
    options = ("--record", "--episodes", "2", "--speed", "2")
    session = make_session(tmp_path, *options, stream=stream)
    play(session)
    (path,) = session.plan.run.videos_dir.iterdir()
    assert path.name.startswith("record-epoch=00-")
    assert f"recording {path} (12 frames, 24 fps)" in stream.getvalue()
    with av.open(str(path)) as container:
        frames = [f.to_ndarray(format="rgb24") for f in container.decode(video=0)]
    shown = compose(display.views[-1])
    assert len(frames) == 12
    assert frames[-1].shape == (*(size + size % 2 for size in shown.shape[:2]), 3)


def test_a_recording_goes_where_it_is_asked_to(tmp_path, monkeypatch):
    show_in_window(monkeypatch, [])
    target = tmp_path / "here.mp4"
    play(make_session(tmp_path, "--record", str(target), "--episodes", "1"))
    assert target.stat().st_size > 0


def test_a_person_plays_and_is_told_how_the_policy_does_on_the_same_seeds(tmp_path, monkeypatch):
    labels = {"action": {"labels": ["push left", "push right"]}}
    script = [["left"]] * 5 + [["enter"]] + [["right"]] * 5 + [["enter"]]
    display = show_in_window(monkeypatch, script)
    stream = io.StringIO()
    options = ("--human", "--episodes", "2", "--seed", "40", "--record", str(tmp_path / "a.mp4"))
    session = make_session(tmp_path, *options, stream=stream, spec=labels)
    result = play(session)
    assert result.returns == [5.0, 5.0]
    assert display.is_closed
    lines = stream.getvalue().splitlines()[2:]
    assert [line.split() for line in lines[:4]] == [
        ["episode", "seed", "you", "policy", "your", "end"],
        ["1", "40", "5.00", "5.00", "terminated", "after", "5", "steps"],
        ["2", "41", "5.00", "5.00", "terminated", "after", "5", "steps"],
        ["mean", "5.00", "5.00"],
    ]
    assert lines[4].endswith("a.mp4 (12 frames, 12 fps)")


def test_the_policys_return_beside_the_persons_is_that_of_its_own_episode(tmp_path, monkeypatch):
    options = ("--seed", "9", "--episodes", "1")
    config = {"env_id": "CartPole-v1"}
    alone = play(make_session(tmp_path / "a", *options, "--render", "none", **config))
    show_in_window(monkeypatch, [["2"]] * 20 + [["enter"]] * 20)
    stream = io.StringIO()
    session = make_session(tmp_path / "b", *options, "--human", stream=stream, **config)
    by_hand = play(session)
    row = stream.getvalue().splitlines()[2].split()
    assert row[:4] == ["1", "9", f"{by_hand.returns[0]:.2f}", f"{alone.returns[0]:.2f}"]
    assert by_hand.returns != alone.returns


def test_a_person_who_leaves_at_once_is_told_so(tmp_path, monkeypatch):
    show_in_window(monkeypatch, [["escape"]])
    stream = io.StringIO()
    play(make_session(tmp_path, "--human", stream=stream))
    assert stream.getvalue().splitlines()[-2:] == [
        "stopped after 0 of 5 episodes",
        "no episode was played to its end",
    ]


@pytest.mark.parametrize("option", ["--human", "--record"])
def test_without_display_and_terminal_nobody_plays_and_nothing_is_recorded(tmp_path, option):
    with pytest.raises(UserError, match=f"{option}: there is neither a display nor a terminal"):
        make_session(tmp_path, option)
    with pytest.raises(UserError, match=f"{option}: .* cannot be drawn"):
        make_session(tmp_path / "b", option, env_id="tests.helpers.envs:Counting-v0")


def test_a_person_needs_a_keyboard(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(UserError, match="--human: standard input is not a terminal"):
        make_session(tmp_path, "--human", stream=FakeTerminal())


def test_without_pygame_a_display_shows_nothing_so_a_video_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "pygame" else find(name)
    )
    session = make_session(tmp_path)
    assert session.render == "video"
    session.env.close()
