import io
import os

import av
import pytest

from tests.helpers.played_runs import make_config, make_run
from tests.helpers.policies import build_linear_policy
from utils.errors import UserError
from utils.playback import parse_play_args, plan_play
from utils.playback.results import describe_mean
from utils.playback.session import PlaySession
from utils.rollouts import EvaluationResult
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
        assert len(list(container.decode(video=0))) == 12


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


def test_means_are_told_with_what_is_known():
    def result(returns, n_unfinished=0):
        return EvaluationResult(
            returns=returns,
            lengths=[1] * len(returns),
            n_unfinished=n_unfinished,
            seconds=0.0,
            seed=0,
            is_deterministic=True,
        )

    assert describe_mean(result([3.0])) == "return 3.00 (1 episode: no interval)"
    several = result([1.0, 3.0], 1)
    half_width = several.confidence_half_width()
    assert describe_mean(several) == (
        f"mean return 2.00 ± {half_width:,.2f} (95 %, 2 episodes; 1 cut, in no mean)"
    )


def test_sdl_draws_into_memory_without_a_display(tmp_path, monkeypatch):
    monkeypatch.delenv("SDL_VIDEODRIVER", raising=False)
    make_session(tmp_path, "--render", "video").env.close()
    assert os.environ["SDL_VIDEODRIVER"] == "dummy"
