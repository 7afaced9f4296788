from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch

from tests.helpers.world_models import mixed_space, small_settings
from utils.world_models.decoder import Decoded, Decoder

SMALL = gym.spaces.Dict(
    {
        "speed": gym.spaces.Box(-np.inf, np.inf, (2,), np.float32),
        "gear": gym.spaces.Discrete(2, start=5),
        "knobs": gym.spaces.MultiDiscrete([2, 2]),
    }
)


def test_losses_by_hand() -> None:
    # Numbers: (1 - ln 2)^2 + (-1 - 0)^2 = 0.0941586 + 1 for speed (1, 0).
    # Choices: gear 6 is the second of (3, 1) / 4: -ln 0.25 = 1.3862944; knobs (0, 1): ln 2 and
    # -ln 0.75 = 0.2876821: 2.3671236 together.
    decoder = Decoder(SMALL, small_settings(), stoch=12)
    ln3 = 1.0986123
    decoded = Decoded([], torch.tensor([[1.0, -1.0, ln3, 0.0, 4.0, 4.0, 0.0, ln3]]))
    observation = {
        "speed": torch.tensor([[1.0, 0.0]]),
        "gear": torch.tensor([6]),
        "knobs": torch.tensor([[0, 1]]),
    }
    losses = decoder.loss(decoded, observation)
    assert set(losses) == {"vector", "choice"}
    torch.testing.assert_close(losses["vector"], torch.tensor([1.0941586]), rtol=1e-5, atol=0)
    torch.testing.assert_close(losses["choice"], torch.tensor([2.3671236]), rtol=1e-5, atol=0)


def test_numbers_in_their_own_units_by_hand() -> None:
    # symexp of +-1 is +-(e - 1); then shares of 3 and 1, of 1 and 1, of 1 and 3
    decoder = Decoder(SMALL, small_settings(), stoch=12)
    ln3 = 1.0986123
    decoded = Decoded([], torch.tensor([[1.0, -1.0, ln3, 0.0, 4.0, 4.0, 0.0, ln3]]))
    expected = torch.tensor([[1.7182818, -1.7182818, 0.75, 0.25, 0.5, 0.5, 0.25, 0.75]])
    torch.testing.assert_close(decoder.numbers(decoded), expected)


def test_pictures_of_a_dict_are_added_up() -> None:
    space = gym.spaces.Dict({k: gym.spaces.Box(0, 255, (1, 64, 64), np.uint8) for k in "ab"})
    decoder = Decoder(space, small_settings(), stoch=12)
    # Zeros against 51 / 255 = 0.2 and 102 / 255 = 0.4: 4096 (0.04 + 0.16)
    decoded = Decoded([torch.zeros(2, 3, 1, 64, 64)] * 2, None)
    observation = {
        key: torch.full((2, 3, 1, 64, 64), value, dtype=torch.uint8)
        for key, value in (("a", 51), ("b", 102))
    }
    losses = decoder.loss(decoded, observation)
    assert set(losses) == {"picture"}
    torch.testing.assert_close(losses["picture"], torch.full((2, 3), 819.2))
    assert decoder.numbers(decoded) is None


def test_every_part_of_an_observation_is_decoded() -> None:
    torch.manual_seed(0)
    decoder = Decoder(mixed_space(), small_settings(), stoch=12)
    features = torch.randn(2, 3, 28)
    decoded = decoder(features)
    assert decoded.pictures[0].shape == (2, 3, 3, 64, 64)
    assert decoded.vector.shape == (2, 3, 12)
    one = decoder(features[1, 2].unsqueeze(0))
    torch.testing.assert_close(one.pictures[0][0], decoded.pictures[0][1, 2])
    torch.testing.assert_close(one.vector[0], decoded.vector[1, 2])
