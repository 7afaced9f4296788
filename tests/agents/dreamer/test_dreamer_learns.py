"""Dreamer learns what only a memory can know; see `RecallEnv` for what a broken one misses."""

from __future__ import annotations

import pytest

from agents.sequence_agent import SequenceAgent
from tests.helpers.agents import train_epochs
from tests.helpers.sequence_agents import make_dreamer

RECALL = "tests.helpers.recall_env:Recall-v0"


def build(seed: int) -> SequenceAgent:
    shape = {"deter": 64, "hidden": 32, "choices": 8, "units": 32}
    return make_dreamer(
        RECALL,
        seed=seed,
        n_envs=4,
        max_timesteps=1_000_000,
        policy_lr=3e-3,
        gamma=0.9,
        ent_coef=0.01,
        batch_size=8,
        sequence_length=16,
        train_ratio=64.0,
        buffer_steps=5000,
        steps_per_epoch=100,
        imagination_horizon=5,
        eval_episodes=400,
        eval_n_envs=16,
        policy_kwargs=shape,
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_world_model_knows_what_was_shown(seed: int) -> None:
    """Without a memory 0.58 is the most: the signal is right at the first step, then it is gone."""
    agent = build(seed)
    train_epochs(agent, 4)
    assert agent.evaluate().mean > 0.85
    agent.close()
