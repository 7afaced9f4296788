from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor

from utils.errors import ConfigError
from utils.models import ObservationEncoder
from utils.spaces import encoded_width


def encode(space: gym.Space, observation: Tensor | dict[str, Tensor]) -> Tensor:
    encoder = ObservationEncoder(space, feature_dim=8, orthogonal_init=True)
    features = encoder(observation)
    assert features.dtype == torch.float32
    assert features.shape[1] == encoder.output_dim
    return features


def test_discrete_observations_become_one_hot() -> None:
    features = encode(gym.spaces.Discrete(4), torch.tensor([0, 1, 3]))
    assert features.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]


def test_discrete_observations_count_from_the_start_of_the_space() -> None:
    features = encode(gym.spaces.Discrete(3, start=-1), torch.tensor([-1, 0, 1]))
    assert torch.equal(features, torch.eye(3))


def test_multi_discrete_observations_become_one_hot_group_by_group() -> None:
    features = encode(gym.spaces.MultiDiscrete([4, 2]), torch.tensor([[3, 1], [0, 0]]))
    assert features.tolist() == [[0, 0, 0, 1, 0, 1], [1, 0, 0, 0, 1, 0]]


def test_multi_discrete_observations_count_from_their_starts() -> None:
    space = gym.spaces.MultiDiscrete([2, 3], start=[5, -1])
    assert encode(space, torch.tensor([[6, -1]])).tolist() == [[0, 1, 1, 0, 0]]


def test_multi_discrete_observations_may_have_two_dimensions() -> None:
    space = gym.spaces.MultiDiscrete([[2, 2], [2, 3]])
    features = encode(space, torch.tensor([[[0, 1], [1, 2]]]))
    assert features.tolist() == [[1, 0, 0, 1, 0, 1, 0, 0, 1]]


def test_bits_and_integers_stay_numbers() -> None:
    assert encode(gym.spaces.MultiBinary(3), torch.tensor([[1, 0, 1]])).tolist() == [[1, 0, 1]]
    space = gym.spaces.Box(-5, 5, (2,), np.int64)
    assert encode(space, torch.tensor([[-5, 3]])).tolist() == [[-5, 3]]


def test_boxes_are_flattened() -> None:
    space = gym.spaces.Box(-1, 1, (2, 3))
    observation = torch.arange(12.0).reshape(2, 2, 3)
    assert encode(space, observation).tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert encode(gym.spaces.Box(-1, 1, ()), torch.tensor([0.5, 0.25])).tolist() == [[0.5], [0.25]]


def test_flat_grids_of_symbols_are_not_scaled() -> None:
    space = gym.spaces.Box(0, 255, (147,), np.uint8)
    features = encode(space, torch.full((1, 147), 10, dtype=torch.uint8))
    assert features.shape == (1, 147)
    assert (features == 10.0).all()


def test_pictures_too_small_for_the_cnn_are_refused_rather_than_fed_to_an_mlp() -> None:
    space = gym.spaces.Box(0, 255, (3, 32, 32), np.uint8)
    with pytest.raises(ConfigError, match=r"\(3, 32, 32\).*resize_obs.*channel_order: none"):
        ObservationEncoder(space, feature_dim=8, orthogonal_init=True)


def test_dicts_are_joined_in_sorted_order_of_their_keys() -> None:
    space = gym.spaces.Dict(
        [
            ("b.c", gym.spaces.Box(-9, 9, (2,))),
            ("a", gym.spaces.MultiDiscrete([3, 2])),
            ("b", gym.spaces.Discrete(2)),
        ]
    )
    observation = {
        "b.c": torch.tensor([[7.0, 8.0]]),
        "b": torch.tensor([1]),
        "a": torch.tensor([[2, 0]]),
    }
    features = encode(space, observation)
    assert features.tolist() == [[0, 0, 1, 1, 0, 0, 1, 7, 8]]
    assert features.shape[1] == encoded_width(space)


def test_keys_that_differ_by_a_dot_keep_their_own_networks() -> None:
    part = gym.spaces.Box(-1, 1, (1,))
    space = gym.spaces.Dict({"a.b": part, "a__b": part})
    features = encode(space, {"a.b": torch.tensor([[1.0]]), "a__b": torch.tensor([[2.0]])})
    assert features.tolist() == [[1, 2]]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.int64])
def test_pictures_are_scaled_whatever_the_dtype_of_the_tensor(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    space = gym.spaces.Box(0, 255, (3, 40, 60), np.uint8)
    encoder = ObservationEncoder(space, feature_dim=8, orthogonal_init=True)
    seen: list[Tensor] = []
    encoder.cnn.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    observation = torch.zeros(2, 3, 40, 60, dtype=dtype)
    observation[0, 1, 5, 7] = 200
    observation[1] = 255
    encoder(observation)
    assert seen[0].dtype == torch.float32
    assert seen[0].shape == (2, 3, 40, 60)
    assert seen[0][0, 1, 5, 7].item() == pytest.approx(200 / 255)
    assert seen[0][0].sum().item() == pytest.approx(200 / 255)
    assert (seen[0][1] == 1.0).all()


def test_a_picture_inside_a_dict_has_its_own_cnn() -> None:
    space = gym.spaces.Dict(
        {"camera": gym.spaces.Box(0, 255, (1, 36, 36), np.uint8), "speed": gym.spaces.Discrete(3)}
    )
    observation = {
        "camera": torch.zeros(2, 1, 36, 36, dtype=torch.uint8),
        "speed": torch.tensor([0, 2]),
    }
    features = encode(space, observation)
    assert features.shape == (2, 11)
    assert features[:, 8:].tolist() == [[1, 0, 0], [0, 0, 1]]


def test_values_outside_the_space_are_not_encoded_in_silence() -> None:
    with pytest.raises(RuntimeError):
        encode(gym.spaces.Discrete(3), torch.tensor([3]))


def test_unsupported_spaces_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="Text"):
        ObservationEncoder(gym.spaces.Text(4), feature_dim=8, orthogonal_init=True)


def test_pictures_that_were_prepared_once_are_not_scaled_again() -> None:
    picture = gym.spaces.Box(0, 255, (3, 36, 36), np.uint8)
    space = gym.spaces.Dict({"camera": picture, "speed": gym.spaces.Box(-1, 1, (2,))})
    generator = torch.Generator().manual_seed(0)
    camera = torch.randint(256, (2, 3, 36, 36), generator=generator, dtype=torch.uint8)
    speed = torch.tensor([[0.25, 0.5], [-1.0, 1.0]])
    encoder = ObservationEncoder(space, feature_dim=8, orthogonal_init=True)
    prepared = encoder.prepare({"camera": camera, "speed": speed})
    assert torch.equal(prepared["camera"], camera.float() / 255.0)
    assert torch.equal(prepared["speed"], speed)
    features = encoder({"camera": camera, "speed": speed})
    assert torch.equal(encoder(prepared, is_prepared=True), features)
    assert not torch.equal(encoder(prepared), features)
