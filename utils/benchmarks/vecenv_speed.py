"""Steps per second of vector environments under random actions: ours and other people's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import batch_space
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from gym_envs.physics import has_classic_spec
from gym_envs.sb3 import SimdVecEnv
from utils.benchmarks.contest import Contestant
from utils.benchmarks.optional_peers import envpool_contestant, gymnax_contestant, missing_peers
from utils.benchmarks.pufferlib_cart_pole import PufferCartPole
from utils.environment import build_env

OURS_SIMD = "ours, simd"
OURS_SYNC = "ours, in process"
SB3_DUMMY = "SB3 DummyVecEnv"
OURS_FOR_SB3 = "ours, simd, in SB3's interface"
NATIVE = "gymnasium native"
PUFFER = "PufferLib C"
_PEERS = (PUFFER, NATIVE, SB3_DUMMY, "gymnax", "envpool")
"""Whose rate the others stand beside: the first of them that takes part."""
_GYMNAX_IDS = (
    "CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0",
)  # fmt: skip
Builder = Callable[[], Any]
_MOST_ACTIONS = 64
_STEPS_AT_ONCE = 1 << 18
MOST_ENVS_IN_PYTHON = 512
"""Environments stepped one after another in Python are left out beyond: their rate is the same."""


def choose_peer(contestants: list[Contestant]) -> str:
    """Return the name of the contestant whose rate is 1."""
    names = {contestant.name for contestant in contestants}
    return next((name for name in _PEERS if name in names), contestants[0].name)


def enter_contestants(
    stack: ExitStack,
    env_id: str,
    *,
    n_envs: int,
    with_processes: bool,
    n_threads: int = 1,
    pufferlib_source: Path | None = None,
) -> list[Contestant]:
    """Build every vector environment that there is for an id.

    Args:
        stack: Closes them.
        env_id: Gymnasium id.
        n_envs: Number of environments.
        with_processes: Also those that run in worker processes.
        n_threads: Threads of one more contestant of ours where it is above 1.
        pufferlib_source: PufferLib's `cartpole.h`.

    Returns:
        Contestants whose unit is one environment step. All step with the same given actions, reset
        by themselves and write observation, reward and ends. SB3's wrap each environment in a
        Monitor, as its `make_vec_env` always does; ours (simd) keep returns and lengths, too.
    """
    actions = draw_actions(env_id, n_envs=n_envs)
    contestants = []
    builders, processes = _builders(env_id, n_envs, with_processes, n_threads)
    for name, build in (builders | processes).items():
        env = build()
        stack.callback(env.close)
        env.reset()
        advance = _stepper(env, actions, n_envs)
        contestants.append(Contestant(name, advance, has_processes=name in processes))
    missing = missing_peers()
    if "envpool" not in missing and n_envs <= 4096:
        advance = envpool_contestant(env_id, actions, n_threads=n_threads)
        contestants.append(Contestant("envpool", advance))
    if "gymnax" not in missing and env_id in _GYMNAX_IDS:
        contestants.append(Contestant("gymnax", gymnax_contestant(env_id, actions)))
    if pufferlib_source is not None and env_id == "CartPole-v1":
        contestants.append(_enter_pufferlib(pufferlib_source, actions))
    return contestants


def _builders(
    env_id: str, n_envs: int, with_processes: bool, n_threads: int
) -> tuple[dict[str, Builder], dict[str, Builder]]:
    builders: dict[str, Builder] = {}
    if has_classic_spec(env_id):
        builders[OURS_SIMD] = lambda: build_env(env_id, n_envs=n_envs, vectorization="simd")
        if n_threads > 1:
            builders[f"{OURS_SIMD}, {n_threads} threads"] = lambda: build_env(
                env_id, n_envs=n_envs, vectorization="simd", n_workers=n_threads
            )
    if gym.spec(env_id).vector_entry_point is not None:
        builders[NATIVE] = lambda: gym.make_vec(
            env_id, n_envs, vectorization_mode="vector_entry_point"
        )
    if n_envs > MOST_ENVS_IN_PYTHON:
        return builders, {}
    builders[OURS_SYNC] = lambda: build_env(env_id, n_envs=n_envs, vectorization="sync")
    builders["gymnasium SyncVectorEnv"] = lambda: gym.make_vec(
        env_id, n_envs, vectorization_mode="sync"
    )
    if has_classic_spec(env_id):
        builders[OURS_FOR_SB3] = lambda: SimdVecEnv(env_id, n_envs)
    builders[SB3_DUMMY] = lambda: make_vec_env(env_id, n_envs, seed=0, vec_env_cls=DummyVecEnv)
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
    return builders, processes


def _enter_pufferlib(source: Path, actions: list[np.ndarray]) -> Contestant:
    n_envs = len(actions[0])
    env = PufferCartPole(source, n_envs)
    kept = [batch.astype(np.float32) for batch in actions]
    prepared = [env.prepare(batch) for batch in kept]

    def advance() -> int:
        for address in prepared:
            env.step(address)
        return len(kept) * n_envs

    return Contestant(PUFFER, advance)


def draw_actions(env_id: str, *, n_envs: int) -> list[np.ndarray]:
    """Draw batches of random actions beforehand, so that drawing them costs nobody time."""
    env = gym.make(env_id)
    space = batch_space(env.action_space, n_envs)
    env.close()
    space.seed(0)
    return [space.sample() for _ in range(n_batches(n_envs))]


def n_batches(n_envs: int) -> int:
    """Return the number of vector steps between two looks at the clock."""
    return max(2, min(_MOST_ACTIONS, _STEPS_AT_ONCE // n_envs))


def _stepper(env: Any, actions: list[np.ndarray], n_envs: int) -> Callable[[], int]:
    step = env.step

    def advance() -> int:
        for action in actions:
            step(action)
        return len(actions) * n_envs

    return advance
