import json
import os
import re
import shutil
import sys
from pathlib import Path

import av
import pytest
import torch

import run_play
from agents.loading import load_policy
from tests.helpers.played_runs import make_config, make_run
from tests.helpers.processor_time import run_measured
from tests.helpers.without_packages import packages_of_extras
from utils.environment import build_env_from_config
from utils.errors import CheckpointError, exit_on_user_error
from utils.playback.environment import build_playback_env
from utils.spaces import space_to_dict

ROOT = Path(__file__).resolve().parents[1]


def state_of(config, *, prepare=None):
    """Return what a checkpoint of an untrained agent holds, as far as play reads it."""
    from agents import agent_class

    env = build_env_from_config(config)
    torch.manual_seed(0)
    policy = agent_class(config.algo_id).build_models(
        config, env.single_observation_space, env.single_action_space
    )
    if prepare is not None:
        prepare(policy)
    spaces = {
        "observation": space_to_dict(env.single_observation_space),
        "action": space_to_dict(env.single_action_space),
    }
    env.close()
    counters = {"epoch": 3, "timesteps": 48, "vec_steps": 24, "updates": 6, "episodes": 9}
    return {"spaces": spaces, "policy": policy.state_dict(), "counters": counters}


@pytest.fixture
def play(monkeypatch, capsys):
    """Run the script's main in this process; return its exit code, output and errors."""

    def play(runs_dir, *arguments):
        monkeypatch.delenv("DISPLAY", raising=False)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        monkeypatch.setattr(sys, "argv", ["run_play.py", "--runs-dir", str(runs_dir), *arguments])
        with pytest.raises(SystemExit) as stop:
            exit_on_user_error(run_play.main)
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return play


def test_a_run_is_played_filmed_and_measured(play, tmp_path):
    config = make_config(max_episode_steps=50)
    run = make_run(tmp_path, config, states=[state_of(config)])
    code, out, err = play(tmp_path, "--episodes", "2", "--seed", "4")
    assert (code, err) == (0, "")
    assert "48 timesteps, greedy actions" in out
    assert "mean return 5.00 ± 0.00 (95 %, 2 episodes)" in out
    (video,) = run.videos_dir.iterdir()
    with av.open(str(video)) as container:
        assert len(list(container.decode(video=0))) == 12


def test_the_stored_normaliser_is_the_one_that_plays(tmp_path):
    config = make_config(normalize_obs="rolling")

    def prepare(policy):
        policy.normalizer.update(torch.tensor([[1000.0], [1001.0]] * 50))

    run = make_run(tmp_path, config, states=[state_of(config, prepare=prepare)])
    env = build_playback_env(config, render_mode=None)
    policy = load_policy(config, run.checkpoint("@best"), env=env).policy
    # Mean 1000.5 and variance 0.25: 1001 is one deviation above; a fresh one would clip it to 10.
    assert policy.normalize(torch.tensor([[1001.0]])).item() == pytest.approx(1.0, abs=1e-2)
    env.close()


def test_a_run_plays_with_the_frames_and_wrappers_it_was_trained_with(play, tmp_path):
    config = make_config(
        env_id="tests.helpers.envs:RewardList-v0",
        frame_stack=4,
        env_wrappers=[{"id": "ClipReward", "low": -1.0, "high": 1.0}],
    )
    run = make_run(tmp_path, config, states=[state_of(config)])
    code, out, _ = play(tmp_path, "--render", "none")
    assert code == 0
    assert "mean return 7.00" in out  # 5 + 5 - 3, not clipped

    settings = json.loads(run.config_path.read_text())
    run.config_path.write_text(json.dumps(settings | {"frame_stack": 2}))
    code, _, err = play(tmp_path, "--render", "none")
    assert code == 2
    assert "box(4)" in err
    assert "box(2)" in err
    assert len(err.splitlines()) == 1


