"""Episodes that are played again from their seed with the actions that are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from utils.rollouts.stepper import Observation, to_tensors
from utils.spaces import ActionAdapter
from utils.vector_envs import BaseVectorEnv


def replay_observations(
    env: BaseVectorEnv, *, seed: int, actions: Sequence[np.ndarray]
) -> Iterator[Any]:
    """Play an episode of T steps again.

    Args:
        env: One environment.
        seed: That the episode was reset with.
        actions: T of them as a policy chose them, counting from 0 or unclipped.

    Yields:
        T + 1 raw observations (1, ...), array or dictionary of arrays, the last state's included;
        the environment writes over them later.
    """
    assert env.num_envs == 1, env.num_envs
    adapter = ActionAdapter(env.single_action_space)
    observation, _ = env.reset(seed=seed)
    yield observation
    for action in actions:
        observation, _, terminated, truncated, infos = env.step(adapter.to_env(action[None]))
        yield infos["final_obs"] if terminated[0] or truncated[0] else observation


def stack_observations(
    space: gym.Space[Any], observations: Iterator[Any], *, device: torch.device
) -> Observation:
    """Return observations (1, ...) one after another as tensors (T + 1, ...).

    Args:
        space: Single observation space.
        observations: As of `replay_observations`.
        device: Where the tensors are put.
    """
    if isinstance(space, gym.spaces.Dict):
        rows = [{key: part[0].copy() for key, part in each.items()} for each in observations]
        return to_tensors({key: np.stack([row[key] for row in rows]) for key in rows[0]}, device)
    return to_tensors(np.stack([each[0].copy() for each in observations]), device)
