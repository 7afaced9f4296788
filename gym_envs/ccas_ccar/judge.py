"""Plays whole episodes with a controller and measures how far F was from its target."""

from __future__ import annotations

import numpy as np

from gym_envs.ccas_ccar.baselines import Controller, read_observation
from gym_envs.ccas_ccar.vector_env import CcasCcarVectorEnv


def play_controller(
    controller: Controller,
    *,
    n_episodes: int,
    seed: int,
    target: str = "constant",
    n_horizon: int = 1,
    kinetics_sigma: float = 0.0,
) -> np.ndarray:
    """Play one episode in each of as many cells.

    Args:
        controller: Judged.
        n_episodes: Number of episodes, at least 1.
        seed: Of the cells and of what the controller draws.
        target: As of `Task`.
        n_horizon: As of `Task`; the controllers look at the present target only.
        kinetics_sigma: As of `Task`.

    Returns:
        Mean absolute error of each episode in molecules, (n_episodes,) float64.
    """
    env = CcasCcarVectorEnv(
        n_episodes, target=target, n_horizon=n_horizon, kinetics_sigma=kinetics_sigma, copy=False
    )
    controller.begin(n_episodes, seed=seed)
    observation, infos = env.reset(seed=seed)
    while "episode_metrics" not in infos:
        action = controller.act(*read_observation(observation, n_horizon=n_horizon))
        observation, _, _, _, infos = env.step(action)
    return infos["episode_metrics"]["mean_absolute_error"]