def test_a_checkpoint_of_other_networks_is_refused(tmp_path):
    config = make_config()
    other = make_config(policy_kwargs={"hidden_dims": [3]})
    run = make_run(tmp_path, config, states=[state_of(other)])
    env = build_playback_env(config, render_mode=None)
    with pytest.raises(CheckpointError, match="holds other networks"):
        load_policy(config, run.checkpoint("@best"), env=env)
    env.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--run-id", "nope"), "there is no run 'nope'"),
        (("--checkpoint", "epoch=99"), "there is no checkpoint 'epoch=99'; there are epoch=00"),
        (("--render", "window"), "there is no display"),
        (("--render", "terminal"), "the output is not a terminal"),
        (("--output", "x.gif"), "a video is an .mp4 file"),
        (("--episode", "3"), "did you mean '--episodes'?"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(play, tmp_path, arguments, message):
    make_run(tmp_path, make_config())
    code, out, err = play(tmp_path, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1


def test_a_damaged_checkpoint_is_one_line_and_exit_code_2(play, tmp_path):
    run = make_run(tmp_path, make_config(), states=[{"a": torch.zeros(1000)}])
    path = run.checkpoints_dir / "epoch=00.ckpt"
    path.write_bytes(path.read_bytes()[:-100])
    code, _, err = play(tmp_path, "--run-id", run.id)
    assert code == 2
    assert "cut short" in err
    assert len(err.splitlines()) == 1


def run_script(*arguments, **options):
    return measure_script(*arguments, **options)[0]


def measure_script(*arguments, **options):
    return run_measured(
        [sys.executable, str(ROOT / arguments[0]), *arguments[1:]],
        cwd=ROOT,
        env=without_display(),
        **options,
    )


def without_display():
    environ = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return environ | {"OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("arguments", [("--help",), ("--run-id", "nope"), ("--sampeld",)])
def test_help_and_mistakes_answer_at_once(arguments, tmp_path):
    done, seconds = measure_script(
        "run_play.py", *arguments, "--runs-dir", str(tmp_path), timeout=180
    )
    assert done.returncode == (0 if arguments == ("--help",) else 2), done.stderr
    assert "Traceback" not in done.stderr
    assert seconds < 1.5


def play_a_copy(tmp_path, config, *arguments):
    """Play a copy of config and checkpoints alone, without the packages of any extra."""
    run = make_run(tmp_path / "runs", config, states=[state_of(config)])
    copy = tmp_path / "elsewhere" / "a run"
    shutil.copytree(run.checkpoints_dir, copy / "checkpoints", symlinks=True)
    shutil.copy(run.config_path, copy)
    shutil.rmtree(run.path)
    hidden = ",".join(packages_of_extras())
    script = [sys.executable, "-m", "tests.helpers.without_packages", hidden, "run_play.py"]
    return run_measured(
        [*script, "--run-id", str(copy), *arguments],
        cwd=ROOT,
        env=without_display(),
        timeout=180,
    )[0]


def test_a_copied_run_plays_without_the_extras_that_training_had(tmp_path):
    config = make_config(
        env_id="CartPole-v1",
        wandb=True,
        tensorboard=True,
        device="cuda",
        vectorization="simd",
        policy_kwargs={"hidden_dims": [8], "memory": "gru"},
        normalize_obs="rolling",
    )
    done = play_a_copy(tmp_path, config, "--grid", "2", "--max-steps", "20", "--seed", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "48 timesteps, greedy actions" in done.stdout
    (video,) = (tmp_path / "elsewhere" / "a run" / "videos").iterdir()
    assert video.stat().st_size > 0


def test_an_extra_that_the_environment_needs_is_named_in_one_line(tmp_path):
    done = play_a_copy(tmp_path, make_config(env_id="LunarLander-v3"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: LunarLander-v3 needs the package 'Box2D': install it with  pip install "
        "'gymnasium-solver[box2d]'\n"
    )
    assert not (tmp_path / "elsewhere" / "a run" / "videos").exists()


@pytest.mark.slow
def test_what_is_trained_can_be_watched_and_is_reported(tmp_path):
    runs = ("--runs-dir", str(tmp_path))
    done = run_script(
        "train.py", "CartPole-v1:ppo", "-q", "--max-timesteps", "8192", *runs, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.iterdir()
    best = (folder / "checkpoints" / "best.ckpt").resolve().stem
    assert [film.stem for film in (folder / "videos").iterdir()] == [best]
    report = (folder / "report.md").read_text()
    for link in re.findall(r"\]\(([^)]+)\)", report):
        assert (folder / link.replace("%3D", "=")).exists(), link

    played = run_script("run_play.py", "--episodes", "2", *runs, timeout=120)
    assert (played.returncode, played.stderr) == (0, "")
    assert "mean return" in played.stdout


@pytest.mark.slow
def test_training_is_the_same_with_and_without_films(tmp_path):
    rows = []
    for video in ("none", "every"):
        runs_dir = tmp_path / video
        options = ("--set", f"video={video}", "--set", "test_episodes=2", "--runs-dir", runs_dir)
        changes = ("--max-timesteps", "9000", "--set", "early_stop_on_eval_reward=false")
        done = run_script("train.py", "CartPole-v1:ppo", "-q", *options, *changes, timeout=300)
        assert done.returncode == 0, done.stderr
        (folder,) = runs_dir.iterdir()
        films = folder / "videos"
        assert films.exists() == (video == "every")
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        rows.append(
            [
                {key: value for key, value in json.loads(line).items() if "/time/" not in key}
                for line in lines
            ]
        )
    assert len(rows[0]) > 30
    assert rows[0] == rows[1]
