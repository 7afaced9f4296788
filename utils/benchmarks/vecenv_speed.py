"""Steps per second of vector environments under random actions: ours, Gymnasium's, SB3's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import batch_space
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from utils.benchmarks.contest import Contestant
from utils.environment import build_env

OURS_SYNC = "ours, in process"
PEER = "SB3 DummyVecEnv"
Builder = Callable[[], Any]
_N_ACTIONS = 64


def enter_contestants(
    stack: ExitStack, env_id: str, *, n_envs: int, with_processes: bool
) -> list[Contestant]:
    """Build every vector environment that there is for an id.

    Args:
        stack: Closes them.
        env_id: Gymnasium id.
        n_envs: Number of environments.
        with_processes: Also those that run in worker processes.

    Returns:
        Contestants whose unit is one environment step. SB3's wrap each environment in a Monitor, as
        its `make_vec_env` always does; ours and Gymnasium's own keep no episode statistics here.
    """
    builders: dict[str, Builder] = {
        OURS_SYNC: lambda: build_env(env_id, n_envs=n_envs, vectorization="sync"),
        "gymnasium SyncVectorEnv": lambda: gym.make_vec(env_id, n_envs, vectorization_mode="sync"),
        PEER: lambda: make_vec_env(env_id, n_envs, seed=0, vec_env_cls=DummyVecEnv),
    }
    if gym.spec(env_id).vector_entry_point is not None:
        builders["gymnasium native"] = lambda: gym.make_vec(
            env_id, n_envs, vectorization_mode="vector_entry_point"
        )
    processes: dict[str, Builder] = {}
    if with_processes:
        processes = {
            "ours, processes": lambda: build_env(env_id, n_envs=n_envs, vectorization="async"),
            "gymnasium AsyncVectorEnv": lambda: gym.make_vec(
                env_id, n_envs, vectorization_mode="async"
            ),
            "SB3 SubprocVecEnv": lambda: make_vec_env(
                env_id, n_envs, seed=0, vec_env_cls=SubprocVecEnv
            ),
        }
    actions = draw_actions(env_id, n_envs=n_envs)
    contestants = []
    for name, build in (builders | processes).items():
        env = build()
        stack.callback(env.close)
        env.reset()
        advance = _stepper(env, actions, n_envs)
        contestants.append(Contestant(name, advance, has_processes=name in processes))
    return contestants


def draw_actions(env_id: str, *, n_envs: int) -> list[np.ndarray]:
    """Draw batches of random actions beforehand, so that drawing them costs nobody time."""
    env = gym.make(env_id)
    space = batch_space(env.action_space, n_envs)
    env.close()
    space.seed(0)
    return [space.sample() for _ in range(_N_ACTIONS)]


def _stepper(env: Any, actions: list[np.ndarray], n_envs: int) -> Callable[[], int]:
    step = env.step

    def advance() -> int:
        for action in actions:
            step(action)
        return len(actions) * n_envs

    return advance
