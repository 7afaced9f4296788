"""From an action space to the distribution over it."""

from __future__ import annotations

import math

import gymnasium as gym

from utils.distributions import (
    ActionDistribution,
    Bernoulli,
    Categorical,
    DiagonalNormal,
    MultiCategorical,
)
from utils.errors import ConfigError


def build_distribution(action_space: gym.Space) -> tuple[ActionDistribution, int]:
    """Return the distribution over an action space and the number of outputs that it needs.

    For a Box that is the number of means; the standard deviations are parameters of their own.

    Raises:
        ConfigError: No policy can act in the space.
    """
    match action_space:
        case gym.spaces.Discrete():
            n = int(action_space.n)
            return Categorical(n), n
        case gym.spaces.MultiDiscrete() if action_space.nvec.ndim == 1:
            sizes = tuple(int(n) for n in action_space.nvec)
            return MultiCategorical(sizes), sum(sizes)
        case gym.spaces.MultiBinary() if len(action_space.shape) == 1:
            n = int(action_space.shape[0])
            return Bernoulli(n), n
        case gym.spaces.Box():
            return DiagonalNormal(tuple(action_space.shape)), math.prod(action_space.shape)
    raise ConfigError(
        f"action space {action_space} is not supported: use Discrete, MultiDiscrete, MultiBinary "
        "(one dimension each) or Box"
    )
