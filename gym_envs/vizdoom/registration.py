"""The ids `VizDoom-*`: one for each scenario that is found, and one for any other."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym

from gym_envs.vizdoom.scenarios import list_scenarios

# Mean returns at which a task counts as solved; for the others none is agreed.
_REWARD_THRESHOLDS = {"VizDoom-Basic": 80.0}


def register() -> None:
    """Make all scenarios known to Gymnasium, those of `VIZDOOM_SCENARIOS_DIR` included.

    Raises:
        ConfigError: That folder does not exist.
    """
    import vizdoom

    for env_id, config in list_scenarios(Path(vizdoom.scenarios_path)).items():
        kwargs = {} if config is None else {"config_path": str(config)}
        known = gym.registry.get(env_id)
        if known is None or known.kwargs != kwargs:
            gym.registry.pop(env_id, None)
            gym.register(
                env_id,
                entry_point="gym_envs.vizdoom.env:VizDoomEnv",
                reward_threshold=_REWARD_THRESHOLDS.get(env_id),
                kwargs=kwargs,
            )
