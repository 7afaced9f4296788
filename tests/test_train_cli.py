"""The command line of training as a person uses it."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.commands import (
    ENVS,
    ROOT,
    Command,
    error_lines,
    only_run,
    play,
    rows,
    small,
    train,
)
from tests.helpers.processor_time import run_measured
from tests.helpers.silence import grow_silent, leave_elsewhere
from utils.config import load_config_json
from utils.run import Run, heartbeat
from utils.run.lock import RunLock

HEAVY = ("torch", "lightning", "gymnasium", "numpy", "numba", "matplotlib", "av", "wandb")


def run_train(*arguments: str, folder: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run train.py as a fresh process in `folder`; return it and its processor seconds."""
    return run_measured(
        [sys.executable, "-X", "importtime", str(ROOT / "train.py"), *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        timeout=60,
    )


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines on stderr that are not Python's list of imports."""
    return [line for line in done.stderr.splitlines() if not line.startswith("import time:")]


def imported(done: subprocess.CompletedProcess[str]) -> set[str]:
    lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--help"], 0, "--init-from-run"),
        (["--list-envs"], 0, "CartPole-v1"),
        (["--list-envs", "lunar"], 0, "LunarLander-v3"),
        ([], 2, "--list-envs"),
        (["CartPol-v1:ppo"], 2, "CartPole-v1"),
        (["CartPole-v1:pppo"], 2, "did you mean 'ppo'"),
        (["CartPole-v1"], 2, "CartPole-v1:ppo"),
        (["CartPole-v1:ppo", "--set", "ent_coeff=0.1"], 2, "ent_coef"),
        (["CartPole-v1:ppo", "--set", "env_kwargs.policy_lr=1"], 2, "policy_lr"),
        (["CartPole-v1:ppo", "--set", "n_envs=many"], 2, "n_envs"),
        (["CartPole-v1:ppo", "--set", "n_envs=3", "--set", "n_steps=50"], 2, "150"),
        (["CartPole-v1:ppo", "--set", "batch_size=1"], 2, "single sample"),
        (["CartPole-v1:ppo", "--max-timestep", "5"], 2, "--max-timesteps"),
        (["--resume", "@last"], 2, "no run"),
        (["--resume", "20200101-000000"], 2, "20200101-000000"),
        (["CartPole-v1:ppo", "--init-from-run", "nothing"], 2, "nothing"),
    ],
)
def test_answers_and_mistakes_are_told_at_once(arguments, code, expected, tmp_path):
    done, seconds = run_train(*arguments, folder=tmp_path)
    assert done.returncode == code
    lines = said(done)
    if code == 0:
        assert lines == []
        assert expected in done.stdout
    else:
        assert done.stdout == ""
        assert len(lines) == 1
        assert lines[0].startswith("error: ")
        assert expected in lines[0]
    # Python's list of imports costs some of the time; a busy machine none of it.
    assert seconds < 1.5
    assert imported(done).isdisjoint(HEAVY)
    assert list(tmp_path.iterdir()) == []


def test_listing_shows_what_matches(tmp_path):
    done, _ = run_train("--list-envs", "mountain", folder=tmp_path)
    assert "MountainCarContinuous-v0" in done.stdout
    assert "CartPole" not in done.stdout
    assert "ppo" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "fault", "expected"),
    [
        (small(env_id="CartPole-v7"), None, "CartPole"),
        (small(env_id="CartPol-v1"), None, "CartPole-v1"),
        (small(env_id="no.such.module:Env-v0"), None, "no module"),
        (small(env_kwargs={"gravty": 1}), None, "gravty"),
        (small(env_wrappers=[{"id": "ClipRewrd"}]), None, "ClipReward"),
        (small(normalize_obs="rolling", env_id="FrozenLake-v1"), None, "normalize_obs"),
        (small(policy_kwargs={"log_std_init": 0.0}), None, "'policy_kwargs.log_std_init' has no"),
        (
            small(policy_kwargs={"feature_dim": 64}, vectorization="async"),
            None,
            "'policy_kwargs.feature_dim' has no effect",
        ),
        (small("CartPole-v1:ppo", device="cuda"), None, "cuda"),
        (small("LunarLander-v3:ppo"), "without:Box2D", "gymnasium-solver[box2d]"),
        (small(tensorboard=True), "without:tensorboard", "gymnasium-solver[tensorboard]"),
        (small(wandb=True), "without:wandb", "gymnasium-solver[wandb]"),
        (
            small(
                env_id=f"{ENVS}Counting-v0",
                early_stop_on_eval_reward=True,
                **{"spec.solved_threshold": "null", "reward_threshold": "null"},
            ),
            None,
            "threshold",
        ),
    ],
)
def test_what_cannot_be_trained_leaves_nothing(arguments, fault, expected, tmp_path):
    if expected == "cuda":
        torch = pytest.importorskip("torch")
        if torch.cuda.is_available():
            pytest.skip("there is a CUDA device here")
    finished = train(*arguments, runs_dir=tmp_path / "runs", fault=fault)
    (line,) = error_lines(finished)
    assert finished.code == 2, finished
    assert expected in line
    assert finished.out == ""
    assert not list(tmp_path.glob("runs/*")), "a half-made run was left behind"


