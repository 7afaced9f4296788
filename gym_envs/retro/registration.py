"""The ids `Retro/<game>`: one for each game that stable-retro knows."""

from __future__ import annotations

import gymnasium as gym

from gym_envs.retro.roms import PREFIX


def register() -> None:
    """Make the games known to Gymnasium, whether or not their ROMs are there."""
    from stable_retro import data

    for game in data.list_games(data.Integrations.ALL):
        env_id = f"{PREFIX}{game}"
        if env_id not in gym.registry:
            gym.register(env_id, entry_point="gym_envs.retro.env:RetroEnv", kwargs={"game": game})
