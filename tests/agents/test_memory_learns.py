"""A memory learns what only a memory can know; see `RecallEnv` for what a broken one misses."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base_agent import BaseAgent
from tests.helpers.agents import make_agent, train_epochs

RECALL = "tests.helpers.recall_env:Recall-v0"


def build(algo_id: str, kind: str) -> BaseAgent:
    settings: dict[str, Any] = {
        "n_envs": 16,
        "max_timesteps": 1_000_000,
        "policy_lr": 5e-3,
        "gamma": 0.9,
        "policy_kwargs": {"hidden_dims": [16], "memory": kind},
        "ent_coef": 0.01,
        "eval_episodes": 400,
        "eval_n_envs": 16,
    }
    if kind != "none":
        settings["policy_kwargs"]["memory_dim"] = 16
    if algo_id == "ppo":
        settings |= {"n_steps": 64, "batch_size": 512, "n_epochs": 4}
        if kind != "none":
            settings["sequence_length"] = 16
    else:
        settings |= {"episodes_per_env": 4}
    return make_agent(RECALL, algo_id=algo_id, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("algo_id", "kind", "n_epochs"),
    [("ppo", "gru", 25), ("ppo", "lstm", 25), ("reinforce", "gru", 60)],
)
def test_a_memory_knows_what_was_shown(algo_id: str, kind: str, n_epochs: int, seed: int) -> None:
    agent = build(algo_id, kind)
    agent.config = agent.config.model_copy(update={"seed": seed})
    train_epochs(agent, n_epochs)
    assert agent.evaluate().mean > 0.97
    agent.close()


@pytest.mark.slow
def test_without_a_memory_it_can_only_be_guessed() -> None:
    agent = build("ppo", "none")
    train_epochs(agent, 60)
    assert agent.evaluate().mean < 0.75
    agent.close()
