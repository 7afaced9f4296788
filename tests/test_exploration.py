"""Bonuses find what nobody finds by chance."""

from __future__ import annotations

import pytest

from tests.helpers.agents import make_agent, train_epochs

# 30,000 steps. Pure chance leads to the treasure of 12 rows once in 4096 episodes, and every nearer
# reward leads away from it: who is paid for nothing else stays at 0.
SETTINGS = {
    "n_envs": 8,
    "n_steps": 64,
    "batch_size": 128,
    "n_epochs": 4,
    "policy_lr": 1e-3,
    "ent_coef": 0.01,
    "max_timesteps": 30_720,
    "policy_kwargs": {"hidden_dims": [64]},
}
BONUSES = {
    "rnd": (12, {"kind": "rnd"}),
    "icm": (10, {"kind": "icm", "hidden_dims": [32], "feature_dim": 32, "learning_rate": 1e-3}),
    "none": (12, {"kind": "none"}),
}


def final_return(*, seed: int, bonus: str) -> float:
    """Return the mean of the last hundred training episodes; 0.99 is the treasure each time."""
    size, exploration = BONUSES[bonus]
    agent = make_agent(
        "tests.helpers.deep_sea:DeepSea-v0",
        seed=seed,
        env_kwargs={"size": size},
        exploration=exploration,
        **SETTINGS,
    )
    rows = train_epochs(agent, 60)
    agent.close()
    return rows[-1]["train/roll/ep_rew_mean"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("bonus", ["rnd", "icm"])
def test_a_bonus_leads_to_the_treasure(bonus: str, seed: int) -> None:
    assert final_return(seed=seed, bonus=bonus) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_without_a_bonus_it_is_not_found(seed: int) -> None:
    assert final_return(seed=seed, bonus="none") < 0.05
