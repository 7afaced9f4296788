"""PPO from end to end: it learns, in every kind of space, and reports what it did."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import torch

from tests.helpers.agents import make_agent, train_epochs
from tests.helpers.commands import ENVS, Command, only_run, play, rows, small, train
from tests.helpers.space_envs import ACTIONS, OBSERVATIONS
from utils.checkpoints import load_checkpoint

SPACES = "tests.helpers.space_envs:Drawn-v0"
IDENTITY = {
    "env_id": f"{ENVS}Identity-v0",
    "policy_lr": 0.01,
    "max_timesteps": 6144,
    "n_epochs": 4,
    "eval_warmup_epochs": 16,
    "eval_freq_epochs": 16,
    "checkpoint_freq_epochs": None,
}


def results_of(folder: Path) -> dict[str, dict]:
    return json.loads(only_run(folder).results_path.read_text())["test"]


@pytest.mark.parametrize("start", [0, -1])
def test_the_right_action_is_learnt_whatever_the_first_one_is_called(start, tmp_path):
    """Ten steps of 1 for the right one of three actions: by chance 3.3, by a wrong sign 0.

    The environment asserts that it is only sent actions of its space, in training, evaluation,
    test and play.
    """
    finished = train(
        *small(**IDENTITY, env_kwargs={"n": 3, "start": start}),
        runs_dir=tmp_path,
    )
    assert finished.code == 0, finished.err
    assert results_of(tmp_path)["last"]["returns"] == [10.0] * 4
    run = only_run(tmp_path)
    assert rows(run)[-1]["val/roll/ep_rew_mean"] == 10.0
    assert load_checkpoint(run.checkpoint("@last"))["policy"]["actor_head.weight"].shape[0] == 3
    for how in ("--deterministic", "--sampled"):
        played = play("--episodes", "3", how, runs_dir=tmp_path)
        assert played.code == 0, played.err
    assert "10.00" in played.out


def test_an_agent_that_does_not_learn_misses_that_mark(tmp_path):
    frozen = IDENTITY | {"policy_lr": 0.0}
    assert train(*small(**frozen), runs_dir=tmp_path).code == 0
    assert results_of(tmp_path)["last"]["mean"] < 8


def test_a_continuous_action_is_learnt(tmp_path):
    """Small actions pay most: 7 steps of 1 for zero, 2.9 for the first standard deviation."""
    arguments = small(
        env_id=SPACES,
        env_kwargs={"acts": "unbounded"},
        n_steps=64,
        policy_lr=0.003,
        n_epochs=8,
        max_timesteps=10240,
        gamma=0.5,
        eval_deterministic=False,
        eval_warmup_epochs=None,
        eval_freq_epochs=40,
        checkpoint_freq_epochs=None,
        test_episodes=20,
    )
    assert train(*arguments, runs_dir=tmp_path).code == 0
    before = rows(only_run(tmp_path))[0]["train/roll/ep_rew_mean"]
    assert before < 3.5
    assert results_of(tmp_path)["last"]["mean"] > before + 1.0


@pytest.mark.parametrize(
    ("sees", "acts", "n_envs"),
    [(name, "discrete", 4) for name in OBSERVATIONS]
    + [("box", name, 4) for name in ACTIONS if name != "discrete"]
    + [("discrete", "multi_discrete", 1), ("dict", "multi_binary", 1), ("picture", "box", 1)],
)
def test_every_kind_of_space_is_trained_and_judged(sees, acts, n_envs):
    agent = make_agent(SPACES, env_kwargs={"sees": sees, "acts": acts}, n_envs=n_envs)
    before = [parameter.clone() for parameter in agent.policy.parameters()]
    found = train_epochs(agent, 3)
    result = agent.evaluate()
    agent.close()
    assert all(parameter.isfinite().all() for parameter in agent.policy.parameters())
    assert not all(map(torch.equal, agent.policy.parameters(), before))
    assert agent.counters.updates == 3 * 2 * n_envs
    assert found[-1]["train/roll/ep_len_mean"] == 7.0
    assert result.lengths == [7] * 4


@pytest.mark.parametrize("n_envs", [1, 4])
@pytest.mark.parametrize(("env_id", "width"), [("FrozenLake-v1", 16), ("Taxi-v4", 500)])
def test_numbered_states_are_told_apart(env_id, width, n_envs):
    agent = make_agent(env_id, n_envs=n_envs)
    assert agent.policy.encoder.output_dim == width
    train_epochs(agent, 2)
    states = torch.tensor([0, 1])
    first, second = agent.policy.encoder(agent.policy.normalize(states))
    assert (first != second).sum() == 2
    agent.close()


def test_rewards_of_a_whole_run_are_told_by_one_number_each(tmp_path):
    """What is counted is what was done: epochs, steps, updates, episodes, resumed or not."""
    arguments = small(env_id=f"{ENVS}Counting-v0", env_kwargs={"length": 8})
    train(*arguments, runs_dir=tmp_path, fault="kill-in-epoch:8")
    assert train("--resume", "@last", runs_dir=tmp_path).code == 0
    run = only_run(tmp_path)
    state = load_checkpoint(run.checkpoint("@last"))
    # 12 epochs of 32 steps of 4 environments, 2 passes over 2 minibatches, episodes of 8 steps.
    assert state["counters"] == {
        "epoch": 12,
        "timesteps": 12 * 32 * 4,
        "vec_steps": 12 * 32,
        "updates": 12 * 2 * 2,
        "episodes": 12 * 32 * 4 // 8,
    }
    # The environments were stepped exactly as often: one rollout for each epoch.
    assert state["source"]["collector"]["n_vec_steps"] == 12 * 32
    for row in rows(run):
        assert row["timesteps"] == row["epoch"] * 128
        assert row["train/roll/n_episodes"] == 16
        assert row["train/roll/ep_rew_mean"] == 8.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_cartpole_is_solved(seed, tmp_path):
    finished = Command(
        "train", "CartPole-v1:ppo", "-q", "--seed", str(seed), "--runs-dir", str(tmp_path),
        "--set", "video=none",
    ).wait(120)  # fmt: skip
    assert finished.code == 0, finished.err
    best = results_of(tmp_path)["best"]
    assert len(best["returns"]) == 100
    assert best["mean"] >= 475
    assert load_checkpoint(only_run(tmp_path).checkpoint("@last"))["counters"]["timesteps"] <= 1e5


@pytest.mark.slow
def test_pendulum_swings_up(tmp_path):
    arguments = ["Pendulum-v1:ppo", "-q", "--set", "video=none", "--max-timesteps", "250000"]
    finished = Command("train", *arguments, "--runs-dir", str(tmp_path)).wait(180)
    assert finished.code == 0, finished.err
    # A policy that does not learn has about -1200, a finished one -160.
    assert results_of(tmp_path)["best"]["mean"] >= -400


def resident_kilobytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS"))
    return int(line.split()[1])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_epochs(tmp_path):
    """Three hundred epochs of four steps, each with an evaluation."""
    arguments = small(
        n_steps=4, batch_size=16, n_epochs=1, max_timesteps=10**7, eval_warmup_epochs=0,
        eval_freq_epochs=1, checkpoint_freq_epochs=10, keep_checkpoints=1, eval_episodes=1,
        eval_n_envs=1, policy_lr=0.0,
    )  # fmt: skip
    command = Command("train", "--runs-dir", str(tmp_path), *arguments)
    used = []
    for n_epochs in (50, 300):
        deadline = time.monotonic() + 60
        while not (found := list(tmp_path.glob("*/metrics.jsonl"))) or (
            found[0].read_bytes().count(b"\n") < n_epochs
        ):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        used.append(resident_kilobytes(command.pid))
    command.send(2)
    assert command.wait().code == 130
    assert used[1] - used[0] < 5000, used
