"""Agents on small environments, trained by a bare loop without Lightning and without a folder."""

from __future__ import annotations

from typing import Any

from agents import build_agent
from agents.base_agent import BaseAgent, hyperparameters_at
from utils.config import config_from_dict
from utils.seeding import derive_seed

ENVS = "tests.helpers.envs:"


def make_agent(env_id: str, *, algo_id: str = "ppo", **changes: Any) -> BaseAgent:
    """Build an agent of two environments with a small network.

    Args:
        env_id: Gymnasium id, or the name of a class of `tests.helpers.envs`.
        algo_id: "ppo" (rollouts of 8 steps, minibatches of 8, two passes), "dqn" (updates of 8 for
            each timestep from the 16th on, epochs of 8 steps) or any other.
        changes: Settings that differ.
    """
    settings: dict[str, Any] = {
        "schema_version": 2,
        "config_id": f"Toy-v0:{algo_id}",
        "algo_id": algo_id,
        "env_id": env_id if "-v" in env_id else f"{ENVS}{env_id}-v0",
        "n_envs": 2,
        "max_timesteps": 64,
        "policy_lr": 1e-3,
        "policy_kwargs": {"hidden_dims": [8], "feature_dim": 8},
        "eval_episodes": 4,
        "eval_n_envs": 2,
    }
    if algo_id == "ppo":
        settings |= {"n_steps": 8, "batch_size": 8, "n_epochs": 2}
    if algo_id == "dqn":
        settings |= {
            "batch_size": 8,
            "learning_starts_timesteps": 16,
            "buffer_transitions": 64,
            "steps_per_epoch": 8,
        }
    return build_agent(config_from_dict(settings | changes))


def begin(agent: BaseAgent) -> None:
    """Reset the training environments as the start of training does."""
    agent.source.reset(seed=derive_seed(agent.config.seed, "train"))


def train_epochs(agent: BaseAgent, n_epochs: int) -> list[dict[str, float]]:
    """Train some epochs; return the metrics of each."""
    if not agent.source.has_started:
        begin(agent)
    rows = []
    for _ in range(n_epochs):
        agent.hyperparameters |= hyperparameters_at(
            agent.config, timesteps=agent.counters.timesteps
        )
        agent.begin_epoch()
        (batch,) = agent.source.loader
        agent.learn_from(batch.to(agent.compute_device))
        rows.append(agent.recorder.flush())
    return rows