def test_a_run_that_is_being_trained_is_not_resumed(tmp_path):
    train(*small(max_timesteps=256), runs_dir=tmp_path)
    run = only_run(tmp_path)
    with RunLock(run.path):
        finished = train("--resume", run.id, "--max-timesteps", "512", runs_dir=tmp_path)
    (line,) = error_lines(finished)
    assert finished.code == 2
    assert "is being trained by another process" in line
    assert run.read_status()["status"] == "completed"
    assert run.read_config_dict()["max_timesteps"] == 256


def test_a_run_that_reached_its_goal_goes_on_when_time_or_goal_are_changed(tmp_path):
    goal = {"early_stop_on_eval_reward": True, "reward_threshold": 1.0}
    train(*small(max_timesteps=1024, **goal), runs_dir=tmp_path)
    run = only_run(tmp_path)
    assert run.saved_timesteps() == 512  # the first evaluation, at epoch 4
    finished = train("--resume", run.id, runs_dir=tmp_path)
    (line,) = error_lines(finished)
    assert finished.code == 2
    assert "is complete (mean return in evaluation" in line
    assert "--max-timesteps" in line
    assert run.read_status()["status"] == "completed"
    resumed = train("--resume", run.id, "--set", "reward_threshold=1e6", runs_dir=tmp_path)
    assert resumed.code == 0, resumed.err
    assert run.saved_timesteps() == 1024
    assert run.read_config_dict()["early_stop_on_eval_reward"] is True


def test_a_run_that_reached_its_goal_goes_on_to_the_end_of_more_time(tmp_path):
    goal = {"early_stop_on_eval_reward": True, "reward_threshold": 1.0}
    train(*small(max_timesteps=1024, **goal), runs_dir=tmp_path)
    run = only_run(tmp_path)
    finished = train("--resume", run.id, "--max-timesteps", "1280", runs_dir=tmp_path)
    assert finished.code == 0, finished.err
    assert "the goal that ended this run no longer does" in finished.err
    assert run.saved_timesteps() == 1280
    assert run.read_config_dict()["early_stop_on_eval_reward"] is False
    assert rows(run)[-1]["val/roll/n_episodes"] == 4  # the last epoch, 10, is evaluated too


def test_a_run_whose_machine_went_away_is_resumed(tmp_path, monkeypatch):
    train(*small(max_timesteps=256), runs_dir=tmp_path)
    run = only_run(tmp_path)
    leave_elsewhere(run)
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.05)
    with heartbeat.Heartbeat(run.path):  # the disk has no locks that both machines see
        refused = train("--resume", run.id, "--max-timesteps", "512", runs_dir=tmp_path)
    assert refused.code == 2
    assert error_lines(refused) == [
        f"note: elsewhere was training run '{run.id}' a moment ago: waiting for a sign of life "
        "from there",
        f"error: run '{run.id}' is being trained on elsewhere: stop it before resuming it",
    ]
    grow_silent(run.path, seconds=100.0)
    finished = train("--resume", run.id, "--max-timesteps", "512", runs_dir=tmp_path)
    assert finished.code == 0, finished.err
    assert run.read_status()["status"] == "completed"


def test_a_run_that_was_lost_in_its_final_test_is_completed(tmp_path):
    train(*small(max_timesteps=256), runs_dir=tmp_path)
    run = only_run(tmp_path)
    expected = json.loads(run.results_path.read_text())["test"]["last"]["returns"]
    run.results_path.unlink()
    record = json.loads(run.status_path.read_text())
    run.status_path.write_text(json.dumps(record | {"status": "running", "pid": 2**22 + 1}))
    finished = train("--resume", run.id, runs_dir=tmp_path)
    assert finished.code == 0, finished.err
    assert run.read_status()["status"] == "completed"
    assert json.loads(run.results_path.read_text())["test"]["last"]["returns"] == expected


def test_a_run_does_not_become_shorter(tmp_path):
    train(*small(max_timesteps=256), runs_dir=tmp_path)
    run = only_run(tmp_path)
    finished = train("--resume", run.id, "--max-timesteps", "128", runs_dir=tmp_path)
    (line,) = error_lines(finished)
    assert finished.code == 2
    assert "less than the 256" in line
    assert run.read_config_dict()["max_timesteps"] == 256
    assert run.read_status()["status"] == "completed"


def test_a_run_of_another_config_is_not_resumed(tmp_path):
    train(*small(max_timesteps=256), runs_dir=tmp_path)
    finished = train("Pendulum-v1:ppo", "--resume", "@last", runs_dir=tmp_path)
    (line,) = error_lines(finished)
    assert finished.code == 2
    assert "CartPole-v1:ppo" in line
    assert "Pendulum-v1:ppo" in line
    assert only_run(tmp_path).read_status()["status"] == "completed"


