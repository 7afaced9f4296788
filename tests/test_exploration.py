"""Bonuses find what nobody finds by chance."""

from __future__ import annotations

import pytest

from tests.helpers.agents import make_agent, train_epochs

# 30,000 steps. Pure chance leads to the treasure once in 1024 episodes, and every nearer reward
# leads away from it: who is paid for nothing else stays at 0.
SETTINGS = {
    "env_kwargs": {"size": 10},
    "n_envs": 8,
    "n_steps": 64,
    "batch_size": 128,
    "n_epochs": 4,
    "policy_lr": 1e-3,
    "ent_coef": 0.01,
    "max_timesteps": 30_720,
    "policy_kwargs": {"hidden_dims": [64]},
}
NETWORKS = {"hidden_dims": [32], "feature_dim": 32, "learning_rate": 1e-3}


def final_return(*, seed: int, kind: str | None) -> float:
    """Return the mean of the last hundred training episodes; 0.99 is the treasure each time."""
    exploration = {} if kind is None else {"exploration": {"kind": kind, **NETWORKS}}
    agent = make_agent("tests.helpers.deep_sea:DeepSea-v0", seed=seed, **SETTINGS, **exploration)
    rows = train_epochs(agent, 60)
    agent.close()
    return rows[-1]["train/roll/ep_rew_mean"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kind", ["rnd", "icm"])
def test_a_bonus_leads_to_the_treasure(kind: str, seed: int) -> None:
    assert final_return(seed=seed, kind=kind) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_without_a_bonus_it_is_not_found(seed: int) -> None:
    assert final_return(seed=seed, kind=None) < 0.05
