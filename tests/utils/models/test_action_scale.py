from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.errors import ConfigError
from utils.models.action_scale import ActionScale


def test_units_meet_at_the_bounds() -> None:
    scale = ActionScale(gym.spaces.Box(0.0, 10.0, (1,)), algorithm="sac")
    # 7.5 of [0, 10] is 2 * 7.5 / 10 - 1 = 0.5 of [-1, 1].
    units = torch.tensor([[-1.0], [0.0], [0.5], [1.0]])
    torch.testing.assert_close(scale.to_env(units), torch.tensor([[0.0], [5.0], [7.5], [10.0]]))


def test_every_dimension_has_its_bounds_and_shapes_come_back() -> None:
    low = np.array([[-1.0, 0.0], [2.0, -4.0]], dtype=np.float32)
    high = np.array([[1.0, 2.0], [6.0, 0.0]], dtype=np.float32)
    scale = ActionScale(gym.spaces.Box(low, high), algorithm="sac")
    env = scale.to_env(torch.tensor([[0.5, 0.5, -1.0, 1.0]]))
    torch.testing.assert_close(env, torch.tensor([[[0.5, 1.5], [2.0, 0.0]]]))


def test_a_box_without_dimensions_is_one_number() -> None:
    scale = ActionScale(gym.spaces.Box(0.0, 10.0, ()), algorithm="sac")
    assert scale.size == 1
    assert scale.to_env(torch.tensor([[0.5], [-1.0]])).tolist() == [7.5, 0.0]
    assert scale.from_env(torch.tensor([7.5, 0.0])).tolist() == [[0.5], [-1.0]]


LARGEST = np.finfo(np.float32).max


@pytest.mark.parametrize(("below", "above"), [(-np.inf, np.inf), (-LARGEST, LARGEST)])
def test_a_dimension_without_bounds_is_named(below, above) -> None:
    """Whether it says so by infinity or by the largest float, whose span is infinite."""
    low = np.array([-1.0, below, 0.0], dtype=np.float32)
    high = np.array([np.inf, above, 1.0], dtype=np.float32)
    with pytest.raises(ConfigError, match=r"dimension 0, 1: use ppo"):
        ActionScale(gym.spaces.Box(low, high), algorithm="sac")


def test_a_bound_beyond_float32_is_none() -> None:
    with pytest.raises(ConfigError, match="dimension 0"):
        ActionScale(gym.spaces.Box(-1.0, 1e300, (1,), np.float64), algorithm="sac")


def test_from_env_undoes_to_env_and_keeps_to_the_bounds():
    space = gym.spaces.Box(np.array([-2.0, 0.0]), np.array([4.0, 0.0]), dtype=np.float64)
    scale = ActionScale(space, algorithm="sac")
    drawn = torch.tensor([[-1.0, 0.0], [0.25, 0.0], [1.0, 0.0]])
    back = scale.from_env(scale.to_env(drawn))
    # The second dimension has one value only: nothing can be told of what was drawn.
    torch.testing.assert_close(back[:, 0], drawn[:, 0])
    assert torch.isfinite(back).all()
    assert scale.from_env(torch.tensor([[5.0, 0.0]]))[0, 0] == 1.0
