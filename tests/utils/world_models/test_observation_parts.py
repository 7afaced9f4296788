from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.helpers.world_models import mixed_space
from utils.errors import ConfigError
from utils.world_models.observation_parts import ObservationParts


def observations(n: int = 2) -> dict[str, torch.Tensor]:
    return {
        "camera": torch.full((n, 3, 64, 64), 51, dtype=torch.uint8),
        "speed": torch.tensor([[1.5, -2.0], [0.0, 1e4]]),
        "gear": torch.tensor([-1, 1]),
        "knobs": torch.tensor([[5, 12], [6, 10]]),
        "lamps": torch.tensor([[1, 0], [1, 1]], dtype=torch.int8),
    }


def test_a_part_of_every_kind() -> None:
    parts = ObservationParts(mixed_space())
    assert [(p.key, p.shape) for p in parts.pictures] == [("camera", (3, 64, 64))]
    assert parts.n_numbers == 4
    assert parts.choice_sizes == [3, 2, 3]
    assert parts.width == 12
    # lamps, speed; then gear counted from -1, and knobs counted from 5 and 10
    expected = torch.tensor(
        [
            [1.0, 0.0, 1.5, -2.0, 1, 0, 0, 1, 0, 0, 0, 1],
            [1.0, 1.0, 0.0, 1e4, 0, 0, 1, 0, 1, 1, 0, 0],
        ]
    )
    assert torch.equal(parts.vector(observations(), n_leading=1), expected)
    torch.testing.assert_close(
        parts.picture(parts.pictures[0], observations()), torch.full((2, 3, 64, 64), 0.2)
    )


def test_any_number_of_leading_dimensions() -> None:
    parts = ObservationParts(mixed_space())
    flat = parts.vector(observations(), n_leading=1)
    sequences = {key: value.unsqueeze(0) for key, value in observations().items()}
    assert torch.equal(parts.vector(sequences, n_leading=2), flat.unsqueeze(0))


@pytest.mark.parametrize(
    ("space", "value", "expected"),
    [
        (gym.spaces.Discrete(3), torch.tensor([2]), [[0.0, 0, 1]]),
        (gym.spaces.Discrete(3, start=4), torch.tensor([4]), [[1.0, 0, 0]]),
        (
            gym.spaces.MultiDiscrete([[2], [3]]),
            torch.tensor([[[1], [0]]]),
            [[0.0, 1, 1, 0, 0]],
        ),
        (gym.spaces.MultiBinary((2, 2)), torch.tensor([[[1, 0], [0, 1]]]), [[1.0, 0, 0, 1]]),
        (gym.spaces.Box(-1, 1, (), np.float32), torch.tensor([0.5]), [[0.5]]),
        (
            gym.spaces.Box(0, 9, (2, 2), np.int64),
            torch.tensor([[[1, 2], [3, 4]]]),
            [[1.0, 2, 3, 4]],
        ),
        (
            gym.spaces.Box(0, 10, (2, 2, 1), np.uint8),
            torch.tensor([[[[1], [2]], [[3], [4]]]], dtype=torch.uint8),
            [[1.0, 2, 3, 4]],
        ),
    ],
)
def test_spaces_that_are_no_dict(space: gym.Space, value: torch.Tensor, expected: list) -> None:
    parts = ObservationParts(space)
    assert parts.pictures == []
    vector = parts.vector(value, n_leading=1)
    assert torch.equal(vector, torch.tensor(expected))
    assert parts.width == vector.shape[1]


def test_a_picture_alone() -> None:
    parts = ObservationParts(gym.spaces.Box(0, 255, (1, 64, 64), np.uint8))
    assert parts.width == 0
    picture = torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1).expand(2, 1, 64, 64)
    scaled = parts.picture(parts.pictures[0], picture)
    assert scaled.dtype == torch.float32
    assert scaled[0].max() == 0
    assert scaled[1].min() == 1


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(ConfigError, match="not supported"):
        ObservationParts(gym.spaces.Dict({"a": gym.spaces.Text(5)}))
    with pytest.raises(ConfigError, match="too small"):
        ObservationParts(gym.spaces.Box(0, 255, (3, 20, 20), np.uint8))
