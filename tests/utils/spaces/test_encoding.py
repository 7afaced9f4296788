from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.errors import ConfigError
from utils.spaces import encoded_width, is_picture, torch_dtype


def picture(*shape: int, high: int = 255, dtype: type = np.uint8) -> gym.spaces.Box:
    return gym.spaces.Box(0, high, shape, dtype)


def test_pictures_are_told_by_their_space() -> None:
    assert is_picture(picture(3, 40, 60))
    assert is_picture(picture(4, 84, 84))
    assert is_picture(picture(1, 36, 36))


@pytest.mark.parametrize(
    "space",
    [
        picture(3, 35, 84),
        picture(3, 84, 35),
        picture(7, 7, 3),
        picture(84, 84),
        picture(3, 84, 84, high=10),
        picture(3, 84, 84, dtype=np.float32),
        gym.spaces.Box(1, 255, (3, 84, 84), np.uint8),
        gym.spaces.Discrete(3),
    ],
)
def test_other_spaces_are_no_pictures(space: gym.Space) -> None:
    assert not is_picture(space)


@pytest.mark.parametrize(
    ("space", "width"),
    [
        (gym.spaces.Discrete(500), 500),
        (gym.spaces.Discrete(3, start=-1), 3),
        (gym.spaces.MultiDiscrete([4, 2]), 6),
        (gym.spaces.MultiDiscrete([[4, 2], [3, 3]]), 12),
        (gym.spaces.MultiBinary(5), 5),
        (gym.spaces.Box(-1, 1, (4,)), 4),
        (gym.spaces.Box(-1, 1, (5, 5, 5)), 125),
        (gym.spaces.Box(-1, 1, ()), 1),
        (gym.spaces.Dict(a=gym.spaces.MultiDiscrete([3, 2]), b=gym.spaces.Box(-1, 1, (2,))), 7),
    ],
)
def test_width_at_the_input_of_a_network(space: gym.Space, width: int) -> None:
    assert encoded_width(space) == width


@pytest.mark.parametrize("space", [gym.spaces.Text(3), gym.spaces.Tuple([gym.spaces.Discrete(2)])])
def test_spaces_without_an_encoding_are_refused_by_name(space: gym.Space) -> None:
    with pytest.raises(ConfigError, match=type(space).__name__):
        encoded_width(space)


@pytest.mark.parametrize(
    ("space", "dtype"),
    [
        (gym.spaces.Box(-1, 1, (2,), np.float32), torch.float32),
        (gym.spaces.Box(-1, 1, (2,), np.float64), torch.float32),
        (gym.spaces.Box(0, 255, (2,), np.uint8), torch.uint8),
        (gym.spaces.Box(-5, 5, (2,), np.int32), torch.int64),
        (gym.spaces.Discrete(3), torch.int64),
        (gym.spaces.MultiDiscrete([3, 2]), torch.int64),
        (gym.spaces.MultiBinary(3), torch.int64),
    ],
)
def test_dtype_of_stored_values(space: gym.Space, dtype: torch.dtype) -> None:
    assert torch_dtype(space) == dtype
