from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from gym_wrappers.discrete_encoder.wrapper import DiscreteEncoder
from tests.helpers.wrapper_envs import ScriptedEnv
from utils.environment import build_env
from utils.errors import ConfigError


def encode(space: gym.Space, value: object, encoding: str) -> list[float]:
    env = DiscreteEncoder(ScriptedEnv([value, value], space=space), encoding=encoding)
    encoded = env.reset()[0]
    assert encoded in env.observation_space
    assert env.step(0)[0].tolist() == encoded.tolist()
    return encoded.tolist()


@pytest.mark.parametrize(
    ("space", "value", "one_hot", "scaled"),
    [
        (spaces.Discrete(4), 2, [0, 0, 1, 0], [2 / 3]),
        (spaces.Discrete(3, start=5), 5, [1, 0, 0], [0]),
        (spaces.Discrete(1), 0, [1], [0]),
        (spaces.MultiDiscrete([2, 3]), [1, 1], [0, 1, 0, 1, 0], [1, 0.5]),
        (spaces.MultiDiscrete([2, 3], start=[1, -1]), [1, 1], [1, 0, 0, 0, 1], [0, 1]),
        (spaces.MultiBinary(2), [1, 0], [0, 1, 1, 0], [1, 0]),
    ],
)
def test_values_become_vectors(
    space: gym.Space, value: object, one_hot: list[float], scaled: list[float]
) -> None:
    assert encode(space, value, "one_hot") == one_hot
    assert encode(space, value, "scaled") == pytest.approx(scaled)


def test_frames_of_a_discrete_observation_can_be_stacked() -> None:
    env = build_env(
        "FrozenLake-v1", n_envs=2, env_wrappers=[{"id": "DiscreteEncoder"}], frame_stack=2
    )
    assert env.reset(seed=0)[0].shape == (2, 32)
    env.close()


def test_mistakes_are_named() -> None:
    box = ScriptedEnv([[0.0], [0.0]])
    with pytest.raises(ConfigError, match="not Box"):
        DiscreteEncoder(box)
    discrete = ScriptedEnv([0, 0], space=spaces.Discrete(2))
    with pytest.raises(ConfigError, match="one of one_hot, scaled, got 'binary'"):
        DiscreteEncoder(discrete, encoding="binary")
    assert np.float32 == DiscreteEncoder(discrete).observation_space.dtype
