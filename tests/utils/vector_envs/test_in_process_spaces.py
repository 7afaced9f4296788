from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from tests.helpers import envs
from tests.helpers.in_process_envs import make, zeros
from utils.errors import ConfigError, EnvironmentFailedError

NESTED = spaces.Dict(
    {
        "b": spaces.Box(-1, 1, (2,), np.float64),
        "a": spaces.Dict({"x": spaces.MultiDiscrete([3, 2]), "w": spaces.Discrete(4)}),
    }
)
NESTED_VALUE = {"b": np.array([0.1, 0.2]), "a": {"x": np.array([2, 0]), "w": 3}}


def test_float64_becomes_float32() -> None:
    env = make(
        envs.SpaceEnv, space=spaces.Box(-1e300, 1, (2,), np.float64), value=np.array([0.1, 0.2])
    )
    obs, _ = env.reset(seed=0)
    assert obs.dtype == env.single_observation_space.dtype == np.float32
    assert obs.tolist() == [[np.float32(0.1), np.float32(0.2)]]


@pytest.mark.parametrize(
    ("space", "value", "shape", "dtype"),
    [
        (spaces.Discrete(500), 499, (2,), np.int64),
        (spaces.Discrete(3, start=-1), -1, (2,), np.int64),
        (spaces.MultiDiscrete([4, 2]), np.array([3, 1]), (2, 2), np.int64),
        (spaces.MultiBinary(3), np.array([1, 0, 1], np.int8), (2, 3), np.int8),
        (spaces.Box(0, 9, (4,), np.int32), np.full(4, 7, np.int32), (2, 4), np.int32),
        (spaces.Box(0, 1, (5, 5, 5), np.float32), np.ones((5, 5, 5)), (2, 5, 5, 5), np.float32),
        (spaces.Box(0, 10, (7, 7, 3), np.uint8), np.full((7, 7, 3), 9), (2, 7, 7, 3), np.uint8),
    ],
)
def test_observations_keep_their_values(
    space: gym.Space, value: Any, shape: tuple[int, ...], dtype: type
) -> None:
    env = make(envs.SpaceEnv, 2, space=space, value=value)
    obs, _ = env.reset(seed=0)
    assert (obs.shape, obs.dtype) == (shape, dtype)
    np.testing.assert_array_equal(obs[0], value)
    np.testing.assert_array_equal(env.step(zeros(env))[0][1], value)
    assert env.observation_space.shape == shape


def test_nested_observations_become_flat_leaves_in_sorted_order() -> None:
    env = make(envs.SpaceEnv, 2, space=NESTED, value=NESTED_VALUE, length=2)
    obs, _ = env.reset(seed=0)
    assert list(obs) == ["a.w", "a.x", "b"] == list(env.single_observation_space)
    assert obs["a.w"].tolist() == [3, 3]
    assert obs["a.x"].tolist() == [[2, 0], [2, 0]]
    assert obs["b"].dtype == np.float32
    env.step(zeros(env))
    infos = env.step(zeros(env))[4]
    assert infos["final_obs"]["a.x"].tolist() == [[2, 0], [2, 0]]


def test_tuple_observations_are_named_by_position() -> None:
    env = make(
        envs.SpaceEnv,
        space=spaces.Tuple([spaces.Discrete(5), spaces.MultiBinary(2)]),
        value=(4, np.array([1, 0])),
    )
    obs, _ = env.reset(seed=0)
    assert {key: value.tolist() for key, value in obs.items()} == {"0": [4], "1": [[1, 0]]}


def test_unsupported_spaces_are_refused_by_name() -> None:
    space = spaces.Dict({"mission": spaces.Text(5), "image": spaces.Box(0, 1, (2,), np.float32)})
    with pytest.raises(ConfigError, match=r"SpaceEnv.*Text at 'mission'.*env_wrappers"):
        make(envs.SpaceEnv, space=space)

    class TupleAction(envs.CountingEnv):
        def __init__(self) -> None:
            super().__init__()
            self.action_space = spaces.Tuple([spaces.Discrete(2)])

    with pytest.raises(ConfigError, match="actions of kind Tuple"):
        make(TupleAction)


def test_an_observation_of_another_shape_than_declared_is_an_error_not_a_broadcast() -> None:
    env = make(envs.SpaceEnv, space=spaces.Box(0, 1, (3,), np.float32), value=np.ones(1))
    with pytest.raises(EnvironmentFailedError, match=r"\(1,\).*\(3,\)"):
        env.reset(seed=0)
