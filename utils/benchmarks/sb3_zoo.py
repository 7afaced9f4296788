"""Stable-Baselines3's PPO on CartPole with the settings of the RL Zoo."""

from __future__ import annotations

from collections.abc import Callable

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from gym_envs.sb3 import SimdVecEnv

ENV_ID = "CartPole-v1"
N_ENVS = 8
N_STEPS = 32


def _linear(start: float) -> Callable[[float], float]:
    """Fall from `start` to 0 with the remaining part of training, 1 to 0."""
    return lambda remaining: remaining * start


def build_zoo_ppo(
    *,
    seed: int,
    n_envs: int = N_ENVS,
    n_steps: int = N_STEPS,
    batch_size: int = 256,
    n_epochs: int = 20,
) -> PPO:
    """Build the agent: hyperparams/ppo.yml, `CartPole-v1`, of RL Baselines3 Zoo.

    With another number of environments than the zoo's it is given ours, which are compiled: a
    thousand of Gymnasium's, one by one, would be all that is measured.
    """
    env = (
        make_vec_env(ENV_ID, n_envs, seed=seed)
        if n_envs == N_ENVS
        else SimdVecEnv(ENV_ID, n_envs, seed=seed)
    )
    return PPO(
        "MlpPolicy",
        env,
        n_steps=n_steps,
        batch_size=batch_size,
        n_epochs=n_epochs,
        gamma=0.98,
        gae_lambda=0.8,
        ent_coef=0.0,
        learning_rate=_linear(0.001),
        clip_range=_linear(0.2),
        seed=seed,
        device="cpu",
    )