def test_quiet_prints_the_result_and_nothing_else(tmp_path):
    finished = train(*small(max_timesteps=256), runs_dir=tmp_path)
    assert finished.err == ""
    run = only_run(tmp_path)
    head, *lines = finished.out.splitlines()
    assert head.startswith("CartPole-v1:ppo: max_timesteps reached after 256 timesteps (2 epochs)")
    assert sum("mean return" in line for line in lines) in (1, 2)
    assert any(str(run.path) in line for line in lines)
    assert len(lines) <= 5


def test_without_a_terminal_progress_is_plain_lines(tmp_path):
    finished = Command("train", "--runs-dir", str(tmp_path), *small()).wait()
    assert finished.code == 0
    assert "\x1b" not in finished.out + finished.err
    lines = finished.out.splitlines()
    assert lines[0].startswith("CartPole-v1:ppo: 4 simd environments")
    # The first epoch and the last; those in between follow too fast to be read.
    assert any("epoch 1  128/1,536 steps" in line for line in lines)
    assert any("epoch 12  1,536/1,536 steps" in line for line in lines)


def test_the_stored_config_is_what_was_asked_for(tmp_path):
    arguments = ["--seed", "3", "--max-timesteps", "2.56e2", "--set", "policy_lr=lin_3e-4"]
    train(*small(max_timesteps=None), *arguments, runs_dir=tmp_path)
    run = only_run(tmp_path)
    config = load_config_json(run.config_path)
    assert (config.seed, config.max_timesteps) == (3, 256)
    assert config.policy_lr.start == 3e-4
    assert type(json.loads(run.config_path.read_text())["max_timesteps"]) is int
    assert len(rows(run)) == 2


def test_debugging_means_one_environment_in_this_process(tmp_path):
    arguments = small(vectorization="async", max_timesteps=64)
    finished = Command("train", "--debug", "--runs-dir", str(tmp_path), *arguments).wait()
    assert finished.code == 0, finished.err
    assert "1 sync environment" in finished.out
    assert [row["timesteps"] for row in rows(only_run(tmp_path))] == [32, 64]


def test_a_short_run_says_that_nothing_is_saved_before_its_end_and_saves_then(tmp_path):
    arguments = small(max_timesteps=512, checkpoint_freq_epochs=None, eval_freq_epochs=20)
    finished = Command("train", "--runs-dir", str(tmp_path), *arguments).wait()
    run = only_run(tmp_path)
    assert "no checkpoint falls into this run" in finished.out + run.log_path.read_text()
    assert [path.name for path in run.list_checkpoints()] == ["epoch=04.ckpt"]
    assert run.checkpoint("@best") == run.checkpoint("@last")


@pytest.mark.parametrize("greedy", [True, False])
def test_results_say_how_actions_were_chosen(greedy, tmp_path):
    finished = train(*small(max_timesteps=512, eval_deterministic=greedy), runs_dir=tmp_path)
    run = only_run(tmp_path)
    results = json.loads(run.results_path.read_text())
    assert {result["is_deterministic"] for result in results["test"].values()} == {greedy}
    assert ("greedy" if greedy else "sampled") in finished.out
    played = play("--episodes", "1", runs_dir=tmp_path)
    assert ("greedy" if greedy else "sampled") in played.out
    assert set(results["test"]) == {"best", "last"}
    assert all(len(result["returns"]) == 4 for result in results["test"].values())


def test_runs_started_together_have_folders_of_their_own(tmp_path):
    arguments = ["train", "-q", "--runs-dir", str(tmp_path), *small(max_timesteps=128)]
    commands = [Command(*arguments) for _ in range(4)]
    assert [command.wait().code for command in commands] == [0, 0, 0, 0]
    runs = [Run(path) for path in tmp_path.iterdir()]
    assert len(runs) == 4
    assert all(run.read_status()["status"] == "completed" for run in runs)
    assert Run.open("@last", runs_dir=tmp_path).id in {run.id for run in runs}


def test_checkpoints_have_names_where_links_cannot_be_made(tmp_path):
    finished = train(*small(max_timesteps=640), runs_dir=tmp_path, fault="no-links")
    assert finished.code == 0, finished.err
    run = only_run(tmp_path)
    assert not any(path.is_symlink() for path in run.checkpoints_dir.iterdir())
    assert run.checkpoint("@last").name == "epoch=05.ckpt"
    means = {
        int(row["epoch"]): float(mean)
        for row in csv.DictReader(run.metrics_csv.read_text().splitlines())
        if (mean := row["val/roll/ep_rew_mean"])
    }
    assert list(means)[-1] == 5  # the last epoch is always evaluated
    assert run.checkpoint("@best").name == f"epoch={max(means, key=means.__getitem__):02}.ckpt"
    assert play("--episodes", "1", runs_dir=tmp_path).code == 0
    resumed = train("--resume", "@last", "--max-timesteps", "768", runs_dir=tmp_path)
    assert resumed.code == 0, resumed.err
