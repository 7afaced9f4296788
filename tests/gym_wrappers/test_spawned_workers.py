"""Environments and wrappers of the registries work in worker processes of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from utils.environment import build_env


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_own_environments_and_wrappers_are_known_to_workers(method: str) -> None:
    env = build_env(
        "Bandit-Contextual-v0",
        n_envs=2,
        vectorization="async",
        start_method=method,
        env_wrappers=[
            {"id": "StickyActions", "probability": 0.5},
            {"id": "ActionRemap", "actions": [4, 2, 0]},
        ],
    )
    try:
        env.reset(seed=0)
        told = [env.step(np.array([0, 2]))[4].get("episode_metrics") for _ in range(150)]
        assert told[:-1] == [None] * 149
        assert set(told[-1]) == {"regret", "optimal_share"}
        assert told[-1]["regret"].shape == (2,)
        assert env.single_action_space.n == 3
    finally:
        env.close()
