"""The ids of the control suite: `dm_control/<domain>-<task>`."""

from __future__ import annotations

import gymnasium as gym

NAMESPACE = "dm_control"


def register_suite() -> None:
    """Register every task of the suite; may be called again."""
    from dm_control import suite

    for domain, task in suite.ALL_TASKS:
        env_id = f"{NAMESPACE}/{domain}-{task}"
        if env_id not in gym.registry:
            gym.register(
                env_id,
                entry_point="gym_envs.dm_control.env:DMControlEnv",
                kwargs={"domain": domain, "task": task},
            )
