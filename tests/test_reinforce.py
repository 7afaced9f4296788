"""REINFORCE from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.helpers.agents import make_agent, train_epochs
from tests.helpers.commands import ENVS, Command, only_run, play, rows, small, train
from utils.checkpoints import load_checkpoint

NOT_OF_PPO = {"n_steps": None, "batch_size": None, "n_epochs": None}
IDENTITY = NOT_OF_PPO | {
    "env_id": f"{ENVS}Identity-v0",
    "max_episode_steps": 10,
    "episodes_per_env": 4,
    "gamma": 0.5,
    "policy_lr": 0.02,
    "max_timesteps": 9600,
    "eval_warmup_epochs": 30,
    "eval_freq_epochs": 30,
    "checkpoint_freq_epochs": None,
}
VARIANTS = {
    "returns": {},
    "whole episodes": {"returns_type": "mc:episode", "max_timesteps": 19200},
    "baseline": {"use_baseline": True, "policy_targets": "advantages", "vf_coef": 0.5},
}


def results_of(folder: Path) -> dict[str, dict]:
    return json.loads(only_run(folder).results_path.read_text())["test"]


@pytest.mark.parametrize("name", VARIANTS)
def test_the_right_action_is_learnt(name, tmp_path):
    """Ten steps of 1 for the right one of three actions: by chance 3.3, by a wrong sign 0."""
    arguments = small("CartPole-v1:reinforce", **(IDENTITY | VARIANTS[name]))
    finished = train(*arguments, runs_dir=tmp_path)
    assert finished.code == 0, finished.err
    assert results_of(tmp_path)["last"]["returns"] == [10.0] * 4
    played = play("--episodes", "2", "--deterministic", runs_dir=tmp_path)
    assert "mean return 10.00" in played.out


def test_an_agent_that_does_not_learn_misses_that_mark(tmp_path):
    frozen = small("CartPole-v1:reinforce", **(IDENTITY | {"policy_lr": 0.0}))
    assert train(*frozen, runs_dir=tmp_path).code == 0
    assert results_of(tmp_path)["last"]["mean"] < 8


def test_every_rollout_is_the_same_number_of_whole_episodes(tmp_path):
    arguments = small("CartPole-v1:reinforce", **NOT_OF_PPO, episodes_per_env=2, max_timesteps=2000)
    train(*arguments, runs_dir=tmp_path)
    run = only_run(tmp_path)
    found = rows(run)
    assert [row["train/roll/n_episodes"] for row in found] == [8] * len(found)
    assert [row["train/cnt/updates"] for row in found] == list(range(1, len(found) + 1))
    counters = load_checkpoint(run.checkpoint("@last"))["counters"]
    assert counters["episodes"] == 8 * len(found)
    # The last rollout is a whole one too.
    assert found[-2]["timesteps"] < 2000 <= counters["timesteps"]


@pytest.mark.parametrize("acts", ["multi_discrete", "multi_binary", "box"])
def test_every_kind_of_action_is_trained(acts):
    agent = make_agent(
        "tests.helpers.space_envs:Drawn-v0",
        algo_id="reinforce",
        env_kwargs={"sees": "dict", "acts": acts},
        max_episode_steps=7,
        use_baseline=True,
    )
    before = [parameter.clone() for parameter in agent.policy.parameters()]
    train_epochs(agent, 3)
    agent.close()
    assert all(parameter.isfinite().all() for parameter in agent.policy.parameters())
    assert not all(map(torch.equal, agent.policy.parameters(), before))


@pytest.mark.slow
def test_cartpole_is_learnt(tmp_path):
    finished = Command(
        "train", "CartPole-v1:reinforce", "-q", "--runs-dir", str(tmp_path), "--set", "video=none"
    ).wait(240)
    assert finished.code == 0, finished.err
    assert results_of(tmp_path)["best"]["mean"] >= 450
