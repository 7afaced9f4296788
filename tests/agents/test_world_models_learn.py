"""The configs of world models for a processor core learn what a broken one does not."""

from __future__ import annotations

import pytest

from agents import build_agent
from tests.helpers.agents import train_epochs
from utils.config import load_config


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config_id", "timesteps", "least"),
    [
        ("Pendulum-v1:planet", 1500, -900.0),  # who acts evenly has -1230
        ("Pendulum-v1:dreamer", 4000, -450.0),
        ("Pendulum-v1:dreamer_v1", 5000, -600.0),
        ("Pendulum-v1:dreamer_v2", 5000, -600.0),
        ("CartPole-v1:dreamer_v2", 9000, 120.0),  # who acts evenly has 22
        ("CartPole-v1:dreamer_v1", 6000, 120.0),
    ],
)
def test_it_learns(config_id: str, timesteps: int, least: float) -> None:
    agent = build_agent(load_config(config_id, ["vectorization=sync"]))
    n_epochs = -(-timesteps // (agent.config.steps_per_epoch * agent.config.n_envs))
    train_epochs(agent, n_epochs)
    assert agent.evaluate(n_episodes=20).mean > least
    agent.close()
