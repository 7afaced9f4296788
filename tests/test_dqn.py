"""DQN and its kin from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.agents import make_agent, train_epochs
from tests.helpers.commands import ENVS, Command, error_lines, only_run, play, rows, small, train
from utils.checkpoints import load_checkpoint

REPLAY = {
    "n_steps": None,
    "n_epochs": None,
    "batch_size": 32,
    "buffer_transitions": 2000,
    "learning_starts_timesteps": 200,
    "steps_per_epoch": 100,
    "train_every_vec_steps": 4,
    "replay_ratio": 0.25,
    "policy_kwargs": {"hidden_dims": [32]},
}
IDENTITY = REPLAY | {
    "env_id": f"{ENVS}Identity-v0",
    "gamma": 0.5,
    "policy_lr": 5e-3,
    "max_timesteps": 4000,
    "target_update_timesteps": 200,
    "eval_freq_epochs": 5,
    "checkpoint_freq_epochs": None,
}
C51 = {"distribution": "c51", "v_min": 0, "v_max": 3, "n_atoms": 31}
VARIANTS = {
    "dqn": {},
    "plain": {"double": False, "loss": "mse"},
    "three steps": {"n_step": 3},
    "prioritised": {"prioritized_replay": True},
    "dueling": {"dueling": True},
    "noisy": {"noisy": True, "epsilon": 0.0},
    "c51": C51,
    "rainbow": C51
    | {
        "n_step": 3,
        "prioritized_replay": True,
        "dueling": True,
        "noisy": True,
        "epsilon": 0.0,
    },
}
_OWN = {"epsilon": {"start": 1.0, "end": 0.1, "to": 0.5}}
TABULAR = {
    "n_steps": None,
    "n_epochs": None,
    "batch_size": None,
    "env_id": f"{ENVS}Identity-v0",
    "steps_per_epoch": 100,
    "max_timesteps": 4000,
    "policy_lr": 0.2,
}


def last_returns(folder: Path) -> list[float]:
    return json.loads(only_run(folder).results_path.read_text())["test"]["last"]["returns"]


@pytest.mark.parametrize("name", VARIANTS)
def test_the_right_action_is_learnt(name):
    """Ten steps of 1 for the right one of three actions: by chance 3.3."""
    apart = ("env_id", "n_steps", "n_epochs", "checkpoint_freq_epochs")
    settings = {key: value for key, value in IDENTITY.items() if key not in apart}
    settings |= {"n_envs": 4, "policy_lr": 1e-2, "max_timesteps": 2400}
    agent = make_agent("Identity", algo_id="dqn", **(settings | _OWN | VARIANTS[name]))
    train_epochs(agent, 6)
    assert agent.evaluate().returns == [10.0] * 4


def test_a_run_is_trained_tested_and_played(tmp_path):
    finished = train(*small("CartPole-v1:dqn", **IDENTITY), runs_dir=tmp_path)
    assert finished.code == 0, finished.err
    assert last_returns(tmp_path) == [10.0] * 4
    played = play("--episodes", "2", "--deterministic", runs_dir=tmp_path)
    assert "mean return 10.00" in played.out


def test_an_agent_that_does_not_learn_misses_that_mark(tmp_path):
    frozen = small("CartPole-v1:dqn", **(IDENTITY | {"policy_lr": 0.0}))
    assert train(*frozen, runs_dir=tmp_path).code == 0
    assert sum(last_returns(tmp_path)) < 32


def test_a_table_learns_it_too(tmp_path):
    finished = train(*small("FrozenLake-v1:q_learning", **TABULAR), runs_dir=tmp_path)
    assert finished.code == 0, finished.err
    assert last_returns(tmp_path) == [10.0] * 4
    assert "mean return 10.00" in play("--episodes", "2", runs_dir=tmp_path).out


def test_phases_run_from_the_command_line(tmp_path):
    phases = [
        {"name": "fill", "type": "online", "hooks": ["collect"], "duration": {"timesteps": 800}},
        {"name": "study", "type": "offline", "hooks": ["update"], "duration": {"updates": 150}},
        {"name": "judge", "type": "eval_only", "hooks": ["evaluate"], "duration": {"cycles": 1}},
    ]
    changes = IDENTITY | {"phases": phases, "eval_freq_epochs": 100}
    finished = train(*small("CartPole-v1:dqn", **changes), runs_dir=tmp_path)
    assert finished.code == 0, finished.err
    run = only_run(tmp_path)
    assert run.read_status()["reason"] == "all phases completed"
    found = rows(run)
    # Epochs of 100 vector steps of 4 environments, or of the 100 updates that they pay for.
    assert [row["timesteps"] for row in found] == [400, 800, 800, 800, 800]
    assert [row["train/cnt/updates"] for row in found] == [0, 0, 100, 150, 150]
    assert ["val/roll/ep_rew_mean" in row for row in found] == [False] * 4 + [True]
    for more in ([], ["--max-timesteps", "9000"]):
        resumed = train("--resume", run.id, *more, runs_dir=tmp_path)
        assert resumed.code == 2
        (line,) = error_lines(resumed)
        assert "is complete (all phases completed), and more time adds none" in line


def test_weights_of_another_run_reach_the_target_network(tmp_path):
    train(*small("CartPole-v1:dqn", **IDENTITY), runs_dir=tmp_path / "first")
    first = only_run(tmp_path / "first")
    changes = IDENTITY | {"policy_lr": 0.0, "max_timesteps": 400, "target_update_timesteps": 10**6}
    fresh = train(
        *small("CartPole-v1:dqn", **changes),
        "--init-from-run",
        str(first.path),
        runs_dir=tmp_path / "second",
    )
    assert fresh.code == 0, fresh.err
    state = load_checkpoint(only_run(tmp_path / "second").checkpoint("@last"))
    origin = load_checkpoint(first.checkpoint("@best"))["policy"]
    assert all(origin[name].equal(value) for name, value in state["networks"]["target"].items())


THRESHOLDS = {
    "CartPole-v1:dqn": 475,
    "Acrobot-v1:dqn": -90,
    "MountainCar-v0:dqn": -110,
    "LunarLander-v3:dqn": 200,
    "FrozenLake-v1:q_learning": 0.70,
    "Taxi-v4:q_learning": 7.4,
}


@pytest.mark.slow
@pytest.mark.parametrize("config_id", THRESHOLDS)
def test_a_config_reaches_what_it_is_known_for(config_id, tmp_path):
    if config_id.startswith("LunarLander"):
        pytest.importorskip("Box2D", reason="needs the extra box2d")
    arguments = (config_id, "--seed", "1", "--set", "video=none", "--runs-dir", str(tmp_path))
    finished = Command("train", "-q", *arguments).wait(1200)
    assert finished.code == 0, finished.err
    best = json.loads(only_run(tmp_path).results_path.read_text())["test"]["best"]
    assert best["mean"] >= THRESHOLDS[config_id]
